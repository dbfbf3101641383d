"""A second run with the same id does only what is missing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.projects import case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
MINE = f"mine-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"  # workers share a server
RUN = ("--crmeval-run", MINE)


def journal(path: Path) -> list[dict[str, Any]]:
    """Return the recorded trials, in order."""
    lines = (path / f"reports/{MINE}/trials.jsonl").read_text().splitlines()
    return [record["trial"] for line in lines if "trial" in (record := json.loads(line))]


@WAYS
def test_only_what_is_missing_is_played(project: Project, xdist: list[str]) -> None:
    pytester = project()
    pytester.runpytest(*RUN, "-k", "one or two", *xdist).assert_outcomes(passed=2, deselected=1 if "-p" in xdist else 0)

    result = pytester.runpytest(*RUN, *xdist)

    assert 1 == result.parseoutcomes()["passed"]
    result.stdout.fnmatch_lines(["crmeval run: *mine* (1 to play, resumed: 2 done)"])
    assert ["one", "two", "three"] == [trial["case"] for trial in sorted_by_time(pytester.path)]
    report = report_of(pytester.path)
    assert (3, 2) == (report["results"][0]["passed"], len(report["run"]["parts"]))


def sorted_by_time(path: Path) -> list[dict[str, Any]]:
    """Return the trials in the order of their parts; within a part by case."""
    first, last = journal(path)[:2], journal(path)[2:]
    return sorted(first, key=lambda trial: str(trial["case"])) + last


def test_resumed_run_with_nothing_missing_succeeds(project: Project) -> None:
    """It does not have the exit status for 'no tests', and plays nothing."""
    pytester = project()
    pytester.runpytest(*RUN, "-p", "no:xdist")

    result = pytester.runpytest(*RUN, "-p", "no:xdist")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["crm *oracle * 3 * 3 * 0 * 1.000  0.439 to 1.000"])
    assert 3 == len(journal(pytester.path))


def test_earlier_failure_is_not_forgotten(project: Project) -> None:
    """The exit status is that of the whole run: resuming does not turn a failure into success."""
    pytester = project([case("one"), failing("two")])
    agent = ("--crmeval-agent", "bots:Half")
    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest(*RUN, *agent).ret

    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest(*RUN, *agent).ret
    assert 2 == len(journal(pytester.path))


def test_errored_trial_is_repeated(project: Project) -> None:
    """The infrastructure may work again; the last trial of a case counts."""
    pytester = project([case("one")])
    agent = ("--crmeval-agent", "bots:Broken")
    pytester.runpytest(*RUN, *agent)
    with (pytester.path / "bots.py").open("a", encoding="utf-8") as file:
        file.write('\n\nclass Broken(Half):\n    name = "broken"\n')

    pytester.runpytest_subprocess(*RUN, *agent).assert_outcomes(passed=1)

    assert ["errored", "passed"] == [trial["verdict"] for trial in journal(pytester.path)]
    assert (1, 0) == tuple(report_of(pytester.path)["results"][0][name] for name in ("passed", "errored"))


def test_changed_case_is_played_again(project: Project) -> None:
    """Its old trial says nothing about its new content."""
    project([case("one"), case("two")]).runpytest(*RUN)
    changed = case("two")
    changed["turns"][0]["user_utterance"] = "Add Ada Ltd at ada@ada.example; they are active."
    pytester = project([case("one"), changed])

    pytester.runpytest(*RUN).assert_outcomes(passed=1, deselected=1)

    assert ["one", "two", "two"] == [trial["case"] for trial in journal(pytester.path)]
    assert 2 == report_of(pytester.path)["results"][0]["passed"]


def test_old_trial_of_a_changed_case_does_not_count(project: Project) -> None:
    """Neither in the report nor for a gate, if the new content was not played."""
    gate = "crmeval_gates = crm.pass_rate >= 0.60"
    half = ("--crmeval-agent", "bots:Half")
    project([case(name) for name in "abcd"], ini=gate).runpytest(*RUN, *half).assert_outcomes(passed=4)
    pytester = project([failing(name) for name in "abcd"], ini=gate)

    result = pytester.runpytest(*RUN, *half, "-x", "-p", "no:xdist")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    (summary,) = report_of(pytester.path)["results"]
    assert (0, 1, 3) == (summary["passed"], summary["failed"], summary["not_run"])


def test_case_is_played_again_by_another_agent_with_the_same_name(project: Project) -> None:
    project([case("one")], ini="crmeval_agents = bot = bots:Half").runpytest(*RUN, "--crmeval-agent", "bot")
    pytester = project([case("one")], ini="crmeval_agents = bot = mute")

    pytester.runpytest(*RUN, "--crmeval-agent", "bot").assert_outcomes(failed=1)

    report = report_of(pytester.path)
    assert [0] == [summary["passed"] for summary in report["results"]]
    assert [{"bot": "bots:Half"}, {"bot": "mute"}] == [part["agents"] for part in report["run"]["parts"]]


def test_cases_planned_by_an_earlier_part_are_still_missing(project: Project) -> None:
    """Selecting fewer cases does not make a run complete."""
    pytester = project([failing("one"), case("two"), case("three")])
    half = ("--crmeval-agent", "bots:Half")
    pytester.runpytest(*RUN, *half, "-x", "-p", "no:xdist")

    pytester.runpytest(*RUN, *half, "-k", "two")

    report = report_of(pytester.path)
    assert not report["complete"]
    assert (1, 1, 1) == tuple(report["results"][0][name] for name in ("passed", "failed", "not_run"))


def test_test_that_failed_outside_its_trial_is_played_again(project: Project) -> None:
    """Resuming does not turn a failure into success."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        assert evaluate(conversation).passed
        assert conversation.id != "two"
    """
    pytester = project(test=test, ini="crmeval_gates = crm.pass_rate >= 0.60")

    for _ in range(2):
        result = pytester.runpytest(*RUN, "-n", "1")

        assert pytest.ExitCode.TESTS_FAILED == result.ret
        assert 1 == result.parseoutcomes()["failed"]
    assert 4 == len(journal(pytester.path))
    assert ["test_crm.py::test_conversation[oracle-two]"] == report_of(pytester.path)["run"]["red"]


def test_run_id_without_cases_records_nothing(project: Project) -> None:
    """An earlier run is not changed."""
    pytester = project()
    pytester.makepyfile(test_other="def test_other(): pass")
    pytester.runpytest(*RUN, "test_crm.py")
    before = (pytester.path / f"reports/{MINE}/trials.jsonl").read_bytes()

    pytester.runpytest(*RUN, "test_other.py").assert_outcomes(passed=1)

    assert before == (pytester.path / f"reports/{MINE}/trials.jsonl").read_bytes()


def test_torn_last_line_is_played_again(project: Project) -> None:
    """A trial cut off by a crash does not count; nothing else is lost."""
    pytester = project([case("one"), case("two")])
    pytester.runpytest(*RUN)
    path = pytester.path / f"reports/{MINE}/trials.jsonl"
    path.write_bytes(path.read_bytes()[:-20])

    pytester.runpytest(*RUN).assert_outcomes(passed=1, deselected=1)

    assert ["one", "two"] == [trial["case"] for trial in journal(pytester.path)]


def test_file_that_is_not_a_journal_is_not_changed(project: Project) -> None:
    pytester = project()
    path = pytester.mkdir("reports") / f"{MINE}/trials.jsonl"
    path.parent.mkdir()
    path.write_text("groceries\n")

    result = pytester.runpytest(*RUN)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*trials.jsonl:1: not a line of a journal*"])
    assert "groceries\n" == path.read_text()


def test_run_without_a_name_is_always_new(project: Project) -> None:
    """Two runs, two journals."""
    pytester = project()
    pytester.runpytest().assert_outcomes(passed=3)

    pytester.runpytest().assert_outcomes(passed=3)

    assert 2 == len(list(pytester.path.glob("reports/*/trials.jsonl"))) - 1  # and ``latest`` links to one of them


def test_page_of_a_finished_run_is_not_rewritten(project: Project) -> None:
    """Otherwise writing it would take half of the time of a large resumed run with nothing left to play."""
    pytester = project(ini="crmeval_page = true")
    pytester.runpytest(*RUN).assert_outcomes(passed=3)
    page = pytester.path / f"reports/{MINE}.html"
    before = page.stat().st_ino

    result = pytester.runpytest(*RUN)

    assert result.ret == 0
    assert before == page.stat().st_ino
    result.stdout.fnmatch_lines([f"page:   reports/{MINE}.html"])
    assert 2 == len(report_of(pytester.path)["run"]["parts"])


def test_folder_of_a_run_is_not_searched_for_tests(project: Project) -> None:
    """It has a file for each trial, and may be inside the tests folder."""
    pytester = project()
    pytester.runpytest(*RUN).assert_outcomes(passed=3)
    folder = pytester.path / f"reports/{MINE}/transcripts"
    (folder / "test_inside.py").write_text("def test_inside(): pass")
    (pytester.path / "reports" / "test_beside.py").write_text("def test_beside(): pass")

    pytester.runpytest("-p", "no:xdist", *RUN).assert_outcomes(passed=1, deselected=3)


COUNTING = """
import os

