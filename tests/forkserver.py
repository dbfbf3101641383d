"""A server that has imported everything once and forks the pytest processes that tests start, and their xdist workers.

A process that starts from nothing imports for 0.3 to 4 seconds of CPU time (pytest, psycopg, SDKs), which most tests
are not about. The first test that needs a process starts the server; it ends with the pytest run that the tests belong
to. Set CRMEVAL_TESTS_COLD=1 to start every process from nothing.

Each connection to its socket asks for one process. The answer is its id, and its exit status when it has ended.
"""

import atexit
import fcntl
import gc
import json
import logging
import os
import runpy
import secrets
import select
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import IO, Any, TextIO

import pytest
from execnet import gateway_io
from execnet.gateway_base import Popen2IO

HOME = "CRMEVAL_TESTS_FORK_SERVER"
"""The variable with the folder of the server's socket, and the process whose end is the end of the server."""
COLD = "CRMEVAL_TESTS_COLD"
PLAIN_START = ["-u", "-c", gateway_io.popen_bootstrapline]
REQUEST_BYTES = 1 << 20
NUMBER = struct.Struct("q")
USED_BY_MODELS = ("anthropic", "openai", "httpcore2", "truststore", "dotenv")
SCRIPTS = (
    "pytest_crmeval.cli.__main__",
    "pytest_crmeval.sandboxes.local.inside.start",
    "pytest_crmeval.sandboxes.piston.sent",
)
"""Modules that do their work when they are imported."""


def import_everything() -> None:
    """Import what the pytest runs of tests use, and keep the garbage collector away from it."""
    import pytest_crmeval

    modules = [module.name for module in walk_packages(pytest_crmeval.__path__, "pytest_crmeval.")]
    for name in (*USED_BY_MODELS, "scipy.stats", "xdist.dsession", *modules):
        if not name.startswith(SCRIPTS):
            import_module(name)
    gc.collect()
    gc.freeze()


def share_server() -> None:
    """Say where the server is to be: all processes of a pytest run share it."""
    if HOME not in os.environ and COLD not in os.environ and hasattr(os, "pidfd_open"):
        os.environ[HOME] = f"{os.getpid()} {tempfile.gettempdir()}/fork-server-{secrets.token_hex(4)}"


def fork_workers() -> None:
    """Have execnet fork its local workers from the server, which is started when the first one is needed."""
    gateway_io.Popen2IOMaster = ForkedWorker  # type: ignore[misc] # the class that execnet makes


class ForkedWorker(gateway_io.Popen2IOMaster):
    """The pipes to a worker of xdist, forked from the server unless it needs another interpreter or environment."""

    def __init__(self, args: list[str], execmodel: Any) -> None:  # noqa: ANN401 (execnet has no types for it)
        if args != [sys.executable, *PLAIN_START] or not is_forkable(os.environ):
            super().__init__(args, execmodel)
            return
        (child_in, to_child), (from_child, child_out) = os.pipe(), os.pipe()
        try:
            self.popen = ForkedProcess(PLAIN_START, [child_in, child_out, 2], group=os.getpgid(0))
        finally:
            os.close(child_in)
            os.close(child_out)
        Popen2IO.__init__(self, os.fdopen(to_child, "wb"), os.fdopen(from_child, "rb"), execmodel=execmodel)


class ForkedProcess:
    """A Python process, forked from the server: what tests and execnet use of ``subprocess.Popen``."""

    def __init__(
        self,
        arguments: Sequence[str],
        files: Sequence[int],
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        group: int = 0,
    ) -> None:
        """Start ``python *arguments`` with three standard files, in a process group; 0 is one of its own."""
        self.stdin = None
        request = {
            "arguments": arguments,
            "folder": str(folder or Path.cwd()),
            "environment": dict(os.environ if environment is None else environment),
            "group": group,
        }
        self._connection, self._lock = _connect(), threading.Lock()
        socket.send_fds(self._connection, [json.dumps(request).encode()], files)
        self._connection.shutdown(socket.SHUT_WR)
        self.pid = self._answer()
        self.returncode: int | None = None

    def _answer(self) -> int:
        number: int
        (number,) = NUMBER.unpack(self._connection.recv(NUMBER.size, socket.MSG_WAITALL))
        return number

    def poll(self) -> int | None:
        """Return the exit status if the process has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when the process has ended."""
        with self._lock:
            if self.returncode is None:
                if not select.select([self._connection], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
                self.returncode = self._answer()
                self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process if it still runs."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process if it still runs."""
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str], *, folder: Path, output: IO[Any], environment: Mapping[str, str] | None = None
) -> "ForkedProcess | subprocess.Popen[bytes]":
    """Start ``python *arguments``, forked if it can be, in a process group of its own and without input."""
    variables = {**os.environ, **(environment or {})}
    with Path(os.devnull).open("rb") as nothing:
        if is_forkable(variables):
            files = [nothing.fileno(), output.fileno(), output.fileno()]
            return ForkedProcess(arguments, files, folder=folder, environment=variables)
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=variables,
            stdin=nothing,
            stdout=output,
            stderr=output,
            process_group=0,
        )


