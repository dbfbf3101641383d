"""Judges programs of solution files on a node of the cluster."""

import json
import pickle
from contextlib import suppress
from functools import lru_cache
from threading import Lock, Thread

import msgspec

from pytest_crmeval.channel import Channel, ControllerGoneError
from pytest_crmeval.cluster.messages import FindProblem, NextProgram, ProgramJudged
from pytest_crmeval.cluster.setup import ProgramTask
from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome
from pytest_crmeval.ports.sandbox import Sandbox
from pytest_crmeval.solutions.play.solution import ProgramJudge
from pytest_crmeval.solutions.play.solution_file import Deadline, Judging, Timed, judging_by
from pytest_crmeval.solutions.problem import Problem

PROBLEMS = 16
"""Problems of a file that are kept; programs of one problem usually follow each other."""


class ProgramThreads:
    """Threads that judge the next program of any solution file, as long as the process lives."""

    def __init__(self, channel: Channel, sandbox: Sandbox) -> None:
        self._channel = channel
        self._sandbox = sandbox
        self._files: dict[int, _File] = {}
        self._lock = Lock()

    def start(self) -> None:
        """Start a thread for each core, and one that has the next program ready."""
        for number in range(self._sandbox.slots + 1):
            Thread(target=self._work, name=f"crmeval-programs-{number}", daemon=True).start()

    def _work(self) -> None:
        with suppress(ControllerGoneError):
            while True:
                number, content = self._channel.ask(NextProgram())
                self._channel.tell(self._judged(number, pickle.loads(content)))  # noqa: S301 (from the controller)

    def _judged(self, number: int, task: ProgramTask) -> ProgramJudged:
        file = self._taken(task)
        try:
            outcome = file.judge(task.solution)
        except ControllerGoneError:
            raise
        except Exception as error:  # noqa: BLE001 (a judge error of this solution only)
            return ProgramJudged(number, error=f"{type(error).__name__}: {error}")
        finally:
            self._release(file)
        return ProgramJudged(
            number,
            outcome=json.dumps(msgspec.to_builtins(outcome)).encode(),
            is_gradable=isinstance(outcome, SolutionOutcome),
            notes=list(getattr(self._sandbox, "notes", ())),
        )

    def _taken(self, task: ProgramTask) -> "_File":
        with self._lock:
            if task.file not in self._files:
                self._files[task.file] = _File(self._channel, self._sandbox, task)
            file = self._files[task.file]
            file.users += 1
            return file

    def _release(self, file: "_File") -> None:
        """Close files that nobody uses, except the last one."""
        with self._lock:
            file.users -= 1
            last = max(self._files)
            for number in [number for number, each in self._files.items() if not each.users and number != last]:
                self._files.pop(number).close()


class _File:
    """A solution file of which this node judges some programs."""

    def __init__(self, channel: Channel, sandbox: Sandbox, task: ProgramTask) -> None:
        self.users = 0
        timed = Timed(sandbox, Deadline(task.seconds))
        self._judge = ProgramJudge(timed, task.rules)
        self._reading = Lock()

        @lru_cache(PROBLEMS)
        def problem(name: str) -> Problem | None:
            found: Problem | None = pickle.loads(channel.ask(FindProblem(task.file, name)))  # noqa: S301 (as above)
            return found

        def problem_of(name: str) -> Problem | None:
            with self._reading:  # not twice at the same time
                return problem(name)

        self.judge: Judging = judging_by(problem_of, self._judge, timed)

    def close(self) -> None:
        """Release the checkers."""
        self._judge.__exit__(None, None, None)
