"""``crmeval merge``: join runs, and evaluate the merged run."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.report import merge
from tests.fakes import planned, trial
from tests.kept_runs import keep, part

MERGE = ["merge", "s1", "s2", "-o", "out"]
GATE = ["--gate", "crm.pass_rate >= 0.6"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a project with two shards of three cases, of which one failed, and return the reports."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    keep(tmp_path / "reports", "s1", [trial("one"), trial("two", Verdict.FAILED)], parts=[part("1/2")])
    keep(tmp_path / "reports", "s2", [trial("three")], parts=[part("2/2")])
    return tmp_path / "reports"


def of_project(folder: Path, *gates: str) -> None:
    """Set gates in the project."""
    (folder.parent / "pytest.ini").write_text("[pytest]\ncrmeval_gates =" + "".join(f"\n    {gate}" for gate in gates))


def report_of(folder: Path) -> dict[str, Any]:
    """Return the merged report."""
    document: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return document


def test_merge_shows_the_merged_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main([*MERGE, *GATE])
    rest = "margin +0.067; inconclusive: about 205 more cases needed"
    expected = [
        "suite  subject           cases  passed  failed  pass rate   95 % interval",
        "crm    oracle (control)      3       2       1      0.667  0.208 to 0.939",
        f"gate crm.pass_rate >= 0.6: holds (pass_rate is 0.667; 95 % interval 0.208 to 0.939; {rest})",
        "report: reports/out.json",
        "page:   reports/out.html",
    ]
    assert expected == capsys.readouterr().out.splitlines()
    assert report_of(folder)["complete"]


def test_merge_shows_the_metrics_of_questions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = replace(trial("three"), answer=AnswerOutcome(attempt=Attempt.CORRECT))
    keep(folder, "s3", [asked], parts=[part("2/2")])

    assert 0 == cli.main(["merge", "s1", "s3", "-o", "out"])
    assert "answers of oracle (crm): correct 1" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_breached_gate_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    """The run is merged anyway."""
    assert 1 == cli.main([*MERGE, "--gate", "crm.pass_rate >= 0.7"])
    assert "gate crm.pass_rate >= 0.7: BREACHED (pass_rate is 0.667; " in capsys.readouterr().out


@pytest.mark.parametrize("named", [{"suites": ["crm"]}, {}], ids=["by name", "everything"])
def test_merge_skips_gates_of_suites_that_no_shard_selected(
    folder: Path, named: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a single run; if everything was selected, they are breached."""
    keep(folder, "a", [trial("one")], parts=[part("1/2", **named)])
    keep(folder, "b", [trial("two")], parts=[part("2/2", **named)])
    of_project(folder, "crm.pass_rate >= 0.6", "q.passed > 0")

    status = cli.main(["merge", "a", "b", "-o", "out"])

    assert (0 if named else 1) == status
    shown = "not evaluated (this run does not evaluate 'q')" if named else "BREACHED (the run has no suite 'q')"
    assert f"gate q.passed > 0: {shown}" in capsys.readouterr().out.splitlines()


def test_gate_of_the_command_line_is_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a run: a misspelt one must not pass, whatever the shards selected."""
    keep(folder, "a", [trial("one")], parts=[part("1/2", suites=["crm"])])
    keep(folder, "b", [trial("two")], parts=[part("2/2", suites=["crm"])])

    assert 1 == cli.main(["merge", "a", "b", "-o", "out", *GATE, "--gate", "crn.passed > 0"])
    assert "gate crn.passed > 0: BREACHED (the run has no suite 'crn')" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("options", "status"), [([], 1), (GATE, 1), (["--no-gates"], 0)])
def test_gates_of_plugins_that_were_not_evaluated_do_not_hold(
    folder: Path, options: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a run can call the hook; after it was resumed, its gates count."""
    keep(folder, "a", [trial("one")], parts=[part("1/2", plugin_gates=True)])
    keep(folder, "b", [trial("two")], parts=[part("2/2", plugin_gates=True)])

    assert status == cli.main(["merge", "a", "b", "-o", "out", *options])
    shown = "gates of plugins were not evaluated; evaluate them with: pytest --crmeval-run out"
    assert shown in capsys.readouterr().out.splitlines()
    assert 1 == cli.main(["gate", "out", *GATE])
    keep(folder, "on", [trial("one")], parts=[part(merged={}), part(plugin_gates=True)])
    assert 0 == cli.main(["gate", "on", *GATE])


