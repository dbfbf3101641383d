"""Evaluates one case: what all kinds of case have in common."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pytest_crmeval.agents.calling import AgentError
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.models.usage_meter import opened
from pytest_crmeval.player.agents import one_at_a_time
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.now_playing import NowPlaying
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.trial_record import TrialRecord
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.sandbox import Sandbox
from pytest_crmeval.ports.scorer import Scorer

CaseT = TypeVar("CaseT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Participants:
    """The agent, the CRM, the scorers and the sandbox of an evaluation."""

    agent: Agent
    crm: Crm | None
    """None if the kind of case needs no CRM."""
    scorers: Sequence[Scorer]
    sandbox: Sandbox | None = None
    """None if the kind of case needs no sandbox."""


class Setting:
    """The context of an evaluation: the run, the record of the trial, and the origin of the case."""

    def __init__(
        self, context: Context, trial_record: TrialRecord, where: str, marked: Mapping[str, Any] | None = None
    ) -> None:
        self.context = context
        self.trial_record = trial_record
        self.where = where
        """File, line and id of the case."""
        self.marked = marked or {}
        """Keyword arguments of the marker."""
        self.options = context.options
        self.colored = context.colored


class Evaluation(ABC, Generic[CaseT]):
    """Plays a case with one agent, scores it, and writes its record."""

    def __init__(self, setting: Setting, participants: Participants) -> None:
        self._setting = setting
        self._trial_record = setting.trial_record
        self._participants = participants

    def __call__(self, case: CaseT) -> Outcome:
        """Play and score the case, unless the control objects; an invalid case is not played."""
        if why := self._trial_record.objection:
            return Outcome(skipped=f"not run: {why}")
        shown = self._setting.context.once(NowPlaying).playing(self._trial_record)
        with one_at_a_time(self._setting.context, self._participants.agent), shown:
            start = time.perf_counter()
            try:
                return self._evaluated(case)
            except AgentError as error:
                trial = self._trial_record.broken(str(error), time.perf_counter() - start)
                return self._kept(Outcome(trial=trial, failed=f"errored: {error}"))
            finally:
                self._trial_record.end()

    @abstractmethod
    def _evaluated(self, case: CaseT) -> Outcome:
        """Play and score a case that the control permits."""

    def _error_text(self, error: ModelError) -> str:
        """Return the text that reports a model error."""
        return str(error)

    def _given_up(self, error: ModelError, seconds: float) -> Outcome:
        """Return the outcome after a model error: ERRORED without a traceback, because infrastructure failed.

        If a final error has already stopped the subject, a trial without any answer counts as not run: only the first
        one reports the error.
        """
        if error.is_final and not self._trial_record.has_answers and (why := self._trial_record.objection):
            return Outcome(skipped=f"not run: {why}")
        self._trial_record.stop_after(error)
        text = self._error_text(error)
        return self._kept(Outcome(trial=self._trial_record.broken(text, seconds), failed=f"errored: {text}"))

    def _kept(self, outcome: Outcome) -> Outcome:
        """Return the outcome after writing the trial's files; ERRORED if its recording can't be written."""
        assert outcome.trial is not None  # noqa: S101 (the callers have one)
        trial = self._trial_record.close(outcome.trial)
        lost = trial.verdict is Verdict.ERRORED and not outcome.failed
        return replace(outcome, trial=trial, failed=f"errored: {trial.reason}" if lost else outcome.failed)

    def _judged(self, judge: Callable[[], Judgement | None]) -> Judgement | None:
        """Return the judgement with its usage and cost; None if there was nothing to judge."""
        with opened(self._trial_record.open_meter(role="judge")) as meter:
            try:
                judgement = judge()
            except ModelError as error:
                self._trial_record.stop_after(error, all_agents=True)
                judgement = Judgement(trouble=self._error_text(error))
        return replace(judgement, bill=meter.bill) if judgement else None

    def _billed(self, trial: Trial) -> Trial:
        return self._trial_record.billed(replace(trial, colored=self._setting.colored))
