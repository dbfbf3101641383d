"""``--crmeval-invalid``: a case that no agent can pass is reported separately."""

import json
import os
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.projects import case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
GATE = "crmeval_gates = crm.pass_rate >= 0.60"
HALF = ("--crmeval-agent", "bots:Half")
MINE = f"invalid-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"  # workers share a server
RUN = ("--crmeval-run", MINE)


def unfilled(case_id: str) -> dict[str, Any]:
    """Return a case with an unfilled placeholder in the user's words."""
    record = case(case_id)
    record["turns"][0]["user_utterance"] = "Add Ada Ltd, ada@ada.example, {status}."
    return record


def unseedable(case_id: str) -> dict[str, Any]:
    """Return a case whose starting row the CRM rejects."""
    row = {"name": "Bo", "status": "Active", "colour": "red"}
    return case(case_id, initial_entities={"seed_data": {"Client": {"7c9e6679-7425-40de-944b-e07fc1f90ae7": row}}})


def contradictory(case_id: str) -> dict[str, Any]:
    """Return a case whose reference call the CRM refuses, although the case expects it to succeed."""
    record = case(case_id)
    record["turns"][0]["expected_args"]["status"] = "Sleeping"
    record["turns"][0]["user_utterance"] = "Add Ada Ltd, ada@ada.example, Sleeping."
    return record


def counts(pytester: pytest.Pytester) -> tuple[int, ...]:
    """Return planned, passed, failed, errored, invalid and not run of the only subject."""
    (summary,) = report_of(pytester.path)["results"]
    return tuple(summary[name] for name in ("planned", "passed", "failed", "errored", "invalid", "not_run"))


def verdicts(pytester: pytest.Pytester) -> list[str]:
    """Return the recorded verdicts, in order."""
    lines = (pytester.path / f"reports/{MINE}/trials.jsonl").read_text().splitlines()
    return [record["trial"]["verdict"] for line in lines if "trial" in (record := json.loads(line))]


@WAYS
def test_invalid_case_is_reported_separately(project: Project, xdist: list[str]) -> None:
    """It is skipped in pytest's output, is neither a failure nor in the pass rate, and the run is complete."""
    pytester = project([case("one"), unfilled("two"), failing("three")])

    pytester.runpytest(*HALF, *xdist).assert_outcomes(passed=1, failed=1, skipped=1)

    report = report_of(pytester.path)
    schema = json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    assert (3, 1, 1, 0, 1, 0) == counts(pytester)
    assert (0.5, True) == (report["results"][0]["pass_rate"], report["complete"])
    assert [("invalid", [], [])] == [
        (trial["verdict"], trial["scores"], trial["turns"]) for trial in report["trials"] if trial["case"] == "two"
    ]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (unfilled, "{status}"),
        (unseedable, "seed_data.Client"),
        (contradictory, "turn 1: the reference call create_new_client does not do what the case expects"),
    ],
)
def test_invalid_case_is_reported_with_file_and_line(
    project: Project, broken: Callable[[str], dict[str, Any]], said: str
) -> None:
    """In pytest's summary and in the report: the mistake is in a file, not in the code or the agent."""
    pytester = project([case("one"), broken("two")])

    result = pytester.runpytest("-rs", "-p", "no:xdist")

    result.assert_outcomes(passed=1, skipped=1)
    place = f"{pytester.path}/cases.jsonl:2: two: "
    (reason,) = [trial["reason"] for trial in report_of(pytester.path)["trials"] if trial["case"] == "two"]
    assert reason.startswith(place)
    assert said in reason
    assert f"invalid: {place}" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_summary_names_invalid_cases(project: Project) -> None:
    """In a column, with the command that explains them; a case counts once, whatever the number of agents."""
    pytester = project([case("one"), unfilled("two")])

    result = pytester.runpytest("--crmeval-agent=oracle", *HALF)

    result.stdout.fnmatch_lines(
        [
            "suite  subject           cases  passed  failed  invalid  pass rate   95 % interval",
            "crm    half                  2       1       0        1      1.000  0.207 to 1.000",
            "crm    oracle (control)      2       1       0        1      1.000  0.207 to 1.000",
            "1 case is invalid: crmeval lint cases.jsonl",
            "for example cases.jsonl:2: two: turn 1: *{status}*",
        ]
    )


