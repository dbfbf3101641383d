"""The life of fork servers: they are replaced when they are lost, and end with those who use them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox, slots
from pytest_crmeval.sandboxes.local.inside.messages import COMPILER
from pytest_crmeval.sandboxes.local.runs import Runnable, opened
from tests.sandboxes.processes import alive, children, descendants, supervisors, until

ROOT = Path(__file__).parents[2]
LIMITS = Limits(cpu_seconds=20.0, wall_seconds=90.0, memory_bytes=256 << 20, output_bytes=1 << 20)
PATIENCE = 300.0
MOST_PAGES, MOST_WITH_PINS = 480, 240
USER = """
import sys
sys.path.insert(0, {root!r})
from pytest_crmeval.ports.sandbox import *
from pytest_crmeval.sandboxes.local import LocalSandbox
sandbox = LocalSandbox({level!r})
print(sandbox.name, flush=True)
with sandbox.prepared(Program(language=Language.PYTHON, source={source!r})) as prepared:
    limits = Limits(cpu_seconds=60, wall_seconds=600, memory_bytes=1 << 28, output_bytes=99)
    ended = prepared.run(ProgramInput(stdin=b"1 2"), limits)
    print(ended.stdout, ended.stderr, flush=True)
sandbox.close()
"""
TEMPLATE = """
import os, select, signal, socket, sys, threading
sys.path.insert(0, {root!r})
from pytest_crmeval.sandboxes.local.inside.template import PIDS, REPORT
from pytest_crmeval.sandboxes.local.inside.template_process import TemplateLost, TemplateProcess
os.dup2(1, REPORT)
pids, writing = os.pipe()
os.set_blocking(pids, False)
os.dup2(writing, PIDS)
sys.executable = {executable!r}
template = TemplateProcess({{"box": "/tmp", "packages": [], "filters": {{}}}}, pids)
"""
BEGIN = """
source, null = os.open({program!r}, os.O_RDONLY), os.open(os.devnull, os.O_RDWR)
template.begin(("python", None, [], [], os.fstat(source).st_size), [null, 1, null, source])
print(template.ended()[0])
"""
HANG = """
os.kill(template.pid, signal.SIGSTOP)
null = os.open(os.devnull, os.O_RDWR)
template.begin(("python", None, [], [], 0), [null] * 4)
print(template.begun())
template.kill()
"""
STUCK = """
from pytest_crmeval.sandboxes.local.inside import template_process
template.kill()
template_process._START_SECONDS = 0.1
sys.executable = {executable!r}
try:
    template.restart()
except TemplateLost:
    print("lost", os.waitstatus_to_exitcode(os.waitpid(template.pid, 0)[1]))
"""
LOSE = """
template.kill()
template.control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
def end_without_reading():
    select.select([other], [], [])
    other.close()
threading.Thread(target=end_without_reading).start()
try:
    template.begin(("python", None, [], [], 0), [])
    template.ended()
except TemplateLost:
    print("lost")
"""
PIN = """
import os, resource, sys
sys.path.insert(0, {root!r})
from pytest_crmeval.sandboxes.local.inside.pinning import pin_written
pages = bytearray(200 * 4096)
def write():
    for place in range(0, len(pages), 4096):
        pages[place] = 1
def faults():
    reading, writing = os.pipe()
    if os.fork() == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        write()
        os.write(writing, str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reading, 99))
write()
print(faults())
try:
    pin_written(write)
except OSError as error:
    sys.exit(f"not allowed: {{error}}")
print(faults())
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


def result(sandbox: LocalSandbox) -> bytes:
    """Return the output of a small program."""
    with sandbox.prepared(Program(language=Language.PYTHON, source="print(6 * 7)")) as prepared:
        return prepared.run(ProgramInput(), LIMITS).stdout


@pytest.mark.parametrize("level", ["namespaces", "landlock", "seccomp"])
def test_sandbox_processes_end_when_their_owner_is_killed(level: str, public: Path) -> None:
    """SIGKILL leaves no time to clean up, and nothing to be cleaned."""
    source = USER.format(root=str(ROOT), level=level, source="while True: pass")
    environment = {**os.environ, "TMPDIR": str(public)}
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, env=environment) as user:
        assert user.stdout is not None
        if not user.stdout.readline():
            pytest.skip(f"{level} can't be had here")
        assert until(lambda: len(descendants(user.pid)) == 4)
        running = descendants(user.pid)
        user.kill()

    assert until(lambda: not any(map(alive, running)))
    assert until(lambda: not list(public.glob("crmeval-cell-*")))


