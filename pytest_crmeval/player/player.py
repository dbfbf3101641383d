"""Plays cases ahead of their items: each slot of a worker has a seat with its own CRM."""

import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from pytest_crmeval.agents.calling import agent_traceback
from pytest_crmeval.channel import Finished
from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.conversations.crm.reconnecting import ReconnectingCrm
from pytest_crmeval.player.agents import scorers_of
from pytest_crmeval.player.connections import WorkerDatabase
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.evaluation import Participants, Setting
from pytest_crmeval.player.job import Job, agent_for
from pytest_crmeval.player.kinds import Kind
from pytest_crmeval.player.logs import caught
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.trial_record import WITHHELD, TrialRecord


class Player:
    """Plays any job of this process, in any of its threads."""

    def __init__(self, context: Context, jobs: Mapping[str, Job], *, needs_server: bool) -> None:
        self._context = context
        self._jobs = jobs
        self._needs_server = needs_server
        self._database = WorkerDatabase(context, "-ahead", has_tables=False)
        """Shared by all seats of this process; each has its own tables in it, in its own schema."""

    def load(self, kinds: Iterable[Kind]) -> None:
        """Import all needed modules in one thread: a second thread could see a module that is only half imported."""
        if self._jobs or self._needs_server:
            scorers_of(self._context)
        for kind in kinds:
            kind.load()

    @contextmanager
    def seat(self, number: int) -> Iterator["Seat"]:
        """Yield a seat, without a CRM if no case needs one; psycopg.Error if the server refuses a connection."""
        if not self._needs_server:
            yield Seat(self._context, self._jobs)
            return
        crm = partial(self._crm, f"ahead_{number}")
        with closing(ReconnectingCrm(crm, crm(again=False))) as made:
            yield Seat(self._context, self._jobs, made)

    def _crm(self, schema: str, *, again: bool = True) -> PostgresCrm:
        return PostgresCrm(self._database.connect(lambda address: address.connect_apart(schema), again=again))


class Seat:
    """Plays one case at a time with its own CRM, so that concurrent conversations never wait for each other's rows."""

    def __init__(self, context: Context, jobs: Mapping[str, Job], crm: ReconnectingCrm | None = None) -> None:
        self._context = context
        self._jobs = jobs
        self._crm = crm

    def __call__(self, key: str) -> Finished:
        """Play a case and return its outcome; exceptions are part of the outcome."""
        job, start = self._jobs[key], time.perf_counter()
        trial_record = TrialRecord(self._context, job.planned, job.file_name, confidential=job.ref.confidential)
        with caught() as log:
            outcome = self._played(job, trial_record)
        text = "" if job.ref.confidential else "".join(log)
        outcome = replace(outcome, seconds=time.perf_counter() - start, log=text)
        return outcome.message(key, trial_record.files, self._context.redactor)

    def _played(self, job: Job, trial_record: TrialRecord) -> Outcome:
        start, secret = time.perf_counter(), job.ref.confidential
        try:
            context, case = self._context, job.read()
            agent = agent_for(context, job.kind, job.planned.spec, case)
            participants = Participants(agent=agent, crm=self._crm, scorers=scorers_of(context))
            setting = Setting(context, trial_record, job.where, job.settings)
            return job.kind.evaluation(setting, participants)(case)
        except self._context.skips as skipped:
            return Outcome(skipped=_withheld(skipped) if secret else str(skipped))
        except (KeyboardInterrupt, self._context.exits) as error:
            return Outcome(exited=str(error) or type(error).__name__)
        except BaseException as error:  # noqa: BLE001 (an agent may raise anything; the item shows it)
            reason = _withheld(error) if secret else "".join(traceback.format_exception_only(error)).strip()
            frames = agent_traceback(error) or error.__traceback__
            trace = "" if secret else "".join(["\n\n", *traceback.format_exception(error.with_traceback(frames))])
            trial = trial_record.closed_broken(reason, time.perf_counter() - start)
            return Outcome(trial=trial, failed=f"errored: {reason}{trace}")


def _withheld(error: BaseException) -> str:
    return f"{type(error).__name__} ({WITHHELD})"
