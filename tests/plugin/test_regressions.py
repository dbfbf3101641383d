"""``--crmeval-baseline`` and ``--crmeval-gate``: a run compared with an earlier one, and output for CI servers."""

import json
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from tests.projects import case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
NO_XDIST = ("-p", "no:xdist")
HALF = ("--crmeval-agent", "bots:Half")
WORSE = ("--crmeval-gate", "crm.pass_rate not worse than baseline")
MINE = os.environ.get("PYTEST_XDIST_WORKER", "main")  # workers share a server


def rewrite(path: Path, cases: list[dict[str, object]]) -> None:
    """Make the project's cases unknown to the agent."""
    (path / "cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cases), encoding="utf-8")


def better(pytester: pytest.Pytester) -> None:
    """Make the agent know all cases: the agent changes, and the cases don't."""
    bots = pytester.path / "bots.py"
    bots.write_text(bots.read_text().replace('startswith("Add")', 'startswith(("Add", "Please"))'))


def test_misspelt_gate_on_the_command_line_is_breached(project: Project) -> None:
    gates = [word for name in ("oracle", "orcale") for word in ("--crmeval-gate", f"crm[{name}].passed > 0")]

    result = project([case("one")]).runpytest(*NO_XDIST, "--crmeval-agent", "oracle", *gates)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate crm[[]orcale[]].passed > 0: BREACHED (crm has no subject 'orcale'*"])


def test_run_is_compared_with_another(project: Project) -> None:
    """Six of seven cases were lost: they are shown, annotated and summarised, and the gate is breached."""
    pytester = project([case("stays"), *(failing(f"lost-{n}") for n in range(7))])
    source = (pytester.path / "bots.py").read_text()
    better(pytester)
    pytester.runpytest(*HALF, *NO_XDIST, "--crmeval-run", f"old-{MINE}")
    (pytester.path / "bots.py").write_text(source)

    result = pytester.runpytest(*HALF, *WORSE, "--crmeval-baseline", f"old-{MINE}")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate crm.pass_rate not worse than baseline: BREACHED (pass_rate went from 1.000 to 0.125 over 8 cases *",
            f"compared with old-{MINE} (*)",
            "crm * half * 8 * 1.000 * 0.125 * -0.875 * 0 * 7 * 0.016 [*] *",
            "newly failing in crm, half: 7 (for example lost-0)",
            f"all changes: crmeval compare old-{MINE} *",
        ]
    )
    report = report_of(pytester.path)
    Draft202012Validator(json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text())).validate(
        report
    )
    assert (f"old-{MINE}", 7) == (
        report["comparison"]["baseline"]["id"],
        len(report["comparison"]["contrasts"][0]["newly_failing"]),
    )


def test_not_worse_gate_allows_cases_that_failed_before(project: Project) -> None:
    """The same case fails as before; gates of the command line replace those of the project."""
    cases = [failing("two"), *(case(f"right-{n}") for n in range(5))]
    pytester = project(cases, ini="crmeval_gates = crm.pass_rate >= 0.9")
    pytester.runpytest(*HALF, *NO_XDIST)
    (pytester.path / "kept.json").write_bytes((pytester.path / "reports/latest.json").read_bytes())

    result = pytester.runpytest(*HALF, *WORSE, "--crmeval-baseline", "kept.json", *NO_XDIST)

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["all gates hold, so failed cases do not affect the exit status"])
    result.stdout.no_fnmatch_line("*>= 0.9*")


def test_missing_baseline_ends_the_run_before_it_starts(project: Project) -> None:
    """Nothing is paid for. The project's own baseline may be missing as long as there was no run."""
    pytester = project(ini="crmeval_baseline = kept.json")

    result = pytester.runpytest("--crmeval-baseline", "nowhere", *NO_XDIST)
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "has this id" in f"{result.stdout}{result.stderr}"

    result = pytester.runpytest(*NO_XDIST)
    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["there is no baseline yet: copy a report to kept.json"])

    (pytester.path / "kept.json").write_bytes((pytester.path / "reports/latest.json").read_bytes())
    result = pytester.runpytest(*NO_XDIST)
    result.stdout.fnmatch_lines(["compared with *"])


def test_gate_with_a_syntax_error_is_a_usage_error(project: Project) -> None:
    result = project().runpytest("--crmeval-gate", "crm.pass_rate >= most")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["*--crmeval-gate: expected a number (0.5) or baseline here:", "  crm.pass_rate >= most", "* ^"]
    )


def test_report_has_the_provenance_of_the_run(project: Project) -> None:
    """Commit, cases, prompts, versions: what is needed to repeat it."""
    pytester = project([case("one")])
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "m"],
    ):
        pytester.run("git", *command)

    pytester.runpytest(*HALF, *NO_XDIST)

    run = report_of(pytester.path)["run"]
    (part,) = run["parts"]
    assert (40, False, True) == (len(part["git"]["commit"]), part["git"]["dirty"], part["chosen"])
    assert ({"conversations", "questions"}, 0, 20) == (set(part["prompts"]), part["seed"], part["max_steps"])
    assert 1 == run["datasets"]["crm"]["cases"]
    assert {"python", "pytest", "openai", "scipy"} < set(run["versions"])


def test_junit_and_github_get_verdicts_scores_and_annotations(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JUnit XML has suite, subject, scores and verdict; GitHub has a step summary and annotations."""
    pytester = project([case("one"), failing("two")], ini="crmeval_gates = crm.pass_rate >= 0.60")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "step.md"))

    result = pytester.runpytest(*HALF, "--junitxml", "junit.xml")

    result.stdout.fnmatch_lines(["::error title=crmeval gate::crm.pass_rate >= 0.60: pass_rate is 0.500"])
    assert "`crm.pass_rate >= 0.60`" in (pytester.path / "step.md").read_text(encoding="utf-8")
    message = {
        found["crmeval_case"]: found
        for test in ET.parse(pytester.path / "junit.xml").iter("testcase")  # noqa: S314 (our own)
        if (found := {each.get("name"): each.get("value") for each in test.iter("property")})
    }
    assert {
        "crmeval_suite": "crm",
        "crmeval_subject": "half",
        "crmeval_case": "two",
        "crmeval_verdict": "failed",
        "crmeval_score_state": "0.0",
        "crmeval_score_calls": "0.0",
        "crmeval_score_reply": "1.0",
    } == message["two"]
    assert "passed" == message["one"]["crmeval_verdict"]
