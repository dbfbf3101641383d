"""Programs that try to break out of the local sandbox, for `crmeval sandbox`."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput
from pytest_crmeval.sandboxes.local.inside.messages import LANDLOCK, NAMESPACES, RLIMITS, SECCOMP
from pytest_crmeval.sandboxes.local.sandbox import LocalSandbox

_LIMITS = Limits(cpu_seconds=1.0, wall_seconds=30.0, memory_bytes=128 << 20, output_bytes=1 << 16)
_HIDES = (NAMESPACES, LANDLOCK)
_ALL = (NAMESPACES, LANDLOCK, SECCOMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class EscapeAttempt:
    """What a program has tried, and the result."""

    name: str
    possible: bool
    expected: bool
    """Whether the level promises that it is not possible."""

    @property
    def is_escape(self) -> bool:
        """Whether something happened that the level promises to prevent."""
        return self.possible and self.expected

    @property
    def shown(self) -> str:
        """The outcome in a word or two."""
        if self.possible:
            return "POSSIBLE, though this level should prevent it" if self.expected else "possible at this level"
        return "prevented"


_PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "read a file of this project": ("open({secret!r}).read()", _HIDES),
    "read /etc/passwd": ("open('/etc/passwd').read()", _HIDES),
    "write a file outside of its folder": ("open({target!r}, 'w').write('x')", _ALL),
    "connect to a server on this machine": ("import socket; socket.create_connection(('127.0.0.1', {port}), 5)", _ALL),
    "start a process": ("import os; os.posix_spawn('/bin/true', ['true'], {{}})", _ALL),
    "fork": ("import os; os.fork() or os._exit(0)", _ALL),
    "signal another process": ("import os; os.kill({pid}, 0)", _ALL),
    "read the environment of another process": (
        "assert b'CRMEVAL' in open('/proc/{pid}/environ', 'rb').read()",
        _HIDES,
    ),
    "trace another process": (
        "import ctypes; assert ctypes.CDLL(None, use_errno=True).ptrace(16, {pid}, 0, 0) == 0",
        _ALL,
    ),
    "use more memory than its limit": ("x = bytearray(512 << 20); assert len(x)", (*_ALL, RLIMITS)),
    "run for longer than its limit": ("import time\nwhile time.process_time() < 2: pass", (*_ALL, RLIMITS)),
}
"""What is tried, and the levels that prevent it. A program that ends without an error has succeeded."""


def attempts(sandbox: LocalSandbox) -> Iterator[EscapeAttempt]:
    """Try everything, one after the other."""
    with _targets() as targets:
        for name, (source, levels) in _PROGRAMS.items():
            with sandbox.prepared(Program(language=Language.PYTHON, source=source.format(**targets))) as program:
                ended = program.run(ProgramInput(), _LIMITS)
            yield EscapeAttempt(name=name, possible=ended.succeeded, expected=sandbox.level in levels)


@contextmanager
def _targets() -> Iterator[dict[str, object]]:
    """Create the targets that programs try to reach: files, a process and a server of our own."""
    with ExitStack() as made:
        folder = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="crmeval-try-", dir=Path.cwd())))
        folder.chmod(0o777)
        secret = folder / "secret"
        secret.write_text("secret", encoding="ascii")
        server = made.enter_context(socket.create_server(("127.0.0.1", 0)))
        process = subprocess.Popen(["/bin/sleep", "600"], env={**os.environ, "CRMEVAL": "secret"})
        made.callback(process.wait)
        made.callback(process.kill)
        yield {
            "secret": str(secret),
            "target": str(folder / "written"),
            "port": server.getsockname()[1],
            "pid": process.pid,
        }