def pytest_itemcollected(item):
    with open(f"collected-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}", "a") as file:
        file.write(item.name + "\\n")
"""


def test_workers_do_not_collect_finished_cases(project: Project) -> None:
    """Collecting tens of thousands of cases takes pytest seconds; the remaining ones keep their ids."""
    pytester = project()
    pytester.runpytest(*RUN, "-n", "1", "-k", "one or two")
    pytester.makeconftest(COUNTING)

    pytester.runpytest(*RUN, "-n", "1").assert_outcomes(passed=1)

    assert "test_conversation[oracle-three]\n" == (pytester.path / "collected-gw0").read_text()


TWO_TESTS = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_first(conversation, evaluate):
    assert evaluate(conversation).passed

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_second(conversation, evaluate):
    assert evaluate(conversation).passed
"""


def test_case_of_two_tests_keeps_both_transcripts_if_one_of_them_is_resumed(project: Project) -> None:
    """Its file has the same name as in a run that plays both."""
    pytester = project([case("one")], test=TWO_TESTS)
    pytester.runpytest(*RUN, "-n", "1", "--deselect", "test_crm.py::test_second")
    pytester.runpytest(*RUN, "-n", "1").assert_outcomes(passed=1)

    assert 2 == len(list((pytester.path / "reports" / MINE / "transcripts" / "crm" / "oracle").iterdir()))


def test_tests_that_are_parametrized_further_are_resumed(project: Project) -> None:
    test = TWO_TESTS.replace("def test_second(", '@pytest.mark.parametrize("n", [1, 2])\ndef test_second(n, ')
    pytester = project([case("one")], test=test)
    pytester.runpytest(*RUN, "-k", "not 2")
    pytester.runpytest(*RUN).assert_outcomes(passed=1, deselected=2)

    assert 3 == len(journal(pytester.path))
