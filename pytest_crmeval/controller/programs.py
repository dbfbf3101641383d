"""The programs of solution files that players on other machines judge."""

import json
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import msgspec

from pytest_crmeval.cluster.messages import ProgramJudged
from pytest_crmeval.cluster.setup import ProgramTask
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.queue import ATTEMPTS, LATER, Later
from pytest_crmeval.domain.records import prepare
from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome, Ungradable
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.solutions.play.solution import Rules
from pytest_crmeval.solutions.play.solution_file import Deadline, Judged, Judging, ProblemOf
from pytest_crmeval.solutions.solution import Solution


@dataclass(eq=False, kw_only=True)
class _Program:
    """A program that is waiting, or being judged."""

    number: int
    file: int
    content: bytes
    outcome: "Future[ProgramJudged]"
    worker: str = ""
    attempts: int = 0


class ProgramQueue:
    """Gives programs to the players that ask for one; belongs to the controller's thread."""

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        """What players say about their verdicts."""
        self._waiting: deque[_Program] = deque()
        self._judging: dict[int, _Program] = {}
        self._problems: dict[int, ProblemOf] = {}
        self._gone: set[str] = set()
        self._numbers = count(1)

    def open(self, problem_of: ProblemOf) -> int:
        """Begin a solution file; return its number."""
        number = next(self._numbers)
        self._problems[number] = problem_of
        return number

    def close(self, file: int) -> None:
        """End a solution file; programs without a verdict get none."""
        del self._problems[file]
        left = [program for program in (*self._waiting, *self._judging.values()) if program.file == file]
        for program in left:
            program.outcome.set_exception(SandboxError("the solution file was stopped"))
            self._judging.pop(program.number, None)
        self._waiting = deque(program for program in self._waiting if program.file != file)

    def submit(self, file: int, content: bytes) -> "Future[ProgramJudged]":
        """Have a program judged."""
        outcome = Future[ProgramJudged]()
        self._waiting.append(_Program(number=next(self._numbers), file=file, content=content, outcome=outcome))
        return outcome

    def next(self, worker: str) -> tuple[int, bytes] | Later:
        """Return the number and the content of a program to judge."""
        if not self._waiting or worker in self._gone:
            return LATER
        program = self._waiting.popleft()
        program.worker = worker
        self._judging[program.number] = program
        return program.number, program.content

    def judged(self, message: ProgramJudged) -> None:
        """Accept an outcome, once."""
        self.notes.update(dict.fromkeys(message.notes))
        if program := self._judging.pop(message.number, None):
            program.outcome.set_result(message)

    def problem(self, file: int, problem: str) -> bytes:
        """Return a problem with its tests, as a player needs it; called in a thread of its own."""
        return pickle.dumps(self._problems[file](problem))

    def gone(self, worker: str, lost: str) -> None:
        """Give the programs of a dead player to another one; a program that two have died with gets no verdict."""
        self._gone.add(worker)
        for program in [program for program in self._judging.values() if program.worker == worker]:
            del self._judging[program.number]
            program.attempts += 1
            if program.attempts < ATTEMPTS:
                self._waiting.appendleft(program)
            else:
                program.outcome.set_exception(SandboxError(lost))


class ClusterPrograms:
    """Judges programs on the nodes of a cluster, where a solution file would use a sandbox of this machine."""

    def __init__(  # noqa: PLR0913 (keywords)
        self,
        loop: ControllerLoop,
        queue: ProgramQueue,
        *,
        name: str,
        level: str,
        identity: str,
        slots: Callable[[], int],
    ) -> None:
        self.name = name
        self.level = level
        """The weakest level of isolation of all nodes."""
        self.identity = identity
        self._loop = loop
        self._queue = queue
        self._slots = slots

    @property
    def slots(self) -> int:
        """Programs that are sent at the same time: one more for each that runs, so that no core waits for the next."""
        return 2 * self._slots()

    @property
    def notes(self) -> Sequence[str]:
        """What players say about their verdicts."""
        return self._loop.call(lambda: tuple(self._queue.notes))

    @contextmanager
    def judging(self, problem_of: ProblemOf, rules: Rules, clock: Deadline) -> Iterator[Judging]:
        """Yield a function that has a solution judged on a node, for any thread."""
        file = self._loop.call(self._queue.open, problem_of)

        def judged(solution: Solution) -> Judged:
            left = clock.seconds - clock.elapsed
            content = pickle.dumps(ProgramTask(file=file, seconds=left, rules=rules, solution=solution))
            return _outcome(self._loop.call(self._queue.submit, file, content).result())

        try:
            yield judged
        finally:
            self._loop.call(self._queue.close, file)


def _outcome(message: ProgramJudged) -> Judged:
    if message.error:
        raise SandboxError(message.error)
    for shape in (SolutionOutcome, Ungradable):
        prepare(shape)
    found = json.loads(message.outcome)
    return msgspec.convert(found, SolutionOutcome) if message.is_gradable else msgspec.convert(found, Ungradable)
