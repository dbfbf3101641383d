"""Running checkers: each is prepared once, and runs in the sandbox, but never together with the program it judges."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Prepared, ProgramInput, Sandbox, SandboxError
from pytest_crmeval.solutions.problem import JUDGE_MESSAGE, Checker, CheckerOpinion, CheckerStyle, ProblemTest
from pytest_crmeval.solutions.referee import finding_of

LIMITS = Limits(cpu_seconds=10.0, wall_seconds=21.0, memory_bytes=2**30, output_bytes=2**20)
"""The limits of a checker; those of the problem are for programs."""
KEPT = 32
"""How many unused checkers stay prepared."""
_NEEDS_TESTLIB = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]testlib\.h[">]', re.MULTILINE)


@dataclass(slots=True)
class _Place:
    """A checker, prepared when it is first needed."""

    checker: Checker
    lock: Lock = field(default_factory=Lock)
    held: ExitStack = field(default_factory=ExitStack)
    prepared: Prepared | None = None
    users: int = 0

    def ready(self, sandbox: Sandbox) -> Prepared:
        """Return it prepared; other threads wait meanwhile. SandboxError if it can't be prepared."""
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
        self._crashes: dict[tuple[Checker, bytes], bool] = {}

    def run(self, checker: Checker, test: ProblemTest, output: bytes) -> Execution:
        """Run a checker on an output; SandboxError if it can't be run."""
        if checker.program.language is Language.CPP and _NEEDS_TESTLIB.search(checker.program.source):
            raise SandboxError("the checker includes testlib.h, which is not bundled: set crmeval_testlib")
        with self._ready(checker) as prepared:
            if prepared.refused is not None:
                said = prepared.refused.stderr or prepared.refused.stdout
                shown = cut(said.decode("utf-8", "replace").strip(), 500)
                raise SandboxError(f"the checker can't be compiled: {shown}")
            return prepared.run(_feed(checker.style, test, output), LIMITS)

    def crashes_on_reference(self, checker: Checker, test: ProblemTest) -> bool:
        """Whether a checker gives no answer for the expected output either; found out once per test."""
        key = checker, sha256(f"{test.input}\0{test.output}".encode("utf-8", "surrogatepass")).digest()
        if key not in self._crashes:
            finding = finding_of(checker.style, self.run(checker, test, test.output.encode()))
            self._crashes[key] = finding.opinion is CheckerOpinion.TROUBLE
        return self._crashes[key]

    def close(self) -> None:
        """Release all checkers."""
        with self._lock:
            places = list(self._places.values())
            self._places.clear()
        for place in places:
            place.held.close()

    @contextmanager
    def _ready(self, checker: Checker) -> Iterator[Prepared]:
        with self._lock:
            place = self._places.setdefault(checker, _Place(checker))
            self._places.move_to_end(checker)
            place.users += 1
        try:
            yield place.ready(self._sandbox)
        finally:
            with self._lock:
                place.users -= 1
                # Release the unused checkers that were used longest ago.
                idle = [each for each, place in self._places.items() if not place.users]
                released = [self._places.pop(each) for each in idle[: max(0, len(self._places) - KEPT)]]
            for each in released:
                each.held.close()


def _feed(style: CheckerStyle, test: ProblemTest, output: bytes) -> ProgramInput:
    """Return the files and the input of a checker, with the output as it was printed."""
    question, answer = test.input.encode(), test.output.encode()
    if style is CheckerStyle.STDOUT:
        files = {"input.txt": question, "correct_output.txt": answer, "solution_output.txt": output}
        return ProgramInput(files=files, args=tuple(files))
    if style is CheckerStyle.TESTLIB:
        files = {"input.txt": question, "output.txt": output, "answer.txt": answer}
        return ProgramInput(files=files, args=tuple(files))
    files = {"input.txt": question, "answer.txt": answer}
    # The folder for feedback is the one where it runs: some validators add a slash, some don't.
    return ProgramInput(stdin=output, files=files, args=(*files, "./"), wanted=(JUDGE_MESSAGE,))
