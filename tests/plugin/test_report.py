"""The files that a run writes."""

import json
import os
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from psycopg.conninfo import conninfo_to_dict

from pytest_crmeval.domain.interval import wilson
from tests.projects import case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = [["-p", "no:xdist"], ["-n", "0"], ["-n", "2"]]


def schema() -> dict[str, Any]:
    """Return the documented schema of a report."""
    document: dict[str, Any] = json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text())
    return document


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_reports_of_all_modes_are_the_same(project: Project, way: list[str]) -> None:
    """With and without xdist and workers: the same trials, the same figures, a valid document."""
    pytester = project([case("one"), failing("two"), case("three")])

    result = pytester.runpytest(*way, "--crmeval-agent", "bots:Half")

    result.assert_outcomes(passed=2, failed=1)
    report = report_of(pytester.path)
    Draft202012Validator(schema()).validate(report)
    (summary,) = report["results"]
    assert summary.pop("seconds") > 0
    metrics, by, figures = summary.pop("metrics"), summary.pop("by"), summary.pop("figures")
    assert {"one", "two", "three"} == {each["case"] for each in summary.pop("slowest")}
    assert {
        "suite": "crm",
        "subject": "half",
        "planned": 3,
        "cases": 3,
        "passed": 2,
        "failed": 1,
        "errored": 0,
        "invalid": 0,
        "not_run": 0,
        "pass_rate": 2 / 3,
        "scores": {"calls": 2 / 3, "reply": 1.0, "state": 2 / 3},
    } == {name: value for name, value in summary.items() if name != "reasons"}
    assert [("failed", 1, ["two"])] == [(each["verdict"], each["count"], each["cases"]) for each in summary["reasons"]]
    assert {"value": 2 / 3, "interval": list(wilson(2, 3) or ()), "n": 3, "method": "wilson"} == figures["pass_rate"]
    assert {
        "strict_success": 2 / 3,
        "turn_success": 2 / 3,
        "tool_success": 2 / 3,
        "reply_success": 1.0,
        "first_failed_turn": {"1": 1},
        "steps_per_turn": 5 / 3,
        "errors": 0,
        "recovered_errors": 0,
    } == metrics
    assert {"complexity": ["simple"], "category": ["Unknown"], "tool": ["create_new_client"]} == {
        kind: list(groups) for kind, groups in by.items()
    }
    assert {"one": "passed", "two": "failed", "three": "passed"} == {
        trial["case"]: trial["verdict"] for trial in report["trials"]
    }
    assert report["complete"]


@pytest.mark.parametrize("dist", ["worksteal", "loadscope", "loadfile"])
def test_every_distribution_plays_every_case_once(project: Project, dist: str) -> None:
    """Even if a group is part of the node id: the key of a trial does not change."""
    test = """
    import pytest

    @pytest.mark.xdist_group("g")
    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        assert evaluate(conversation).passed
    """
    pytester = project(test=test)

    pytester.runpytest("-n", "2", "--dist", dist).assert_outcomes(passed=3)

    keys = [trial["key"] for trial in report_of(pytester.path)["trials"]]
    assert [f"test_crm.py::test_conversation[oracle-{name}]" for name in ("one", "three", "two")] == keys


def test_controller_has_one_copy_of_each_node_id(project: Project) -> None:
    """Xdist keeps a list of ids per worker, and pytest three reports per test."""
    pytester = project([case("one"), case("two")])
    pytester.makeconftest(
        """
        seen = {}

        def pytest_xdist_node_collection_finished(ids):
            seen.setdefault("lists", []).append(ids)

        def pytest_runtest_logreport(report):
            seen.setdefault("reports", []).append(report.nodeid)

        def pytest_terminal_summary(terminalreporter):
            ids = [*seen["reports"], *(id for ids in seen["lists"] for id in ids)]
            terminalreporter.write_line(f"{len(ids)} ids, {len(set(map(id, ids)))} strings")
        """
    )

    pytester.runpytest("-n", "2").stdout.fnmatch_lines(["10 ids, 2 strings"])


def test_journal_has_the_data_of_the_report(project: Project) -> None:
    """One line for the part, one per trial; ``latest`` links to the run."""
    pytester = project()

    pytester.runpytest("--crmeval-run", "books", "-n", "1")

    lines = (pytester.path / "reports/latest/trials.jsonl").read_text().splitlines()
    part, *trials = map(json.loads, lines)
    assert "--crmeval-run books -n 1" in part["part"]["command"]
    assert sorted(trial["trial"]["key"] for trial in trials) == [
        trial["key"] for trial in report_of(pytester.path)["trials"]
    ]
    assert (pytester.path / "reports/latest").resolve() == pytester.path / "reports/books"


def test_journal_records_the_rules(project: Project) -> None:
    """The scorers, and how invalid cases are handled."""
    pytester = project([case("one")])

    result = pytester.runpytest()

    (part,) = report_of(pytester.path)["run"]["parts"]
    assert (["state", "calls", "reply"], "report") == (part["scorers"], part["invalid"])
    result.stdout.no_fnmatch_line("crmeval scorer:*")


def test_selected_scorers_are_shown_in_the_header(project: Project) -> None:
    """Their figures are not comparable with the usual ones."""
    pytester = project([case("one")])

    result = pytester.runpytest("--crmeval-scorer", "clbench", "--crmeval-scorer", "state")

    result.stdout.fnmatch_lines(["crmeval server: *", "crmeval scorer: clbench, state"])
    assert ["clbench", "state"] == report_of(pytester.path)["run"]["parts"][0]["scorers"]


