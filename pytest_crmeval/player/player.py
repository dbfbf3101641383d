"""Playing cases ahead of their items: each slot of a worker has a seat, with a CRM of its own."""

import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial

from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.conversations.crm.reopening import ReopeningCrm
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.player.agents import scorers_of
from pytest_crmeval.player.connections import WorkerDatabase
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.evaluation import Participants, Setting
from pytest_crmeval.player.job import Job, agent_for
from pytest_crmeval.player.logs import caught
from pytest_crmeval.player.outcome import Ending, Outcome
from pytest_crmeval.player.trial_record import WITHHELD, TrialRecord


class Player:
    """Plays any job of this process, in any of its threads."""

    def __init__(self, context: Context, jobs: Mapping[str, Job]) -> None:
        self._context = context
        self._jobs = jobs
        self._database = WorkerDatabase(context, "-ahead")
        """One for all seats of this process, each of which has a schema of its own in it."""

    def load(self) -> None:
        """Load what it takes to play, in one thread: of two that load the same, one may meet it half loaded."""
        scorers_of(self._context)
        for kind in {job.kind for job in self._jobs.values()}:
            kind.load()

    @contextmanager
    def seat(self, number: int) -> Iterator["Seat"]:
        """Lend a seat, without a CRM if no case needs one; psycopg.Error if the server refuses a connection."""
        if not any(job.kind.needs_server for job in self._jobs.values()):
            yield Seat(self._context, self._jobs)
            return
        crm = partial(self._crm, f"ahead_{number}")
        with closing(ReopeningCrm(crm, crm(again=False))) as made:
            yield Seat(self._context, self._jobs, made)

    def _crm(self, schema: str, *, again: bool = True) -> PostgresCrm:
        return PostgresCrm(self._database.connect(lambda address: address.connect_apart(schema), again=again))


class Seat:
    """A place to play at, with a CRM of its own: conversations in flight never wait for each other's rows."""

    def __init__(self, context: Context, jobs: Mapping[str, Job], crm: ReopeningCrm | None = None) -> None:
        self._context = context
        self._jobs = jobs
        self._crm = crm

    def __call__(self, key: str) -> JsonObject:
        """Play a case, and return its outcome, whatever happens."""
        job, start = self._jobs[key], time.perf_counter()
        with caught() as log:
            ending = self._played(job)
        told = "" if job.ref.confidential else "".join(log)
        outcome = Outcome(ending=ending, seconds=time.perf_counter() - start, log=told)
        return outcome.to_dict(self._context.redactor)

    def _played(self, job: Job) -> Ending:
        start, secret = time.perf_counter(), job.ref.confidential
        trial_record = TrialRecord(self._context, job.planned, job.file_name, confidential=secret)
        try:
            return self._evaluated(job, trial_record)
        except self._context.skips as skipped:
            return Ending(skipped=_withheld(skipped) if secret else str(skipped))
        except (KeyboardInterrupt, self._context.exits) as error:
            return Ending(exited=str(error) or type(error).__name__)
        except BaseException as error:  # noqa: BLE001 (an agent may raise anything: told in the item, with the traceback)
            reason = _withheld(error) if secret else "".join(traceback.format_exception_only(error)).strip()
            trial = trial_record.closed_broken(reason, time.perf_counter() - start)
            return Ending(trial=trial, failed=f"errored: {reason}{'' if secret else _trace()}")

    def _evaluated(self, job: Job, trial_record: TrialRecord) -> Ending:
        context, case = self._context, job.ref.read()
        agent = agent_for(context, job.kind, job.planned.spec, case)
        cast = Participants(agent=agent, crm=self._crm, scorers=scorers_of(context))
        return job.kind.evaluation(Setting(context, trial_record, job.where, job.settings), cast)(case)


def _withheld(error: BaseException) -> str:
    return f"{type(error).__name__} ({WITHHELD})"


def _trace() -> str:
    return f"\n\n{traceback.format_exc()}"
