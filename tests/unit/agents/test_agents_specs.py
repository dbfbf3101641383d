"""From a spec to an agent."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crmeval.agents.scripted import Scripted
from pytest_crmeval.agents.specs import AgentUnavailable, make_agent
from pytest_crmeval.ports.agent import Agent

BOTS = """
from pytest_crmeval import Reply


class Closer:
    name = "closer"

    def reply(self, messages, tools):
        return Reply(text="Deal!")


class Nameless:
    def reply(self, messages, tools):
        return Reply()


class Demanding(Closer):
    def __init__(self, temperature):
        self.temperature = temperature


closer = Closer()
number = 7
"""

Module = Callable[[str, str], None]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Return a function that puts a module on the Python path, as long as the test lasts."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


@pytest.fixture
def bots(module: Module) -> None:
    """Have a module of agents on the Python path."""
    module("crmeval_test_bots", BOTS)


def refusal(spec: str) -> str:
    """Return why an agent can't be had."""
    with pytest.raises(AgentUnavailable) as caught:
        make_agent(spec)
    return str(caught.value)


def test_mute_says_nothing() -> None:
    """It comes with the package."""
    assert Scripted(name="mute") == make_agent("mute")


@pytest.mark.parametrize("spec", ["", "mutes", "gpt-4.1", "openai", "some.module", "?temperature=0"])
def test_what_nobody_here_knows_is_left_to_others(spec: str) -> None:
    """None lets the next plugin answer the hook."""
    assert make_agent(spec) is None


@pytest.mark.usefixtures("bots")
def test_a_class_is_made_into_an_agent() -> None:
    """Without arguments."""
    agent = make_agent("crmeval_test_bots:Closer")

    assert isinstance(agent, Agent)
    assert not isinstance(agent, type)
    assert "closer" == agent.name


@pytest.mark.usefixtures("bots")
def test_an_agent_is_taken_as_it_is() -> None:
    """The very object of the module."""
    agent = make_agent("crmeval_test_bots:closer")

    assert agent is sys.modules["crmeval_test_bots"].closer


@pytest.mark.usefixtures("bots")
def test_parameters_are_the_arguments_of_the_class() -> None:
    """As text: ``module:attr?temperature=0``."""
    agent = make_agent("crmeval_test_bots:Demanding?temperature=0")

    assert "0" == getattr(agent, "temperature", None)


@pytest.mark.usefixtures("bots")
def test_parameters_that_nobody_takes_are_told() -> None:
    """They are not silently ignored."""
    assert "takes no arguments" in refusal("crmeval_test_bots:Closer?temperature=0")


def test_missing_module_is_reported_with_the_setting_that_adds_its_folder() -> None:
    assert (
        "agent 'crmeval_no_such_module:Closer': there is no module 'crmeval_no_such_module' on the Python path; add "
        'its folder to pytest\'s setting pythonpath, for example pythonpath = ["."] in [tool.pytest.ini_options]'
        == refusal("crmeval_no_such_module:Closer")
    )


@pytest.mark.usefixtures("bots")
def test_a_submodule_that_is_not_there_is_told() -> None:
    """Its parent is there, and no package."""
    assert "there is no module 'crmeval_test_bots.sub'" in refusal("crmeval_test_bots.sub:Closer")


@pytest.mark.usefixtures("bots")
@pytest.mark.parametrize("attribute", ["Opener", "", "Closer.name", "Closer:name"])
def test_an_attribute_that_is_not_there_is_told(attribute: str) -> None:
    """With the module that was searched."""
    spec = f"crmeval_test_bots:{attribute}"

    assert f"agent {spec!r}: AttributeError: module 'crmeval_test_bots' has no attribute {attribute!r}" == refusal(spec)


@pytest.mark.usefixtures("bots")
@pytest.mark.parametrize("attribute", ["number", "Nameless"])
def test_object_without_a_name_is_not_an_agent(attribute: str) -> None:
    spec = f"crmeval_test_bots:{attribute}"
    needs = "it needs a name and reply(messages, tools), and has no attribute 'name'"

    assert f"agent {spec!r} is not an agent: {needs}" == refusal(spec)


@pytest.mark.usefixtures("bots")
def test_a_class_that_asks_for_arguments_is_told() -> None:
    """We have none to give."""
    said = refusal("crmeval_test_bots:Demanding")

    assert "missing 1 required positional argument: 'temperature'" in said


@pytest.mark.parametrize("spec", [":Closer", ".bots:Closer", "..:x"])
def test_a_spec_without_a_module_is_told(spec: str) -> None:
    """Not a traceback of importlib."""
    assert repr(spec) in refusal(spec)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("import crmeval_no_such_dependency", "ModuleNotFoundError: No module named 'crmeval_no_such_dependency'"),
        ("import json; json.nope", "AttributeError: module 'json' has no attribute 'nope'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_breaks_while_it_is_imported_is_not_called_missing(
    module: Module, tmp_path: Path, line: str, error: str
) -> None:
    """The user is told what broke in his own module, and where."""
    module("crmeval_test_broken", f"\n{line}\nclass Closer: ...")

    spec = "crmeval_test_broken:Closer"

    assert f"agent {spec!r}: {error} ({tmp_path / 'crmeval_test_broken.py'}:2)" == refusal(spec)