def fork_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``runpytest_subprocess`` fork its process."""
    usual = pytester.popen

    def popen(command: Sequence[str], stdout: TextIO, stderr: TextIO, **others: Any) -> Any:  # noqa: ANN401 (as pytester)
        path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path}
        if tuple(command[:2]) != (sys.executable, "-mpytest") or not is_forkable(environment):
            return usual(command, stdout, stderr, **others)
        with Path(os.devnull).open("rb") as nothing:
            files = [nothing.fileno(), stdout.fileno(), stderr.fileno()]
            return ForkedProcess(["-m", "pytest", *command[2:]], files, environment=environment, group=os.getpgid(0))

    monkeypatch.setattr(pytester, "popen", popen)


def is_forkable(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment can be forked: most PYTHON* variables need a new interpreter."""
    obeyed = {"PYTHONPATH", "PYTHONUNBUFFERED"}
    ours, theirs = (
        {name: value for name, value in variables.items() if name.startswith("PYTHON") and name not in obeyed}
        for variables in (_ENVIRONMENT, environment)
    )
    return HOME in environment and ours == theirs


_ENVIRONMENT = dict(os.environ)
_servers: list[subprocess.Popen[bytes]] = []
"""The server, if this process has started it: it runs on."""


def _connect() -> socket.socket:
    """Connect to the server, which is started if it is not there yet."""
    owner, folder = os.environ[HOME].split(" ", 1)
    path = Path(folder, "socket")
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    with Path(folder, "lock").open("w") as lock:  # the workers of the outer run need it at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            command = [sys.executable, "-m", "tests.forkserver", owner, folder]
            root = Path(__file__).parents[1]
            server = subprocess.Popen(
                command, cwd=root, env=_ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )
            _servers.append(server)
            assert server.stdout
            with server.stdout as output:
                assert output.read() == b"ready", "the fork server did not start"
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    return connection


class _Importing:
    """A pytest plugin: the modules must have been imported by pytest's loader, or each run warns about them."""

    def pytest_cmdline_main(self) -> int:
        """Import instead of running tests."""
        import_everything()
        return 0


def _serve(owner: int, folder: Path) -> dict[str, Any] | None:
    """Fork on request until the owner ends. Return the request in the forked process, None in the server."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    selector = selectors.DefaultSelector()
    selector.register(os.pidfd_open(owner), selectors.EVENT_READ)
    selector.register(listener, selectors.EVENT_READ, listener)
    sys.stdout.write("ready")
    sys.stdout.flush()
    os.dup2(0, 1)  # so that the first client reads to the end
    while True:
        for key, _ in selector.select():
            if key.data is None:
                shutil.rmtree(folder)
                return None
            if key.data is listener:
                connection, _ = listener.accept()
                request, files, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
                while part := connection.recv(REQUEST_BYTES):
                    request += part
                if not (pid := os.fork()):
                    for opened in [*selector.get_map().values()]:
                        os.close(opened.fd)
                    selector.close()
                    listener.detach()
                    connection.close()
                    for number, file in enumerate(files):
                        os.dup2(file, number)
                        os.close(file)
                    answer: dict[str, Any] = json.loads(request)
                    os.setpgid(0, answer["group"])
                    return answer
                for file in files:
                    os.close(file)
                # The child does the same: it must be in the group before its id is sent.
                os.setpgid(pid, json.loads(request)["group"])
                connection.send(NUMBER.pack(pid))
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))
            else:
                pid, connection = key.data
                selector.unregister(key.fileobj)
                os.close(key.fd)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with suppress(BrokenPipeError):  # who asked for it has ended
                    connection.send(NUMBER.pack(status))
                connection.close()


def main() -> None:
    """Import, serve, and in a forked process do what ``python`` does with its arguments."""
    status: list[int] = []
    atexit.register(_leave, status)  # handlers that are registered later are called earlier
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner, whose end is ours
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # only a process with one thread can be forked safely
    owner, folder = int(sys.argv[1]), Path(sys.argv[2])
    path = sys.path[1 + len(_search_path()) :]
    output, sys.stdout = sys.stdout, sys.stderr
    pytest.main(["-q", "-c", os.devnull, "--rootdir", str(folder)], plugins=[_Importing()])
    sys.stdout = output
    request = _serve(owner, folder)
    if request is None:
        return
    status.append(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the process that started the server may ignore it
    gateway_io.Popen2IOMaster = ForkedWorker  # type: ignore[misc] # the workers of a forked run are forked
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:] = [*_search_path(), *path]
    sys.stdin, sys.stdout, sys.stderr = (open(file, mode, closefd=False) for file, mode in enumerate("rww"))  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc, assignment]
    try:
        _run(request["arguments"])
        status[0] = 0
    except SystemExit as end:
        status[0] = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise


def _search_path() -> list[str]:
    """Return the folders of PYTHONPATH."""
    return [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def _run(arguments: list[str]) -> None:
    """Run ``-m module`` or ``-u -c code``."""
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    if arguments[0] == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv[:] = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, "")
        sys.argv[:] = ["-c"]
        exec(arguments[-1], vars(module))  # noqa: S102 (as the interpreter does)


def _leave(status: list[int]) -> None:
    """End a forked process before its interpreter frees each module, which would copy all that is shared."""
    if status:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status[0])


if __name__ == "__main__":
    main()
