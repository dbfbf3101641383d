"""Many conversations in flight per worker, with the same results as without."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pytest

from tests.postgres.processes import eventually
from tests.projects import TEST_FILE, case, report_of
from tests.providers.answers import Answer, Say, Slow, Status
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
M = ("--crmeval-agent", "openai:m")
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
TOGETHER = pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
"""Operations that two workers might do twice."""
SOON = 300.0
"""On a busy machine, one worker may be much later than the other."""


def named(name: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case whose user says its name; all of them create a client with the same unique e-mail."""
    record = case(name, **changes)
    turn = record["turns"][0]
    turn["user_utterance"] = f"Add {name} Ltd, ada@ada.example, active."
    turn["expected_args"]["name"] = f"{name} Ltd"
    return record


def many(count: int) -> list[dict[str, Any]]:
    """Return a number of cases."""
    return [named(f"c{number:02d}") for number in range(count)]


def asked(server: Loopback) -> list[str]:
    """Return the case of every call that the server received; a killed worker may have sent half of one."""
    whole = [seen for seen in server.seen if seen.body]
    return [found[1] for seen in whole if (found := re.search(r"Add (\w+) Ltd", seen.last_user_text))]


class Meeting:
    """A model that answers only when enough requests arrive at the same time."""

    def __init__(self, count: int) -> None:
        self._together = Barrier(count, timeout=SOON)
        self._lock = Lock()
        self._first: set[str] = set()

    def __call__(self, seen: Seen) -> Answer:
        """Wait for the others with the first call of each case."""
        name = seen.last_user_text
        with self._lock:
            is_first = name not in self._first
            self._first.add(name)
        if is_first:
            self._together.wait()
        return crm_brain(seen)


def test_eight_conversations_are_in_flight_by_default(project: Project, providers: Providers) -> None:
    """All write the same unique e-mail address: each has its own rows."""
    providers(Meeting(8))

    result = project(many(8)).runpytest(*M, "-p", "no:xdist")

    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["crmeval queue:  8 conversations in flight per worker"])


def test_every_case_is_requested_once(project: Project, providers: Providers) -> None:
    """Two calls each; usage is counted per case."""
    server = providers()
    pytester = project(many(30))

    result = pytester.runpytest(*M, "-n", "2")

    (summary,) = report_of(pytester.path)["results"]
    result.assert_outcomes(passed=30)
    assert sorted([name["conversation_id"] for name in many(30)] * 2) == sorted(asked(server))
    assert (30, 60) == (summary["passed"], summary["bill"]["usage"]["calls"])


@pytest.mark.parametrize("dist", ["load", "worksteal", "loadgroup"])
def test_every_dist_has_them_in_flight(project: Project, providers: Providers, dist: str) -> None:
    """Whichever items xdist assigned to a worker: some modes give all items of a file to one worker."""
    server = providers(Meeting(8))

    result = project(many(16)).runpytest(*M, "-n", "2", "--dist", dist, "--crmeval-inflight", "4")

    result.assert_outcomes(passed=16)
    assert 32 == len(server.seen)


def test_dist_each_plays_nothing_ahead(project: Project, providers: Providers) -> None:
    server = providers()

    result = project(many(3)).runpytest(*M, "--dist", "each", "--tx", "2*popen")

    result.assert_outcomes(passed=6)
    assert 12 == len(server.seen)
    result.stdout.fnmatch_lines(["crmeval queue:  3 cases one at a time (every worker plays every case)"])


def test_one_in_flight_starts_no_case_before_the_last_is_reported(project: Project, providers: Providers) -> None:
    server = providers()

    result = project(many(5)).runpytest(*M, "--crmeval-inflight", "1", "-p", "no:xdist")

    result.assert_outcomes(passed=5)
    assert [name for number in range(5) for name in [f"c{number:02d}"] * 2] == asked(server)
    result.stdout.no_fnmatch_line("crmeval queue:*")


