"""A question from the dataset to its trial."""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.evidence import Evidence, Reference
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.score import Score, Verdict, verdict_of
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Labels, Trial
from pytest_crmeval.models.usage_meter import opened
from pytest_crmeval.player.agents import scorers_of
from pytest_crmeval.player.evaluation import Evaluation
from pytest_crmeval.player.models import question_judge_of
from pytest_crmeval.player.outcome import Ending
from pytest_crmeval.player.trial_record import WITHHELD
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.questions.graders.final_answer import confidence_in, final_answer
from pytest_crmeval.questions.graders.named import graded
from pytest_crmeval.questions.play import ask
from pytest_crmeval.questions.question import Question

NAME = "answer"
LONGEST = 200
"""Characters of an answer that a reason quotes."""
NO_JUDGE = "only a judge can tell, and there is none: give --crmeval-judge SPEC"


class QuestionEvaluation(Evaluation[Question]):
    """Asks one agent a question, grades the answer, and keeps its record. Of a confidential one nothing is told."""

    def _evaluated(self, case: Question) -> Ending:
        start = time.perf_counter()
        try:
            transcript = self._asked(case)
            ending = self._kept(Ending(trial=self._graded(case, transcript, time.perf_counter() - start)))
        except ModelError as error:
            ending = self._given_up(error, time.perf_counter() - start)
        except Exception as error:
            if not case.confidential:
                raise
            ending = self._broken(error, time.perf_counter() - start)
        if case.confidential and ending.trial:
            return replace(ending, trial=replace(ending.trial, transcript=Transcript()))
        return ending

    def _asked(self, question: Question) -> Transcript:
        with opened(self._trial_record.open_meter()):
            return ask(
                question,
                self._participants.agent,
                max_steps=self._setting.options.max_steps,
                messages=self._trial_record.said,
            )

    def _graded(self, question: Question, transcript: Transcript, seconds: float) -> Trial:
        reply, judgement = transcript.exchanges[0].reply, None
        if tuple(self._participants.scorers) != scorers_of(self._setting.context):  # a conftest brings its own
            scores = self._scored_otherwise(question, transcript)
            attempt: Attempt | None = _attempt(scores, reply)
        else:
            attempt = graded(question, reply)
            if attempt is None and (judge := question_judge_of(self._setting.context)):
                judgement = self._judged(lambda: judge(question, reply))
                attempt = judgement.attempt
            only_thoughts = bool(transcript.exchanges[0].messages[-1].thoughts) and not reply
            scores = [_score(question, reply, attempt, only_thoughts=only_thoughts)] if attempt else []
        trial = Trial(
            planned=self._trial_record.planned,
            verdict=verdict_of(scores) if attempt else Verdict.ERRORED,
            scores=tuple(scores),
            reason="" if attempt else f"not graded: {judgement.trouble if judgement else NO_JUDGE}",
            seconds=seconds,
            answer=_outcome(attempt, reply, judgement) if attempt else None,
            judgement=judgement,
            labels=Labels(category=question.category, tags=tuple(question.tags), split=question.split),
            transcript=transcript,
        )
        return self._billed(trial)

    def _scored_otherwise(self, question: Question, transcript: Transcript) -> Sequence[Score]:
        """Let the scorers of a conftest decide; there is no CRM that they could look at."""
        scorers = cast("Sequence[Callable[[Question, Evidence], Score]]", self._participants.scorers)
        evidence = Evidence(transcript=transcript, after={}, reference=Reference())
        scores = [scorer(question, evidence) for scorer in scorers]
        return [_without_words(score) for score in scores] if question.confidential else scores

    def _told(self, error: ModelError) -> str:
        """Return why there is no answer; a server may repeat what it was asked, unless it was never asked."""
        return (
            f"{error.cause} ({WITHHELD})" if self._trial_record.is_confidential and not error.is_final else str(error)
        )

    def _broken(self, error: Exception, seconds: float) -> Ending:
        """Return the end of an agent that raised something, without what it says."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno} ({WITHHELD})"
        return Ending(trial=self._trial_record.closed_broken(told, seconds), failed=f"errored: {told}")


def _score(question: Question, reply: str, attempt: Attempt, *, only_thoughts: bool) -> Score:
    if attempt is Attempt.CORRECT:
        return Score(name=NAME, value=1.0)
    if question.confidential:
        return Score(name=NAME, value=0.0, reason=f"{attempt.replace('_', ' ')} ({WITHHELD})")
    said = final_answer(reply) or reply.strip() or ("only thoughts" if only_thoughts else "nothing")
    return Score(name=NAME, value=0.0, reason=f"wrong, expected {question.answer!r}, actual {cut(said, LONGEST)!r}")


def _without_words(score: Score) -> Score:
    return replace(score, reason=WITHHELD) if score.reason else score


def _attempt(scores: Sequence[Score], reply: str) -> Attempt:
    if verdict_of(scores) is Verdict.PASSED:
        return Attempt.CORRECT
    return Attempt.INCORRECT if reply.strip() else Attempt.NOT_ATTEMPTED


def _outcome(attempt: Attempt, reply: str, judgement: Judgement | None) -> AnswerOutcome:
    """Return how it was answered; a confidence that nobody can read in the reply the judge may have found."""
    sure = confidence_in(reply)
    return AnswerOutcome(attempt=attempt, confidence=judgement.confidence if judgement and sure is None else sure)
