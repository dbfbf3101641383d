"""What is made of tools once."""

from collections.abc import Sequence

from pytest_crmeval.domain.messages import Tool, user_says
from pytest_crmeval.models.backend import MOST, ToolsCache
from pytest_crmeval.models.token_estimates import TokenEstimate
from pytest_crmeval.models.usage_meter import UsageMeter
from pytest_crmeval.ports.chat_model import Prompt


def tools(name: str = "add_note") -> tuple[Tool, ...]:
    """Return tools that are another tuple each time."""
    return (Tool(name=name, description="", parameters={}),)


class Counted:
    """Makes names of tools, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, shown: Sequence[Tool]) -> list[str]:
        """Return their names."""
        self.made += 1
        return [tool.name for tool in shown]


def test_as_many_slots_as_there_may_be_look_at_their_tools_once() -> None:
    """Each has a tuple of its own, and they take turns."""
    counted, slots = Counted(), [tools(f"tool_{number}") for number in range(100)]
    once = ToolsCache(counted)

    named = [once.of(shown) for _ in range(3) for shown in slots]

    assert [[f"tool_{number}"] for number in range(100)] * 3 == named
    assert 100 == counted.made


def test_a_list_is_looked_at_each_time() -> None:
    """It may have changed."""
    shown, once = list(tools()), ToolsCache(Counted())
    once.of(shown)
    shown.append(*tools("add_deal"))

    assert ["add_note", "add_deal"] == once.of(shown)


def test_cache_of_tools_is_bounded() -> None:
    """And none is taken for another one: it is kept as long as it is known."""
    once = ToolsCache(Counted())

    assert all([str(number)] == once.of(tools(str(number))) for number in range(MOST + 8))
    assert MOST >= len(once._known)  # noqa: SLF001 (only this test uses it)


def test_length_of_the_tools_is_computed_once() -> None:
    """They are longer than all that is said, and the same in every dialogue."""
    looks: list[str] = []

    class Watched(dict[str, str]):
        def __repr__(self) -> str:
            looks.append("looked")
            return "x" * 3_000

    shown = (Tool(name="add_note", description="", parameters=Watched()),)
    guess = TokenEstimate(100)
    bounds = {
        guess.bound(Prompt(system="", messages=(user_says("Hello"),), tools=shown), UsageMeter()) for _ in range(5)
    }

    assert ["looked"] == looks
    assert 1_100 < bounds.pop() < 1_300
