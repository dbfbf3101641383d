"""``crmeval export`` and ``load_run``: a run as tables and as logs for Inspect."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyarrow.parquet import read_table
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval import cli, load_run
from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.messages import Reply, ToolCall, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal import transcripts
from pytest_crmeval.journal.annotations import Opinion, add, annotation_of
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.render.export.files import WRITERS
from pytest_crmeval.render.export.tables import TABLES, TableRow
from tests.environments import python_beside
from tests.fakes import planned, trial
from tests.kept_runs import keep

ROOT = Path(__file__).parents[3]
INSPECT = "inspect_ai==0.3.285"
READER = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
found = {}
for log in map(read_eval_log, list_eval_logs(sys.argv[1])):
    rates = [score.metrics["accuracy"].value for score in log.results.scores]
    samples = [[sample.id, sorted(sample.scores)] for sample in log.samples]
    found[f"{log.eval.task} {log.eval.model}"] = [rates, samples]
print(json.dumps(found))
"""
"""Prints the accuracy of each log, and the scores of its samples."""
DIALOGUE = Transcript(
    exchanges=[
        Exchange(
            messages=[
                user_says('Add Ada, "the first", and drop Böb.'),
                agent_says(
                    Reply(
                        text="One moment.",
                        calls=[
                            ToolCall(tool="create_new_client", arguments={"name": "Ada"}),
                            ToolCall(tool="delete_quote", arguments={"quote_id": "q1"}),
                        ],
                    )
                ),
                crm_says(
                    [
                        ToolResult(value={"client_id": "c1", "name": "Ada"}),
                        ToolResult(error=ToolError(kind="not_found", message="No quote q1.")),
                    ]
                ),
                agent_says(Reply(text="Added.\nBöb has no quote.")),
            ]
        ),
        Exchange(messages=[user_says("Thanks."), agent_says(Reply(text="=1+1"))]),
    ]
)
BILL = Bill(usage=Usage(input=900, cached=300, output=40, reasoning=8, calls=2, retries=1), cost=0.0031)
FAILED = replace(
    trial(planned("talk", subject="gpt"), Verdict.FAILED),
    scores=(Score(name="state", value=1.0), Score(name="calls", value=0.5, reason="turn 1: not asked for")),
    labels=Labels(complexity="simple", category="client", tags=("add", "drop"), split="test"),
    turns=(
        TurnOutcome(tool="create_new_client", called=False, replied=True, steps=2, errors=1),
        TurnOutcome(tool="", called=True, replied=True, steps=1, errors=0),
    ),
    bill=BILL,
    judgement=Judgement(grades=(Grade(reason="fine"),), bill=Bill(usage=Usage(input=50, output=5, calls=1), cost=None)),
    models=("openai:gpt",),
    transcript=DIALOGUE,
)
TRIALS: list[Trial] = [
    FAILED,
    replace(
        trial(planned("talk", subject="pair"), Verdict.PASSED),
        roles={"student": BILL, "teacher": Bill(usage=Usage(input=10, output=2, calls=1), cost=0.001)},
        bill=BILL + Bill(usage=Usage(input=10, output=2, calls=1), cost=0.001),
        simulator=Bill(usage=Usage(input=70, output=7, calls=1), cost=0.002),
    ),
    replace(
        trial(planned("secret", suite="quiz", subject="gpt"), Verdict.PASSED),
        answer=AnswerOutcome(attempt=Attempt.CORRECT, confidence=0.9),
        transcript=DIALOGUE,
    ),
    Trial.errored(planned("lost", suite="quiz", subject="gpt"), "connection: reset", 1.5),
    Trial.invalid(planned("broken", suite="quiz", subject="gpt"), "no answer", Labels()),
    replace(
        trial(replace(planned("all", suite="code", subject="step-10"), spec="sandbox:local")),
        solutions=FileOutcome(verdicts={"AC": 3, "WA": 1}),
        scores=(Score(name="pass@1", value=0.75, threshold=0.0),),
    ),
]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep a run with trials of all kinds, one of them confidential, and return the folder of its project."""
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "reports", "nightly", [replace(each, seconds=0.5) for each in TRIALS])
    for each in TRIALS:
        if each.transcript.exchanges:
            canary = "c4n4ry" if each.planned.case == "secret" else ""
            transcripts.write(tmp_path / "reports/nightly/transcripts", each, canary=canary)
    opinion = annotation_of(TRIALS[0], Opinion.DISAGREE, 'It says "Böb",\nnot Bob.', "ada")
    add(tmp_path / "reports/nightly", replace(opinion, at="2026-11-18T20:00:00+00:00"))
    return tmp_path


@pytest.mark.usefixtures("kept")
def test_tables_of_a_run(snapshot: SnapshotAssertion) -> None:
    """Every kind of trial; confidential dialogues are left out."""
    run = load_run("nightly")

    assert snapshot == {table: [msgspec.to_builtins(row) for row in run.rows(table)] for table in TABLES}


def test_all_formats_have_the_same_rows(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Quotes, line breaks and unknown values survive; a file is replaced by a second export."""
    for name in ("csv", "jsonl", "parquet", "csv"):
        assert 0 == cli.main(["export", "nightly", "--format", name])
    assert "nightly-csv/trials.csv\nnightly-csv/scores.csv\n" in capsys.readouterr().out
    for table in TABLES:
        lines = (kept / f"nightly-jsonl/{table}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = list(map(json.loads, lines))
        assert rows
        assert rows == read_table(kept / f"nightly-parquet/{table}.parquet").to_pylist()
        with (kept / f"nightly-csv/{table}.csv").open(encoding="utf-8", newline="") as file:
            assert [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows] == list(
                csv.DictReader(file)
            )


@pytest.mark.usefixtures("kept")
def test_one_table_goes_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert 0 == cli.main(["export", "--table", "scores", "--format", "jsonl", "-o", "-"])

    first, *_ = capfdbinary.readouterr().out.splitlines()
    assert {"run": "nightly", "suite": "code", "name": "pass@1"}.items() <= json.loads(first).items()


@pytest.mark.usefixtures("kept")
def test_reader_that_has_enough_is_not_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As with ``crmeval export ... -o - | head -1``."""

    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setitem(WRITERS, "jsonl", closed)

    assert 0 == cli.main(["export", "--table", "scores", "--format", "jsonl", "-o", "-"])
    assert "" == capfd.readouterr().err


def test_logs_for_inspect_have_a_file_per_suite_and_subject(kept: Path, snapshot: SnapshotAssertion) -> None:
    """Inspect's own reader lists and reads them."""
    assert 0 == cli.main(["export", "nightly", "--format", "inspect", "-o", "logs"])
    logs = sorted((kept / "logs").iterdir())
    python = python_beside("inspect", INSPECT)
    found = subprocess.run([python, "-c", READER, kept / "logs"], check=True, capture_output=True, text=True).stdout

    assert snapshot == {path.name: json.loads(path.read_text(encoding="utf-8")) for path in logs}
    assert {
        "code step-10": [[], [["all", ["pass@1"]]]],
        "crm gpt": [[0.0], [["talk", ["calls", "state", "verdict"]]]],
        "crm pair": [[1.0], [["talk", ["state", "verdict"]]]],
        "quiz gpt": [[1.0], [["lost", []], ["secret", ["state", "verdict"]]]],
    } == json.loads(found)


@pytest.mark.usefixtures("kept")
def test_data_frame_has_a_row_per_trial_and_missing_values() -> None:
    """A trial without a result does not count in a mean."""
    frame = load_run("nightly").to_pandas()

    assert (len(TRIALS), 3) == (len(frame), int(frame["passed"].notna().sum()))
    assert {"crm": 0.5, "quiz": 1.0} == frame.dropna(subset="passed").groupby("suite")["passed"].mean().to_dict()


def test_documentation_has_every_column() -> None:
    page = (ROOT / "docs/exporting.md").read_text(encoding="utf-8")

    for table, (columns, _) in TABLES.items():
        (line,) = re.findall(rf"^\| `{table}` \| [^|]* \| (.*) \|$", page, re.MULTILINE)
        assert columns.__struct_fields__ == (*TableRow.__struct_fields__, *re.findall(r"`(\w+)`", line))


@pytest.mark.usefixtures("kept")
def test_notebook_of_the_documentation_runs() -> None:
    """Cell by cell, as Jupyter does; its tables have what the run has."""
    notebook = json.loads((ROOT / "docs/notebooks/analyse-a-run.ipynb").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}

    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), found)  # noqa: S102 (ours)

    assert [("crm", "talk")] == list(found["differing"].index)
    assert {("crm", "gpt", "talk", 1): 1} == found["first_wrong"].to_dict()
    assert {("gpt", "delete_quote", "not_found"): 1} == found["refused"].to_dict()
    roles = {"gpt": ("subject", "judge"), "pair": ("student", "teacher", "simulated user")}
    assert {(subject, role) for subject in roles for role in roles[subject]} == set(found["costs"].index)