def test_agent_without_a_model_plays_one_case_at_a_time(project: Project) -> None:
    """It waits for nothing; the option changes it."""
    pytester = project(many(6))

    plain = pytester.runpytest("--crmeval-agent", "oracle", "--crmeval-agent", "bots:Half")
    many_at_once = pytester.runpytest("--crmeval-agent", "oracle", "--crmeval-inflight", "4")

    plain.stdout.no_fnmatch_line("crmeval queue:*")
    many_at_once.assert_outcomes(passed=6)
    many_at_once.stdout.fnmatch_lines(["crmeval queue:  4 conversations in flight per worker"])


@pytest.mark.parametrize("given", ["0", "-1", "257"])
def test_invalid_number_in_flight_is_refused(project: Project, given: str) -> None:
    result = project().runpytest("--crmeval-inflight", given)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*--crmeval-inflight {given}: must be a whole number from 1 to 256*"])


def test_number_in_flight_is_a_setting_that_the_command_line_overrides(project: Project, providers: Providers) -> None:
    providers()
    pytester = project(many(2), ini="crmeval_inflight = 3\n")

    by_project = pytester.runpytest(*M)
    by_hand = pytester.runpytest(*M, "--crmeval-inflight", "2")

    by_project.stdout.fnmatch_lines(["crmeval queue:  3 conversations*"])
    by_hand.stdout.fnmatch_lines(["crmeval queue:  2 conversations*"])


def test_items_are_reported_in_their_order(project: Project, providers: Providers) -> None:
    providers(lambda seen: Slow(0.5, crm_brain(seen)) if "c00" in seen.last_user_text else crm_brain(seen))

    result = project(many(6)).runpytest(*M, "-v", "-p", "no:xdist")

    names = [found[1] for line in result.outlines if (found := re.search(r"\[openai:m-(c\d\d)\] PASSED", line))]
    assert [f"c{number:02d}" for number in range(6)] == names


def test_only_selected_cases_are_played_ahead(project: Project, providers: Providers) -> None:
    server = providers(lambda seen: Say("No.") if "c03" in seen.last_user_text else crm_brain(seen))
    pytester = project(many(6))

    pytester.runpytest(*M, "-k", "c03 or c04")
    selected = set(asked(server))
    server.seen.clear()
    pytester.runpytest(*M, "--lf")

    assert {"c03", "c04"} == selected
    assert ["c03"] == asked(server)


MARKED = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if "c00" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason="not today"))
        if "c01" in item.nodeid:
            item.add_marker(pytest.mark.xfail(run=False))
        if "c02" in item.nodeid:
            item.add_marker(pytest.mark.skipif(True, reason="never"))
