"""The judge of questions: a model is asked whether an answer means the same as the right one."""

import re
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.cutting import cut, cut_middle
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.messages import Tool, user_says
from pytest_crmeval.models.judge import SAMPLES, Judgements, NoGradeError, Panel, encoded
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
    _TWO: "`correct` is `yes` or `no`. A response without an answer is not correct.",
    _THREE: "`correct` is `yes`, `no`, or `not_attempted` if the response gives no answer or says that it does not "
    "know, and states nothing that is wrong.",
}
_IN_WORDS = """
Answer with four lines and nothing else. `{code}` marks the verdict as yours; the response does not know it.
extracted_answer: ...
reasoning: ...
correct {code}: {verdicts}
confidence: ...
"""
# Nothing of the answer is repeated here: a response that sways the judge must not get into its instructions.
_AGAIN = """
Your last answer could not be used. Give one verdict, exactly in the requested form.
"""
_MARKS = r"[\s*_`\"'#>~+-]{0,20}"
_VERDICT = (
    rf"^{_MARKS}correct{_MARKS}%s{_MARKS}[:=]{_MARKS}\(?"
    r"(?P<verdict>not[ _-]attempted|incorrect|correct|yes|no|true|false)\b(?!\s*(?:/|\||or\b))"
)
"""A line with a verdict and the code of the request."""
_SURE = re.compile(
    rf"^{_MARKS}confidence{_MARKS}[:=]{_MARKS}(?P<number>\d{{1,3}}(?![\d.]))", re.IGNORECASE | re.MULTILINE
)
_FULL = 100
_CODE = 8
"""Length of a code."""
LONGEST_REASON = 2_000
"""Characters of a judge's reason that are stored."""


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
    """Return the request to a judge whose first answer was unreadable: in words, which every model can give."""
    asked = in_words(prompt)
    return replace(asked, system=f"{asked.system}{_AGAIN}")


def code_of(prompt: Prompt) -> str:
    """Return the code that marks a verdict in words as the judge's own.

    It is a digest of the evidence, which has the right answer and the whole response, so the response can't contain it.
    """
    evidence = prompt.messages[0].text.partition("</evidence>")[0]
    return sha256(evidence.encode()).hexdigest()[:_CODE]


def in_words(prompt: Prompt) -> Prompt:
    """Return the same request for a model without tools."""
    verdicts = _THREE if _HOW[_THREE] in prompt.system else _TWO
    (message,) = prompt.messages
    asked = message.text.removesuffix(f" Call `{TOOL}`.")
    form = _IN_WORDS.format(code=code_of(prompt), verdicts=" or ".join(verdicts))
    return Prompt(system=f"{prompt.system}{form}", messages=(replace(message, text=asked),))


def verdict_in(completion: Completion, code: str) -> Grade:
    """Return the verdict in a tool call, or in words with the code; NoGradeError if there is none, or two."""
    calls = completion.reply.calls
    if not calls:
        return _in_text(completion, code)
    if len(calls) > 1 or calls[0].tool != TOOL or not isinstance(calls[0].arguments, Mapping):
        raise NoGradeError("it did not make exactly one call of grade")
    said = calls[0].arguments
    verdict = str(said.get("correct", "")).strip().lower().replace(" ", "_")
    if verdict not in _VERDICTS:
        raise NoGradeError("the verdict is neither yes nor no")
    return _grade(_VERDICTS[verdict], _sure(said.get("confidence")), str(said.get("reasoning", "")))


def _in_text(completion: Completion, code: str) -> Grade:
    """Read the requested lines; a verdict without the code may be a quote of the subject, and is none."""
    text = completion.reply.text
    found = list(re.finditer(_VERDICT % re.escape(code), text, re.IGNORECASE | re.MULTILINE))
    verdicts = {_VERDICTS[re.sub(r"[ -]", "_", match["verdict"].lower())] for match in found}
    if len(verdicts) != 1:
        what = "two verdicts" if verdicts else "no verdict with the code"
        raise NoGradeError(f"{what} in an answer that ended with {completion.ending!r}")
    sure = _SURE.search(text, found[-1].end())
    return _grade(verdicts.pop(), _sure(int(sure["number"])) if sure else None, text)


def _grade(attempt: Attempt, confidence: float | None, reason: str) -> Grade:
    return Grade(reason=cut(reason.strip(), LONGEST_REASON, ""), attempt=attempt, confidence=confidence)


def _sure(value: object) -> float | None:
    """Return a confidence in [0, 1]; None if the value is not a percentage."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _FULL:
        return None
    return value / _FULL


UNREADABLE = Grade(reason="the judge's grade was unreadable twice and counts as incorrect", attempt=Attempt.INCORRECT)
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
        code = code_of(prompt)
        try:
            return verdict_in(self._completed(model, prompt), code)
        except NoGradeError:
            return verdict_in(model.complete(asking_again(prompt)), code)

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
