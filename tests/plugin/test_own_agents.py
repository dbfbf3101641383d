"""The forms of a user's own agent."""

import json
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch

import pytest

from tests.own_agents import specs_in, write_forms
from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
SECRET = "sk-own-0123456789abcdef0123456789"  # noqa: S105 (made up)
FORMS = '''
import asyncio
import threading
import time

ADA = ToolCall(tool="create_new_client", arguments={"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"})
waiting = []


def function(messages, tools):
    """Create the client, then say so in a text."""
    return Reply(calls=[ADA]) if messages[-1].speaker == "user" else "I have added Ada Ltd."


async def meeting(messages, tools):
    """Wait with the first reply until another conversation asks for one."""
    waiting.append(asyncio.Event())
    if len(waiting) == 1:
        await waiting[0].wait()
    waiting[0].set()
    return function(messages, tools)


class Remembering:
    name = "remembering"

    async def new_conversation(self):
        return Conversation()


class Conversation:
    """Keeps what it has done in this conversation."""

    done = False

    def reply(self, messages, tools):
        if self.done:
            return "I have added Ada Ltd."
        self.done = True
        return Reply(calls=[ADA])


async def calling_itself(messages, tool_server):
    """Create the client over MCP."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=tool_server.headers) as http,
        Client(streamable_http_client(tool_server.url, http_client=http)) as client,
    ):
        await client.call_tool(ADA.tool, ADA.arguments)
    return "I have added Ada Ltd."


class Alone:
    """Fails if it is asked about two conversations at once."""

    name = "alone"
    thread_safe = False

    def __init__(self):
        self.playing = None

    def reply(self, messages, tools):
        me = threading.get_ident()
        if self.playing not in (None, me):
            raise RuntimeError("another conversation is being played")
        self.playing = me if messages[-1].speaker == "user" else None
        time.sleep(0.01)
        return function(messages, tools)
'''


@pytest.fixture
def forms(project: Project) -> pytest.Pytester:
    """Return a project with four conversations and an agent of each form."""
    pytester = project([case(f"c{number}") for number in range(4)])
    with (pytester.path / "bots.py").open("a", encoding="utf-8") as file:
        file.write(FORMS)
    return pytester


@pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
def test_agents_of_every_form_pass_with_two_conversations_in_flight(forms: pytest.Pytester, xdist: list[str]) -> None:
    names = ["function", "meeting", "remembering", "alone", "calling_itself"]
    specs = ["bots:function", "bots:meeting", "bots:Remembering", "bots:Alone", "bots:calling_itself"]
    chosen = [option for spec in specs for option in ("--crmeval-agent", spec)]

    forms.runpytest(*chosen, *xdist, "--crmeval-inflight", "2").assert_outcomes(passed=20)

    assert {(name, "passed") for name in names} == {
        (trial["subject"], trial["verdict"]) for trial in report_of(forms.path)["trials"]
    }


def test_agent_fixture_may_return_a_function(forms: pytest.Pytester) -> None:
    fixture = "import bots, pytest\n\n@pytest.fixture\ndef agent():\n    return bots.function\n"
    (forms.path / "conftest.py").write_text(fixture, encoding="utf-8")

    forms.runpytest("-p", "no:xdist").assert_outcomes(passed=4)


def test_agent_fixture_that_returns_something_else_is_an_error_of_each_case(forms: pytest.Pytester) -> None:
    fixture = "import pytest\n\n@pytest.fixture\ndef agent():\n    return 7\n"
    (forms.path / "conftest.py").write_text(fixture, encoding="utf-8")

    result = forms.runpytest("-p", "no:xdist")

    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(["the fixture 'agent' does not return an agent: *, but it is a value of type 'int'"])


@pytest.fixture
def specs(forms: pytest.Pytester) -> Iterator[Mapping[str, str]]:
    """Yield the spec of one agent in every form."""
    write_forms(forms.path)
    with specs_in(forms.path) as found:
        yield found


@pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
def test_server_and_program_play_conversations_and_report_their_usage(
    forms: pytest.Pytester, specs: Mapping[str, str], xdist: list[str]
) -> None:
    address, command = specs["http"], specs["exec"]
    chosen = ["--crmeval-agent", address, "--crmeval-agent", command]

    forms.runpytest(*chosen, *xdist, "--crmeval-inflight", "2").assert_outcomes(passed=8)

    trials = report_of(forms.path)["trials"]
    assert {address.removeprefix("http://"), command.removeprefix("exec:")} == {trial["subject"] for trial in trials}
    assert {(7, 3, 0.5)} == {
        (trial["bill"]["usage"]["input"], trial["bill"]["usage"]["output"], trial["bill"]["cost"]) for trial in trials
    }


ERRORS = {
    "hang": "timeout: * within 5 s*",
    "fail": "*the key [[]redacted] is refused*",
    "flood": "*longer than 4,000,000 *",
    "garble": "*",
    "fine": "",
}


def test_agents_that_hang_or_fail_make_their_trial_errored_and_the_run_ends(
    forms: pytest.Pytester, specs: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_API_KEY", SECRET)
    cases = [case(words) for words in ERRORS]
    for record in cases:
        record["turns"][0]["user_utterance"] += f" ({record['conversation_id']})"
    (forms.path / "cases.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in cases), encoding="utf-8")
    specs = {form: spec for form, spec in specs.items() if form != "Blocking"}  # it delays other async agents
    chosen = [option for spec in specs.values() for option in ("--crmeval-agent", spec)]

    result = forms.runpytest(*chosen, "-n", "1", "--crmeval-inflight", "10", "--crmeval-set", "agent_timeout=5")

    result.assert_outcomes(passed=len(specs), failed=4 * len(specs))
    trials = report_of(forms.path)["trials"]
    found = {(trial["subject"], trial["case"]): (trial["verdict"], trial.get("reason", "")) for trial in trials}
    assert {} == {
        (subject, words): (verdict, reason)
        for (subject, words), (verdict, reason) in found.items()
        if verdict != ("errored" if ERRORS[words] else "passed") or not fnmatch(reason, ERRORS[words])
    }
    assert SECRET not in result.stdout.str()
    assert [] == [path for path in forms.path.glob("reports/**/*.json*") if SECRET in path.read_text(encoding="utf-8")]
