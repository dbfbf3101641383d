"""The parts of the local sandbox that need no fork server."""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError, Termination
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.sandboxes.local.compiling import Compiler, image_bytes
from pytest_crmeval.sandboxes.local.fork_servers import ForkServerProcess, Unavailable
from pytest_crmeval.sandboxes.local.inside import fork_server as inside
from pytest_crmeval.sandboxes.local.inside import levels
from pytest_crmeval.sandboxes.local.inside.calls import (
    _MACHINES,
    BY_ARGUMENTS,
    FIRST_UNKNOWN,
    FOLDER_CHANGES,
    NOT_THERE,
)
from pytest_crmeval.sandboxes.local.inside.cleaning import count_and_bytes, empty
from pytest_crmeval.sandboxes.local.inside.levels import Isolation
from pytest_crmeval.sandboxes.local.inside.messages import PYTHON, WALL, RunRequest, RunResult
from pytest_crmeval.sandboxes.local.inside.seccomp import Filter
from pytest_crmeval.sandboxes.local.inside.template_process import TemplateLost
from pytest_crmeval.sandboxes.local.listening import Ends
from pytest_crmeval.sandboxes.local.outcomes import execution
from pytest_crmeval.sandboxes.local.probing import FoundLevel, strongest
from pytest_crmeval.sandboxes.local.runs import Runnable, check
from pytest_crmeval.sandboxes.local.slots import cores, place, slot

LIMITS = Limits(cpu_seconds=1.0, wall_seconds=3.0, memory_bytes=1000, output_bytes=10)
ABORTED, SEGFAULT = int(signal.SIGABRT), int(signal.SIGSEGV)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


def nothing(level: str) -> ForkServerProcess:
    """Start no fork server, as on a machine that allows none."""
    raise SandboxError(f"{level} was tried")


