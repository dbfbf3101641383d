"""The adapters of docs/frameworks.md play a conversation, with a model on loopback."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.projects import case, report_of
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
EXAMPLES = {section.partition("\n")[0]: re.search(r"```python\n(.*?)```", section, re.DOTALL) for section in SECTIONS}
PACKAGES = {"OpenAI Agents SDK": "agents", "Pydantic AI": "pydantic_ai", "LangGraph": "langgraph"}


def test_every_framework_has_a_short_adapter() -> None:
    assert PACKAGES.keys() == EXAMPLES.keys()
    assert {} == {name: found for name, found in EXAMPLES.items() if not found or len(found[1].splitlines()) > 40}


@pytest.mark.parametrize("framework", PACKAGES)
def test_adapter_plays_a_conversation(
    framework: str, project: Callable[..., pytest.Pytester], providers: Callable[..., Loopback]
) -> None:
    if not find_spec(PACKAGES[framework]):
        pytest.skip(f"{PACKAGES[framework]} is not installed")
    server = providers()
    pytester = project([case("one")])
    found = EXAMPLES[framework]
    assert found
    (pytester.path / "adapter.py").write_text(found[1], encoding="utf-8")

    pytester.runpytest("-n", "1", "--crmeval-agent", "adapter:assistant").assert_outcomes(passed=1)

    (trial,) = report_of(pytester.path)["trials"]
    assert "assistant" == trial["subject"]
    assert [1.0] * 3 == [score["value"] for score in trial["scores"]]
    assert 2 <= len(server.seen)
