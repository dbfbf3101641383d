"""Judges of statements that tests use: what they are shown, how they answer, and how far they agree with the labels."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_crmeval.conversations.judge.agreement import labelled_trials
from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, StatementAnswer
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.models.judge import JudgementCache, key_of, parse_judge
from pytest_crmeval.models.specs import ModelSpec
from tests.providers.answers import Answer as Sent
from tests.providers.answers import Call
from tests.providers.delivery import Seen

Opinion = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""Answers a statement, given its turn."""
_BEFORE, _AFTER = "<evidence>\n", "\n</evidence>\n\nCheck each statement: call `check`."


def evidence_in(text: str) -> dict[str, Any]:
    """Return the evidence of a request; AssertionError if there is a word beside it, or a second tag."""
    assert text.startswith(_BEFORE)
    assert text.endswith(_AFTER)
    inside = text.removeprefix(_BEFORE).removesuffix(_AFTER)
    assert "<" not in inside
    assert len(inside.splitlines()) == 1 or "\n" not in inside
    document: dict[str, Any] = json.loads(inside)
    return document


def checked(text: str, opinion: Opinion) -> dict[str, Any]:
    """Return the arguments of a valid call of `check`: an opinion on each statement of a request."""
    return {
        "statements": [
            {"id": each["id"], "reason": "the rows say so", "answer": opinion(each, turn)}
            for turn in evidence_in(text)["turns"]
            for each in turn["statements"]
        ]
    }


def checking(opinion: Opinion) -> Callable[[Seen], Sent]:
    """Return the brain of a judge that answers each statement."""
    return lambda seen: Call(ToolCall(tool="check", arguments=checked(seen.last_user_text, opinion)))


def always(answer: str) -> Callable[[Seen], Sent]:
    """Return the brain of a judge that says the same about every statement."""
    return checking(lambda _statement, _turn: answer)


def as_labelled(statement: Mapping[str, Any], turn: Mapping[str, Any]) -> str:
    """Answer a labelled statement as it is labelled."""
    for trial in labelled_trials():
        for each, is_true in zip(trial.statements, trial.labels, strict=True):
            if (each.quote, each.user) == (statement["quote"], turn["user"]):
                return "true" if is_true else "false"
    raise AssertionError(f"not a labelled statement: {statement['quote']}")


def measured(reports: Path, judge: str, *, wrong: int = 0) -> None:
    """Store the opinions of a judge on the labelled statements, the first few of them wrong."""
    spec, samples = parse_judge(judge)
    identity, cache = ModelSpec.parse(spec).identity, JudgementCache(reports / "judgements")
    for trial in labelled_trials():
        said = []
        for is_true in trial.labels:
            said.append(StatementAnswer(answer=JudgeAnswer.TRUE if is_true is (wrong <= 0) else JudgeAnswer.FALSE))
            wrong -= 1
        cache.keep(key_of(identity, samples, trial.prompt), identity, [Grade(answers=tuple(said))] * samples)
