"""The request to a judge about statements, and reading its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from pytest_crmeval.conversations.scorers.undecided import Undecided
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, StatementAnswer
from pytest_crmeval.domain.messages import Tool, user_says
from pytest_crmeval.models.judge import NoGradeError, encoded
from pytest_crmeval.ports.chat_model import Completion, Prompt

MOST = 20
"""Statements of one request: the answer has to fit in the default of 800 output tokens."""
RUBRIC = (Path(__file__).parent / "rubric.md").read_text(encoding="utf-8")
LONGEST_REASON = 300
CHECK = Tool(
    name="check",
    description="Give the answer on each statement.",
    parameters={
        "type": "object",
        "properties": {
            "statements": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "reason": {"type": "string", "description": "At most 20 words."},
                        "answer": {"type": "string", "enum": [str(answer) for answer in JudgeAnswer]},
                    },
                    "required": ["id", "reason", "answer"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["statements"],
        "additionalProperties": False,
    },
)
# It repeats nothing of the answer, so that a manipulated judge can't change its own instructions.
AGAIN = """
Your last answer could not be used. Call `check` exactly once, with exactly one entry for each `id` of the evidence.
"""


def asking(statements: Sequence[Undecided]) -> Prompt:
    """Return the request for one opinion; the statements are in the order of the dialogue."""
    numbered = [(f"s{number}", each) for number, each in enumerate(statements, start=1)]
    turns = [_turn(list(its)) for _, its in groupby(numbered, key=lambda each: each[1].turn)]
    evidence: JsonObject = {"today": statements[0].today, "turns": turns}
    text = f"<evidence>\n{encoded(evidence)}\n</evidence>\n\nCheck each statement: call `{CHECK.name}`."
    return Prompt(system=RUBRIC, messages=(user_says(text),), tools=(CHECK,), must_call=CHECK.name)


def _turn(numbered: Sequence[tuple[str, Undecided]]) -> JsonObject:
    first = numbered[0][1]
    return {
        "user": first.user,
        "calls": list(first.calls),
        "rows": list(dict.fromkeys(row for _, each in numbered for row in each.rows)),
        "statements": [
            {"id": name, "quote": each.quote, "context": each.reply, "question": each.question}
            for name, each in numbered
        ],
    }


def asking_again(prompt: Prompt) -> Prompt:
    """Return the request after an unusable answer."""
    return replace(prompt, system=f"{prompt.system}{AGAIN}")


def answers_in(completion: Completion, count: int) -> Grade:
    """Return the opinion in an answer; NoGradeError unless it is one call with one valid entry per statement.

    Text beside the call is ignored, whatever verdict it quotes.
    """
    calls = completion.reply.calls
    if len(calls) != 1 or calls[0].tool != CHECK.name:
        raise NoGradeError(f"not exactly one call of {CHECK.name} in an answer that ended with {completion.ending!r}")
    arguments = calls[0].arguments
    entries = arguments.get("statements") if isinstance(arguments, Mapping) else None
    if not isinstance(entries, Sequence) or isinstance(entries, str) or len(entries) != count:
        raise NoGradeError(f"it has to have one entry for each of {count} statements")
    found = dict(map(_entry, entries))
    wanted = [f"s{number}" for number in range(1, count + 1)]
    if set(found) != set(wanted):
        raise NoGradeError("its ids are not those of the statements")
    return Grade(answers=tuple(found[name] for name in wanted))


def _entry(entry: Json) -> tuple[str, StatementAnswer]:
    if not isinstance(entry, Mapping) or set(entry) != {"id", "reason", "answer"}:
        raise NoGradeError("an entry has to have id, reason and answer")
    name, reason, answer = (entry[field] for field in ("id", "reason", "answer"))
    if not isinstance(name, str) or not isinstance(reason, str) or answer not in list(JudgeAnswer):
        raise NoGradeError(f"an entry is not valid; the answer is one of {', '.join(JudgeAnswer)}")
    return name, StatementAnswer(answer=JudgeAnswer(str(answer)), reason=cut(" ".join(reason.split()), LONGEST_REASON))
