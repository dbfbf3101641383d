"""What each scorer sees: agents with one weakness each, on a real CRM."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]

HARBOR = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0"
SEED = {"Client": {HARBOR: {"name": "Harbor Light", "email": "ops@harbor.example", "status": "Active"}}}
FIND: dict[str, Any] = {
    "turn_id": 1,
    "user_utterance": "Who is called harbor?",
    "expected_tool": "client_search",
    "expected_args": {"name": "harbor"},
}
ADD: dict[str, Any] = {
    "turn_id": 2,
    "user_utterance": "Add Mira Okafor there.",
    "expected_tool": "create_new_contact",
    "expected_args": {"first_name": "Mira", "last_name": "Okafor", "client_id": "{{turn_1.client_id}}"},
}
CASE = case("harbor", turns=[FIND, ADD], initial_entities={"seed_data": SEED})

PEOPLE = f"""
from pytest_crmeval import Reply, ToolCall


class Person:
    '''Does what is asked, and says it.'''

    name = "person"
    find = ToolCall(tool="client_search", arguments={{"name": "harbor"}})
    last_name = "Okafor"
    found, done = "Harbor Light.", "I've added Mira Okafor at Harbor Light."

    def reply(self, messages, tools):
        turn = sum(message.speaker == "user" for message in messages)
        if messages[-1].speaker == "crm" or (turn == 1 and self.find is None):
            return Reply(text=self.found if turn == 1 else self.done)
        new = {{"first_name": "Mira", "last_name": self.last_name, "client_id": {HARBOR!r}}}
        return Reply(calls=[self.find if turn == 1 else ToolCall(tool="create_new_contact", arguments=new)])


class Lister(Person):
    find = ToolCall(tool="list_clients", arguments={{}})


class Guesser(Person):
    find = None


class Liar(Person):
    done = "I couldn't add Mira Okafor."


class Muddler(Person):
    last_name = "Okapi"


class Mumbler(Person):
    found = "Yes."
"""
NAMES = ["people:Person", "people:Lister", "people:Guesser", "people:Liar", "people:Muddler", "people:Mumbler"]
AGENTS = [f"--crmeval-agent={name}" for name in NAMES]


def verdicts(pytester: pytest.Pytester, *arguments: str) -> dict[str, str]:
    """Return the verdict of each agent."""
    pytester.makepyfile(people=PEOPLE)
    pytester.runpytest(*AGENTS, *arguments)
    return {trial["subject"]: trial["verdict"] for trial in report_of(pytester.path)["trials"]}


def passing(*names: str) -> dict[str, str]:
    """Return the verdicts with only these scorers."""
    return {name: "passed" if name.removeprefix("people:").lower() in names else "failed" for name in NAMES}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        pytest.param([], passing("person", "lister"), id="state, calls and reply"),
        pytest.param(["state"], passing("person", "lister", "guesser", "liar", "mumbler"), id="state"),
        pytest.param(["calls"], passing("person", "lister", "liar", "mumbler"), id="calls"),
        pytest.param(["reply"], passing("person", "lister", "guesser", "muddler"), id="reply"),
        pytest.param(["clbench"], passing("person", "liar", "mumbler"), id="clbench"),
        pytest.param(["state", "clbench"], passing("person", "liar", "mumbler"), id="state and clbench"),
        pytest.param(["reply", "clbench"], passing("person"), id="reply and clbench"),
    ],
)
def test_each_scorer_sees_its_own_part(project: Project, chosen: list[str], expected: dict[str, str]) -> None:
    assert expected == verdicts(project([CASE]), *(f"--crmeval-scorer={name}" for name in chosen))


def test_fixture_takes_precedence_over_the_option(project: Project) -> None:
    """In its folder: the project decides what it measures."""
    pytester = project([CASE])
    pytester.makeconftest(
        """
        import pytest
        from pytest_crmeval import Score

        def brief(case, evidence):
            said = max(len(exchange.reply) for exchange in evidence.transcript.exchanges)
            return Score(name="brief", value=float(said < 30))

        @pytest.fixture(scope="session")
        def scorers():
            return [brief]
        """
    )

    assert passing("liar") == verdicts(pytester, "--crmeval-scorer=state")


def test_failure_names_the_score_and_the_turn(project: Project) -> None:
    pytester = project([CASE])
    pytester.makepyfile(people=PEOPLE)

    result = pytester.runpytest("--crmeval-agent=people:Guesser", "--crmeval-agent=people:Mumbler")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*people:Guesser failed harbor*: state 1.000, calls 0.500, reply 1.000",
            "*\u2717 calls: not made: client_search(name='harbor')*",
            "*people:Mumbler failed harbor*: state 1.000, calls 1.000, reply 0.500",
            "*\u2717 reply: the reply does not say 'Harbor Light'",
        ]
    )


def test_turns_are_counted_whatever_the_scorers(project: Project) -> None:
    """The metrics of a run don't depend on the scorers that decide its verdicts."""
    pytester = project([CASE])
    verdicts(pytester, "--crmeval-scorer=state")

    went = {
        trial["subject"]: [(turn["called"], turn["replied"]) for turn in trial["turns"]]
        for trial in report_of(pytester.path)["trials"]
    }

    right = (True, True)
    assert {
        "people:Person": [right, right],
        "people:Lister": [right, right],
        "people:Guesser": [(False, True), right],
        "people:Liar": [right, (True, False)],
        "people:Muddler": [right, (False, True)],
        "people:Mumbler": [(True, False), right],
    } == went
