"""Sessions of agents that learn: they start with the playbook so far and return the lesson."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from pytest_crmeval.agents.atlas.telemetry.sessions import CarefulLog
from pytest_crmeval.agents.calling import in_conversation
from pytest_crmeval.agents.learner import Learner, Session, SessionSetup
from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.messages import Message, shown_to_agent
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.models import role_models, role_specs
from pytest_crmeval.player.telemetry import telemetry_of
from pytest_crmeval.player.trial_record import TrialRecord
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ChatModel, Completion, ModelError, ModelIdentity, Prompt

STUDENT = "student"
"""The role whose usage counts as the agent's own."""


class ConversationSession(Protocol):
    """An agent in one conversation."""

    @property
    def agent(self) -> Agent:
        """The agent that plays the conversation."""
        ...

    def finish(self, messages: Sequence[Message]) -> Lesson | None:
        """Return what the agent learnt from the dialogue as it saw it; None if it does not learn."""
        ...


@contextmanager
def begin_session(
    context: Context, trial_record: TrialRecord, agent: Agent, *, held_out: bool
) -> Iterator[ConversationSession]:
    """Begin a conversation for an agent; it learns before the conversation is scored, and never sees a score."""
    if not isinstance(agent, Learner):
        yield _PlainSession(in_conversation(agent, context.options.agent_timeout))
        return
    planned = trial_record.planned
    key = f"{planned.suite}/{planned.subject}"
    playbook = context.services().playbooks.find(key)
    with telemetry_of(context).session(planned, key) as log:
        # The student uses the meter of the agent, every other role its own.
        models = {
            role: model if role == STUDENT else MeteredModel(model, trial_record.open_meter(role))
            for role, model in role_models(context, trial_record.planned.spec).items()
        }
        setup = SessionSetup(
            key=key,
            student=role_specs(context.options, planned.spec)[STUDENT],
            playbook=playbook,
            held_out=held_out,
            models=models,
            log=log,
        )
        session = agent.begin(setup)
        log.begun(session.lesson)
        yield _LearnerSession(session, playbook, trial_record, log)


class _PlainSession:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def finish(self, messages: Sequence[Message]) -> None:
        """Return None: the agent does not learn."""


class _LearnerSession:
    def __init__(self, session: Session, playbook: Playbook, trial_record: TrialRecord, log: CarefulLog) -> None:
        self.agent: Agent = session
        self._session = session
        self._playbook = playbook
        self._trial_record = trial_record
        self._log = log

    def finish(self, messages: Sequence[Message]) -> Lesson:
        """Return the lesson; a model error while learning is noted in it, and the conversation still counts."""
        try:
            lesson = self._session.finished(tuple(map(shown_to_agent, messages)))
        except ModelError as error:
            self._trial_record.stop_after(error)
            lesson = self._session.unlearned(f"nothing was learned: {error}")
        self._log.finished(lesson, self._playbook.after(lesson))
        log_errors = (self._log.trouble,) if self._log.trouble else ()
        return replace(lesson, trouble=(*lesson.trouble, *log_errors))


class MeteredModel:
    """A model that records its calls on its own meter."""

    def __init__(self, model: ChatModel, meter: UsageMeter) -> None:
        self._model = model
        self._meter = meter

    @property
    def identity(self) -> ModelIdentity:
        """The model and its settings."""
        return self._model.identity

    def complete(self, prompt: Prompt) -> Completion:
        """Call the model."""
        with opened(self._meter):
            return self._model.complete(prompt)