@pytest.mark.parametrize("victim", ["supervisor", "fork server", "template"])
def test_a_lost_process_of_the_sandbox_is_replaced(victim: str) -> None:
    """The next program does not notice which one was killed."""
    before = supervisors()
    sandbox = LocalSandbox(workers=1)
    assert b"42\n" == result(sandbox)
    (supervisor,) = supervisors() - before
    (fork_server,) = children(supervisor)
    (template,) = children(fork_server)
    pids = {"supervisor": supervisor, "fork server": fork_server, "template": template}
    os.kill(pids[victim], signal.SIGKILL)

    assert b"42\n" == result(sandbox)
    sandbox.close()
    assert until(lambda: not any(map(alive, pids.values())))
    assert until(lambda: before == supervisors())


@pytest.mark.parametrize("level", ["namespaces", "landlock", "seccomp"])
def test_processes_that_a_compiler_leaves_are_ended(level: str) -> None:
    """The template is kept for the runs that follow: to start another one takes longer than ten runs."""
    before = supervisors()
    sandbox = LocalSandbox(level, workers=1)
    try:
        assert b"42\n" == result(sandbox)
    except SandboxError as error:
        pytest.skip(str(error))
    (supervisor,) = supervisors() - before
    (fork_server,) = children(supervisor)
    templates = children(fork_server)
    script = "for n in 1 2 3; do setsid sleep 600 & done; echo made > main"
    with opened("main.c", b"") as descriptor:
        compiler = Runnable(kind=COMPILER, descriptor=descriptor, name="main.c", command=["/bin/sh", "-c", script])
        made = sandbox._opened()[1].run(compiler, ProgramInput(wanted=("main",)), LIMITS)  # noqa: SLF001 (as one is run)
    output = result(sandbox)
    running = children(fork_server)
    sandbox.close()

    assert ({"main": b"made\n"}, b"42\n") == (made.files, output)
    assert (1, templates) == (len(running), running)


def test_a_template_that_hangs_ends_with_its_sandbox() -> None:
    """Also after the program was killed, when only the template's answer is missing."""
    before = supervisors()
    sandbox = LocalSandbox(workers=1)
    assert b"42\n" == result(sandbox)
    (supervisor,) = supervisors() - before
    (fork_server,) = children(supervisor)
    (template,) = children(fork_server)
    with (
        sandbox.prepared(Program(language=Language.PYTHON, source="while True: pass")) as prepared,
        ThreadPoolExecutor(1) as threads,
    ):
        running = threads.submit(prepared.run, ProgramInput(), replace(LIMITS, cpu_seconds=3.0))
        assert until(lambda: bool(children(template)))
        (program,) = children(template)
        os.kill(template, signal.SIGSTOP)
        killed = until(lambda: not alive(program))
        sandbox.close()
        ended = until(lambda: not any(map(alive, (supervisor, fork_server, template))))
        error = running.exception(PATIENCE)

    assert (killed, ended) == (True, True)
    assert isinstance(error, SandboxError)


def _template(then: str, executable: str) -> str:
    """Start a template in a process of its own, which is free to use any descriptor; return what is printed."""
    command = [sys.executable, "-c", TEMPLATE.format(root=str(ROOT), executable=executable) + then]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


@pytest.mark.parametrize("executable", [sys.executable, "/bin/false"])
def test_a_template_is_forked_where_no_interpreter_can_be_started(executable: str, tmp_path: Path) -> None:
    """Inside the sandbox its libraries may be missing; programs run all the same."""
    program = tmp_path / "program.py"
    program.write_text("print(6 * 7)")

    assert "42\n0\n" == _template(BEGIN.format(program=str(program)), executable)


def test_a_template_that_ends_before_it_reads_a_request_is_lost() -> None:
    """Then another fork server runs the program; as an error of this run it would be final."""
    assert "lost\n" == _template(LOSE, sys.executable)