def test_merge_reports_what_the_shards_skipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the merge and by its report. The gates of a suite without cases are not evaluated, misspelt ones are."""
    keep(folder, "a", [trial("one")], parts=[part("1/2", left_out={"q": {"no judge": 2}})])
    keep(folder, "b", [trial("two")], parts=[part("2/2", left_out={"q": {"no judge": 1}, "crm": {"secret": 1}})])
    left_out = ["3 cases of q skipped: no judge", "1 case of crm skipped: secret"]
    of_project(folder, "q.passed > 0", "crn.passed > 0")

    assert 1 == cli.main(["merge", "a", "b", "-o", "out"])
    shown = capsys.readouterr().out.splitlines()
    cli.main(["report", "out"])
    assert [
        *left_out,
        "gate crn.passed > 0: BREACHED (the run has no suite 'crn')",
        "gate q.passed > 0: not evaluated (this run does not evaluate 'q')",
    ] == shown[2:-2]
    assert set(left_out) <= set(capsys.readouterr().out.splitlines())


def test_failures_are_not_forgiven_without_a_gate(folder: Path) -> None:
    keep(folder, "a", [trial("one", Verdict.FAILED)], parts=[part("1/2", suites=["crm"])])
    keep(folder, "b", [trial("two")], parts=[part("2/2", suites=["crm"])])

    of_project(folder, "q.passed > 0")

    assert 1 == cli.main(["merge", "a", "b", "-o", "out"])


def test_no_gate_passes_if_a_shard_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == cli.main(["merge", "s2", "-o", "out", "--gate", "crm.pass_rate >= 0.0", "--gate", "crm.failed == 0"])
    shown = capsys.readouterr().out.splitlines()
    assert [
        "partial evaluation: shard 1/2 is missing",
        "gate crm.pass_rate >= 0.0: BREACHED (the run is incomplete: shard 1/2 is missing)",
        "gate crm.failed == 0: BREACHED (the run is incomplete: shard 1/2 is missing)",
        "the run is incomplete: no gate can pass",
        "report: reports/out.json",
        "page:   reports/out.html",
    ] == shown[2:]
    assert not report_of(folder)["complete"]


@pytest.mark.usefixtures("folder")
def test_missing_shard_is_a_failure_even_without_gates() -> None:
    assert 1 == cli.main(["merge", "s2", "-o", "out"])


@pytest.mark.parametrize(
    ("last", "red"),
    [
        pytest.param(trial("three", Verdict.ERRORED), [], id="errored"),
        pytest.param(trial("three"), [planned("three").key], id="red"),
    ],
)
def test_errors_outside_gates_are_not_forgiven(folder: Path, last: Any, red: list[str]) -> None:  # noqa: ANN401 (a Trial)
    """An errored trial, and a test that failed for another reason."""
    keep(folder, "s3", [last], parts=[part("2/2")], red=red)

    assert 1 == cli.main(["merge", "s1", "s3", "-o", "out", "--gate", "crm.pass_rate >= 0.1"])


@pytest.mark.parametrize(
    ("file", "setting"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\ncrmeval_gates = ["crm.pass_rate >= 0.9"]\n'),
        ("pyproject.toml", '[tool.pytest.ini_options]\ncrmeval_gates = """\ncrm.pass_rate >= 0.9\n"""\n'),
        ("pyproject.toml", '[tool.pytest]\ncrmeval_gates = ["crm.pass_rate >= 0.9"]\n'),
        ("pytest.ini", "[pytest]\ncrmeval_gates =\n    crm.failed >= 0\n    crm.pass_rate >= 0.9\n"),
        ("tox.ini", "[pytest]\ncrmeval_gates = crm.pass_rate >= 0.9\n"),
    ],
)
def test_gates_of_the_project_are_evaluated(
    folder: Path, file: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from a subfolder. Those of the command line replace them, and all can be turned off."""
    (folder.parent / file).write_text(setting)
    monkeypatch.chdir(folder)

    status = [
        cli.main(["merge", "s1", "s2", "-o", f"out{number}", *options])
        for number, options in enumerate([[], GATE, ["--no-gates"]])
    ]

    assert [1, 0, 0] == status


