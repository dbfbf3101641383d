"""Checkers at work: each is prepared once, runs in the sandbox, too, and never beside the program that it judges."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Lock

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.problem import JUDGE_MESSAGE, Checker, CheckerStyle, ProblemTest
from pytest_crmeval.domain.program import Execution, Feed, Language, Limits
from pytest_crmeval.ports.sandbox import Prepared, Sandbox, SandboxError

LIMITS = Limits(cpu_seconds=10.0, wall_seconds=21.0, memory_bytes=2**30, output_bytes=2**20)
"""A checker's own: those of the problem are for programs."""
KEPT = 32
"""How many checkers stay prepared when nobody uses them."""
_NEEDS_TESTLIB = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]testlib\.h[">]', re.MULTILINE)


@dataclass(slots=True)
class _Place:
    """A checker, prepared by the first who needs it."""

    checker: Checker
    lock: Lock = field(default_factory=Lock)
    held: ExitStack = field(default_factory=ExitStack)
    prepared: Prepared | None = None
    users: int = 0

    def ready(self, sandbox: Sandbox) -> Prepared:
        """Return it prepared; whoever comes meanwhile waits. SandboxError if it can't be."""
        with self.lock:
            if self.prepared is None:
                self.prepared = self.held.enter_context(sandbox.prepared(self.checker.program))
            return self.prepared


class Checkers:
    """The checkers of a sandbox; used by several threads at once."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._lock = Lock()
        self._places: OrderedDict[Checker, _Place] = OrderedDict()

    def run(self, checker: Checker, test: ProblemTest, output: bytes) -> Execution:
        """Run a checker on an output; SandboxError if that can't be."""
        if checker.program.language is Language.CPP and _NEEDS_TESTLIB.search(checker.program.source):
            raise SandboxError("the checker includes testlib.h, which is not ours: give yours, --crmeval-testlib PATH")
        with self._ready(checker) as prepared:
            if prepared.refused is not None:
                said = prepared.refused.stderr or prepared.refused.stdout
                shown = cut(said.decode("utf-8", "replace").strip(), 500)
                raise SandboxError(f"the checker can't be compiled: {shown}")
            return prepared.run(_feed(checker.style, test, output), LIMITS)

    def close(self) -> None:
        """Let go of them all."""
        with self._lock:
            places = list(self._places.values())
            self._places.clear()
        for place in places:
            place.held.close()

    @contextmanager
    def _ready(self, checker: Checker) -> Iterator[Prepared]:
        place = self._taken(checker)
        try:
            yield place.ready(self._sandbox)
        finally:
            with self._lock:
                place.users -= 1
                superfluous = self._superfluous()
            for one in superfluous:
                one.held.close()

    def _taken(self, checker: Checker) -> _Place:
        with self._lock:
            place = self._places.setdefault(checker, _Place(checker))
            self._places.move_to_end(checker)
            place.users += 1
            return place

    def _superfluous(self) -> list[_Place]:
        """Take out those that nobody uses and that were used longest ago."""
        idle = [checker for checker, place in self._places.items() if not place.users]
        return [self._places.pop(checker) for checker in idle[: max(0, len(self._places) - KEPT)]]


def _feed(style: CheckerStyle, test: ProblemTest, output: bytes) -> Feed:
    """Return what a checker gets: the output as it was printed."""
    question, answer = test.input.encode(), test.output.encode()
    if style is CheckerStyle.STDOUT:
        files = {"input.txt": question, "correct_output.txt": answer, "solution_output.txt": output}
        return Feed(files=files, args=tuple(files))
    if style is CheckerStyle.TESTLIB:
        files = {"input.txt": question, "output.txt": output, "answer.txt": answer}
        return Feed(files=files, args=tuple(files))
    files = {"input.txt": question, "answer.txt": answer}
    # The folder for feedback is the one where it runs: some validators add a slash, some don't.
    return Feed(stdin=output, files=files, args=(*files, "./"), wanted=(JUDGE_MESSAGE,))
