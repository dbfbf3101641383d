"""The adapters of docs/frameworks.md play a conversation, with a model on loopback."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import python_beside
from tests.projects import case, report_of
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
EXAMPLES = {section.partition("\n")[0]: re.search(r"```python\n(.*?)```", section, re.DOTALL) for section in SECTIONS}
BESIDE_OURS = ("OpenAI Agents SDK", "Pydantic AI")
LANGGRAPH = ("langgraph==1.2.22", "langchain-openai==1.7.3")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


def test_every_framework_has_a_short_adapter() -> None:
    assert {*BESIDE_OURS, "LangGraph"} == EXAMPLES.keys()
    assert {} == {name: found for name, found in EXAMPLES.items() if not found or len(found[1].splitlines()) > 40}


@pytest.fixture
def adapted(project: Project) -> Callable[[str], pytest.Pytester]:
    """Return a function that makes a project with one conversation and the adapter of a framework."""

    def make(framework: str) -> pytest.Pytester:
        pytester, found = project([case("one")]), EXAMPLES[framework]
        assert found
        (pytester.path / "adapter.py").write_text(found[1], encoding="utf-8")
        return pytester

    return make


@pytest.fixture(scope="session")
def python_with_langgraph() -> Path:
    """Return a Python with LangGraph, which installs a pytest plugin that every test run and test would load."""
    return python_beside("langgraph", *LANGGRAPH)


def assert_played(pytester: pytest.Pytester, server: Loopback) -> None:
    """Check that the adapter made the call of the case with the model, and passed."""
    (trial,) = report_of(pytester.path)["trials"]
    assert "assistant" == trial["subject"]
    assert [1.0] * 3 == [score["value"] for score in trial["scores"]]
    assert 2 <= len(server.seen)


@pytest.mark.parametrize("framework", BESIDE_OURS)
def test_adapter_plays_a_conversation(
    framework: str, adapted: Callable[[str], pytest.Pytester], providers: Providers
) -> None:
    server, pytester = providers(), adapted(framework)

    pytester.runpytest("-n", "1", "--crmeval-agent", "adapter:assistant").assert_outcomes(passed=1)

    assert_played(pytester, server)


def test_langgraph_adapter_plays_a_conversation_in_its_own_environment(
    adapted: Callable[[str], pytest.Pytester], providers: Providers, python_with_langgraph: Path
) -> None:
    server, pytester = providers(), adapted("LangGraph")

    pytester.run(python_with_langgraph, "-m", "pytest", "--crmeval-agent", "adapter:assistant").assert_outcomes(
        passed=1
    )

    assert_played(pytester, server)