def test_merge_uses_the_reports_folder_of_the_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also if it is set in an ini file; the merged run is written there."""
    folder.rename(folder.with_name("kept"))
    (folder.parent / "pytest.ini").write_text("[pytest]\ncrmeval_reports = kept\n")

    assert 0 == cli.main(MERGE)
    assert ["report: kept/out.json", "page:   kept/out.html"] == capsys.readouterr().out.splitlines()[-2:]
    assert (folder.parent / "kept/out.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["s1", "nope", "-o", "out"], "'nope': no run in reports has this id"),
        (["s1", "s2", "-o", "s1"], "-o s1: reports/s1 already exists; choose another id, or move it away"),
        (["s1", "s2", "-o", "latest"], "-o 'latest': use up to 40 letters"),
        (["s1", "s2", "-o", "../out"], "-o '../out': use up to 40 letters"),
        (["s1", "s2", "-o", "out", "--gate", "crm.speed > 1"], "--gate: expected a metric"),
    ],
)
def test_merge_reports_mistakes_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    before = sorted(folder.rglob("*"))

    assert 2 == cli.main(["merge", *arguments])
    assert why in capsys.readouterr().err
    assert before == sorted(folder.rglob("*"))


def test_conflicting_runs_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line that names the worst conflict, and the option that allows it."""
    keep(folder, "s3", [trial("one", Verdict.FAILED), trial("two")], parts=[part("1/2", judge="openai:x")])

    assert 2 == cli.main(["merge", "s1", "s3", "-o", "out"])
    assert (
        "crmeval: these runs conflict: judge in s1: none, in s3: openai:x (and 3 more); "
        "to merge them anyway: --allow rules --allow shards --allow outcome\n"
    ) == capsys.readouterr().err
    assert not (folder / "out").exists()


def test_allowed_conflict_is_merged_and_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The later run wins."""
    keep(folder, "s3", [trial("one", Verdict.FAILED), trial("two")], parts=[part("1/2")])

    cli.main(["merge", "s1", "s2", "s3", "-o", "out", "--allow", "shards", "--allow", "outcome"])

    key = planned("one").key
    noted = [
        "shards: s1 and s3 are both shard 1/2 of oracle",
        f"outcome: {key} was played in two runs: passed in s1, failed in s3",
        f"outcome: {planned('two').key} was played in two runs: failed in s1, passed in s3",
    ]
    report = report_of(folder)
    assert noted == report["run"]["parts"][-1]["merged"]["allowed"]
    assert [f"allowed: {note}" for note in noted] == capsys.readouterr().out.splitlines()[2:5]
    assert {"one": "failed", "two": "passed", "three": "passed"} == {
        each["case"]: each["verdict"] for each in report["trials"]
    }


@pytest.mark.usefixtures("folder")
def test_full_disk_is_reported_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(merge, "compose", full)

    assert 2 == cli.main(MERGE)
    assert "crmeval: reports: No space left on device; nothing was merged\n" == capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_report_of_a_shard_says_that_it_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """It must not be mistaken for the whole run."""
    cli.main(["report", "s1"])

    assert "partial evaluation: shard 2/2 is missing" in capsys.readouterr().out


def test_results_of_gates_are_in_the_merged_report(folder: Path) -> None:
    cli.main([*MERGE, *GATE])

    assert [("crm.pass_rate >= 0.6", True)] == [(each["gate"], each["holds"]) for each in report_of(folder)["gates"]]


def test_merged_run_is_compared_with_a_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shards are not compared, so gates on the baseline are evaluated here."""
    keep(folder, "before", [trial("one"), trial("two"), trial("three")])
    worse = ["--baseline", "before", "--gate", "crm.pass_rate >= baseline - 0.5"]

    assert 0 == cli.main([*MERGE, *worse])
    shown = capsys.readouterr().out
    assert "compared with before (" in shown
    assert "newly failing in crm, oracle: 1\n  two: state is too low" in shown
    assert 3 == report_of(folder)["comparison"]["contrasts"][0]["paired"]