@pytest.mark.parametrize("level", ["auto", "rlimits"])
def test_programs_are_not_run_unprotected(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(_: ForkServerProcess) -> None:
        raise Unavailable("forbidden here")

    monkeypatch.setattr(ForkServerProcess, "wait", unavailable)

    with pytest.raises(SandboxError, match="--crmeval-set unsafe_sandbox=true"):
        LocalSandbox(level).name  # noqa: B018 (asking is what is tested)


def test_limits_alone_are_tried_if_that_is_allowed() -> None:
    """After all others, or at once if they are asked for."""
    with pytest.raises(SandboxError, match="rlimits was tried"):
        strongest("rlimits", nothing, unsafe=True)


class Flaky:
    """A process of the sandbox that can't isolate itself in its first tries."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.levels: list[str] = []

    def start(self, level: str) -> ForkServerProcess:
        """Start a real process, or one that fails."""
        self.levels.append(level)
        fork_server = LocalSandbox(level)._started(level)  # noqa: SLF001 (the real one)
        if len(self.levels) <= self.failures:
            fork_server.wait = self._fail  # type: ignore[method-assign]
        return fork_server

    def _fail(self) -> None:
        raise Unavailable("a process has vanished")


@pytest.mark.parametrize(("failures", "level"), [(0, "seccomp"), (2, "seccomp")])
def test_a_level_that_fails_once_is_tried_again(failures: int, level: str) -> None:
    """Another process may have been in the way; a weaker level is not taken for that."""
    flaky = Flaky(failures)
    found, fork_server = strongest(level, flaky.start, unsafe=False)
    fork_server.close()

    assert (level, {}) == (found.level, found.lacking)
    assert [level] * (failures + 1) == flaky.levels


def test_processes_that_vanish_while_they_are_counted_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc lists processes that may have ended when they are looked at."""

    class Vanished:
        name = "4711"

        def stat(self) -> os.stat_result:
            raise FileNotFoundError(2, "No such file or directory", "/proc/4711")

    there = list(os.scandir("/proc"))
    expected = levels._processes_of(os.getuid())  # noqa: SLF001 (what a level counts)
    monkeypatch.setattr("os.scandir", lambda _: [Vanished(), *there])

    assert levels._processes_of(os.getuid()) <= expected + 50  # noqa: SLF001 (others come and go)


def test_unknown_level_names_the_known_ones() -> None:
    with pytest.raises(SandboxError, match="auto, namespaces, landlock, seccomp, rlimits"):
        strongest("docker", nothing, unsafe=False)


def test_other_systems_are_refused_with_a_hint_to_piston(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no such kernel."""
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(SandboxError, match=r"needs Linux.*Piston"):
        LocalSandbox()


def test_a_weaker_level_says_why() -> None:
    shown = FoundLevel(level="seccomp", lacking={"namespaces": "forbidden", "landlock": "unknown"}).shown()

    assert shown.startswith("local (seccomp: programs can read ")
    assert shown.endswith("; no namespaces: forbidden; no landlock: unknown)")


@pytest.mark.parametrize(
    ("ending", "result", "stdout", "stderr"),
    [
        (Termination.EXITED, RunResult(status=1 << 8), b"", b"ValueError: MemoryError"),
        (Termination.MEMORY, RunResult(status=1 << 8), b"", b"Traceback\nMemoryError\n"),
        (Termination.MEMORY, RunResult(status=ABORTED), b"", b"what():  std::bad_alloc\n"),
        (Termination.SIGNALLED, RunResult(status=ABORTED), b"", b""),
        (Termination.MEMORY, RunResult(memory_bytes=1001), b"", b""),
        (Termination.EXITED, RunResult(memory_bytes=1000, cpu_seconds=1.0), b"0123456789", b""),
        (Termination.CPU_TIME, RunResult(cpu_seconds=1.01), b"", b""),
        (Termination.CPU_TIME, RunResult(status=9, cut="cpu", cpu_seconds=0.99), b"", b""),
        (Termination.WALL_TIME, RunResult(status=9, cut="wall"), b"", b""),
        (Termination.OUTPUT, RunResult(status=9, cut="cpu", cpu_seconds=2.0), b"0123456789+", b""),
        (Termination.OUTPUT, RunResult(status=9, cut="files"), b"", b""),
    ],
)
def test_a_run_is_judged_by_what_happened(ending: Termination, result: RunResult, stdout: bytes, stderr: bytes) -> None:
    ended = execution(result, LIMITS, stdout, stderr, {})

    assert ending is ended.ending
    assert stdout[:10] == ended.stdout


def test_a_wanted_file_counts_as_output() -> None:
    """It is cut like stdout."""
    ended = execution(RunResult(), LIMITS, b"", b"", {"out.txt": b"0123456789+"})

    assert (Termination.OUTPUT, {"out.txt": b"0123456789"}) == (ended.ending, ended.files)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0b"])
def test_only_plain_names_are_files(name: str) -> None:
    for feed in (ProgramInput(files={name: b""}), ProgramInput(wanted=(name,))):
        with pytest.raises(SandboxError, match="not a plain file name"):
            check(feed)


def test_too_many_files_are_refused() -> None:
    with pytest.raises(SandboxError, match="at most 60 input"):
        check(ProgramInput(files={f"file{number}": b"" for number in range(61)}))


def test_a_folder_is_emptied_however_deep_it_is(tmp_path: Path) -> None:
    """Deeper than any path is long, with links, locked folders and names that are in the way."""
    (tmp_path / ".0").write_text("in the way")
    (tmp_path / "link").symlink_to("/usr")
    (tmp_path / "locked").mkdir(mode=0)
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(900):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    empty(str(tmp_path))

    assert [] == list(tmp_path.iterdir())
    assert Path("/usr/bin").is_dir()


def test_files_are_weighed(tmp_path: Path) -> None:
    """Their number and their bytes."""
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "b").write_bytes(b"4567")

    assert (2, 7) == count_and_bytes([str(tmp_path)])


def test_both_ends_of_something_long_are_kept() -> None:
    ends = Ends()
    for chunk in (b"first", b"x" * 100_000, b"y" * 10, b"last"):
        ends.add(chunk)
    shown = ends.shown()

    assert shown.startswith(b"firstxxx")
    assert shown.endswith(b"yyylast")
    assert f"... {100_019 - 65_536} bytes left out ...".encode() in shown


def test_short_output_is_kept_completely() -> None:
    """Up to the last byte that there is room for."""
    ends = Ends()
    ends.add(b"x" * 65_536)

    assert b"x" * 65_536 == ends.shown()


@pytest.mark.parametrize("machine", _MACHINES)
@pytest.mark.parametrize("kind", ["plain", "compiles", "executes", "reads_only"])
def test_a_filter_is_one_that_a_kernel_takes(machine: str, kind: str) -> None:
    """Short enough for its jumps, and made for one process."""
    options: dict[str, Any] = {} if kind == "plain" else {kind: True}
    made = Filter(machine=_MACHINES[machine], **options)

    assert len(made.of(1)) == len(made.of(99)) < 4096 * 8
    assert made.of(1) != made.of(99)


def decided(instructions: bytes, machine: int, number: int, first: int = 0) -> int:
    """Return what a filter says about a call, as the kernel would find it out."""
    call = struct.pack("<IIQ6Q", number, machine, 0, first, 0, 0, 0, 0, 0)
    value = place = 0
    while True:
        code, met, unmet, constant = struct.unpack_from("<HBBI", instructions, place * 8)
        place += 1
        if code == 0x06:
            return int(constant)
        if code == 0x20:
            (value,) = struct.unpack_from("<I", call, constant)
        elif code == 0x54:
            value &= constant
        elif code == 0x05:
            place += constant
        else:
            holds = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}[code]
            place += met if holds else unmet


@pytest.mark.parametrize("machine", _MACHINES)
def test_a_filter_finds_every_call(machine: str) -> None:
    """What is in the tables is refused, what is beyond them is not there, and all the rest is allowed."""
    known = _MACHINES[machine]
    made = Filter(machine=known).of(99)
    never = set(known.numbers) - BY_ARGUMENTS - NOT_THERE - FOLDER_CHANGES | {"execveat"}
    refused = {number for number in range(FIRST_UNKNOWN) if decided(made, known.audit_code, number) == 0x5_0001}
    missing = {number for number in range(600) if decided(made, known.audit_code, number) == 0x5_0026}

    assert {known.numbers[name] for name in never} <= refused
    assert refused <= {number for name, number in known.numbers.items() if name in never | BY_ARGUMENTS}
    assert {known.numbers[name] for name in NOT_THERE} | set(range(FIRST_UNKNOWN, 600)) == missing
    assert decided(made, known.audit_code + 1, 0) == 0x8000_0000


@pytest.mark.parametrize("machine", _MACHINES)
@pytest.mark.parametrize("kind", ["plain", "compiles", "executes", "reads_only"])
def test_a_program_is_refused_the_same_in_two_parts(machine: str, kind: str) -> None:
    """The filter of the template and the rest of the program's own: the kernel obeys the stricter of the two."""
    known = _MACHINES[machine]
    options: dict[str, Any] = {} if kind == "plain" else {kind: True}
    template = Filter(machine=known, compiles=True, any_pid=True)
    whole = Filter(machine=known, **options).of(99)
    parts = template.of(1), Filter(machine=known, inherited=template, **options).of(99)
    calls = [(number, first) for number in range(600) for first in (0, 1, 99, 0x0001_0000, 0x7E02_0000)]

    assert len(parts[1]) < len(whole) / 2
    assert [decided(whole, known.audit_code, *call) for call in calls] == [
        min(decided(part, known.audit_code, *call) for part in parts) for call in calls
    ]


def test_program_can_signal_only_itself() -> None:
    """Its filter is made for its own number."""
    known = _MACHINES["x86_64"]
    made = Filter(machine=known).of(99)
    decisions = {pid: decided(made, known.audit_code, known.numbers["kill"], pid) for pid in (0, 99, 1, 98, 2**32 - 1)}

    assert {0: 0x7FFF_0000, 99: 0x7FFF_0000, 1: 0x5_0001, 98: 0x5_0001, 2**32 - 1: 0x5_0001} == decisions


def test_the_size_of_a_program_is_read_from_it() -> None:
    """All that is loaded, whatever of it is in the file; nothing of what is no program, or is cut off."""
    head = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<QQIHHH", 64, 0, 0, 64, 56, 2)
    loaded, other = (struct.pack("<IIQQQQQQ", kind, 0, 0, 0, 0, 10, 5 << 30, 0) for kind in (1, 4))

    assert 5 << 30 == image_bytes(head.ljust(64, b"\0") + loaded + other)
    assert 0 == image_bytes(head)
    assert 0 == image_bytes(b"#!/bin/sh\n".ljust(200))


@pytest.mark.parametrize(
    ("image", "result", "ending"),
    [
        (1001, RunResult(status=SEGFAULT), Termination.MEMORY),
        (1001, RunResult(status=1 << 8, trouble="OSError"), Termination.MEMORY),
        (1001, RunResult(), Termination.EXITED),
        (1000, RunResult(status=SEGFAULT), Termination.SIGNALLED),
    ],
)
def test_global_variables_beyond_the_limit_are_memory(image: int, result: RunResult, ending: Termination) -> None:
    assert ending is execution(result, LIMITS, b"", b"", {}, image=image).ending


@pytest.mark.parametrize("machine", _MACHINES)
def test_no_two_calls_have_one_number(machine: str) -> None:
    numbers = _MACHINES[machine].numbers.values()

    assert len(numbers) == len(set(numbers))
    assert max(numbers) < FIRST_UNKNOWN


def test_a_core_is_held_by_one(tmp_path: Path) -> None:
    """As many as there are cores can hold one at once."""
    taken = [slot(tmp_path) for _ in cores()]
    for held in taken:
        held.__enter__()
    held_files = {path.name for path in tmp_path.iterdir()}
    for held in taken:
        held.__exit__(None, None, None)

    assert {f"core-{core}" for core in cores()} == held_files


def test_lock_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Path(tmp_path, f"crmeval-slots-{os.getuid()}").symlink_to("/usr")

    with pytest.raises(SandboxError, match="belongs to another user"):
        place()


class Bench:
    """Runs nothing, and remembers how often a compiler was asked; the size of a binary is given."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.compiled: list[bytes] = []

    def run(self, runnable: Runnable, _feed: ProgramInput, _limits: Limits) -> Execution:
        """Compile, or say what the binary of a first try says."""
        source = os.pread(runnable.descriptor, 100, 0)
        if not runnable.command:
            return Execution(ending=Termination.EXITED, exit_code=0, stdout=b"works\n")
        self.compiled.append(source)
        files = {"main": b"\x7f" * self.size}
        return Execution(ending=Termination.EXITED, exit_code=int(source == b"wrong"), files=files)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(10, [b"one", b"two", b"wrong", b"wrong"]), (40 << 20, [b"one", b"two", b"wrong", b"one", b"wrong"])],
)
def test_recent_compilations_are_cached(size: int, expected: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as there is room for binaries; what was refused is asked about each time."""
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/g++")
    bench = Bench(size)
    compiler = Compiler(bench.run)
    assert "" == compiler.missing(Language.CPP, "")
    bench.compiled.clear()

    for source in ("one", "two", "wrong", "one", "wrong"):
        compiler.compile(Program(language=Language.CPP, source=source))

    assert expected == bench.compiled


def test_a_program_with_globals_beyond_the_limit_ends_by_memory() -> None:
    """The kernel ends such a program before it begins, by a signal that says nothing of memory."""
    sandbox = LocalSandbox()
    if reason := sandbox.missing(Language.CPP):
        pytest.skip(reason)
    source = "volatile char v[1900u << 20]; int main() { v[9] = 1; return v[9]; }"
    limits = Limits(cpu_seconds=0.5, wall_seconds=20.0, memory_bytes=256 << 20, output_bytes=1 << 20)
    with closing(sandbox), sandbox.prepared(Program(language=Language.CPP, source=source)) as prepared:
        ended = prepared.run(ProgramInput(), limits)

    assert Termination.MEMORY is ended.ending


@pytest.mark.parametrize(("queued", "reason"), [(60.0, ""), (0.0, WALL)])
def test_time_in_a_queue_is_not_on_the_clock(monkeypatch: pytest.MonkeyPatch, queued: float, reason: str) -> None:
    """A program that waits for a core which others have is not ended for it; one that waits for nothing is."""
    monkeypatch.setattr(inside, "_queued_seconds", lambda _: queued)
    isolation = Isolation(box="", folders=(), filters={}, alone=True, counted=False)
    request = RunRequest(kind=PYTHON, cpu_seconds=9.0, wall_seconds=0.1, memory_bytes=0, file_bytes=0, stack_bytes=0)
    seconds = "600" if reason else "0.5"  # the process to be ended must still be there, however late that is
    control, client = socket.socketpair()
    with control, client, subprocess.Popen(["/bin/sleep", seconds]) as program:
        pidfd = os.pidfd_open(program.pid)  # it has something to say at the end
        template: Any = SimpleNamespace(control=pidfd, begun=lambda: program.pid)
        server = inside.ForkServer(control=control, isolation=isolation, template=template, report=-1)
        ended = server._watch(time.monotonic(), request)  # noqa: SLF001 (by itself)
        os.close(pidfd)

    assert ((program.pid, reason), -signal.SIGKILL if reason else 0) == (ended, program.returncode)


def _silent_fork_server(control: socket.socket, template: socket.socket) -> inside.ForkServer:
    """Return a fork server whose template neither forks nor answers."""
    isolation = Isolation(box="", folders=(), filters={}, alone=True, counted=False)
    silent: Any = SimpleNamespace(control=template, begun=lambda: 0)
    return inside.ForkServer(control=control, isolation=isolation, template=silent, report=-1)


@pytest.mark.parametrize(("client_is_there", "error"), [(False, inside.ClientGone), (True, TemplateLost)])
def test_a_template_that_does_not_even_fork_ends_the_fork_server(client_is_there: bool, error: type[Exception]) -> None:  # noqa: FBT001
    """At once if the client is gone, else at the limit of the run; no program is to blame, and none is killed."""
    seconds = 0.1 if client_is_there else 600.0
    request = RunRequest(kind=PYTHON, cpu_seconds=9, wall_seconds=seconds, memory_bytes=0, file_bytes=0, stack_bytes=0)
    control, client = socket.socketpair()
    template, other = socket.socketpair()
    with control, client, template, other:
        if not client_is_there:
            client.close()
        with pytest.raises(error):
            _silent_fork_server(control, template)._watch(time.monotonic(), request)  # noqa: SLF001 (by itself)


def test_time_in_a_queue_is_seen_where_that_is_possible() -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    assert 0.0 == inside._queued_seconds(gone.pid)  # noqa: SLF001 (what a fork server looks up)
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not tell how long a process was in the queue")
    with ExitStack() as hogs:
        pids = [hogs.enter_context(_hog()) for _ in range(len(cores()) + 1)]
        deadline = time.monotonic() + 60
        while not (queued := any(map(inside._queued_seconds, pids))) and time.monotonic() < deadline:  # noqa: SLF001
            time.sleep(0.01)

    assert queued


@contextmanager
def _hog() -> Iterator[int]:
    """Keep a core busy as long as it is wanted; the id of the process."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        try:
            yield program.pid
        finally:
            program.kill()
