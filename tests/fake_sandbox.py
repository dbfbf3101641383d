"""A fake sandbox that interprets programs of a toy language, and solution files of such programs.

Each line of a program is one thing: ``say 5``, ``echo``, ``exit 1``, ``cpu``, ``memory``, ``output``, ``signal``,
``refuse`` (does not compile), ``break`` (the sandbox fails), ``meet NAME`` (wait until that file exists).
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError, Termination
from tests.projects import report_of

Made = Callable[..., pytest.Pytester]
PATIENCE = 300.0
"""Seconds to wait for another process before giving up."""
ENDINGS = {
    "cpu": Termination.CPU_TIME,
    "memory": Termination.MEMORY,
    "output": Termination.OUTPUT,
    "signal": Termination.SIGNALLED,
}


RAN: list[str] = []
"""The sources of all runs in this process, in order."""


class FakeSandbox:
    """Runs programs of the toy language."""

    name = "paper (nothing can happen)"

    def __init__(self, slots: int = 2, identity: str = "paper 1", lacking: str = "") -> None:
        self.slots = slots
        self.identity = identity
        self.closed = False
        self._lacking = lacking

    def missing(self, language: Language, version: str = "") -> str:  # noqa: ARG002 (any will do)
        """Lack the language that was given, if any."""
        return f"there is no {language} here" if language == self._lacking else ""

    @contextmanager
    def prepared(self, program: Program) -> Iterator["FakeProgram"]:
        """Prepare a program."""
        yield FakeProgram(program.source)

    def close(self) -> None:
        """Note it."""
        self.closed = True


class FakeProgram:
    """A program of the toy language."""

    def __init__(self, source: str) -> None:
        self._source = source

    @property
    def refused(self) -> Execution | None:
        """Fail to compile a program that says ``refuse``."""
        if "refuse" in self._source.split():
            return Execution(ending=Termination.EXITED, exit_code=1, stderr=b"error: it does not compile")
        return None

    def run(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Interpret the program line by line."""
        del limits
        RAN.append(self._source)
        shown = {"cpu_seconds": 0.01, "wall_seconds": 0.02, "memory_bytes": 2**20}
        said = b""
        for line in self._source.splitlines():
            word, _, rest = line.strip().partition(" ")
            if word in ENDINGS:
                signal = "SIGSEGV" if word == "signal" else ""
                return Execution(ending=ENDINGS[word], signal=signal, stdout=said, **shown)  # type: ignore[arg-type]
            if word == "exit":
                return Execution(ending=Termination.EXITED, exit_code=int(rest), stdout=said, **shown)  # type: ignore[arg-type]
            said += self._said(word, rest, feed)
        return Execution(ending=Termination.EXITED, exit_code=0, stdout=said, **shown)  # type: ignore[arg-type]

    def _said(self, word: str, rest: str, feed: ProgramInput) -> bytes:
        if word == "break":
            raise SandboxError("the paper is torn")
        if word == "meet":
            meet(Path(rest))
        return feed.stdin if word == "echo" else f"{rest}\n".encode() if word == "say" else b""


def meet(place: Path) -> None:
    """Announce this process with a file, and wait until another process has made ``place``."""
    place.with_suffix(".here").touch()
    wait_for(place)


def wait_for(place: Path) -> None:
    """Wait until another process has made ``place``."""
    deadline = time.monotonic() + PATIENCE
    while not place.exists():
        if time.monotonic() > deadline:
            raise SandboxError(f"nobody came to {place}")
        time.sleep(0.01)


def problem(name: str, answer: str = "5", tests: int = 2, **more: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a problem, each test of which is solved by one answer."""
    return {"id": name, "tests": [{"input": f"{n}\n", "output": f"{answer}\n"} for n in range(tests)], **more}


def solution(name: str, code: str = "say 5", **more: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a line of a solution file."""
    return {"id": name, "code": code, **more}


def answered(name: str, response: str) -> dict[str, Any]:
    """Return a line with nothing but what the model has said."""
    return {"id": name, "raw_response": response}


def write_lines(path: Path, *records: dict[str, Any] | str) -> Path:
    """Write a JSON Lines file, folders and all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def whole_tree(folder: Path) -> list[str]:
    """Return the files below a folder, as they are called there."""
    found = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
    return sorted(path.relative_to(folder).as_posix() for path in found)


class RepairedSandbox(FakeSandbox):
    """A sandbox that also runs programs at which ``FakeSandbox`` fails."""

    @contextmanager
    def prepared(self, program: Program) -> Iterator["FakeProgram"]:
        """Prepare a program; ``break`` prints the right answer."""
        yield RepairedProgram(program.source)


class RepairedProgram(FakeProgram):
    """A program whose ``break`` prints the right answer."""

    def _said(self, word: str, rest: str, feed: ProgramInput) -> bytes:
        return b"5\n" if word == "break" else super()._said(word, rest, feed)


TEST = """
import pytest

@pytest.mark.solutions("runs", problems="problems.jsonl", suite="checkpoints")
def test_solutions(solutions, evaluate):
    trial = evaluate(solutions)
    assert trial.passed, trial.explain()
"""
CONFTEST = """
import pytest
from tests.fake_sandbox import FakeSandbox

@pytest.fixture(scope="session")
def sandbox():
    return FakeSandbox()
"""
EVERY_KIND = [
    solution("a"),
    solution("b", "say 4"),
    solution("a", "cpu"),
    solution("c", "memory"),
    solution("d", "exit 1"),
    solution("e", "output"),
    solution("f", "refuse"),
    "{no json",
    {"code": "say 5"},
    solution("nobody"),
    answered("a", "I can't."),
    answered("a", "```python\nsay 5\n"),
    solution("interactive"),
]
"""A line for each verdict that a program can have, and for each reason to have none."""
PROBLEMS = [
    problem("a", rating=900, tags=["math"]),
    problem("b", rating=1300, tags=["math", "greedy"]),
    *(problem(name) for name in "cdef"),
    problem("interactive", interactive=True),
]


def summaries(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    """Return how each subject of the latest run stands."""
    return {each["subject"]: each for each in report_of(pytester.path)["results"]}
