"""The judge of questions: a model is asked whether an answer means the same as the right one."""

from dataclasses import replace

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.prompt import Completion, Prompt
from pytest_crmeval.models.judge.cache import Judgements
from pytest_crmeval.models.judge.panel import NoGradeError, Panel
from pytest_crmeval.models.judge.specs import SAMPLES
from pytest_crmeval.ports.chat_model import Cause, ChatModel, ModelError
from pytest_crmeval.questions.judge.answers import asking, asking_again, in_words, verdict_in
from pytest_crmeval.questions.question import Question

UNREADABLE = Grade(
    goal=0.0,
    process=0.0,
    reason="the judge's grade was unreadable twice and counts as incorrect",
    attempt=Attempt.INCORRECT,
)
"""Counts as incorrect: otherwise a subject could avoid a grade by writing something that confuses the judge."""
WITHHELD = "withheld: the suite is confidential"


class QuestionJudge:
    """Asks a model for several opinions on each answer, and no two times for the same one."""

    def __init__(self, model: ChatModel, samples: int = SAMPLES, cache: Judgements | None = None) -> None:
        self._open = Panel(model, samples, cache, self._opinion, unreadable=UNREADABLE)
        self._secret = Panel(model, samples, cache, self._silent_opinion, unreadable=UNREADABLE)
        self._has_tools = True
        """Until it turns out that the model, or what is between us and it, knows none."""

    def __call__(self, question: Question, response: str) -> Judgement:
        """Return whether the response is right; ModelError if nobody will be graded any more.

        Of a confidential question only the verdicts are kept, not what the judge says about them.
        """
        prompt = asking(question, response)
        if not question.confidential:
            return self._open(prompt)
        judgement = self._secret(prompt)
        silent = tuple(replace(grade, reason="") for grade in judgement.grades)  # also of one that was found
        cause = judgement.trouble.partition(":")[0]  # the rest quotes somebody
        trouble = f"{cause} ({WITHHELD})" if cause else ""
        notes = tuple(UNREADABLE.reason if note.startswith(UNREADABLE.reason) else note for note in judgement.notes)
        return replace(judgement, grades=silent, trouble=trouble, notes=notes)

    def _opinion(self, model: ChatModel, prompt: Prompt) -> Grade:
        try:
            return verdict_in(self._completed(model, prompt))
        except NoGradeError:
            return verdict_in(self._completed(model, asking_again(prompt)))

    def _silent_opinion(self, model: ChatModel, prompt: Prompt) -> Grade:
        return replace(self._opinion(model, prompt), reason="")

    def _completed(self, model: ChatModel, prompt: Prompt) -> Completion:
        """Ask with a tool; who refuses such a request is asked for words, also when that is replayed."""
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