def test_a_template_that_hangs_when_it_is_started_is_lost(tmp_path: Path) -> None:
    """Its fork server does not hear meanwhile that its client is gone."""
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nexec sleep 600\n")
    stuck.chmod(0o755)

    assert "lost -9\n" == _template(STUCK.format(executable=str(stuck)), sys.executable)


def test_a_template_that_hangs_is_not_waited_for_in_the_beginning() -> None:
    """Its fork server must hear meanwhile that its client is gone."""
    assert "0\n" == _template(HANG, sys.executable)


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_program_that_ends_its_template_has_no_verdict(signal_name: str) -> None:
    """Where no filter holds it back it may do so: that is trouble of the machine, and other programs run."""
    sandbox = LocalSandbox("rlimits", workers=1, unsafe=True)
    source = f"import os, signal; os.kill(os.getppid(), signal.{signal_name}); signal.pause()"
    with closing(sandbox), sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
        with pytest.raises(SandboxError, match="lost 3 times in one run"):
            prepared.run(ProgramInput(), LIMITS)

        assert b"42\n" == result(sandbox)


def test_a_closed_sandbox_runs_nothing() -> None:
    """It says so, and has no processes."""
    before = supervisors()
    sandbox = LocalSandbox(workers=1)
    result(sandbox)
    sandbox.close()

    with pytest.raises(SandboxError, match="closed"):
        result(sandbox)
    assert before == supervisors()


def test_waiting_for_a_core_is_not_the_programs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = LocalSandbox(workers=1)
    assert b"42\n" == result(sandbox)
    held = [slots._taken(slots.place()) for _ in slots.cores()]  # noqa: SLF001 (as another process does)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(result, sandbox)
        time.sleep(0.3)
        begun = waiting.done()
        for descriptor in held:
            os.close(descriptor or -1)
        output = waiting.result(PATIENCE)
    sandbox.close()

    assert None not in held
    assert not begun
    assert b"42\n" == output


@pytest.mark.parametrize("level", ["namespaces", "landlock", "seccomp"])
def test_ordinary_user_gets_the_same_level(level: str) -> None:
    """With the interpreter of the system: that of root may be out of reach."""
    if os.getuid() or not Path("/usr/bin/python3").exists() or not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("only root can become somebody else, and needs an interpreter for everybody")
    source = USER.format(
        root=str(ROOT), level=level, source="import os; print(sum(map(int, input().split())), os.getuid())"
    )
    ended = subprocess.run(
        ["/usr/bin/python3", "-c", source],
        user=65534,
        group=65534,
        extra_groups=[],
        env={"TMPDIR": "/tmp"},  # noqa: S108 (the one folder that such a user has)
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if "Error" in ended.stderr and "does not reach" in ended.stderr:
        pytest.skip(ended.stderr[-300:])

    assert "b'3 65534\\n' b''" in ended.stdout, ended.stderr


def test_a_run_copies_few_pages() -> None:
    """Pages that are copied after a fork are most of what a run costs; there were 600 before the template was small."""
    before = supervisors()
    sandbox = LocalSandbox("namespaces", workers=1)
    try:
        result(sandbox)
    except SandboxError as error:
        pytest.skip(str(error))
    (supervisor,) = supervisors() - before
    (fork_server,) = children(supervisor)
    (template,) = children(fork_server)
    first = _page_faults(fork_server) + _page_faults(template)
    runs = 20
    for _ in range(runs):
        result(sandbox)
    faults = _page_faults(fork_server) + _page_faults(template) - first
    sandbox.close()

    assert faults / runs < (MOST_WITH_PINS if _pinned().returncode == 0 else MOST_PAGES)


def _pinned() -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", "-S", "-c", PIN.format(root=str(ROOT))]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_pages_that_are_written_in_every_fork_are_copied_by_the_fork() -> None:
    """And not one after the other, by a page fault each."""
    ended = _pinned()
    if "not allowed" in ended.stderr:
        pytest.skip(ended.stderr)

    before, after = map(int, ended.stdout.split())
    assert before > 200 > 4 * after


def _page_faults(pid: int) -> int:
    """Return the page faults of a process and of its ended children, as /proc counts them."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[7]) + int(fields[8])
