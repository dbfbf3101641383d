"""Jobs on disk: runs that can be submitted, watched, stopped and resumed.

``reports/<run>/job.json`` has the command and the progress of a run; it is written atomically. Only the lock next to it
shows which process runs it now: a job with the state *running* whose lock is not held is *lost*. The journal has the
trials; the counts in a job are a copy for quick readers, about a second old.
"""

import json
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec.structs import force_setattr

from pytest_crmeval.domain.file_outcome import Samples, mean_pass
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.journal.figures import Counts
from pytest_crmeval.journal.locks import is_held

SCHEMA = "crmeval.job/1"
NAME = "job.json"
LOG = "run.log"


class JobError(Exception):
    """A job can't be read or written; the message names the file and the reason."""


class State(StrEnum):
    """The state of a run."""

    SUBMITTED = "submitted"
    """It has not started."""
    RUNNING = "running"
    FINISHED = "finished"
    """Everything was played; the exit status says whether it succeeded."""
    STOPPED = "stopped"
    """It was ended early by a user, ``-x``, a full disk or a budget, and can be resumed."""
    LOST = "lost"
    """Its process ended without recording it: it was killed, or the machine went down. It can be resumed."""


class Task(Counts, frozen=True, kw_only=True):
    """The progress of one subject in one suite."""

    suite: str
    subject: str
    total: int = always(0)
    """Planned cases of all parts of the run."""
    cost: float | None = always(0.0)
    """Cost of its trials in dollars; None if a price is unknown."""
    started: str | None = always(None)
    """When its first trial was recorded, in any part of the run."""
    ended: str | None = always(None)
    """When its last case was recorded; None while cases are missing."""
    samples: Samples = ()
    """Samples of a checkpoint; empty for agents."""

    @property
    def is_done(self) -> bool:
        """Whether every case has a trial."""
        return self.done >= self.total

    @property
    def pass_rate(self) -> float | None:
        """Share of the scored cases that passed; None if no case was scored, and for a checkpoint."""
        return None if self.samples else self.passed_share

    @property
    def pass_at_1(self) -> float | None:
        """pass@1 of a checkpoint; None if no solution was graded, and for an agent."""
        return mean_pass(self.samples, 1)

    def status(self, state: State) -> str:
        """Return the status in a run of this state: waiting, running, finished, stopped, lost or not run."""
        if self.is_done:
            return "finished"
        if state in {State.SUBMITTED, State.RUNNING}:
            return "running" if self.done and state is State.RUNNING else "waiting"
        return str(state) if self.done else "not run"

    def in_run(self, state: State) -> dict[str, Any]:
        """Return JSON primitives for the task in a run of this state."""
        return {**self.to_dict(), "done": self.done, "status": self.status(state)}


class BackgroundRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run that was submitted."""

    schema: str = SCHEMA
    id: str
    command: Sequence[str]
    """The pytest command that runs it, and that resumes it."""
    cwd: str
    submitted: str
    state: State = State.SUBMITTED
    """The state when the file was written; ``state_of`` returns the current one."""
    started: str | None = None
    """When its latest part began."""
    ended: str | None = None
    exit_status: int | None = None
    """The exit status of pytest; negative for the signal that killed it, None if unknown."""
    tasks: Sequence[Task] = ()

    def __post_init__(self) -> None:
        """Refuse other schemas, and convert lists to tuples."""
        if self.schema != SCHEMA:
            raise ValueError(f"its schema is {self.schema!r}")
        force_setattr(self, "command", tuple(self.command))
        force_setattr(self, "tasks", tuple(self.tasks))

    def to_dict(self) -> dict[str, Any]:
        """Return the document that is written."""
        return {**headed(self.schema), **super().to_dict(), "tasks": [task.in_run(self.state) for task in self.tasks]}


def is_job(folder: Path) -> bool:
    """Whether the run of a folder was submitted."""
    return (folder / NAME).is_file()


def read_job(folder: Path) -> BackgroundRun:
    """Return the job in a run's folder as it was written; JobError if it can't be read."""
    path = folder / NAME
    try:
        return BackgroundRun.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise JobError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise JobError(f"{path}: not a job ({SCHEMA}): {error!r}; move it away") from error


def write_job(folder: Path, job: BackgroundRun) -> None:
    """Write a job atomically and sync it to disk; OSError if the disk is full."""
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


def state_of(folder: Path, job: BackgroundRun) -> State:
    """Return the current state of a job: it is running if its lock is held, whatever the file says."""
    if is_held(folder):
        return State.RUNNING
    return State.LOST if job.state is State.RUNNING else job.state
