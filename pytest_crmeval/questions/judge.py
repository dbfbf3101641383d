"""The judge of questions: a model is asked whether an answer means the same as the right one."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.cutting import cut, cut_middle
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.messages import Tool, user_says
from pytest_crmeval.models.excerpts import encoded
from pytest_crmeval.models.judge import LONGEST_REASON, SAMPLES, Judgements, NoGradeError, Panel
from pytest_crmeval.ports.chat_model import Cause, ChatModel, Completion, ModelError, Prompt
from pytest_crmeval.questions.question import Question

RUBRIC = (Path(__file__).parent / "answer_rubric.md").read_text(encoding="utf-8")
TOOL = "grade"
MOST = 20_000
"""Characters of a response that are shown: its beginning and its end."""
_TWO, _THREE = ("yes", "no"), ("yes", "no", "not_attempted")
_VERDICTS = {
    "yes": Attempt.CORRECT,
    "correct": Attempt.CORRECT,
    "true": Attempt.CORRECT,
    "no": Attempt.INCORRECT,
    "false": Attempt.INCORRECT,
    "incorrect": Attempt.INCORRECT,
    "not_attempted": Attempt.NOT_ATTEMPTED,
}
_HOW = {
    _TWO: "`correct` is `yes` or `no`. Whoever gives no answer is not right.",
    _THREE: "`correct` is `yes`, `no`, or `not_attempted` if the response gives no answer or says that it does not "
    "know, and says nothing that is wrong.",
}
_IN_WORDS = """
Answer with four lines and nothing else:
extracted_answer: ...
reasoning: ...
correct: {verdicts}
confidence: ...
"""
# Nothing of the answer is repeated here: a response that sways the judge must not get into its instructions.
_AGAIN = """
Your last answer could not be used. Give one verdict, exactly as you are told.
"""
_MARKS = r"[\s*_`\"'#>~+-]{0,20}"
_VERDICT = re.compile(
    rf"{_MARKS}(?:correct|grade){_MARKS}[:=]{_MARKS}\(?"
    r"(?P<verdict>not[ _-]attempted|incorrect|correct|yes|no)\b(?!\s*(?:/|\||or\b))",
    re.IGNORECASE,
)
_SURE = re.compile(rf"{_MARKS}confidence{_MARKS}[:=]{_MARKS}(?P<number>\d{{1,3}}(?![\d.]))?", re.IGNORECASE)
_FIELD = re.compile(rf"{_MARKS}(?P<name>extracted(?:_final)?_answer|exact answer|reasoning){_MARKS}[:=]", re.IGNORECASE)
"""Fields of the judge, or of the subject if the judge quotes it."""
_OBJECT = re.compile(r"^\s*\{", re.MULTILINE)
_FULL = 100


def asking(question: Question, response: str) -> Prompt:
    """Return the request for one opinion."""
    verdicts = _THREE if question.may_abstain else _TWO
    shown = cut_middle(response, MOST, "\n… (cut) …\n")
    evidence = {"question": question.text, "response": shown, "correct_answer": question.answer}
    if question.aliases:
        evidence["correct_as_well"] = "; ".join(question.aliases)
    text = f"<evidence>\n{encoded(evidence)}\n</evidence>\n\nIs the answer right? Call `{TOOL}`."
    tool = Tool(
        name=TOOL,
        description="Give the verdict on the answer.",
        parameters={
            "type": "object",
            "properties": {
                "extracted_answer": {"type": "string", "description": "The final answer of the response, or none."},
                "reasoning": {"type": "string", "description": "At most 60 words."},
                "correct": {"type": "string", "enum": list(verdicts)},
                "confidence": {"type": "integer", "minimum": 0, "maximum": _FULL},
            },
            "required": ["extracted_answer", "reasoning", "correct"],
            "additionalProperties": False,
        },
    )
    system = f"{RUBRIC}\n{_HOW[verdicts]}\n"
    return Prompt(system=system, messages=(user_says(text),), tools=(tool,), must_call=TOOL)


def asking_again(prompt: Prompt) -> Prompt:
    """Return the request to a judge whose first answer was unreadable."""
    return replace(prompt, system=f"{prompt.system}{_AGAIN}")


def in_words(prompt: Prompt) -> Prompt:
    """Return the same request for a model without tools."""
    verdicts = _THREE if _HOW[_THREE] in prompt.system else _TWO
    (message,) = prompt.messages
    asked = message.text.removesuffix(f" Call `{TOOL}`.")
    form = _IN_WORDS.format(verdicts=" or ".join(verdicts))
    return Prompt(system=f"{prompt.system}{form}", messages=(replace(message, text=asked),))


def verdict_in(completion: Completion) -> Grade:
    """Return the verdict in a tool call or in a text; NoGradeError if there is none, or more than one."""
    calls = completion.reply.calls
    if not calls:
        return _in_text(completion)
    if len(calls) > 1 or calls[0].tool != TOOL or not isinstance(calls[0].arguments, Mapping):
        raise NoGradeError("it did not make exactly one call of grade")
    return _in_fields(calls[0].arguments)


def _in_fields(said: Mapping[str, Json]) -> Grade:
    verdict = str(said.get("correct", "")).strip().lower().replace(" ", "_")
    if verdict not in _VERDICTS:
        raise NoGradeError("the verdict is neither yes nor no")
    return _grade(_VERDICTS[verdict], _sure(said.get("confidence")), str(said.get("reasoning", "")))


def _in_text(completion: Completion) -> Grade:
    """Read the requested lines, or a JSON object with the same fields.

    The verdict is at the end of the answer. Earlier lines may quote the subject, which may have written verdicts
    itself; an answer that ran out of tokens may end in the middle of such a quote.
    """
    text = completion.reply.text
    if completion.ending == "length":
        raise NoGradeError("the answer was cut off")
    if (fields := _object_at_end(text)) is not None:
        return _in_fields(fields)
    lines = [line for line in text.splitlines() if line.strip(" `*_-")]
    last = list(takewhile(lambda line: _VERDICT.match(line) or _SURE.match(line), reversed(lines)))
    said = {re.sub(r"[ -]", "_", match["verdict"].lower()) for line in last if (match := _VERDICT.match(line))}
    verdicts = {_VERDICTS[word] for word in said}
    if len(verdicts) != 1 or _ends_with_quote(lines[: len(lines) - len(last)]):
        found = "two verdicts" if len(verdicts) > 1 else "no verdict"
        raise NoGradeError(f"{found} at the end of an answer that ended with {completion.ending!r}")
    sure = [int(match["number"]) for line in last if (match := _SURE.match(line)) and match["number"]]
    return _grade(verdicts.pop(), _sure(sure[0]) if sure else None, text)


def _ends_with_quote(lines: Sequence[str]) -> bool:
    """Whether the field before the verdict is the subject's answer, so that the verdict may be part of the quote."""
    fields = [match["name"].lower() for line in lines if (match := _FIELD.match(line))]
    return bool(fields) and fields[-1] != "reasoning"


