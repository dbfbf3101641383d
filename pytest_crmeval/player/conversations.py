"""Evaluates a conversation: from the dataset to its trial."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.agents.calling import AgentError
from pytest_crmeval.conversations.consistency import inconsistencies
from pytest_crmeval.conversations.judge.verdict import asks_judge, judged_scores, judged_turns
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.conversations.scorers.outcomes import outcomes_of
from pytest_crmeval.conversations.scorers.simulated import SIMULATED
from pytest_crmeval.conversations.simulated_user import UserDeviatedError, observe_simulated, unsaid_facts
from pytest_crmeval.domain.conversation import Conversation, SimulatedUser
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.score import Score, Verdict, verdict_of
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.models.usage_meter import opened
from pytest_crmeval.player.agents import scorers_of
from pytest_crmeval.player.evaluation import Evaluation
from pytest_crmeval.player.learners import MeteredModel, begin_session
from pytest_crmeval.player.models import judge_of, user_model_of
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.subjects import HELD_OUT
from pytest_crmeval.player.trial_record import USER
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.ports.crm import Crm, CrmConnectionLost, CrmUnavailable, SeedError
from pytest_crmeval.ports.scorer import Evidence, Reference


class ConversationEvaluation(Evaluation[Conversation]):
    """Plays a conversation with one agent on one CRM, scores it, and writes its record."""

    _lesson: Lesson | None = None
    _seconds = _learning_seconds = 0.0
    """Duration of the conversation, and of learning from it."""

    def _evaluated(self, case: Conversation) -> Outcome:
        """Play the conversation; repeat it once from the beginning if the connection to the database is lost."""
        try:
            try:
                return self._attempted(case)
            except CrmConnectionLost as error:
                self._trial_record.begin_again(f"played again: {error}")
                return self._attempted(case)
        except CrmUnavailable as error:
            return Outcome(skipped=f"not run: {error}")

    def _attempted(self, case: Conversation) -> Outcome:
        try:
            reference = self._reference(case)
        except _InvalidError as error:
            reason = f"{self._setting.where}: {error}"
            trial = Trial.invalid(self._trial_record.planned, reason, _labels(case))
            return Outcome(trial=trial, skipped=f"invalid: {reason}")
        start = time.perf_counter()
        try:
            evidence = self._played(case, reference)
        except ModelError as error:
            return self._given_up(error, time.perf_counter() - start)
        except UserDeviatedError as error:
            return self._deviated(str(error), time.perf_counter() - start)
        trial = self._scored(case, evidence)
        if case.user and trial.verdict is Verdict.FAILED and (unsaid := list(self._unsaid(case.user, evidence))):
            return self._deviated(f"it never said: {'; '.join(unsaid)}", self._seconds)
        return self._kept(Outcome(trial=trial))

    def _deviated(self, why: str, seconds: float) -> Outcome:
        """Return the outcome of a dialogue in which the simulated user did not keep to its part: ERRORED."""
        reason = f"the simulated user deviated: {why}"
        return self._kept(Outcome(trial=self._trial_record.broken(reason, seconds), failed=f"errored: {reason}"))

    def _unsaid(self, user: SimulatedUser, evidence: Evidence) -> Iterable[str]:
        return () if self._is_control else unsaid_facts(user, evidence.transcript)

    @property
    def _is_control(self) -> bool:
        """Whether the subject is a control, which needs no user."""
        return self._trial_record.planned.spec in CONTROLS

    @property
    def _crm(self) -> Crm:
        assert self._participants.crm is not None  # noqa: S101 (a conversation has one)
        return self._participants.crm

    def _reference(self, conversation: Conversation) -> Reference:
        """Return the effect of the reference calls; _InvalidError if the answer key can't be met."""
        options = self._setting.options
        if conversation.defects and not options.play_invalid:
            raise _InvalidError("; ".join(conversation.defects))
        try:
            reference = play_reference(conversation, Oracle(conversation), self._crm)
        except SeedError as error:
            raise _InvalidError(str(error)) from error
        if not options.play_invalid and (found := list(inconsistencies(conversation, reference))):
            raise _InvalidError("; ".join(found))
        return reference

    def _played(self, conversation: Conversation, reference: Reference) -> Evidence:
        held_out = conversation.split == HELD_OUT
        context, trial_record = self._setting.context, self._trial_record
        with (
            opened(trial_record.open_meter()),
            begin_session(context, trial_record, self._participants.agent, held_out=held_out) as session,
        ):
            start = time.perf_counter()
            evidence = self._observed(conversation, session.agent, reference)
            over = time.perf_counter()
            # Before it is scored, so that a learner can't know the answer key.
            self._lesson = session.finish(trial_record.said)
            self._seconds = over - start
            self._learning_seconds = time.perf_counter() - over if self._lesson and self._lesson.learns else 0.0
        return evidence

    def _observed(self, conversation: Conversation, agent: Agent, reference: Reference) -> Evidence:
        """Play the turns of the case, or let the agent talk to its simulated user."""
        max_steps, said = self._setting.options.max_steps, self._trial_record.said
        if conversation.user is None or self._is_control:
            return observe(conversation, agent, self._crm, reference, max_steps=max_steps, messages=said)
        model = user_model_of(self._setting.context)
        if model is None:
            raise AgentError("the user is simulated; add --crmeval-user SPEC")
        user = MeteredModel(model, self._trial_record.open_meter(USER))
        return observe_simulated(conversation, agent, self._crm, reference, user, max_steps=max_steps, messages=said)

    def _scored(self, conversation: Conversation, evidence: Evidence) -> Trial:
        scorers, turns = self._participants.scorers, tuple[TurnOutcome, ...]()
        if conversation.user is None:
            turns = tuple(outcomes_of(conversation, evidence))
        elif tuple(scorers) == scorers_of(self._setting.context):  # those of a conftest are kept
            scorers = SIMULATED
        scores = tuple(scorer(conversation, evidence) for scorer in scorers)
        judgement = self._judgement(conversation, evidence, scores) if conversation.user is None else None
        if judgement:
            scores, turns = judged_scores(scores, judgement, len(turns)), judged_turns(turns, judgement)
        verdict = verdict_of(scores)
        if judgement and judgement.trouble and judgement.may_decide and verdict is Verdict.PASSED:
            verdict = Verdict.ERRORED  # the judge might have failed it
        trial = Trial(
            planned=self._trial_record.planned,
            verdict=verdict,
            scores=scores,
            reason=f"not graded: {judgement.trouble}" if judgement and verdict is Verdict.ERRORED else "",
            seconds=self._seconds,
            judgement=judgement,
            labels=_labels(conversation),
            learning=self._lesson,
            learning_seconds=self._learning_seconds,
            turns=turns,
            transcript=evidence.transcript,
        )
        billed = self._billed(trial)
        return replace(billed, notes=(*billed.notes, *self._lesson.trouble)) if self._lesson else billed

    def _judgement(self, case: Conversation, evidence: Evidence, scores: Sequence[Score]) -> Judgement | None:
        """Return what the judge makes of the replies; None without a judge, or if it can change nothing."""
        judge = judge_of(self._setting.context) if asks_judge(scores) else None
        found = self._judged(lambda: judge(case, evidence)) if judge else None
        # A judge that can't be called has made no judgement; whether it was needed depends on its agreement.
        return replace(found, agreement=judge.agreement) if judge and found and not found.statements else found


class _InvalidError(Exception):
    """The case is impossible to pass; the message has the reason."""


def _labels(conversation: Conversation) -> Labels:
    return Labels(
        complexity=conversation.complexity,
        category=conversation.category,
        tags=tuple(conversation.tags),
        split=conversation.split,
        chain=conversation.chain,
    )
