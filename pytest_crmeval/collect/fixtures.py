"""The fixtures that a test and a conftest see."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    import psycopg

    from pytest_crmeval.domain.conversation import Conversation
    from pytest_crmeval.domain.trial import Trial
    from pytest_crmeval.player.kinds import Case
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.ports.crm import Crm
    from pytest_crmeval.ports.sandbox import Sandbox
    from pytest_crmeval.ports.scorer import Scorer
    from pytest_crmeval.questions.question import Question
    from pytest_crmeval.solutions.solution import SolutionFile


@pytest.fixture
def conversation(request: pytest.FixtureRequest) -> "Conversation":
    """Conversation of this test, from its ``conversations`` marker."""
    return _case(request)  # type: ignore[return-value] # the marker brings this kind


@pytest.fixture
def question(request: pytest.FixtureRequest) -> "Question":
    """Question of this test, from its ``questions`` marker."""
    return _case(request)  # type: ignore[return-value] # the marker brings this kind


@pytest.fixture
def solutions(request: pytest.FixtureRequest) -> "SolutionFile":
    """Solution file of this test, from its ``solutions`` marker."""
    return _case(request)  # type: ignore[return-value] # the marker brings this kind


def _case(request: pytest.FixtureRequest) -> "Case":
    from pytest_crmeval.collect.case_item import case_of

    case = case_of(request.node)
    given = case.given = case.param.ref.read()
    return given


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> "Agent":
    """Agent under evaluation; override it to use your own."""
    from pytest_crmeval.collect.case_item import case_of
    from pytest_crmeval.collect.context import context_of, usage_errors
    from pytest_crmeval.player.job import agent_for

    case = case_of(request.node)
    param = case.param
    given = request.getfixturevalue(param.kind.argument)
    with usage_errors():
        made = case.our_agent = agent_for(context_of(request.config), param.kind, param.spec, given)
    return made


@pytest.fixture(scope="session")
def crm(pytestconfig: pytest.Config, _crmeval_run: None) -> "Iterator[Crm]":
    """CRM in this worker's own database, created on first use; override it to use your own."""
    from pytest_crmeval.collect.context import context_of
    from pytest_crmeval.conversations.crm.postgres import PostgresCrm
    from pytest_crmeval.conversations.crm.reconnecting import ReconnectingCrm
    from pytest_crmeval.player.connections import WorkerDatabase

    database = WorkerDatabase(context_of(pytestconfig))
    with closing(ReconnectingCrm(lambda: PostgresCrm(database.connect()))) as made:
        yield made


@pytest.fixture
def crm_connection(crm: "Crm") -> "psycopg.Connection[Any]":
    """Psycopg connection to this worker's CRM database; inside ``crm.seeded`` it sees the rows of the trial."""
    from pytest_crmeval.conversations.crm.reconnecting import ReconnectingCrm

    if not isinstance(crm, ReconnectingCrm):
        raise pytest.UsageError("crm_connection needs pytest-crmeval's own fixture 'crm', which is overridden here")
    return crm.connection


@pytest.fixture(scope="session")
def sandbox(pytestconfig: pytest.Config, _crmeval_run: None) -> "Iterator[Sandbox]":
    """Sandbox in which programs of solution files run, created on first use; override it to use your own."""
    from pytest_crmeval.collect.context import context_of, usage_errors
    from pytest_crmeval.player.sandboxes import LazySandbox, sandbox_of

    def make() -> "Sandbox":
        with usage_errors():
            return sandbox_of(context_of(pytestconfig))

    with closing(LazySandbox(make)) as made:
        yield made


@pytest.fixture(scope="session")
def scorers(pytestconfig: pytest.Config) -> "Sequence[Scorer]":
    """Scorers that decide the verdict; override it to use others."""
    from pytest_crmeval.collect.context import context_of
    from pytest_crmeval.player.agents import scorers_of

    return scorers_of(context_of(pytestconfig))


@pytest.fixture
def evaluate(
    request: pytest.FixtureRequest, agent: "Agent", crm: "Crm", scorers: "Sequence[Scorer]"
) -> "Callable[[Case], Trial]":
    """Play a conversation, ask a question or run a solution file, and record the trial of this test."""
    from pytest_crmeval.agents.calling import as_agent, not_an_agent, wrong_arguments
    from pytest_crmeval.collect.item import ItemEvaluation
    from pytest_crmeval.player.evaluation import Participants

    own = as_agent(agent, "agent")
    if own is None:
        pytest.fail(f"the fixture 'agent' does not return an agent: {not_an_agent(agent)}", pytrace=False)
    if wrong := wrong_arguments(own):
        pytest.fail(f"the fixture 'agent' returns an agent that can't be called: {wrong}", pytrace=False)
    # Only for programs: a user's own sandbox fixture must not be set up for conversations.
    has_programs = request.node.get_closest_marker("solutions") is not None
    sandbox = request.getfixturevalue("sandbox") if has_programs else None
    return ItemEvaluation(request.node, Participants(agent=own, crm=crm, scorers=scorers, sandbox=sandbox))
