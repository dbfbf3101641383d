"""Conversations whose user is played by a model."""

import json
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.projects import ADA, case, report_of
from tests.providers.answers import Answer, Say
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
BUNDLED = Path(__file__).parents[2] / "evals" / "data" / "simulated.jsonl"
AGENTS = '''
import json
from pathlib import Path

from pytest_crmeval import Reply, ToolCall


class Knowing:
    """Knows which calls each fact asks for."""

    name = "knowing"

    def __init__(self):
        self.calls = {}
        for case in map(json.loads, Path("cases.jsonl").read_text().splitlines()):
            for fact, turn in zip(case.get("user", {}).get("facts", ()), case["turns"]):
                self.calls[fact] = [turn, *turn.get("further_calls", ())]

    def reply(self, messages, tools):
        if messages[-1].speaker == "crm" or messages[-1].text not in self.calls:
            return "Done." if messages[-1].speaker == "crm" else "I do not understand."
        made = self.calls[messages[-1].text]
        calls = [ToolCall(tool=call["expected_tool"], arguments=call.get("expected_args", {})) for call in made]
        return Reply(calls=calls)


class Careless(Knowing):
    """Also creates a deal, and deletes it again."""

    name = "careless"

    def reply(self, messages, tools):
        made = messages[-2].calls[0].tool if messages[-1].speaker == "crm" else ""
        row = messages[-1].results[0].value if made else {}
        if made == "create_new_client":
            deal = {"name": "X", "client_id": row["client_id"], "amount": 1, "stage": "Prospecting"}
            return Reply(calls=[ToolCall(tool="create_new_opportunity", arguments=deal)])
        if made == "create_new_opportunity":
            gone = {"opportunity_id": row["opportunity_id"]}
            return Reply(calls=[ToolCall(tool="delete_opportunity", arguments=gone)])
        return super().reply(messages, tools)


def useless(messages, tools):
    return "Sorry, I can't."
'''
USER = "openai:gpt-4.1-mini?price=1/2"
FACT = "Add Ada Ltd, ada@ada.example, active."


def simulated(name: str, *facts: str, goal: str = "Have a client added.") -> dict[str, Any]:
    """Return a conversation with a simulated user."""
    turn = {"turn_id": 1, "expected_tool": "create_new_client", "expected_args": dict(ADA)}
    return case(name, turns=[turn], user={"goal": goal, "facts": facts or [FACT]})


def played_user(seen: Seen) -> Answer:
    """Say one fact after the other, then end; some goals make it deviate."""
    system = seen.body.get("instructions") or seen.body.get("system") or seen.body["messages"][0]["content"]
    system = system if isinstance(system, str) else system[0]["text"]
    said = [each for each in seen.body.get("messages") or seen.body["input"] if each.get("role") == "assistant"]
    facts = [line[2:] for line in system.partition("What you know:\n")[2].partition("\n\n")[0].splitlines()]
    if "INVENT" in system:
        return Say("Add Ada Ltd, and Globex with 99,500 dollars.")
    if "GIVE UP" in system:
        return Say("[END]" if said else "Hello!")
    if "BE SILENT" in system:
        return Say("  ")
    return Say(facts[len(said)] if len(said) < len(facts) else "Thank you! [END]")


@pytest.fixture
def simulating(project: Project) -> Callable[..., pytest.Pytester]:
    """Return a function that makes a project with agents for simulated users."""

    def make(cases: list[dict[str, Any]]) -> pytest.Pytester:
        pytester = project(cases)
        (pytester.path / "bots.py").write_text(AGENTS, encoding="utf-8")
        return pytester

    return make


def test_bundled_users_are_played_by_a_model_and_scored_by_the_end(
    simulating: Callable[..., pytest.Pytester], providers: Providers
) -> None:
    providers(played_user)
    cases = [json.loads(line) for line in BUNDLED.read_text(encoding="utf-8").splitlines()]
    pytester = simulating(cases)

    result = pytester.runpytest("-p", "no:xdist", "--crmeval-agent", "bots:Knowing", "--crmeval-user", USER)

    assert 40 == len(cases)
    result.assert_outcomes(passed=40)
    result.stdout.fnmatch_lines([f"crmeval user:   {USER}", "*simulated user: 191 calls, *"])
    report = report_of(pytester.path)
    trial = next(each for each in report["trials"] if each["case"] == cases[0]["conversation_id"])
    assert {"state": 1.0, "writes": 1.0} == {score["name"]: score["value"] for score in trial["scores"]}
    assert len(cases[0]["turns"]) + 1 == trial["simulator"]["usage"]["calls"]
    assert "bill" not in trial
    assert report["run"]["spent"] > 0
    path = next((pytester.path / "reports").glob(f"2*/transcripts/*/*/{trial['case']}.json"))
    transcript = json.loads(path.read_text(encoding="utf-8"))
    assert "openai:gpt-4.1-mini" == transcript["turns"][0]["messages"][0]["model"]
    assert len(cases[0]["turns"]) + 1 == len(transcript["roles"]["user"]["exchanges"])


