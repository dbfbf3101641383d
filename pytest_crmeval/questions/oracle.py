"""The perfect answerer of questions: it knows the answer key."""

from collections.abc import Sequence

from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.questions.question import Grader, Question


class QuestionOracle:
    """Answers one question, in the form that was asked for."""

    name = "oracle"

    def __init__(self, question: Question) -> None:
        self._question = question

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Say the right answer, on one line: a final answer has no more."""
        del messages, tools
        answer = " ".join(self._question.answer.split())
        if self._question.grader is not Grader.JUDGE:
            return Reply(text=f"Answer: {answer}")
        return Reply(text=f"Explanation: it is known to me.\nExact Answer: {answer}\nConfidence: 100%")
