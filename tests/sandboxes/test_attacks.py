"""Hostile programs against every level that this machine allows: nothing escapes, hangs, is left or is spoilt.

No process of the machine is a target but those that a test has started for that.
"""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError, Termination
from pytest_crmeval.sandboxes.local import LocalSandbox
from tests.sandboxes import attacks
from tests.sandboxes.conftest import allowed
from tests.sandboxes.processes import alive, children, descendants, until

LIMITS = Limits(cpu_seconds=0.3, wall_seconds=0.7, memory_bytes=128 << 20, output_bytes=1 << 20)
PATIENT = Limits(cpu_seconds=20.0, wall_seconds=90.0, memory_bytes=256 << 20, output_bytes=8 << 20)
SECRET = "swordfish-4711"  # noqa: S105 (planted, to be looked for)
ENDINGS = {
    "memory bomb": {Termination.MEMORY},
    "infinite output": {Termination.OUTPUT},
    "infinite stderr": {Termination.CPU_TIME, Termination.WALL_TIME},
    "busy loop": {Termination.CPU_TIME, Termination.WALL_TIME},
    "signals ignored": {Termination.CPU_TIME, Termination.WALL_TIME},
    "sleep": {Termination.WALL_TIME},
    "stopped": {Termination.WALL_TIME},
    "alarm": {Termination.SIGNALLED},
}
"""What must have been found out; on a busy machine either clock may be the first."""
UNHURRIED = {"memory bomb": replace(PATIENT, memory_bytes=128 << 20)}
"""No clock may be quicker than the memory."""
HELD_BY_LIMITS = (
    "fork bomb", "memory bomb", "infinite output", "busy loop", "sleep", "daemon", "stdout held open", "zombies",
    "signals ignored", "descriptors",
)  # fmt: skip


def run(sandbox: LocalSandbox, source: str, limits: Limits = LIMITS, wanted: tuple[str, ...] = ()) -> Execution:
    """Run a program once."""
    with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
        return prepared.run(ProgramInput(stdin=b"1 2\n", wanted=wanted), limits)


def assert_unharmed(sandbox: LocalSandbox) -> None:
    """See that the next program is right, in an empty folder, and that nothing runs but fork server and template."""
    source = "import os; print(sum(map(int, input().split())), os.listdir())"

    assert b"3 ['main.py']\n" == run(sandbox, source, PATIENT).stdout
    assert until(lambda: len(descendants(supervisor_of(sandbox))) == 2)


def supervisor_of(sandbox: LocalSandbox) -> int:
    """Return the supervisor of the only fork server of a sandbox, which is started if it is not yet."""
    (fork_server,) = sandbox._opened()[1]._fork_servers  # noqa: SLF001 (only this test knows it)
    return fork_server.process.pid


def _reads_all(sandbox: LocalSandbox) -> bool:
    """Whether a level says that programs can read what the user can."""
    return "seccomp:" in sandbox.name and os.getuid() != 0


