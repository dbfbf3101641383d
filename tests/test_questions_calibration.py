"""The grades are sound: on every bundled set of questions the oracle is always right, and other agents are not."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.agents.scripted import mute, parrot
from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.questions.datasets import index
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.play import ask
from pytest_crmeval.questions.question import Grader, Question, QuestionOracle

DATA = Path(__file__).parents[1] / "evals" / "data"
SUITES = {path.stem: [ref.read() for ref in index([path])] for path in (DATA / "questions.jsonl", DATA / "browse.csv")}
EVERY = pytest.mark.parametrize("suite", SUITES)
WRONG = {Grader.CHOICE: "Z", Grader.NUMERIC: "987.25"}
WORDINGS = [
    "**Answer:** {}",
    "It took me a while.\n\nfinal answer: {}.",
    "Answer: no idea\nAnswer: {}",
    "The answer is {}",
]


def outcome(question: Question, agent: Agent) -> Attempt | None:
    """Return what becomes of a question that is put to an agent; None if a judge would be asked."""
    return graded(question, ask(question, agent, max_steps=2).exchanges[0].reply)


class Saying:
    """Says the same whatever it is asked, and remembers what that was."""

    name = "saying"

    def __init__(self, text: str) -> None:
        self.heard: list[tuple[Sequence[Message], Sequence[Tool]]] = []
        self._text = text

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Say it."""
        self.heard.append((messages, tools))
        return Reply(text=self._text)


@EVERY
def test_the_oracle_is_always_right(suite: str) -> None:
    assert {Attempt.CORRECT} == {outcome(question, QuestionOracle(question)) for question in SUITES[suite]}


@EVERY
def test_mute_and_parrot_answer_no_question_correctly(suite: str) -> None:
    assert {Attempt.NOT_ATTEMPTED} == {outcome(question, mute()) for question in SUITES[suite]}
    assert Attempt.CORRECT not in {outcome(question, parrot()) for question in SUITES[suite]}


@EVERY
def test_an_oracle_with_a_flaw_is_caught(suite: str) -> None:
    """It gives the answer to another question, or two answers."""
    answers = [question.answer for question in SUITES[suite]]
    for question, other in zip(SUITES[suite], [*answers[1:], answers[0]], strict=True):
        wrong = WRONG.get(question.grader, f"{other}9")
        replies = [wrong, f"{wrong} or {question.answer}", f"{question.answer} or {wrong}"]

        assert {outcome(question, Saying(f"Answer: {reply}")) for reply in replies} <= {Attempt.INCORRECT, None}


@EVERY
@pytest.mark.parametrize("wording", WORDINGS)
def test_the_right_answer_is_accepted_in_other_words(suite: str, wording: str) -> None:
    for question in SUITES[suite]:
        for answer in (question.answer, question.answer.upper(), *question.aliases):
            assert Attempt.CORRECT is outcome(question, Saying(wording.format(answer)))


@EVERY
def test_the_answer_never_reaches_the_agent(suite: str) -> None:
    for question in SUITES[suite]:
        agent = Saying("?")
        for each in (question, replace(question, answer="something else", aliases=("or this",), tolerance="7")):
            ask(each, agent, max_steps=1)

        assert agent.heard[0] == agent.heard[1]
