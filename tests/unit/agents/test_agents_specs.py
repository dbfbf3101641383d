"""From a spec to an agent."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crmeval.agents.calling import reply_of
from pytest_crmeval.agents.scripted import Scripted
from pytest_crmeval.agents.specs import AgentUnavailable, make_agent
from pytest_crmeval.domain.messages import user_says
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
def test_unknown_spec_is_left_to_other_plugins(spec: str) -> None:
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
def test_unused_parameters_are_reported() -> None:
    """They are not silently ignored."""
    assert "takes no arguments" in refusal("crmeval_test_bots:Closer?temperature=0")


def test_missing_module_is_reported_with_the_setting_that_adds_its_folder() -> None:
    assert (
        "agent 'crmeval_no_such_module:Closer': there is no module 'crmeval_no_such_module' on the Python path; add "
        'its folder to pytest\'s setting pythonpath, for example pythonpath = ["."] in [tool.pytest.ini_options]; '
        "if you mean a model, crmeval models lists the providers" == refusal("crmeval_no_such_module:Closer")
    )


@pytest.mark.usefixtures("bots")
def test_missing_submodule_is_reported() -> None:
    """Its parent is there, and no package."""
    assert "there is no module 'crmeval_test_bots.sub'" in refusal("crmeval_test_bots.sub:Closer")


@pytest.mark.usefixtures("bots")
@pytest.mark.parametrize("attribute", ["Opener", "", "Closer.name", "Closer:name"])
def test_missing_attribute_is_reported(attribute: str) -> None:
    """With the module that was searched."""
    spec = f"crmeval_test_bots:{attribute}"

    said = refusal(spec)

    assert said.startswith(f"agent {spec!r}: AttributeError: module 'crmeval_test_bots' has no attribute {attribute!r}")


@pytest.mark.usefixtures("bots")
def test_misspelt_attribute_is_reported_with_a_similar_one() -> None:
    assert refusal("crmeval_test_bots:Closr").endswith("has no attribute 'Closr'; did you mean Closer?")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def agent(question): ...", "two arguments, (messages, tools), but takes (question)"),
        (
            "class agent:\n    def reply(self, messages): ...",
            "two arguments, (messages, tools), but takes (messages)",
        ),
        (
            "def agent(messages, tools, tool_server=None): ...",
            "either tools or tool_server, but takes (messages, tools, tool_server=None)",
        ),
    ],
)
def test_agent_with_wrong_arguments_is_reported_before_the_run(
    source: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crmeval_wrong_bots.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "crmeval_wrong_bots", raising=False)

    said = refusal("crmeval_wrong_bots:agent")

    assert said.endswith(f"reply must take {problem}")


@pytest.mark.usefixtures("bots")
def test_number_is_not_an_agent() -> None:
    assert (
        "agent 'crmeval_test_bots:number' is not an agent: it must be a function of (messages, tools), or have "
        "reply(messages, tools), but it is a value of type 'int'" == refusal("crmeval_test_bots:number")
    )


@pytest.mark.usefixtures("bots")
def test_object_without_a_name_is_called_by_its_attribute() -> None:
    agent = make_agent("crmeval_test_bots:Nameless")

    assert agent is not None
    assert "Nameless" == agent.name


@pytest.mark.usefixtures("bots")
def test_class_with_required_arguments_is_reported() -> None:
    """We have none to give."""
    said = refusal("crmeval_test_bots:Demanding")

    assert "missing 1 required positional argument: 'temperature'" in said


@pytest.mark.parametrize("spec", [":Closer", ".bots:Closer", "..:x"])
def test_spec_without_a_module_is_reported(spec: str) -> None:
    """Not a traceback of importlib."""
    assert repr(spec) in refusal(spec)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("import crmeval_no_such_dependency", "ModuleNotFoundError: No module named 'crmeval_no_such_dependency'"),
        ("import json; json.nope", "AttributeError: module 'json' has no attribute 'nope'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import os; os.environ['CRMEVAL_NO_SUCH_KEY']", "KeyError: 'CRMEVAL_NO_SUCH_KEY'"),
    ],
)
def test_a_module_that_breaks_while_it_is_imported_is_not_called_missing(
    module: Module, tmp_path: Path, line: str, error: str
) -> None:
    module("crmeval_test_broken", f"\n{line}\nclass Closer: ...")

    spec = "crmeval_test_broken:Closer"

    assert f"agent {spec!r}: {error} ({tmp_path / 'crmeval_test_broken.py'}:2)" == refusal(spec)


MAKERS = """
def echo(messages, tools):
    return messages[-1].text


async def make_echo(prefix=""):
    async def prefixed(messages, tools):
        return prefix + messages[-1].text
    return prefixed
"""


@pytest.mark.parametrize(
    ("attribute", "name", "said"),
    [
        ("echo", "echo", "Hello"),
        ("make_echo", "prefixed", "Hello"),
        ("make_echo?prefix=I say ", "prefixed", "I say Hello"),
    ],
)
def test_function_is_an_agent_or_makes_one(module: Module, attribute: str, name: str, said: str) -> None:
    module("crmeval_test_makers", MAKERS)

    agent = make_agent(f"crmeval_test_makers:{attribute}")

    assert agent is not None
    assert name == agent.name
    assert said == reply_of(agent, [user_says("Hello")], ()).text


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("http://127.0.0.1:9000/reply", "127.0.0.1:9000/reply"),
        ("https://agents.example/crm?mood=calm", "agents.example/crm"),
        ("exec:sh agent.sh", "sh agent.sh"),
    ],
)
def test_agent_in_another_process_is_named_after_its_address_or_command(spec: str, name: str) -> None:
    agent = make_agent(spec)

    assert agent is not None
    assert name == agent.name


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("exec:", "there is no command after exec:"),
        ("exec:sh 'agent.sh", "No closing quotation"),
        ("http://me:pw@host/", "must not contain a password; set CRMEVAL_AGENT_TOKEN instead"),
    ],
)
def test_bad_command_or_address_is_refused(spec: str, problem: str) -> None:
    assert problem in refusal(spec)
