"""Limits of a server that are below those of a problem: respected, noted, and never held against a program."""

from dataclasses import replace

import pytest

from pytest_crmeval.ports.sandbox import Language, ProgramInput, SandboxError, Termination
from pytest_crmeval.sandboxes.piston import PistonSandbox
from tests.sandboxes.piston_jobs import Settings
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import BRIEF, LIMITS, QUICK, ended, printed

LOW = {"run_timeout": 1500, "run_cpu_time": 1000, "compile_timeout": 10_000}


def test_a_program_within_a_lower_limit_is_judged(caplog: pytest.LogCaptureFixture) -> None:
    """The seed's first weakness: the server's refusal became a failure of the program, on all tests."""
    with PistonServer(Settings(maxima={"run_timeout": 50_000, "run_cpu_time": 10_000})) as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)

        assert b"4\n" == printed(sandbox, "print(2 + 2)")
        assert (50_000, 10_000) == (server.bodies[-1]["run_timeout"], server.bodies[-1]["run_cpu_time"])
        assert f"Piston server {server.url} limits run_timeout to 50000" in sandbox.notes
        assert "run_cpu_time to 10000" in caplog.text
        sandbox.close()


def test_program_that_hits_a_lower_limit_of_the_server_is_a_judge_error() -> None:
    with PistonServer(Settings(maxima=LOW)) as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)

        with pytest.raises(
            SandboxError, match=r"\(1.5 s\), which is lower than that of the problem .* higher PISTON_RUN_TIMEOUT"
        ):
            ended(sandbox, "import time; time.sleep(60)")
        with pytest.raises(SandboxError, match=r"higher PISTON_RUN_(CPU_TIME|TIMEOUT)"):
            ended(sandbox, "while True: pass")
        assert Termination.CPU_TIME is ended(sandbox, "while True: pass", limits=replace(BRIEF, cpu_seconds=0.1)).ending
        sandbox.close()


def test_program_that_hits_a_lower_limit_is_run_on_another_server() -> None:
    """Of several servers one may allow more: time, output, or a longer input."""
    low = Settings(maxima={"run_timeout": 1000}, output_max_size=40_000, body_limit=100_000)
    with PistonServer(low) as first, PistonServer() as second:
        sandbox = PistonSandbox(f"{first.url},{second.url}", patience=QUICK)
        ended(sandbox, "")
        ended(sandbox, "")
        for source, size in (("time.sleep(1.1)", 9), ("print('x' * 99_999)", 9), ("pass", 200_000)):
            asked = first.counts["/api/v2/execute"]
            output = printed(sandbox, f"import time; {source}; print(len(input()))", ProgramInput(stdin=b"y" * size))

            assert output.endswith(b"%d\n" % size)
            assert first.counts["/api/v2/execute"] > asked
        sandbox.close()


def test_limits_that_a_server_got_later_are_learned() -> None:
    """It was started anew while the run went on."""
    with PistonServer() as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)
        ended(sandbox, "")
        server.reconfigure(maxima={"run_timeout": 50_000, "run_memory_limit": 500_000_000})

        assert b"4\n" == printed(sandbox, "print(2 + 2)")
        assert 50_000 == server.bodies[-1]["run_timeout"]
        with pytest.raises(SandboxError, match="higher PISTON_RUN_MEMORY_LIMIT"):
            ended(sandbox, "x = bytearray(800_000_000)")
        sandbox.close()


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (Settings(maxima={"run_timeout": 100}), "run_timeout to 100, .* PISTON_RUN_TIMEOUT=1000"),
        (Settings(maxima={"run_memory_limit": 30_000_000}), "PISTON_RUN_MEMORY_LIMIT=64000000"),
        (Settings(output_max_size=1024), "higher PISTON_OUTPUT_MAX_SIZE"),
    ],
)
def test_limits_too_low_for_any_problem_are_reported_before_the_run(settings: Settings, shown: str) -> None:
    """A server as it comes brings back 1,024 bytes of output."""
    with PistonServer(settings) as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)
        missing = sandbox.missing(Language.PYTHON)
        sandbox.close()

    assert missing.startswith(f"Piston server {server.url}: ")
    with pytest.raises(SandboxError, match=shown):
        raise SandboxError(missing)


def test_output_between_the_servers_limit_and_ours_is_not_judged() -> None:
    """The program has printed no more than it may; what it has printed can't be seen."""
    with PistonServer(Settings(output_max_size=40_000)) as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)

        assert b"x" * 29_999 + b"\n" == printed(sandbox, "print('x' * 29_999)")
        with pytest.raises(SandboxError, match="higher PISTON_OUTPUT_MAX_SIZE"):
            ended(sandbox, "print('x' * 50_000)")
        assert Termination.OUTPUT is ended(sandbox, "print('x' * 300_000)").ending
        assert b"fine\n" == printed(sandbox, "import sys; sys.stderr.write('x' * 100_000); print('fine')")
        sandbox.close()


def test_input_that_is_too_large_for_a_server_is_reported() -> None:
    """It is no wrong answer, and no second attempt would help."""
    with PistonServer(Settings(body_limit=102_400)) as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)
        count = "import sys; print(len(sys.stdin.read()))"

        assert b"90000\n" == printed(sandbox, count, ProgramInput(stdin=b"7" * 90_000))
        before = server.counts["/api/v2/execute"]
        with pytest.raises(SandboxError, match="raise the limit of its body parser"):
            ended(sandbox, count, ProgramInput(stdin=b"7" * 3_000_000))
        assert before + 1 == server.counts["/api/v2/execute"]
        server.faults.append("413")
        with pytest.raises(SandboxError, match="raise the limit of its body parser"):
            ended(sandbox, "")
        sandbox.close()


def test_an_old_server_without_a_status_is_understood() -> None:
    """By code and signal, and by how long it took; a flood is found out by a second run."""
    with PistonServer(Settings(old=True)) as server:
        sandbox = PistonSandbox(server.url, patience=QUICK)
        waiting = replace(LIMITS, wall_seconds=0.7)

        assert "" == sandbox.missing(Language.PYTHON)
        assert b"4\n" == printed(sandbox, "print(2 + 2)")
        assert 3 == ended(sandbox, "raise SystemExit(3)").exit_code
        assert "SIGSEGV" == ended(sandbox, "import os; os.kill(os.getpid(), 11)").signal
        assert Termination.WALL_TIME is ended(sandbox, "import time; time.sleep(60)", limits=waiting).ending
        assert Termination.OUTPUT is ended(sandbox, "print('x' * 3_000_000)").ending
        assert b"fine\n" == printed(sandbox, "import sys; sys.stderr.write('x' * 3_000_000); print('fine')")
        assert Termination.MEMORY is ended(sandbox, "x = bytearray(2 * 10**9)").ending
        killed = ended(sandbox, "import os; os.kill(os.getpid(), 9)")
        assert (Termination.SIGNALLED, "SIGKILL") == (killed.ending, killed.signal)
        assert (None, None, None) == (killed.cpu_seconds, killed.wall_seconds, killed.memory_bytes)
        sandbox.close()