def test_deviating_user_is_never_the_fault_of_the_agent(
    simulating: Callable[..., pytest.Pytester], providers: Providers
) -> None:
    providers(played_user)
    goals = {"invented": "INVENT things.", "gone": "GIVE UP.", "silent": "BE SILENT.", "fine": "Be fine."}
    pytester = simulating([simulated(name, goal=goal) for name, goal in goals.items()])
    agents = ["bots:Knowing", "bots:Careless", "bots:useless"]

    pytester.runpytest("-p", "no:xdist", *(f"--crmeval-agent={agent}" for agent in agents), "--crmeval-user", USER)

    found = {(trial["subject"], trial["case"]): trial for trial in report_of(pytester.path)["trials"]}
    assert {
        ("knowing", "fine"): "passed",
        ("careless", "fine"): "failed",
        ("useless", "fine"): "failed",
        **{(agent, name): "errored" for agent in ("knowing", "careless", "useless") for name in list(goals)[:3]},
    } == {key: trial["verdict"] for key, trial in found.items()}
    said = "'Add Ada Ltd, and Globex with 99,500 dollars.'"
    assert {
        "invented": f"the simulated user deviated: it said '99,500', 'Globex', which is not in its facts: {said}",
        "gone": f"the simulated user deviated: it never said: {FACT}",
        "silent": "the simulated user deviated: it said nothing",
        "fine": "",
    } == {name: found["knowing", name]["reason"] for name in goals}
    (score,) = (score for score in found["careless", "fine"]["scores"] if score["value"] == 0)
    assert ("writes", True) == (score["name"], score["reason"].startswith("written but not requested, and undone: "))


def test_models_of_agent_and_user_are_billed_separately_with_cases_in_flight(
    simulating: Callable[..., pytest.Pytester], providers: Providers
) -> None:
    providers(lambda seen: crm_brain(seen) if seen.tools else played_user(seen))
    pytester = simulating([simulated(f"c{number}") for number in range(4)])

    pytester.runpytest(
        "-n", "1", "--crmeval-agent", "openai:gpt-4.1?price=3/4", "--crmeval-user", USER, "--crmeval-budget", "5"
    ).assert_outcomes(passed=4)

    trials = report_of(pytester.path)["trials"]
    calls = [tuple(trial[name]["usage"]["calls"] for name in ("bill", "simulator")) for trial in trials]
    assert [(2, 2)] * 4 == calls  # a call and its reply; a request and the end
    spent = sum(trial[name]["cost"] for trial in trials for name in ("bill", "simulator"))
    assert pytest.approx(spent) == report_of(pytester.path)["run"]["spent"]
    assert {("openai:gpt-4.1",)} == {tuple(trial["models"]) for trial in trials}


def test_case_is_skipped_without_a_user_and_controls_need_none(simulating: Callable[..., pytest.Pytester]) -> None:
    pytester = simulating([simulated("goal"), case("plain")])
    agents = ["oracle", "mute", "bots:useless"]

    result = pytester.runpytest("-p", "no:xdist", *(f"--crmeval-agent={agent}" for agent in agents))

    result.assert_outcomes(passed=2, failed=3, deselected=1)
    result.stdout.fnmatch_lines(["*1 *the user is simulated; add --crmeval-user SPEC*"])


def test_recorded_user_is_replayed_without_a_server(
    simulating: Callable[..., pytest.Pytester], providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = providers(played_user)
    pytester = simulating([simulated("one")])
    options = ["-p", "no:xdist", "--crmeval-agent", "bots:Knowing", "--crmeval-user", USER]
    pytester.runpytest(*options, "--crmeval-record", "tapes").assert_outcomes(passed=1)
    monkeypatch.delenv("OPENAI_API_KEY")
    server.seen.clear()

    pytester.runpytest(*options, "--crmeval-replay", "tapes").assert_outcomes(passed=1)

    assert [] == server.seen
    assert ["one.user.jsonl"] == [path.name for path in (pytester.path / "tapes").rglob("one*")]
    assert report_of(pytester.path)["trials"][0]["simulator"]["replayed"]


@pytest.mark.parametrize(
    ("changes", "options", "error"),
    [
        ({"user": {"facts": []}}, [], "user: *goal*"),
        (
            {"user": {"goal": "x"}},
            [],
            "user: turn 1 has user_utterance, but the user is simulated; remove one of them",
        ),
        (
            {},
            ["--crmeval-user", "bots:useless"],
            "--crmeval-user 'bots:useless': must name a model; see crmeval models",
        ),
    ],
    ids=["no goal", "both", "not a model"],
)
def test_mistake_is_an_error_that_says_what_to_do(
    simulating: Callable[..., pytest.Pytester], changes: dict[str, Any], options: list[str], error: str
) -> None:
    pytester = simulating([case("one", **changes)])

    result = pytester.runpytest("-p", "no:xdist", *options)

    assert 0 != result.ret
    assert fnmatch(result.stdout.str() + result.stderr.str(), f"*{error}*")
