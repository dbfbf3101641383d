"""The explanation of a failed case: dialogue, calls, results, what is wrong, and the difference in the CRM."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.projects import case

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
ESCAPE = re.compile(r"\x1b\[[\d;]*m")
ACME = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
AGENT = f"""
from pytest_crmeval import Reply, ToolCall

SAYS = {{
    "Who is Acme?": [
        Reply(text="Let me see.", calls=[ToolCall(tool="client_search", arguments={{"name": "Acme"}})]),
        Reply(text="Acme is a client.\\nOf whom, I don't know."),
    ],
    "Give it to Dana.": [
        Reply(calls=[ToolCall(tool="modify_client", arguments={{"client_id": "{ACME}", "status": "Gone"}})]),
        Reply(calls=[ToolCall(tool="modify_client", arguments={{"client_id": "{ACME}", "owner": "Lena"}})]),
        Reply(text="Done."),
    ],
    "Note: Dana has it.": [Reply(text="I have written 3 notes worth 4,711 euro.")],
}}


class Wrong:
    '''Wrong in every turn in another way.'''

    name = "wrong"

    def reply(self, messages, tools):
        last = max(place for place, message in enumerate(messages) if message.speaker == "user")
        return SAYS[messages[last].text][sum(message.speaker == "agent" for message in messages[last:])]
"""
WRONG = ("--crmeval-agent", "wrong:Wrong")


def dialogue() -> dict[str, Any]:
    """Return a case of three turns: a question, a change, a note."""
    turns = [
        ("Who is Acme?", "client_search", {"name": "Acme"}, {"reply_facts": ["Acme Corporation"]}),
        ("Give it to Dana.", "modify_client", {"client_id": ACME, "owner": "Dana"}, {}),
        ("Note: Dana has it.", "add_note", {"entity_type": "Client", "entity_id": ACME, "content": "Dana has it."}, {}),
    ]
    return case(
        "one",
        initial_entities={"seed_data": {"Client": {ACME: {"name": "Acme Corporation", "status": "Active"}}}},
        turns=[
            {"turn_id": number, "user_utterance": said, "expected_tool": tool, "expected_args": arguments, **more}
            for number, (said, tool, arguments, more) in enumerate(turns, start=1)
        ],
    )


def failure(project: Project, *arguments: str) -> list[str]:
    """Return the output about a failed case."""
    pytester = project([dialogue()])
    pytester.makepyfile(wrong=AGENT)
    result = pytester.runpytest(*WRONG, *arguments)
    result.assert_outcomes(failed=1)
    start, end = (
        next(place for place, line in enumerate(result.outlines) if words in line)
        for words in ("wrong failed", "= crmev")
    )
    return result.outlines[start:end]


def ours(lines: list[str]) -> str:
    """Return the lines without colours and without varying parts."""
    return re.sub(r"\d+\.\d\d s\)", "<some> s)", ESCAPE.sub("", "\n".join(lines)))


@WAYS
def test_failed_case_shows_dialogue_calls_results_and_faults(
    project: Project, snapshot: SnapshotAssertion, xdist: list[str]
) -> None:
    """Each fault is next to its turn; the difference in the CRM follows, row by row."""
    output = failure(project, "--color=no", *xdist)

    assert snapshot(name="a failure") == ours(output)


def test_explanation_is_coloured_on_a_terminal(project: Project) -> None:
    output = "\n".join(failure(project, "--color=yes"))

    assert "owner expected \x1b[32m'Dana'\x1b[0m, actual \x1b[31m'Lena'\x1b[0m" in output
    assert "\x1b[32mnotes: missing: " in output
    assert "\x1b[31m    ✗ reply: the reply does not say 'Acme Corporation'\x1b[0m" in output
    assert "\x1b[36mWho is Acme?\x1b[0m" in output


def test_explanation_without_colours_is_plain(project: Project) -> None:
    output = "\n".join(failure(project, "--color=no"))

    assert "owner expected 'Dana', actual 'Lena'" in output
    assert "\x1b" not in output


def test_colours_change_no_text(project: Project) -> None:
    plain, coloured = (ours(failure(project, f"--color={colour}")) for colour in ("no", "yes"))

    assert plain == coloured


def test_colours_stay_on_the_terminal(project: Project) -> None:
    pytester = project([dialogue()])
    pytester.makepyfile(wrong=AGENT)

    pytester.runpytest(*WRONG, "--color=yes")

    books = [path.read_text(encoding="utf-8") for path in pytester.path.rglob("reports/**/*.json*")]
    assert any("owner expected 'Dana', actual 'Lena'" in book for book in books)
    assert not [book for book in books if "\\u001b" in book or "\x1b" in book]


def test_passed_cases_are_not_explained(project: Project) -> None:
    result = project([dialogue()]).runpytest("-rA")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*turn 1*")


def test_test_can_print_the_explanation_itself(project: Project) -> None:
    """``trial.explain()`` also works for a passed trial."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        print(evaluate(conversation).explain())
    """

    result = project([dialogue()], test=test).runpytest("-s", "-p", "no:xdist", "--color=no")

    result.stdout.fnmatch_lines(
        [
            "*oracle passed one (crm, * s): state 1.000, calls 1.000, reply 1.000",
            "  turn 1",
            "    user   Who is Acme[?]",
            "    agent  → client_search(name='Acme')",
            "    crm    ← 1 row",
            "    agent  Done: Acme Corporation.",
        ]
    )
