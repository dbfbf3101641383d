"""Programs for tests, and a sandbox that is scripted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError, Termination
from pytest_crmeval.solutions.problem import Problem, ProblemTest
from pytest_crmeval.solutions.solution import Solution

Behaviour = Callable[[ProgramInput], Execution]


def exited(stdout: bytes | str = b"", code: int = 0, cpu: float = 0.01, **more: object) -> Execution:
    """Return a run that ended by itself."""
    printed = stdout.encode() if isinstance(stdout, str) else stdout
    return Execution(
        ending=Termination.EXITED,
        exit_code=code,
        stdout=printed,
        cpu_seconds=cpu,
        wall_seconds=cpu,
        **more,  # type: ignore[arg-type]
    )


@dataclass
class Scripted:
    """A sandbox in which programs do what their source says in a script of the test."""

    script: dict[str, Behaviour]
    refused: dict[str, Execution] = field(default_factory=dict)
    lacking: dict[Language, str] = field(default_factory=dict)
    prepared_sources: list[str] = field(default_factory=list)
    feeds: list[tuple[str, ProgramInput]] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    name = identity = "scripted"
    slots = 1

    def missing(self, language: Language, version: str = "") -> str:  # noqa: ARG002 (any will do)
        """Return what the test says."""
        return self.lacking.get(language, "")

    @contextmanager
    def prepared(self, program: Program) -> Iterator["_Ready"]:
        """Count who is prepared, and who is let go of."""
        self.prepared_sources.append(program.source)
        if program.source == "unpreparable":
            raise SandboxError("the compiler is gone")
        yield _Ready(self, program.source)
        self.released.append(program.source)

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class _Ready:
    sandbox: Scripted
    source: str

    @property
    def refused(self) -> Execution | None:
        """What the compiler said."""
        return self.sandbox.refused.get(self.source)

    def run(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Do what the script says."""
        self.sandbox.feeds.append((self.source, feed))
        self.sandbox.limits.append(limits)
        return self.sandbox.script[self.source](feed)


def solution(source: str, language: Language = Language.PYTHON) -> Solution:
    """Return a program for the problem ``p``."""
    return Solution(problem="p", line=3, sample=1, program=Program(language=language, source=source))


def problem(*outputs: str, **fields: object) -> Problem:
    """Return a problem whose inputs are 1, 2, 3 …, with these outputs."""
    tests = tuple(ProblemTest(input=f"{number}\n", output=output) for number, output in enumerate(outputs, start=1))
    known: dict[str, object] = {"tests": tests, "time_limit": 1.0, "memory_limit": 2**28, **fields}
    return Problem(id="p", fingerprint="f", **known)  # type: ignore[arg-type]