def test_summary_does_not_mention_invalid_cases_if_there_are_none(project: Project) -> None:
    result = project().runpytest()

    result.stdout.no_fnmatch_line("* invalid*")


@pytest.mark.parametrize("ini", ["", GATE], ids=["without a gate", "with a gate"])
def test_invalid_case_does_not_fail_a_run(project: Project, ini: str) -> None:
    pytester = project([case("one"), unfilled("two")], ini=ini)

    assert pytest.ExitCode.OK == pytester.runpytest().ret


def test_gate_can_forbid_invalid_cases(project: Project) -> None:
    result = project([case("one"), unfilled("two")], ini="crmeval_gates = crm.invalid == 0").runpytest()

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate crm.invalid == 0: BREACHED (invalid is 1;*"])


def test_suite_of_invalid_cases_has_no_pass_rate(project: Project) -> None:
    """A gate on it can't hold, because nothing was measured."""
    result = project([unfilled("one"), unfilled("two")], ini=GATE).runpytest()

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate crm.pass_rate >= 0.60: BREACHED (no trial was scored)"])


@pytest.mark.parametrize("broken", [unfilled, contradictory])
def test_invalid_case_can_be_played_on_request(project: Project, broken: Callable[[str], dict[str, Any]]) -> None:
    pytester = project([broken("one")])

    pytester.runpytest("--crmeval-invalid", "play")

    (trial,) = report_of(pytester.path)["trials"]
    assert trial["verdict"] in {"passed", "failed"}
    assert trial["scores"]
    assert "play" == report_of(pytester.path)["run"]["parts"][0]["invalid"]


def test_case_that_cannot_be_seeded_cannot_be_played(project: Project) -> None:
    pytester = project([unseedable("one")])

    pytester.runpytest("--crmeval-invalid", "play").assert_outcomes(skipped=1)

    assert (1, 0, 0, 0, 1, 0) == counts(pytester)


def test_resumed_run_does_not_look_at_an_invalid_case_again(project: Project) -> None:
    pytester = project([case("one"), unfilled("two")])
    pytester.runpytest(*RUN, "-p", "no:xdist").assert_outcomes(passed=1, skipped=1)

    result = pytester.runpytest(*RUN, "-p", "no:xdist")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["crmeval run: *(0 to play, resumed: 2 done)", "1 case is invalid: *"])
    assert ["invalid", "passed"] == sorted(verdicts(pytester))


def test_corrected_case_is_played(project: Project) -> None:
    """The defect of its old content no longer counts."""
    project([unfilled("one")]).runpytest(*RUN)
    pytester = project([case("one")])

    pytester.runpytest(*RUN).assert_outcomes(passed=1)

    assert ["invalid", "passed"] == verdicts(pytester)
    assert (1, 1, 0, 0, 0, 0) == counts(pytester)


def test_run_can_be_resumed_with_invalid_cases_played(project: Project) -> None:
    """Invalid cases are played, and valid ones are not repeated."""
    pytester = project([case("one"), unfilled("two")])
    pytester.runpytest(*RUN)

    pytester.runpytest(*RUN, "--crmeval-invalid=play")

    assert ["invalid", "passed", "passed"] == sorted(verdicts(pytester))
    assert (2, 2, 0, 0, 0, 0) == counts(pytester)


def test_run_that_played_invalid_cases_cannot_be_resumed_without_them(project: Project) -> None:
    """Some invalid cases would have a score, and some not; nothing is written."""
    pytester = project([unfilled("one"), unfilled("two")])
    pytester.runpytest(*RUN, "--crmeval-invalid=play", "-k", "one")

    result = pytester.runpytest(*RUN)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: crmeval: run '{MINE}' was started with --crmeval-invalid=play; add it*"])
    assert 1 == len(verdicts(pytester))
