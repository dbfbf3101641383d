"""Agents of every form that a user may bring."""

import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
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
    names = ["function", "meeting", "remembering", "alone"]
    specs = ["bots:function", "bots:meeting", "bots:Remembering", "bots:Alone"]
    chosen = [option for spec in specs for option in ("--crmeval-agent", spec)]

    forms.runpytest(*chosen, *xdist, "--crmeval-inflight", "2").assert_outcomes(passed=16)

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


PROGRAM = """
import json
import sys

ADA = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}


def answer(request):
    if request["messages"][-1]["speaker"] == "user":
        return {"calls": [{"tool": "create_new_client", "arguments": ADA}], "input_tokens": 7, "cost": 0.25}
    return {"text": "I have added Ada Ltd.", "output_tokens": 3, "cost": 0.25}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
"""


@pytest.fixture
def address(forms: pytest.Pytester) -> Iterator[str]:
    """Yield the address of the program as a server."""
    (forms.path / "program.py").write_text(PROGRAM, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "program"}
    exec(PROGRAM, names)  # noqa: S102 (above)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(names["answer"](request)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/reply"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
def test_server_and_program_play_conversations_and_report_their_usage(
    forms: pytest.Pytester, address: str, xdist: list[str]
) -> None:
    command = f"{sys.executable} program.py"
    chosen = ["--crmeval-agent", address, "--crmeval-agent", f"exec:{command}"]

    forms.runpytest(*chosen, *xdist, "--crmeval-inflight", "2").assert_outcomes(passed=8)

    trials = report_of(forms.path)["trials"]
    assert {address.removeprefix("http://"), command} == {trial["subject"] for trial in trials}
    assert {(7, 3, 0.5)} == {
        (trial["bill"]["usage"]["input"], trial["bill"]["usage"]["output"], trial["bill"]["cost"]) for trial in trials
    }


def test_program_that_dies_makes_the_trial_errored_and_the_run_goes_on(forms: pytest.Pytester) -> None:
    dying = PROGRAM.replace(
        "        print(", '        if "(c1)" in line:\n            sys.exit("no key")\n        print('
    )
    (forms.path / "program.py").write_text(dying, encoding="utf-8")
    cases = [case(f"c{number}") for number in range(3)]
    for record in cases:
        record["turns"][0]["user_utterance"] += f" ({record['conversation_id']})"
    (forms.path / "cases.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in cases), encoding="utf-8")

    result = forms.runpytest("--crmeval-agent", f"exec:{sys.executable} program.py", "-p", "no:xdist")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*errored: the program ended with status 1: no key*"])
    result.stdout.no_fnmatch_line("*Traceback*")
