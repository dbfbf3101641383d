"""What the tests of Piston share: programs, limits, quick patience."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, Sandbox
from pytest_crmeval.sandboxes.piston import Patience, PistonSandbox
from tests.sandboxes.piston_jobs import Settings
from tests.sandboxes.piston_server import PistonServer

LIMITS = Limits(cpu_seconds=20, wall_seconds=60, memory_bytes=1 << 30, output_bytes=1 << 18)
"""Wide: the machine may be busy."""
BRIEF = replace(LIMITS, cpu_seconds=0.3)
QUICK = Patience(attempts=4, first_delay=0.01, longest_delay=0.05, failures=2, looks=2, grace_seconds=30)
"""Waits hardly at all between attempts."""


def ended(
    sandbox: Sandbox,
    source: str,
    feed: ProgramInput | None = None,
    limits: Limits = LIMITS,
    *,
    language: str = "python",
) -> Execution:
    """Run a program once."""
    with sandbox.prepared(Program(language=Language(language), source=source)) as ready:
        assert ready.refused is None, ready.refused.stderr
        return ready.run(feed or ProgramInput(), limits)


def printed(sandbox: Sandbox, source: str, feed: ProgramInput | None = None, *, language: str = "python") -> bytes:
    """Return what a program prints that has to succeed."""
    execution = ended(sandbox, source, feed, language=language)
    assert execution.succeeded, (execution, execution.stderr)
    return execution.stdout


@contextmanager
def piston() -> Iterator[PistonSandbox]:
    """Start a server that is well, and use it."""
    with PistonServer(Settings(output_max_size=1 << 22)) as server, closing(PistonSandbox(server.url)) as sandbox:
        yield sandbox
