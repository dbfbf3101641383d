"""Every answer that a real Piston 3.1.1 has given is read as what it was."""

from dataclasses import replace

import pytest

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, SandboxError
from pytest_crmeval.sandboxes.piston.answers import ExceededError, Ran, Stage, TroubleError, ran, runtimes
from pytest_crmeval.sandboxes.piston.endings import RunTerms, UnseenError, execution, framed_execution, refusal
from pytest_crmeval.sandboxes.piston.frames import Frame
from pytest_crmeval.sandboxes.piston.languages import versions
from pytest_crmeval.sandboxes.piston.requests import ProgramRequest
from tests.sandboxes.recordings import recorded, recordings

LIMITS = Limits(cpu_seconds=3, wall_seconds=3, memory_bytes=1 << 28, output_bytes=1 << 20)
ASKED = {
    "sleep_timeout_500": replace(LIMITS, wall_seconds=0.5),
    "cpu_loop_1000": replace(LIMITS, cpu_seconds=1, wall_seconds=1),
    "cpu_time_500": replace(LIMITS, cpu_seconds=0.5),
    "mem_100MB_alloc_limit64MB": replace(LIMITS, memory_bytes=1 << 26),
}
"""Limits of the cases that asked for others."""
WELL = "exited 0"
SICK = "sick server"
NOT_OURS = "judge error"
"""Requests that we never make: an error of the judge, whatever the program."""
FATES = {
    "root": SICK,
    "runtimes": "a list",
    "404": SICK,
    "ok": WELL,
    "stdin_newline_added": WELL,
    "stdin_empty": WELL,
    "stderr_exit3": "exited 3",
    "exception": "exited 1",
    "syntax_error": "exited 1",
    "sigsegv": "signalled SIGSEGV",
    "sigkill_self": "signalled SIGKILL",
    "sigabrt": "signalled SIGABRT",
    "sleep_timeout_default": "wall time",
    "sleep_timeout_500": "wall time",
    "cpu_loop_1000": "wall time",
    "cpu_time_500": "CPU time",
    "mem_100MB_alloc_limit64MB": "memory",
    "mem_alloc_ok_limit256": WELL,
    "stdout_2000": "unseen",
    "stdout_flood": "unseen",
    "stderr_flood": "unseen",
    "stdout_1023": WELL,
    "stdout_1024": WELL,
    "args": WELL,
    "args_int": WELL,
    "file_noname": WELL,
    "two_files": WELL,
    "base64_first": WELL,
    "only_base64": NOT_OURS,
    "path_escape": "trouble",
    "alias_py3": WELL,
    "version_range": WELL,
    "version_bad": SICK,
    "unknown_lang": SICK,
    "no_language": NOT_OURS,
    "no_version": NOT_OURS,
    "no_files": NOT_OURS,
    "empty_files": NOT_OURS,
    "content_not_string": NOT_OURS,
    "timeout_over": "run_timeout is at most 3000",
    "timeout_string": NOT_OURS,
    "timeout_negative": NOT_OURS,
    "timeout_float": WELL,
    "timeout_zero": WELL,
    "mem_negative": WELL,
    "cpu_time_over": "run_cpu_time is at most 3000",
    "compile_timeout_over": "compile_timeout is at most 10000",
    "stdin_number": NOT_OURS,
    "bad_ctype": SICK,
    "no_ctype": SICK,
    "bad_json": NOT_OURS,
    "body_over_100kb": NOT_OURS,
    "stdin_90k_read": WELL,
    "stdin_70k_read": WELL,
    "stdin_60k_read": WELL,
    "stdin_90k_slowread": WELL,
    "stdin_90k_unread": WELL,
    "file_90k": WELL,
    "net_connect": WELL,
    "fork_200": WELL,
    "env": WELL,
    "read_host": WELL,
    "daemon_holds_stdout": WELL,
    "unicode": WELL,
    "invalid_utf8_out": "unseen",
    "nul_out": WELL,
    "cpp_ok": WELL,
    "cpp_compile_error": "refused, exited 1",
    "cpp_compile_timeout": "refused, wall time",
    "c_float_exc": WELL,
    "checker_style": WELL,
}


def terms(case: str) -> RunTerms:
    """Return what the case asked for, all of it granted."""
    limits = ASKED.get(case, LIMITS)
    granted = {
        "run_timeout": round(limits.wall_seconds * 1000),
        "run_cpu_time": round(limits.cpu_seconds * 1000),
        "run_memory_limit": limits.memory_bytes,
        "compile_timeout": 100,
    }
    return RunTerms(limits=limits, granted=granted, address="http://piston")


def shown(ended: Execution) -> str:
    """Write an ending as the table does."""
    return " ".join(str(part) for part in (ended.ending, ended.exit_code, ended.signal) if part not in {None, ""})


def fate(case: str) -> str:
    """Read a recorded answer, and tell what became of it."""
    try:
        return read(case)
    except TroubleError as error:
        return SICK if error.sick else "trouble"
    except ExceededError as error:
        return str(error)
    except (UnseenError, SandboxError) as error:
        return "unseen" if isinstance(error, UnseenError) else NOT_OURS


def read(case: str) -> str:
    """Read a recorded answer as our client does."""
    if case in {"root", "runtimes", "404"}:
        return "a list" if runtimes(recorded(case)) else "nothing"
    found = ran(recorded(case))
    if found.refused and found.compile is not None:
        return f"refused, {shown(refusal(found.compile, terms(case).granted, 'http://piston'))}"
    return shown(execution(found, terms(case)))


