"""The judge of conversations: a model that grades trials."""

from pytest_crmeval.conversations.judge.brief import TooLargeError, brief_of
from pytest_crmeval.conversations.judge.grading import asking, asking_again, grade_in
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.models.judge import SAMPLES, Judgements, NoGradeError, Panel
from pytest_crmeval.ports.chat_model import ChatModel, Prompt

UNREADABLE = Grade(goal=0.0, process=0.0, reason="the judge's grade was unreadable twice and counts as a failing one")
"""Counts as failing: otherwise an agent could avoid a grade by writing something that confuses the judge."""


class Judge:
    """Asks a model for several opinions on each trial, and never twice about the same trial."""

    def __init__(self, model: ChatModel, samples: int = SAMPLES, cache: Judgements | None = None) -> None:
        self._panel = Panel(model, samples, cache, _opinion, unreadable=UNREADABLE)

    def __call__(self, case: Conversation, evidence: Evidence) -> Judgement:
        """Return the judgement; ModelError if it is final."""
        try:
            prompt = asking(brief_of(case, evidence))
        except TooLargeError as error:
            return Judgement(trouble=str(error))
        return self._panel(prompt)


def _opinion(model: ChatModel, prompt: Prompt) -> Grade:
    """Return one opinion; NoGradeError if two answers have no valid grade."""
    try:
        return grade_in(model.complete(prompt))
    except NoGradeError:
        return grade_in(model.complete(asking_again(prompt)))
