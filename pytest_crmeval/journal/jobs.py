"""Jobs: runs that are submitted, watched, stopped and resumed, as they are on disk.

``reports/<run>/job.json`` says what is to be run and how far it is; it is written whole or not at all. Who runs it now
is told by the lock beside it, and by nothing else: a job that says *running* and whose lock nobody holds is *lost*.
What was played is told by the journal: the counts in a job are a copy of it for quick readers, about a second old.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pytest_crmeval.domain.checkpoints import mean_pass
from pytest_crmeval.journal.locks import is_held

SCHEMA = "crmeval.job/1"
NAME = "job.json"
LOG = "run.log"


class JobError(Exception):
    """A job that can't be read or written; the message says which and why."""


class State(StrEnum):
    """How it stands with a run."""

    SUBMITTED = "submitted"
    """Nobody has begun it."""
    RUNNING = "running"
    FINISHED = "finished"
    """It has played all there was to play; its exit status says whether it came to a good end."""
    STOPPED = "stopped"
    """It was ended before it had played all, and may be resumed: by somebody, ``-x``, a full disk or a budget."""
    LOST = "lost"
    """Its process is gone and has not said why: killed, or the machine went down. It may be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """How far one subject is in one suite."""

    suite: str
    subject: str
    total: int = 0
    """Cases that the run means to play, all its parts together."""
    passed: int = 0
    failed: int = 0
    errored: int = 0
    invalid: int = 0
    cost: float | None = 0.0
    """Dollars that its trials have cost; None if a price is not known."""
    started: str | None = None
    """When its first trial was recorded, in whatever part of the run."""
    ended: str | None = None
    """When its last case was recorded; None as long as there are more."""
    samples: Sequence[tuple[int, int, int]] = ()
    """For a checkpoint: judged and solved solutions of a problem, and the number of such problems."""

    @property
    def done(self) -> int:
        """Cases that have a trial, whatever came of it."""
        return self.passed + self.failed + self.errored + self.invalid

    @property
    def is_done(self) -> bool:
        """Whether every case has a trial."""
        return self.done >= self.total

    @property
    def pass_rate(self) -> float | None:
        """Share of the scored cases that passed; None if nothing was scored, and for a checkpoint."""
        scored = self.passed + self.failed
        return self.passed / scored if scored and not self.samples else None

    def status(self, state: State) -> str:
        """Return the status in a run of this state: waiting, running, finished, stopped, lost or not run."""
        if self.is_done:
            return "finished"
        if state in {State.SUBMITTED, State.RUNNING}:
            return "running" if self.done and state is State.RUNNING else "waiting"
        return str(state) if self.done else "not run"

    def to_dict(self, state: State) -> dict[str, Any]:
        """Return JSON primitives for the task in a run of this state."""
        counts = {name: getattr(self, name) for name in self.__slots__ if name != "samples"}
        samples = {"samples": [list(sample) for sample in self.samples]} if self.samples else {}
        return {**counts, **samples, "done": self.done, "status": self.status(state)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the task that ``to_dict`` wrote; KeyError, TypeError or ValueError if the record is invalid."""
        samples = tuple((int(judged), int(solved), int(count)) for judged, solved, count in record.get("samples", ()))
        return cls(samples=samples, **{name: record[name] for name in cls.__slots__ if name != "samples"})


def pass_at_1_of(tasks: Iterable[Task]) -> float | None:
    """Return pass@1 of some checkpoints, all their solutions together; None if nothing was judged."""
    whole: Counter[tuple[int, int]] = Counter()
    for task in tasks:
        for judged, solved, count in task.samples:
            whole[judged, solved] += count
    return mean_pass(whole, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run that was submitted."""

    id: str
    command: Sequence[str]
    """The pytest that runs it, and that resumes it."""
    cwd: str
    submitted: str
    state: State = State.SUBMITTED
    """As it was written; ``state_of`` knows whether that still holds."""
    started: str | None = None
    """When its latest part began."""
    ended: str | None = None
    exit_status: int | None = None
    """That of pytest; negative is the signal that killed it, None if nobody has seen its end."""
    tasks: Sequence[Task] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the document that is written."""
        facts = {name: getattr(self, name) for name in self.__slots__}
        return {
            "schema": SCHEMA,
            **facts,
            "command": list(self.command),
            "state": str(self.state),
            "tasks": [task.to_dict(self.state) for task in self.tasks],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the job that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        if record["schema"] != SCHEMA:
            raise ValueError(f"its schema is {record['schema']!r}")
        facts = {name: record[name] for name in cls.__slots__}
        return cls(
            **{
                **facts,
                "command": tuple(map(str, record["command"])),
                "state": State(record["state"]),
                "tasks": tuple(Task.from_dict(task) for task in record["tasks"]),
            }
        )


def is_job(folder: Path) -> bool:
    """Whether the run of a folder was submitted."""
    return (folder / NAME).is_file()


def read_job(folder: Path) -> Job:
    """Return the job of a run's folder, as it was written."""
    path = folder / NAME
    try:
        return Job.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise JobError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise JobError(f"{path}: not a job ({SCHEMA}): {error!r}; move it away") from error


def write_job(folder: Path, job: Job) -> None:
    """Write a job whole or not at all, and to the disk; OSError if there is no room."""
    path = folder / NAME
    draft = folder / f".{NAME}.{os.getpid()}"
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(job.to_dict(), file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def state_of(folder: Path, job: Job) -> State:
    """Return how it stands with a job now: who holds the lock runs it, whatever is written."""
    if is_held(folder):
        return State.RUNNING
    return State.LOST if job.state is State.RUNNING else job.state