def test_default_scorers_are_recognised_in_any_order(project: Project) -> None:
    names = ("reply", "state", "calls")

    result = project([case("one")]).runpytest(*(f"--crmeval-scorer={name}" for name in names))

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("crmeval scorer:*")


@pytest.mark.parametrize("missing", ["", "one"], ids=["nothing left", "one left"])
def test_run_cannot_be_resumed_with_other_scorers(project: Project, missing: str) -> None:
    """Two kinds of verdict can't be added up; the error names both, and nothing is written."""
    pytester = project([case("one"), case("two")])
    run = ("--crmeval-run", f"rules-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}")
    pytester.runpytest(*run, "-k", "two" if missing else "")
    (journal,) = pytester.path.glob("reports/rules-*/trials.jsonl")
    before = journal.read_bytes()

    result = pytester.runpytest(*run, "--crmeval-scorer", "clbench")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    said = f"run '{run[1]}' was started with the scorers state, calls, reply, so it can't be resumed with clbench; "
    result.stderr.fnmatch_lines([f"ERROR: crmeval: {said}use the same --crmeval-scorer, or another --crmeval-run"])
    assert before == journal.read_bytes()


def test_run_without_recorded_scorers_can_be_resumed(project: Project) -> None:
    pytester = project([case("one"), case("two")])
    pytester.runpytest("--crmeval-run", "older", "-k", "two")
    journal = pytester.path / "reports/older/trials.jsonl"
    first, *trials = journal.read_text().splitlines()
    record = json.loads(first)
    del record["part"]["scorers"], record["part"]["invalid"]
    journal.write_text("\n".join([json.dumps(record), *trials, ""]))

    pytester.runpytest("--crmeval-run", "older", "--crmeval-scorer", "state").assert_outcomes(passed=1, deselected=1)


def test_infrastructure_failure_is_errored_and_never_a_score_of_zero(project: Project) -> None:
    """A trial that could not be played has no score, and without trials there is no pass rate."""
    pytester = project([case("one")])

    pytester.runpytest("--crmeval-agent", "bots:Broken").assert_outcomes(failed=1)

    report = report_of(pytester.path)
    (summary,), (trial,) = report["results"], report["trials"]
    Draft202012Validator(schema()).validate(report)
    assert (0, 0, 1) == (summary["passed"], summary["failed"], summary["errored"])
    assert "pass_rate" not in summary
    assert ("errored", [], "ConnectionError: no route to model") == (
        trial["verdict"],
        trial["scores"],
        trial["reason"],
    )


def test_run_without_cases_writes_nothing(pytester: pytest.Pytester) -> None:
    """No folder and no output."""
    pytester.makepyfile("def test_nothing(): pass")

    result = pytester.runpytest("-n", "1")

    result.stdout.no_fnmatch_line("*crmeval run*")
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize("option", ["setup-plan", "setup-only", "fixtures", "fixtures-per-test", "collect-only"])
def test_collect_only_writes_no_run(project: Project, option: str) -> None:
    pytester = project(ini="crmeval_gates = crm.pass_rate >= 0.60")

    result = pytester.runpytest(f"--{option}", "-p", "no:xdist")

    assert pytest.ExitCode.OK == result.ret
    assert not (pytester.path / "reports").exists()


def test_unwritable_report_is_reported(project: Project) -> None:
    """In one line, with the figures; the journal has everything, and the run fails."""
    test = """
    import pathlib, pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate, pytestconfig):
        assert evaluate(conversation).passed
        pathlib.Path(pytestconfig.rootpath, "reports", "latest", "in the way").mkdir(parents=True, exist_ok=True)
    """
    pytester = project(test=test)

    result = pytester.runpytest()

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["crm *oracle * 3 *", "the report could not be written: *"])
    assert not list(pytester.path.glob("reports/.latest*"))


def test_passwords_are_not_kept(project: Project, given_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = conninfo_to_dict(given_server)
    monkeypatch.delenv("CRMEVAL_DSN")
    pytester = project([case("one")], plugin="postgresql")
    server = (f"--postgresql-host={parts['host']}", "--postgresql-port=5432")

    pytester.runpytest(*server, "--postgresql-password=hunter2").assert_outcomes(passed=1)
    pytester.runpytest(*server, "--postgresql-password", "hunter2").assert_outcomes(passed=1)

    written = [path.read_text() for path in pytester.path.glob("reports/**/*.json*")]
    assert written
    assert "hunter2" not in "".join(written)
    assert "--postgresql-password=..." in "".join(written)


def test_repeated_test_has_a_new_trial(project: Project) -> None:
    pytester = project([case("one")])
    pytester.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            runtestprotocol(item, nextitem=nextitem, log=False)
            item._initrequest()
            runtestprotocol(item, nextitem=nextitem)
            return True
        """
    )

    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=1)


def test_skipped_cases_are_not_run(project: Project) -> None:
    """The counts add up to the number of planned cases."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        if conversation.id == "two":
            pytest.skip("not today")
        evaluate(conversation)
    """
    pytester = project(test=test)

    pytester.runpytest("-n", "1").assert_outcomes(passed=2, skipped=1)

    report = report_of(pytester.path)
    assert (2, 1, 3) == tuple(report["results"][0][name] for name in ("passed", "not_run", "planned"))
    assert not report["complete"]