"""


def test_skipped_cases_are_not_played_ahead(project: Project, providers: Providers) -> None:
    """Marks that decide whether a test runs are respected."""
    server = providers()
    pytester = project(many(5))
    pytester.makeconftest(MARKED)

    result = pytester.runpytest(*M, "-p", "no:xdist")

    result.assert_outcomes(passed=2, skipped=2, xfailed=1)
    assert {"c03", "c04"} == set(asked(server))


OVERRIDES = {
    "agent": "@pytest.fixture\ndef agent(agent):\n    return agent\n",
    "crm": "@pytest.fixture\ndef crm(crm):\n    return crm\n",
    "conversation": "@pytest.fixture\ndef conversation(conversation):\n    return conversation\n",
    "scorers": "@pytest.fixture\ndef scorers(scorers):\n    return scorers\n",
    "evaluate": "@pytest.fixture\ndef evaluate(evaluate):\n    return evaluate\n",
    "frozen": "@pytest.fixture(autouse=True)\ndef frozen():\n    yield\n",
}


@pytest.mark.parametrize("fixture", OVERRIDES)
def test_fixture_of_the_user_is_not_bypassed(project: Project, providers: Providers, fixture: str) -> None:
    server = providers()
    pytester = project(many(3))
    pytester.makeconftest(f"import pytest\n\n{OVERRIDES[fixture]}")

    result = pytester.runpytest(*M, "-p", "no:xdist")

    result.assert_outcomes(passed=3)
    assert ["c00", "c00", "c01", "c01", "c02", "c02"] == asked(server)
    result.stdout.fnmatch_lines(
        [f"crmeval queue:  3 cases one at a time (the fixture '{fixture}' of {Path('conftest.py')})"]
    )


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (TEST_FILE.replace("conversation, evaluate", "conversation, evaluate, crm"), "the test uses 'crm'"),
        (
            TEST_FILE.replace("conversation, evaluate", "conversation, monkeypatch, evaluate"),
            "the test uses 'monkeypatch'",
        ),
        (
            TEST_FILE + "\ndef setup_function():\n    pass\n",
            "the fixture '_xunit_setup_function_fixture_*' of test_crm.py",
        ),
        (
            TEST_FILE.replace("(conversation, evaluate)", "(conversation, evaluate, mine)")
            + "\n@pytest.fixture\ndef mine():\n    pass\n",
            "the fixture 'mine' of test_crm.py",
        ),
    ],
)
def test_test_that_acts_before_it_evaluates_plays_its_own_case(
    project: Project, providers: Providers, test: str, why: str
) -> None:
    """Nothing is played earlier."""
    server = providers()

    result = project(many(2), test=test).runpytest(*M, "-p", "no:xdist")

    result.assert_outcomes(passed=2)
    assert ["c00", "c00", "c01", "c01"] == asked(server)
    result.stdout.fnmatch_lines([f"crmeval queue:  2 cases one at a time ({why})"])


REPLACING = """
import dataclasses
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    assert evaluate(dataclasses.replace(conversation, category="other")).passed
"""


def test_test_that_evaluates_another_case_gets_a_warning(project: Project, providers: Providers) -> None:
    """It gets the requested result, and nothing more is played ahead for it."""
    server = providers()

    warned = ("-W", "default", "-p", "no:xdist", "--crmeval-inflight", "2")
    result = project(many(30), test=REPLACING).runpytest(*M, *warned)

    assert 30 == result.parseoutcomes()["passed"]
    assert 60 < len(server.seen) < 120
    result.stdout.fnmatch_lines(["*the test evaluates something other than its case*"])


SKIPPING = TEST_FILE.replace("    trial = ", "    pytest.skip('not today')\n    trial = ")
LAST = """
from pathlib import Path

def pytest_runtest_logfinish(nodeid):
    if "c39" in nodeid:
        Path("last.txt").touch()
"""
"""A conftest that creates a file when the last of forty tests has finished."""


def test_nothing_more_is_played_ahead_of_a_test_that_skips_itself(project: Project, providers: Providers) -> None:
    """The two cases that were started ahead are wasted; they are answered when all tests have finished."""
    pytester = project(many(40), test=SKIPPING)
    pytester.makeconftest(LAST)

    def answer_late(seen: Seen) -> Answer:
        eventually(Path(pytester.path, "last.txt").exists, "the last test is over")
        return crm_brain(seen)

    server = providers(answer_late)

    result = pytester.runpytest(*M, "-p", "no:xdist", "--crmeval-inflight", "2")

    result.assert_outcomes(skipped=40)
    assert len(server.seen) <= 4


LEARNER = """
class Learner:
    name = "learner"
    learns = True
    seen = []

    def reply(self, messages, tools):
        from pytest_crmeval import Reply
        self.seen.append(messages[0].text)
        return Reply(text="I see.")

def pytest_sessionfinish():
    import json, pathlib
    pathlib.Path("order.json").write_text(json.dumps(Learner.seen))