def _object_at_end(text: str) -> Mapping[str, Json] | None:
    """Return the JSON object that a text ends with, also in a fence; None if there is none, or if it is a quote."""
    end = text.rstrip("` \n")
    for start in _OBJECT.finditer(end):
        try:
            found = json.loads(end[start.start() :])
        except (ValueError, RecursionError):
            continue
        is_quote = _ends_with_quote(end[: start.start()].splitlines())
        return found if isinstance(found, dict) and not is_quote else None
    return None


def _grade(attempt: Attempt, confidence: float | None, reason: str) -> Grade:
    mark = float(attempt is Attempt.CORRECT)
    reason = cut(reason.strip(), LONGEST_REASON, "")
    return Grade(goal=mark, process=mark, reason=reason, attempt=attempt, confidence=confidence)


def _sure(value: object) -> float | None:
    """Return a confidence in [0, 1]; None if the value is not a percentage."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _FULL:
        return None
    return value / _FULL


UNREADABLE = Grade(
    goal=0.0,
    process=0.0,
    reason="the judge's grade was unreadable twice and counts as incorrect",
    attempt=Attempt.INCORRECT,
)
"""Counts as incorrect: otherwise a subject could avoid a grade by writing something that confuses the judge."""
WITHHELD = "withheld: the suite is confidential"


class QuestionJudge:
    """Asks a model for several opinions on each answer; cached opinions are not asked for again."""

    def __init__(self, model: ChatModel, samples: int = SAMPLES, cache: Judgements | None = None) -> None:
        self._open = Panel(model, samples, cache, self._opinion, unreadable=UNREADABLE)
        self._secret = Panel(
            model,
            samples,
            cache,
            lambda model, prompt: replace(self._opinion(model, prompt), reason=""),
            unreadable=UNREADABLE,
        )
        self._has_tools = True
        """Until the model, or a gateway before it, refuses a request with tools."""

    def __call__(self, question: Question, response: str) -> Judgement:
        """Return whether the response is right; ModelError if the model can grade no further response.

        Of a confidential question only the verdicts are kept, not what the judge says about them.
        """
        prompt = asking(question, response)
        if not question.confidential:
            return self._open(prompt)
        judgement = self._secret(prompt)
        silent = tuple(replace(grade, reason="") for grade in judgement.grades)  # also those from the cache
        cause = judgement.trouble.partition(":")[0]  # the rest may quote the question
        trouble = f"{cause} ({WITHHELD})" if cause else ""
        notes = tuple(UNREADABLE.reason if note.startswith(UNREADABLE.reason) else note for note in judgement.notes)
        return replace(judgement, grades=silent, trouble=trouble, notes=notes)

    def _opinion(self, model: ChatModel, prompt: Prompt) -> Grade:
        try:
            return verdict_in(self._completed(model, prompt))
        except NoGradeError:
            return verdict_in(self._completed(model, asking_again(prompt)))

    def _completed(self, model: ChatModel, prompt: Prompt) -> Completion:
        """Ask with a tool, and in words where the model refuses tools, also in a replay."""
        if not self._has_tools:
            return model.complete(in_words(prompt))
        try:
            return model.complete(prompt)
        except ModelError as error:
            if error.cause not in {Cause.BAD_REQUEST, Cause.NOT_RECORDED}:
                raise
            return self._in_words(model, prompt, error)

    def _in_words(self, model: ChatModel, prompt: Prompt, refusal: ModelError) -> Completion:
        try:
            completion = model.complete(in_words(prompt))
        except ModelError as error:
            raise (refusal if error.cause is refusal.cause else error) from error
        self._has_tools = refusal.cause is not Cause.BAD_REQUEST
        return completion