@pytest.fixture
def decoy() -> Iterator[int]:
    """Start a process with a secret in its environment, as the target of attacks."""
    with subprocess.Popen(["/bin/sleep", "600"], env={**os.environ, "CRMEVAL_SECRET": SECRET}) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Plant a file that only its owner may read, as those in $HOME."""
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    path.chmod(0o600)
    tmp_path.chmod(0o700)
    return path


@pytest.mark.parametrize("attack", attacks.ATTACKS)
def test_an_attack_is_held(sandbox: LocalSandbox, attack: str, decoy: int, secret: Path) -> None:
    """It ends in time, by what it did; all that matters is as it was."""
    supervisor = supervisor_of(sandbox)
    everybody = "-1" if "namespaces" in sandbox.name else str(decoy)
    source = attacks.ATTACKS[attack]
    for name, value in (("JUDGE", decoy), ("KEEPER", supervisor), ("CELL", min(children(supervisor)))):
        source = source.replace(name, str(value))
    source = source.replace("EVERYBODY", everybody).replace("SECRET_FILE", str(secret))
    wanted = () if "seccomp:" in sandbox.name else ("wanted",)
    ended = run(sandbox, source, UNHURRIED.get(attack, LIMITS), wanted)

    assert ended.ending in ENDINGS.get(attack, set(Termination))
    assert {} == ended.files
    if not _reads_all(sandbox):
        assert SECRET.encode() not in ended.stdout + ended.stderr
    assert alive(decoy)
    assert alive(supervisor)
    assert_unharmed(sandbox)


@pytest.mark.parametrize("attack", HELD_BY_LIMITS)
def test_limits_alone_stop_programs_that_use_too_much(limited: LocalSandbox, attack: str) -> None:
    """Nothing hangs, and nothing is left running."""
    ended = run(limited, attacks.ATTACKS[attack], UNHURRIED.get(attack, LIMITS))

    assert ended.ending in ENDINGS.get(attack, set(Termination))
    assert_unharmed(limited)


def test_a_secret_is_not_found(
    sandbox: LocalSandbox, secret: Path, decoy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a file, nor in the environment of the judge, of another process or of the program."""
    if _reads_all(sandbox):
        pytest.skip("this level says that programs can read what the user can")
    monkeypatch.setenv("CRMEVAL_SECRET", SECRET)
    source = attacks.SEARCH.replace("SECRET_FILE", str(secret)).replace("JUDGE", str(decoy))
    ended = run(sandbox, source, PATIENT)

    assert ended.succeeded, ended.stderr
    assert SECRET.encode() not in ended.stdout


def test_the_search_would_find_a_secret(limited: LocalSandbox, tmp_path: Path) -> None:
    """Otherwise the test before would prove nothing: this file is for everybody, and there is no wall."""
    public = Path(f"/tmp/{tmp_path.name}-{os.getpid()}")  # noqa: S108 (where everybody can read)
    public.write_text(SECRET)
    public.chmod(0o644)
    try:
        ended = run(limited, attacks.SEARCH.replace("SECRET_FILE", str(public)), PATIENT)
    finally:
        public.unlink()

    assert SECRET.encode() in ended.stdout


def test_programs_reach_no_server(sandbox: LocalSandbox, public: Path) -> None:
    """Servers on loopback, on an abstract name and in a file see no connection, and no datagram comes."""
    abstract, place = f"crmeval-{os.getpid()}", str(public / "socket")
    servers = [socket.create_server(("127.0.0.1", 0))]
    port = servers[0].getsockname()[1]
    for family, kind, address in (
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)),
        (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract}"),
        (socket.AF_UNIX, socket.SOCK_STREAM, place),
    ):
        servers.append(socket.socket(family, kind))
        servers[-1].bind(address)
    Path(place).chmod(0o777)
    source = attacks.CONNECT.replace("PORT", str(port)).replace("ABSTRACT", abstract).replace("SOCKET_FILE", place)
    try:
        for server in (servers[0], *servers[2:]):
            server.listen()
        ended = run(sandbox, source, PATIENT)
        heard = [server for server in servers if _hears(server)]
    finally:
        for server in servers:
            server.close()

    assert (b"", True) == (ended.stdout, ended.succeeded), ended.stderr
    assert [] == heard


def _hears(server: socket.socket) -> bool:
    server.settimeout(0)
    try:
        if server.type == socket.SOCK_DGRAM:
            server.recv(100)
        else:
            server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_the_kernel_keeps_little_for_a_program(sandbox: LocalSandbox) -> None:
    source = (
        "import socket\n"
        "for one in socket.socketpair():\n"
        "    try: one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30); print('more')\n"
        "    except PermissionError: print('refused')\n"
    )

    assert b"refused\nrefused\n" == run(sandbox, source, PATIENT).stdout