"""


def test_learning_agent_is_never_played_ahead(project: Project) -> None:
    pytester = project(many(6))
    pytester.makeconftest(LEARNER)

    result = pytester.runpytest("--crmeval-agent", "conftest:Learner", "--crmeval-inflight", "4", "-p", "no:xdist")

    order = json.loads(Path(pytester.path, "order.json").read_text())
    assert [f"Add c{number:02d} Ltd, ada@ada.example, active." for number in range(6)] == order
    result.stdout.fnmatch_lines(["crmeval queue:  6 cases one at a time (the agent learns, in order)"])


@WAYS
def test_run_that_ends_at_its_first_failure_loses_nothing(
    project: Project, providers: Providers, xdist: list[str]
) -> None:
    """Cases in flight are recorded, and a resumed run plays only the rest."""
    seconds = [0.5]  # the first run must stop before all are played
    server = providers(lambda seen: Say("No.") if "c00" in seen.last_user_text else Slow(seconds[-1], crm_brain(seen)))
    pytester = project(many(40))
    run = (*M, "--crmeval-run", f"first-failure{len(xdist[0])}", "--crmeval-inflight", "3")

    first = pytester.runpytest(*run, *xdist, "-x")
    before = len(report_of(pytester.path)["trials"])
    seconds.append(0.01)
    second = pytester.runpytest(*run, *xdist)

    assert 1 == first.parseoutcomes()["failed"]
    assert 1 < before < 40
    assert 39 == sum(trial["verdict"] == "passed" for trial in report_of(pytester.path)["trials"])
    assert sorted(["c00", *[f"c{number:02d}" for number in range(1, 40)] * 2]) == sorted(asked(server))
    assert 40 - before == second.parseoutcomes()["passed"]


def test_budget_is_kept_and_started_trials_are_finished(project: Project, providers: Providers) -> None:
    """A trial costs 0.24 dollars: the budget covers two, although more could be in flight."""
    providers()
    pytester = project(many(40))
    dear = ("--crmeval-agent", "openai:m?price=1000/1000", "--crmeval-budget", "0.70", "--crmeval-inflight", "3")

    result = pytester.runpytest(*dear, "-n", "2")

    report = report_of(pytester.path)
    (summary,) = report["results"]
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert (2, 38) == (summary["passed"], summary["not_run"])
    assert report["run"]["spent"] == pytest.approx(0.48)


def test_agent_that_cannot_be_called_has_one_message(project: Project, providers: Providers) -> None:
    """Many cases are in flight; those without an answer were not run."""
    server = providers([Status(401, "who are you?")])
    pytester = project(many(40))

    result = pytester.runpytest(*M, "-p", "no:xdist")

    (summary,) = report_of(pytester.path)["results"]
    assert len(server.seen) <= 9
    assert 40 == summary["errored"] + summary["not_run"]
    assert 1 <= summary["errored"] <= 8
    result.stdout.fnmatch_lines(["openai:m was stopped: authentication*"])


TALKATIVE = """
import logging
from bots import Half

class Talkative(Half):
    def reply(self, messages, tools):
        logging.getLogger("bot").warning("heard %s", messages[0].text)
        return super().reply(messages, tools)
"""


def test_log_messages_are_shown_with_their_own_item(project: Project) -> None:
    cases = [{**record, "turns": [{**record["turns"][0], "expected_tool": "client_search"}]} for record in many(6)]
    pytester = project(cases)
    pytester.makepyfile(talkative=TALKATIVE)

    result = pytester.runpytest("--crmeval-agent", "talkative:Talkative", "--crmeval-inflight", "3", "-p", "no:xdist")

    result.assert_outcomes(failed=6)
    for section in result.stdout.str().split("_ test_conversation[")[1:]:
        name, log = section[:40].split("-")[1][:3], re.findall(r"bot:.* heard Add (\w+) Ltd", section)
        assert {name} == set(log)


def test_durations_are_those_of_the_conversations(project: Project, providers: Providers) -> None:
    """Not the time that the item waited for it."""
    providers(lambda seen: Slow(2.0, crm_brain(seen)) if "c05" in seen.last_user_text else crm_brain(seen))

    result = project(many(6)).runpytest(*M, "-p", "no:xdist", "--durations", "1")

    (line,) = [line for line in result.outlines if " call " in line]
    assert "c05" in line
    assert float(line.split("s")[0]) >= 4.0


def test_conversation_that_exceeds_the_time_limit_of_its_test_fails_it(project: Project, providers: Providers) -> None:
    """Its own time counts, although its item hardly waits; the trial is recorded."""
    seconds = {"c00": 0.01, "c01": 1.5, "c02": 6.5}
    providers(lambda seen: Slow(seconds[seen.last_user_text[4:7]], crm_brain(seen)))

    result = project(many(3), plugin="timeout").runpytest(*M, "-p", "no:xdist", "--timeout", "12")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["Timeout (>12s): the conversation took *"])


MIXED = (
    TEST_FILE
    + """
