"""The judge of conversations: a model that decides the statements which the rules of `reply` leave open."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_crmeval.conversations.judge.request import MOST, answers_in, asking, asking_again
from pytest_crmeval.conversations.scorers.undecided import Undecided, undecided_statements
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.judgement import Grade, Judgement, LabelAgreement, Statement
from pytest_crmeval.models.judge import SAMPLES, Judgements, NoGradeError, Panel
from pytest_crmeval.ports.chat_model import ChatModel, Prompt
from pytest_crmeval.ports.scorer import Evidence

UNREADABLE = Grade(reason="the judge's answer was unreadable twice and is ignored")
"""Calls nothing false: the verdict of the rules stands, so confusing the judge gains nothing over having none."""


def _not_measured() -> LabelAgreement | None:
    return None


class Judge:
    """Asks a model for several opinions on the undecided statements of each trial, and never twice about the same."""

    def __init__(
        self,
        model: ChatModel,
        samples: int = SAMPLES,
        cache: Judgements | None = None,
        agreement: Callable[[], LabelAgreement | None] = _not_measured,
    ) -> None:
        self._model = model
        self._samples = samples
        self._cache = cache
        self._agreement = agreement

    @property
    def agreement(self) -> LabelAgreement | None:
        """How far the judge agrees with the labels; None if that was not measured."""
        return self._agreement()

    def __call__(self, case: Conversation, evidence: Evidence) -> Judgement | None:
        """Return the judgement; None if the rules have decided everything. ModelError if it is final."""
        statements = undecided_statements(case, evidence)
        if not statements:
            return None
        # Values that no row has come first: a reply must not hide one behind many sentences without a value.
        ranked = sorted(range(len(statements)), key=lambda place: not statements[place].states_value)[:MOST]
        judgement = self.judged([statements[place] for place in sorted(ranked)])
        left = len(statements) - len(ranked)
        notes = (f"the judge was not asked about {left} of {len(statements)} statements",) if left else ()
        return replace(judgement, agreement=self.agreement, notes=(*judgement.notes, *notes))

    def judged(self, statements: Sequence[Undecided]) -> Judgement:
        """Return the opinions on at most MOST statements."""

        def opinion(model: ChatModel, prompt: Prompt) -> Grade:
            try:
                return answers_in(model.complete(prompt), len(statements))
            except NoGradeError:
                return answers_in(model.complete(asking_again(prompt)), len(statements))

        panel = Panel(self._model, self._samples, self._cache, opinion, unreadable=UNREADABLE)
        shown = tuple(Statement(turn=each.turn, quote=each.quote) for each in statements)
        return replace(panel(asking(statements)), statements=shown)
