"""Evaluates a question: from the dataset to its trial."""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_crmeval.agents.calling import in_conversation
from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.score import Score, Verdict, verdict_of
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Labels, Trial
from pytest_crmeval.models.usage_meter import opened
from pytest_crmeval.player.agents import scorers_of
from pytest_crmeval.player.evaluation import Evaluation
from pytest_crmeval.player.models import question_judge_of
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.trial_record import WITHHELD
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.ports.scorer import Evidence, Reference
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.graders.final_answer import confidence_in, final_answer
from pytest_crmeval.questions.play import ask
from pytest_crmeval.questions.question import Question

NAME = "answer"
LONGEST = 200
"""Maximum number of characters of an answer in a reason."""
NO_JUDGE = "only a judge can grade the answer; add --crmeval-judge SPEC"


class QuestionEvaluation(Evaluation[Question]):
    """Asks one agent a question, grades the answer, and writes its record without confidential content."""

    def _evaluated(self, case: Question) -> Outcome:
        start = time.perf_counter()
        try:
            with opened(self._trial_record.open_meter()):
                transcript = ask(
                    case,
                    in_conversation(self._participants.agent, self._setting.options.agent_timeout),
                    max_steps=self._setting.options.max_steps,
                    messages=self._trial_record.said,
                )
            outcome = self._kept(Outcome(trial=self._graded(case, transcript, time.perf_counter() - start)))
        except ModelError as error:
            outcome = self._given_up(error, time.perf_counter() - start)
        except Exception as error:
            if not case.confidential:
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]  # without the message, which may quote the question
            text = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno} ({WITHHELD})"
            trial = self._trial_record.closed_broken(text, time.perf_counter() - start)
            outcome = Outcome(trial=trial, failed=f"errored: {text}")
        if case.confidential and outcome.trial:
            return replace(outcome, trial=replace(outcome.trial, transcript=Transcript()))
        return outcome

    def _graded(self, question: Question, transcript: Transcript, seconds: float) -> Trial:
        reply, judgement = transcript.exchanges[0].reply, None
        if tuple(self._participants.scorers) != scorers_of(self._setting.context):  # a conftest overrides them
            # They get evidence without a CRM.
            scorers = cast("Sequence[Callable[[Question, Evidence], Score]]", self._participants.scorers)
            evidence = Evidence(transcript=transcript, after={}, reference=Reference())
            scores = [scorer(question, evidence) for scorer in scorers]
            if question.confidential:
                scores = [replace(score, reason=WITHHELD) if score.reason else score for score in scores]
            wrong = Attempt.INCORRECT if reply.strip() else Attempt.NOT_ATTEMPTED
            attempt: Attempt | None = Attempt.CORRECT if verdict_of(scores) is Verdict.PASSED else wrong
        else:
            attempt = graded(question, reply)
            if attempt is None and (judge := question_judge_of(self._setting.context)):
                judgement = self._judged(lambda: judge(question, reply))
                attempt = judgement.attempt if judgement else None
            only_thoughts = bool(transcript.exchanges[0].messages[-1].thoughts) and not reply
            scores = [_score(question, reply, attempt, only_thoughts=only_thoughts)] if attempt else []
        confidence = confidence_in(reply)
        if confidence is None and judgement:  # the reply states none that can be read
            confidence = judgement.confidence
        trial = Trial(
            planned=self._trial_record.planned,
            verdict=verdict_of(scores) if attempt else Verdict.ERRORED,
            scores=tuple(scores),
            reason="" if attempt else f"not graded: {judgement.trouble if judgement else NO_JUDGE}",
            seconds=seconds,
            answer=AnswerOutcome(attempt=attempt, confidence=confidence) if attempt else None,
            judgement=judgement,
            labels=Labels(category=question.category, tags=tuple(question.tags), split=question.split),
            transcript=transcript,
        )
        return self._billed(trial)

    def _error_text(self, error: ModelError) -> str:
        """Return the text of a model error; it is withheld if the server may quote a confidential question."""
        return (
            f"{error.cause} ({WITHHELD})" if self._trial_record.is_confidential and not error.is_final else str(error)
        )


def _score(question: Question, reply: str, attempt: Attempt, *, only_thoughts: bool) -> Score:
    if attempt is Attempt.CORRECT:
        return Score(name=NAME, value=1.0)
    if question.confidential:
        return Score(name=NAME, value=0.0, reason=f"{attempt.replace('_', ' ')} ({WITHHELD})")
    said = final_answer(reply) or reply.strip()
    actual = repr(cut(said, LONGEST)) if said else "only thoughts" if only_thoughts else "nothing"
    verdict = "not attempted" if attempt is Attempt.NOT_ATTEMPTED else "wrong"
    return Score(name=NAME, value=0.0, reason=f"{verdict}, expected {question.answer!r}, actual {actual}")
