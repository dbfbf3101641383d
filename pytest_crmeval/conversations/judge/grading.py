"""The request to a judge, and reading its answer."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.judgement import Grade
from pytest_crmeval.domain.messages import Tool, user_says
from pytest_crmeval.models.judge import LONGEST_REASON, NoGradeError
from pytest_crmeval.ports.chat_model import Completion, Prompt

RUBRIC = (Path(__file__).parent / "rubric.md").read_text(encoding="utf-8")
_MARK: Mapping[str, Json] = {"type": "integer", "minimum": 0, "maximum": 100}
GRADE = Tool(
    name="grade",
    description="Give the marks of the trial.",
    parameters={
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": "At most 80 words, naming the turns that decided."},
            "goal": {**_MARK, "description": "Whether the user got what was asked for."},
            "process": {**_MARK, "description": "Whether it was done sensibly."},
        },
        "required": ["reason", "goal", "process"],
        "additionalProperties": False,
    },
)
# It repeats nothing of the answer, so that a manipulated judge can't change its own instructions.
AGAIN = """
Your last answer could not be used. Call `grade` exactly once, with a `reason` in words and with `goal` and `process` as
whole numbers from 0 to 100.
"""
_FULL = 100


def asking(evidence: str) -> Prompt:
    """Return the request for one opinion."""
    text = f"<evidence>\n{evidence}\n</evidence>\n\nGrade this trial: call `grade`."
    return Prompt(system=RUBRIC, messages=(user_says(text),), tools=(GRADE,), must_call=GRADE.name)


def asking_again(prompt: Prompt) -> Prompt:
    """Return the request after an unusable answer."""
    return replace(prompt, system=f"{prompt.system}{AGAIN}")


def grade_in(completion: Completion) -> Grade:
    """Return the opinion in an answer; NoGradeError unless it has exactly one valid grade."""
    calls = completion.reply.calls
    if len(calls) != 1:
        found = f"{len(calls)} grades" if calls else "no grade"
        raise NoGradeError(f"{found} in an answer that ended with {completion.ending!r}")
    if calls[0].tool != GRADE.name:
        raise NoGradeError(f"it called {_shown(calls[0].tool)} and not {GRADE.name}")
    arguments = calls[0].arguments
    if not isinstance(arguments, Mapping) or set(arguments) != {"reason", "goal", "process"}:
        raise NoGradeError(f"the grade has to have reason, goal and process, and has {_shown(arguments)}")
    reason = arguments["reason"]
    if not isinstance(reason, str) or not reason.strip():
        raise NoGradeError("the grade has no reason")
    marks: dict[str, float] = {}
    for name in ("goal", "process"):
        value = arguments[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _FULL:
            raise NoGradeError(f"{name} is {_shown(value)}, not a whole number from 0 to {_FULL}")
        marks[name] = value / _FULL
    return Grade(reason=cut(reason.strip(), LONGEST_REASON, ""), goal=marks["goal"], process=marks["process"])


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of 5,000 digits, a list in a list in a list
        return "something that can't be shown"
    return cut(text, _FULL)