@pytest.mark.parametrize("case", FATES)
def test_a_recorded_answer_is_read_as_what_it_was(case: str) -> None:
    """By the status, else by code and signal; what says nothing about the program is no verdict."""
    assert FATES[case] == fate(case)


def test_no_recorded_answer_is_left_out() -> None:
    """The table has all of them."""
    assert set(FATES) == set(recordings())


def test_the_runtimes_of_a_real_server_are_understood() -> None:
    expected = {
        Language.C: {"12.2.0": "c"},
        Language.CPP: {"12.2.0": "c++"},
        Language.PYTHON: {"3.11.2": "python"},
    }

    assert expected == versions(runtimes(recorded("runtimes")))


def test_time_and_memory_are_converted_to_seconds_and_bytes() -> None:
    """Seconds, and bytes: the server takes a KiB for 1,000 of them."""
    ended = execution(ran(recorded("ok")), terms("ok"))

    assert (0.023, 0.028, 8176 * 1024) == (ended.cpu_seconds, ended.wall_seconds, ended.memory_bytes)


def test_outputs_of_a_real_server_are_kept_as_they_are() -> None:
    assert "héllo ☃ 𝄞\n".encode() == execution(ran(recorded("unicode")), terms("unicode")).stdout
    assert b"a\0b" == execution(ran(recorded("nul_out")), terms("nul_out")).stdout
    assert b"err\n" == execution(ran(recorded("stderr_exit3")), terms("stderr_exit3")).stderr


def test_too_large_request_is_reported_with_advice() -> None:
    with pytest.raises(SandboxError, match="raise the limit of its body parser"):
        ran(recorded("body_over_100kb"))


def test_timeout_without_stderr_is_not_a_runtime_error() -> None:
    """The seed looked for words in stderr, which is empty."""
    assert "wall time" == fate("sleep_timeout_default")
    assert b"" == execution(ran(recorded("sleep_timeout_default")), terms("sleep_timeout_default")).stderr


def test_a_server_that_granted_less_is_not_held_against_the_program() -> None:
    """Problem 2046/E1 of the seed: four seconds are allowed, the server ends it after three."""
    wanted = replace(terms("ok"), limits=replace(LIMITS, cpu_seconds=4, wall_seconds=9))

    with pytest.raises(SandboxError, match="higher PISTON_RUN_TIMEOUT"):
        execution(ran(recorded("sleep_timeout_default")), wanted)


def test_program_over_its_cpu_time_is_judged_by_any_server() -> None:
    """Its 2.8 s are more than it may have, also where the wall clock was the server's."""
    wanted = replace(terms("ok"), limits=replace(LIMITS, cpu_seconds=2, wall_seconds=5))

    assert "CPU time" == shown(execution(ran(recorded("cpu_time_500")), wanted))


def test_memory_that_the_server_did_not_grant_is_not_held_against_the_program() -> None:
    """It asked for more than the server has, within its limit."""
    wanted = replace(terms("mem_100MB_alloc_limit64MB"), limits=replace(LIMITS, memory_bytes=1 << 30))

    with pytest.raises(SandboxError, match="higher PISTON_RUN_MEMORY_LIMIT"):
        execution(ran(recorded("mem_100MB_alloc_limit64MB")), wanted)


def test_a_request_is_never_one_that_a_real_server_does_not_understand() -> None:
    """Both clocks are always asked for, none of them 0, which would mean without end."""
    tiny = Limits(cpu_seconds=0.0001, wall_seconds=0.0001, memory_bytes=1, output_bytes=1)
    asked = ProgramRequest(program=None, feed=None, limits=tiny).asked  # type: ignore[arg-type]  # not looked at

    assert {"run_timeout": 1, "run_cpu_time": 1, "run_memory_limit": 1000} == {
        name: value for name, value in asked.items() if name.startswith("run_")
    }


KILLED = Ran(
    run=Stage(
        stdout="",
        stderr="",
        code=None,
        signal="SIGKILL",
        status="RE",
        message="",
        cpu_seconds=2.9,
        wall_seconds=3.0,
        memory_bytes=1 << 20,
        old=False,
    )
)
"""A program that kills itself a moment before it would have been ended."""


def test_status_of_a_server_is_used() -> None:
    assert "signalled SIGKILL" == shown(execution(KILLED, terms("ok")))
    assert "CPU time" == shown(execution(Ran(run=replace(KILLED.run, status="TO")), terms("ok")))


@pytest.mark.parametrize(("cpu_seconds", "fate"), [(2.9, "signalled SIGKILL"), (3.0, "CPU time"), (3.1, "CPU time")])
def test_time_limit_is_derived_from_the_duration_if_there_is_no_status(cpu_seconds: float, fate: str) -> None:
    """The status is that of the runner, which outlived it."""
    frame = Frame(code=None, signal="SIGKILL", room=1 << 30, sizes=[0], contents=[b""])
    killed = Ran(run=replace(KILLED.run, cpu_seconds=cpu_seconds))

    assert fate == shown(framed_execution(killed, frame, (), terms("ok")))


def test_time_that_the_server_did_not_grant_is_not_held_against_a_killed_program() -> None:
    """It had all that the server gives, and less than it may have."""
    frame = Frame(code=None, signal="SIGKILL", room=1 << 30, sizes=[0], contents=[b""])
    wanted = replace(terms("ok"), limits=replace(LIMITS, cpu_seconds=4))

    with pytest.raises(SandboxError, match="higher PISTON_RUN_CPU_TIME"):
        framed_execution(Ran(run=replace(KILLED.run, cpu_seconds=3.0)), frame, (), wanted)
