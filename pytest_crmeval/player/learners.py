"""One conversation of an agent that learns: what it begins with, and what becomes of what it has learnt."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from pytest_crmeval.agents.atlas.telemetry.careful import CarefulLog
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.messages import Message, shown_to_agent
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.domain.prompt import Completion, ModelIdentity, Prompt
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.models import role_models, role_specs
from pytest_crmeval.player.telemetry import telemetry_of
from pytest_crmeval.player.trial_record import TrialRecord
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ChatModel, ModelError
from pytest_crmeval.ports.learner import Learner, Occasion, Session

STUDENT = "student"
"""Whose meter is the agent's own."""


class Study(Protocol):
    """A conversation that is being played."""

    @property
    def agent(self) -> Agent:
        """Who plays it."""
        ...

    def finish(self, messages: Sequence[Message]) -> Lesson | None:
        """Return what was learnt from the dialogue as the agent's side has seen it; None if nobody learns."""
        ...


@contextmanager
def studied(context: Context, trial_record: TrialRecord, agent: Agent, *, held_out: bool) -> Iterator[Study]:
    """Begin a conversation for an agent; what it learns is known before anybody scores it, and nothing of scores."""
    if not isinstance(agent, Learner):
        yield _Unlearned(agent)
        return
    planned = trial_record.planned
    key = f"{planned.suite}/{planned.subject}"
    playbook = context.services().playbooks.find(key)
    with telemetry_of(context).session(planned, key) as log:
        occasion = Occasion(
            key=key,
            student=role_specs(context.options, planned.spec)[STUDENT],
            playbook=playbook,
            held_out=held_out,
            models=_apart(context, trial_record),
            log=log,
        )
        session = agent.begin(occasion)
        log.begun(session.lesson)
        yield _Learning(session, playbook, trial_record, log)


class _Unlearned:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def finish(self, messages: Sequence[Message]) -> None:
        """Learn nothing."""


class _Learning:
    def __init__(self, session: Session, playbook: Playbook, trial_record: TrialRecord, log: CarefulLog) -> None:
        self.agent: Agent = session
        self._session = session
        self._playbook = playbook
        self._trial_record = trial_record
        self._log = log

    def finish(self, messages: Sequence[Message]) -> Lesson:
        """Learn; where a model can't be asked about it, the conversation was played all the same, and that is told."""
        try:
            lesson = self._session.finished(tuple(map(shown_to_agent, messages)))
        except ModelError as error:
            self._trial_record.stop_asking(error)
            lesson = self._session.unlearned(f"nothing was learnt: {error}")
        self._log.finished(lesson, self._playbook.after(lesson))
        untold = (self._log.trouble,) if self._log.trouble else ()
        return replace(lesson, trouble=(*lesson.trouble, *untold))


class _Apart:
    """A model whose calls are on a meter of their own."""

    def __init__(self, model: ChatModel, meter: UsageMeter) -> None:
        self._model = model
        self._meter = meter

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is."""
        return self._model.identity

    def complete(self, prompt: Prompt) -> Completion:
        """Ask."""
        with opened(self._meter):
            return self._model.complete(prompt)


def _apart(context: Context, trial_record: TrialRecord) -> Mapping[str, ChatModel]:
    """Return the models of all roles, the student's on the meter of the agent, each other on its own."""
    models = role_models(context, trial_record.planned.spec)
    return {
        role: model if role == STUDENT else _Apart(model, trial_record.open_meter(role))
        for role, model in models.items()
    }