def test_run_is_loaded_by_any_of_its_paths(kept: Path) -> None:
    """By default the latest; a report alone has no dialogues."""
    reports = kept / "reports"
    for run in (load_run(), load_run(reports / "nightly"), load_run("reports/nightly.json")):
        assert ("nightly", len(TRIALS), 2) == (run.id, len(run.trials), len(list(run.rows("calls"))))
    (reports / "nightly.json").rename(kept / "alone.json")
    alone = load_run("alone.json")
    assert ("nightly", len(TRIALS), 0) == (alone.id, len(alone.trials), len(list(alone.rows("calls"))))
    with pytest.raises(NoRunError, match="'nope': no run in reports has this id"):
        load_run("nope")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["nope"], "'nope': no run in reports has this id, and there is no such file or folder"),
        (["-o", "-"], "-o -: choose one table with --table"),
        (["--format", "inspect", "--table", "calls"], "--table: a log for Inspect has no tables"),
        (["-o", "reports/nightly.json"], "reports/nightly.json: File exists"),
        (["--format", "parquet"], "parquet needs pyarrow: pip install 'pytest-crmeval[parquet]'"),
    ],
)
def test_bad_input_of_export_is_refused(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], why: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert 2 == cli.main(["export", *options])
    assert why in capsys.readouterr().err
    assert not list(kept.rglob("*.part"))