def test_missing_baseline_is_reported_before_anything_is_merged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    assert 2 == cli.main([*MERGE, "--baseline", "nowhere"])
    assert "baseline 'nowhere'" in capsys.readouterr().err
    assert not (folder / "out.json").exists()


def test_shards_with_different_numbers_of_trials_conflict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the cases would have more trials than the others."""
    keep(folder, "s3", [trial("three")], parts=[part("2/2", trials=3)])

    assert 2 == cli.main(["merge", "s1", "s3", "-o", "out"])
    assert "trials of each case in s1: 1, in s3: 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("first", "second", "warning"),
    [
        (
            {"version": "0.1.0"},
            {"version": "0.2.0"},
            "warning: s1 was played by pytest-crmeval 0.1.0, s2 by pytest-crmeval 0.2.0",
        ),
        (
            {"code": {"mine": "abc"}},
            {"code": {"mine": "def"}},
            "warning: the code of the agent mine differs between s1 and s2",
        ),
        (
            {"max_steps": 10},
            {"max_steps": 20},
            "warning: crmeval_max_steps in s1: 10; in s2: 20",
        ),
        (
            {"max_steps": 10, "settings": ["rates=openai:* 5/s", "inflight=2"]},
            {"max_steps": 10},
            "warning: --crmeval-set in s1: rates=openai:* 5/s inflight=2; in s2: none",
        ),
        (
            {"max_steps": 10, "prompts": {"conversations": "a1"}},
            {"max_steps": 10, "prompts": {"conversations": "a2"}},
            "warning: fingerprints of the prompts in s1: conversations a1; in s2: conversations a2",
        ),
        ({"version": "0.1.0", "code": {"mine": "abc"}}, {"version": "0.1.0", "code": {"mine": "abc"}}, ""),
        ({"version": "0.1.0"}, {}, ""),
    ],
)
def test_shards_of_different_code_or_settings_are_merged_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: dict[str, Any], second: dict[str, Any], warning: str
) -> None:
    """Runs with unknown or equal versions and code cause no warning."""
    keep(tmp_path, "s1", [trial("one")], parts=[part("1/2", **first)])
    keep(tmp_path, "s2", [trial("two")], parts=[part("2/2", **second)])

    assert 0 == cli.main([*MERGE, "--reports", str(tmp_path), "--no-gates"])
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning")]
    assert [warning] * bool(warning) == found


@pytest.mark.parametrize(
    ("named", "merged"),
    [
        (["artifacts"], ["one", "two", "three"]),
        (["artifacts/*"], ["one", "two", "three"]),
        (["artifacts/*/s?"], ["one", "two", "three"]),
        (["artifacts/**/trials.jsonl"], ["one", "two", "three"]),
        (["s[12]*"], ["one", "two"]),
        (["s1", "artifacts/b"], ["one", "two"]),
    ],
)
def test_merge_finds_runs_in_folders_and_by_patterns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: list[str], merged: list[str]
) -> None:
    """The folders are those of CI artifacts. Patterns also match ids in the reports folder. Copies count once."""
    for job, (name, case) in {"a": ("s1", "one"), "b": ("s2", "two"), "c": ("s3", "three")}.items():
        keep(tmp_path / "artifacts" / job, name, [trial(case)], parts=[part(f"{name[1]}/3")])
    for name, case in {"s1": "one", "s2": "two"}.items():
        keep(tmp_path / "reports", name, [trial(case)], parts=[part(f"{name[1]}/3")])
    monkeypatch.chdir(tmp_path)

    status = cli.main(["merge", *named, "-o", "whole", "--reports", "reports", "--no-gates"])

    report = json.loads((tmp_path / "reports" / "whole.json").read_text())
    assert sorted(merged) == sorted(each["case"] for each in report["trials"])
    assert (len(merged) < 3) == status


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("artifacts/*", "artifacts/*: no run matches this pattern, here or in reports"),
        ("empty", "'empty': the folder has no journal (trials.jsonl); give the folder of a run"),
    ],
)
def test_merge_refuses_names_without_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str, why: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)

    assert 2 == cli.main(["merge", named, "-o", "whole", "--reports", "reports"])
    assert why in capsys.readouterr().err
    assert not (tmp_path / "reports").exists()
