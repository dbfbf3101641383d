"""One case from the dataset to its trial: what all kinds of case have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.models.usage_meter import opened
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.outcome import Ending
from pytest_crmeval.player.trial_record import TrialRecord
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.sandbox import Sandbox
from pytest_crmeval.ports.scorer import Scorer

CaseT = TypeVar("CaseT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Participants:
    """Who takes part."""

    agent: Agent
    crm: Crm | None
    """None where a case needs none."""
    scorers: Sequence[Scorer]
    sandbox: Sandbox | None = None
    """None where a case needs none."""


class Setting:
    """Where a case is evaluated: the run, the record of the trial, and where the case is from."""

    def __init__(
        self, context: Context, trial_record: TrialRecord, where: str, marked: Mapping[str, Any] | None = None
    ) -> None:
        self.context = context
        self.trial_record = trial_record
        self.where = where
        """File, line and id of the case."""
        self.marked = marked or {}
        """What the marker says beside the path."""
        self.options = context.options
        self.colored = context.colored


class Evaluation(ABC, Generic[CaseT]):
    """Plays a case with one agent, scores it, and keeps its record."""

    def __init__(self, setting: Setting, cast: Participants) -> None:
        self._setting = setting
        self._trial_record = setting.trial_record
        self._participants = cast

    def __call__(self, case: CaseT) -> Ending:
        """Play; a case that nobody can pass is not played, and a subject that can't be asked is nobody's failure."""
        if why := self._trial_record.objection:
            return Ending(skipped=f"not run: {why}")
        try:
            return self._evaluated(case)
        finally:
            self._trial_record.end()

    @abstractmethod
    def _evaluated(self, case: CaseT) -> Ending:
        """Play a case that may be played now."""

    def _told(self, error: ModelError) -> str:
        """Return what is told of a model that gave no answer."""
        return str(error)

    def _given_up(self, error: ModelError, seconds: float) -> Ending:
        """Return the end of a subject that could not be asked: the world's fault, and no traceback tells it better.

        Of many that are in flight when a subject turns out to be hopeless, one tells why; who has heard nothing yet has
        not really begun.
        """
        if error.is_final and not self._trial_record.has_answers and (why := self._trial_record.objection):
            return Ending(skipped=f"not run: {why}")
        self._trial_record.stop_asking(error)
        told = self._told(error)
        return self._kept(Ending(trial=self._trial_record.broken(told, seconds), failed=f"errored: {told}"))

    def _kept(self, ending: Ending) -> Ending:
        """Write the trial's files; without its recording it is errored."""
        assert ending.trial is not None  # noqa: S101 (else there is nothing to keep)
        trial = self._trial_record.close(ending.trial)
        lost = trial.verdict is Verdict.ERRORED and not ending.failed
        return replace(ending, trial=trial, failed=f"errored: {trial.reason}" if lost else ending.failed)

    def _judged(self, judge: Callable[[], Judgement]) -> Judgement:
        """Return the judge's opinion with what it took."""
        with opened(self._trial_record.open_meter(role="judge")) as meter:
            try:
                judgement = judge()
            except ModelError as error:  # nobody is graded any more
                self._trial_record.stop_asking(error, everybody=True)
                judgement = Judgement(trouble=self._told(error))
        return replace(judgement, bill=meter.bill)

    def _billed(self, trial: Trial) -> Trial:
        return self._trial_record.billed(replace(trial, colored=self._setting.colored))