import time

@pytest.mark.parametrize("number", range(4))
def test_other(number):
    time.sleep(0.05)
"""
)


def test_other_tests_between_cases_run_as_usual(project: Project, providers: Providers) -> None:
    providers()

    result = project(many(4), test=MIXED).runpytest(*M, "-n", "1")

    result.assert_outcomes(passed=8)


def test_exception_of_an_agent_is_reported_in_its_item(project: Project) -> None:
    pytester = project(many(3))

    result = pytester.runpytest("--crmeval-agent", "bots:Broken", "--crmeval-inflight", "2", "-p", "no:xdist")

    result.assert_outcomes(failed=3)
    assert {"errored"} == {trial["verdict"] for trial in report_of(pytester.path)["trials"]}
    result.stdout.fnmatch_lines(["errored: ConnectionError: no route to model", "*bots.py*in reply"])


INHERITED = """
import pytest
from bots import Half

class Base:
    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(self, conversation, evaluate):
        assert evaluate(conversation).passed

class TestA(Base):
    pass

class TestB(Base):
    @pytest.fixture
    def agent(self):
        return Half()
"""


def test_same_test_in_another_class_has_other_fixtures(project: Project, providers: Providers) -> None:
    """Only one of them has its own agent."""
    server = providers()
    pytester = project(many(2), test=INHERITED)

    result = pytester.runpytest(*M, "-p", "no:xdist")

    assert {"openai:m", "half"} == {trial["subject"] for trial in report_of(pytester.path)["trials"]}
    assert 4 == len(server.seen)
    result.stdout.fnmatch_lines(["crmeval queue:  8 *; 2 cases one at a time (the fixture 'agent' of test_crm.py)"])


@pytest.mark.parametrize(
    ("conftest", "why"),
    [
        ("from myfix import frozen", "the fixture 'frozen' of myfix.py"),
        ("def pytest_runtest_setup(item):\n    pass", "pytest_runtest_setup of conftest.py"),
    ],
)
def test_imports_and_hooks_of_a_conftest_belong_to_the_user(
    project: Project, providers: Providers, conftest: str, why: str
) -> None:
    """A fixture that it imports, and a hook that may skip a test before it runs."""
    providers()
    pytester = project(many(2))
    pytester.makepyfile(myfix="import pytest\n\n@pytest.fixture(autouse=True)\ndef frozen():\n    yield\n")
    pytester.makeconftest(conftest)

    result = pytester.runpytest(*M, "-p", "no:xdist")

    result.stdout.fnmatch_lines([f"crmeval queue:  2 cases one at a time ({why})"])


def test_nothing_is_played_ahead_if_pytest_hides_the_fixtures_of_a_test(project: Project, providers: Providers) -> None:
    """The attribute is private."""
    providers()
    pytester = project(many(2))
    pytester.makeconftest(
        "import pytest\n\n@pytest.hookimpl(trylast=True)\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        item.seen = item._fixtureinfo\n        item._fixtureinfo = None\n\n"
        "def pytest_collection_finish(session):\n"
        "    for item in session.items:\n        item._fixtureinfo = item.seen\n"
    )

    result = pytester.runpytest(*M, "-p", "no:xdist")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["crmeval queue:  2 cases one at a time (this version of pytest does not show *)"])
