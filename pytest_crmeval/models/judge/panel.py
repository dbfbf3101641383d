"""Several opinions on the same evidence, and no two times for the same."""

from collections.abc import Callable
from dataclasses import replace

from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.prompt import Prompt
from pytest_crmeval.models.judge.cache import CorruptError, Judgements, key_of
from pytest_crmeval.ports.chat_model import ChatModel, ModelError

Opinion = Callable[[ChatModel, Prompt], Grade]
"""Asks for one opinion; NoGradeError if it is none also when it is asked for once more."""


LONGEST_REASON = 2_000
"""How many characters of a judge's reason are kept."""


class NoGradeError(Exception):
    """The judge's answer is not a grade; the message says why."""


class Panel:
    """Asks a model for several opinions, in one way.

    ``unreadable`` is the opinion that counts if an answer is unreadable twice.
    """

    def __init__(
        self,
        model: ChatModel,
        samples: int,
        cache: Judgements | None,
        opinion: Opinion,
        *,
        unreadable: Grade,
    ) -> None:
        self._model = model
        self._samples = samples
        self._cache = cache
        self._opinion = opinion
        self._unreadable = unreadable
        # As the user wants it asked: a setting that the model refuses later must not change what is found in the cache.
        self._identity = model.identity

    def __call__(self, prompt: Prompt) -> Judgement:
        """Return what the judge thinks; without a bill, which is on the meter of the caller.

        What goes wrong is told in the judgement: the trial is then not graded, which is no failure. A ModelError is
        raised only if it is final: no trial will be graded any more.
        """
        return self._asked(prompt) if self._cache is None else self._asked_once(prompt, self._cache)

    def _asked_once(self, prompt: Prompt, cache: Judgements) -> Judgement:
        key = key_of(self._identity, self._samples, prompt)
        try:
            found = cache.find(key, self._samples)
        except CorruptError as error:
            judgement = self._asked(prompt)
            return replace(self._kept(key, judgement, cache), notes=(str(error), *judgement.notes))
        return found or self._kept(key, self._asked(prompt), cache)

    def _kept(self, key: str, judgement: Judgement, cache: Judgements) -> Judgement:
        """Cache complete judgements only; a missing or unreadable opinion is requested again next time."""
        if judgement.score is None or self._unreadable in judgement.grades:
            return judgement
        try:
            cache.keep(key, self._identity, judgement.grades)
        except OSError as error:
            return replace(judgement, notes=(f"the judgement can't be kept for the next run: {error}",))
        return judgement

    def _asked(self, prompt: Prompt) -> Judgement:
        """Ask until there are all opinions, or one that can't be had: without it there is no majority to speak of."""
        grades: list[Grade] = []
        notes: list[str] = []
        while len(grades) < self._samples:
            try:
                grades.append(self._opinion(self._model, prompt))
            except NoGradeError as error:
                grades.append(self._unreadable)
                notes.append(f"{self._unreadable.reason}: {error}")
            except ModelError as error:
                if error.is_final:
                    raise
                return Judgement(grades=tuple(grades), trouble=str(error), notes=tuple(notes))
        return Judgement(grades=tuple(grades), notes=tuple(notes))