@pytest.fixture
def kept(public: Path) -> Path:
    """Plant a file that everybody may write, and return its folder."""
    (public / "kept").write_text("kept")
    (public / "kept").chmod(0o777)
    return public


def test_nothing_is_written_outside(sandbox: LocalSandbox, kept: Path) -> None:
    """Not even the rights and times of a file, in a folder where everybody may write."""
    before = _state(kept)
    name = f"crmeval-escape-{os.getpid()}"
    run(sandbox, attacks.WRITE.replace("OUTSIDE", str(kept)).replace("NAME", name), PATIENT)

    assert before == _state(kept)
    assert [] == _escaped(name)


def _escaped(name: str) -> list[Path]:
    places = map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/usr"))  # noqa: S108 (where a program would write)
    return [path for place in places for path in place.glob(f"{name}*")]


def test_without_a_wall_the_same_attacks_escape(limited: LocalSandbox, kept: Path) -> None:
    before = _state(kept)
    name = f"crmeval-control-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        run(limited, attacks.CONNECT.replace("PORT", str(server.getsockname()[1])), PATIENT)
        heard = _hears(server)
    run(limited, attacks.WRITE.replace("OUTSIDE", str(kept)).replace("NAME", name), PATIENT)
    escaped = _escaped(name)
    for path in escaped:
        path.unlink()

    assert heard
    assert [] != escaped
    assert before != _state(kept)


def _state(folder: Path) -> dict[str, tuple[int, float, bytes]]:
    return {
        str(path): (path.stat().st_mode, path.stat().st_mtime, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *folder.rglob("*"))
    }


def test_attacks_do_not_affect_programs_that_run_beside_them() -> None:
    """A program beside a bomb is judged as if it were alone."""
    sandbox = LocalSandbox(workers=2)
    bombs = threading.Thread(
        target=lambda: [run(sandbox, attacks.ATTACKS[name]) for name in ("fork bomb", "busy loop")]
    )
    bombs.start()
    outputs = {run(sandbox, "print(input())", PATIENT).stdout for _ in range(20)}
    bombs.join()
    sandbox.close()

    assert {b"1 2\n"} == outputs


def test_a_level_without_files_does_not_blame_the_program(walled: dict[str, LocalSandbox]) -> None:
    """What can't be written here would be written elsewhere: it is the judge's trouble."""
    with pytest.raises(SandboxError, match=r"can't write out\.txt here"):
        run(allowed(walled["seccomp"]), "open('out.txt', 'w').write('right')", PATIENT, ("out.txt",))


def test_files_left_by_a_run_are_removed_before_the_next(sandbox: LocalSandbox) -> None:
    """Also where its own text was, and in every place that it can write to."""
    leave = (
        "import os\n"
        "def attempt(action, *args):\n"
        "    try: action(*args)\n"
        "    except OSError: pass\n"
        "attempt(os.unlink, 'main.py'); attempt(os.mkdir, 'main.py')\n"
        "for place in ('x', os.environ['TMPDIR'] + '/x', '/dev/shm/x'): attempt(open, place, 'w')\n"
    )
    swap = "import os\ntry: os.rename('main.py', 'left')\nexcept OSError: pass\n"
    look = "import os\nfor place in ('.', os.environ['TMPDIR']): print(os.listdir(place))\n"
    for hostile in (leave, swap):
        run(sandbox, hostile, PATIENT)

        assert b"['main.py']\n[]\n" == run(sandbox, look, PATIENT).stdout


def test_stdin_can_be_sought_from_its_beginning(sandbox: LocalSandbox) -> None:
    source = "import sys; file = sys.stdin.buffer; file.read(200); print(file.seek(152), file.read(4))"
    numbers = b"".join(b"%03d," % number for number in range(250))
    with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
        ended = prepared.run(ProgramInput(stdin=numbers), PATIENT)

    assert b"152 b'038,'\n" == ended.stdout
