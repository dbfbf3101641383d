"""Reports on disk."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.learning import EntryUse, Lesson, Reward, RewardOpinion
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, PlannedCase, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.files import ReportError
from pytest_crmeval.report.report import Report
from tests.fakes import planned, trial
from tests.unit.agents.atlas.roles import entry, playbook

PART: JsonObject = {
    "started": "2026-11-16T02:18:47+00:00",
    "command": "pytest evals/ -n 3",
    "agents": {"oracle": "oracle", "mute": "mute"},
    "sample": None,
    "seed": 0,
    "scorers": ["state", "calls", "reply"],
    "invalid": "report",
    "server": "embedded PostgreSQL 18.6",
}
RUN: JsonObject = {
    "id": "mine",
    "started": "2026-11-16T02:18:47+00:00",
    "ended": "2026-11-16T02:19:00+00:00",
    "parts": [PART],
    "machine": "Linux",
    "versions": {"python": "3.11.7"},
}
LABELS = Labels(complexity="medium", category="Quote Management", tags=("dates", "refusal"))
TURNS = (
    TurnOutcome(tool="client_search", called=True, replied=True, steps=2, errors=1),
    TurnOutcome(tool="create_quote", called=False, replied=True, steps=1, errors=0),
)
TRIALS = [
    replace(trial(planned("one", subject="oracle"), Verdict.PASSED), labels=LABELS, turns=TURNS[:1]),
    trial(planned("two", subject="oracle"), Verdict.ERRORED),
    replace(trial(planned("one", subject="mute"), Verdict.FAILED), labels=LABELS, turns=TURNS),
    Trial.invalid(planned("two", subject="mute"), "cases.jsonl:2: two: turn 1: {stage}", LABELS),
    trial(planned("größe", suite="browsecomp"), Verdict.PASSED, scores={"answer": 1.0, "cited": 1.0}),
]
USAGE = Usage(input=900, cached=400, cache_written=100, output=100, reasoning=40, calls=3, retries=1)
JUDGED = Judgement(grades=(Grade(reason="the same"),), bill=Bill(usage=USAGE, cost=0.25))
ASKED = [
    replace(
        trial(planned("one", subject="gpt")), bill=Bill(usage=USAGE, cost=0.5), judgement=JUDGED, notes=("no seed",)
    ),
    replace(
        trial(planned("two", subject="gpt"), Verdict.FAILED),
        bill=Bill(usage=USAGE, cost=1.5, replayed=True),
        judgement=replace(JUDGED, grades=(), trouble="timeout", bill=None, notes=("a torn file",)),
    ),
    replace(trial(planned("one", subject="vllm")), bill=Bill(usage=USAGE, cost=None)),
]
"""Trials of models, with a judge."""
MISSING = [planned("three", subject="mute"), planned("one", subject="half")]


def build(trials: list[Trial] = TRIALS, missing: list[PlannedCase] = MISSING, run: str = "mine") -> Report:
    """Return the report of a run."""
    played = {each.planned.key: each for each in trials}
    return reports.build({**RUN, "id": run}, played, [*(each.planned for each in trials), *missing])


def counts(report: Report) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return passed, failed, errored, invalid and not run of each suite and subject."""
    return {
        (each.suite, each.subject): (each.passed, each.failed, each.errored, each.invalid, each.not_run)
        for each in report.standings
    }


def older(given: dict[str, Any]) -> dict[str, Any]:
    """Return a report as it was on disk before there were metrics, labels, turns and invalid cases."""
    since = {"invalid", "metrics", "by", "labels", "turns", "scorers"}

    def without(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in record.items() if name not in since} for record in records]

    run = {**given["run"], "parts": without(given["run"]["parts"])}
    return {**given, "run": run, "results": without(given["results"]), "trials": without(given["trials"])}


def schema() -> Draft202012Validator:
    """Return a validator of the documented schema."""
    return Draft202012Validator(json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text("utf-8")))


def document(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a report as it is on disk, with changes."""
    return {**build().to_dict(), **changes}


def test_every_planned_case_counts_once() -> None:
    """Played or not, for each suite and subject; also if it was never played."""
    assert {
        ("browsecomp", "oracle"): (1, 0, 0, 0, 0),
        ("crm", "half"): (0, 0, 0, 0, 1),
        ("crm", "mute"): (0, 1, 0, 1, 1),
        ("crm", "oracle"): (1, 0, 1, 0, 0),
    } == counts(build())


def test_counts_add_up_to_planned() -> None:
    """Five trials and two cases that were not played."""
    assert 7 == sum(summary.planned for summary in build().standings)


def test_trial_of_an_earlier_part_counts() -> None:
    """A resumed run plans only what is missing."""
    done, fresh = trial("one"), trial("two")
    played = {done.planned.key: done, fresh.planned.key: fresh}

    report = reports.build(RUN, played, [fresh.planned])

    assert {("crm", "oracle"): (2, 0, 0, 0, 0)} == counts(report)
    assert report.complete


def test_trials_are_sorted_by_their_keys() -> None:
    """Workers finish in any order, and two reports of the same run can be compared line by line."""
    assert build(TRIALS) == build(TRIALS[::-1])


def test_empty_run_has_an_empty_report() -> None:
    assert Report(run=RUN, standings=[], trials=[]) == build([], [])


def test_report_is_written_as_documented(tmp_path: Path) -> None:
    """By ``report.schema.json``."""
    path = reports.write(build(), tmp_path)

    schema().validate(json.loads(path.read_text(encoding="utf-8")))
    assert tmp_path / "mine.json" == path


def test_report_of_models_is_written_as_documented(tmp_path: Path) -> None:
    """Bills, notes, a judge, and the money spent."""
    run: JsonObject = {**RUN, "spent": 0.75, "parts": [{**PART, "judge": "openai:gpt-4.1", "budget": 5.0}]}
    report = reports.build(run, {each.planned.key: each for each in [*TRIALS, *ASKED]}, [])

    path = reports.write(report, tmp_path)

    schema().validate(json.loads(path.read_text(encoding="utf-8")))
    assert report == reports.load(path)


def test_report_of_learners_is_written_as_documented(tmp_path: Path) -> None:
    """Lessons, playbooks, roles, the student with and without playbook, and the inherited playbooks."""
    book = playbook(entry(), teacher_notes="Look twice.")
    opinion = RewardOpinion(score=0.9, uncertainty=0.1, reason="done")
    lesson = Lesson(
        key="crm/atlas",
        position=1,
        student="openai:m",
        uses={"p1.1": EntryUse(hits=1)},
        reviews={"approved": 1},
        guidance=("Mind the status.",),
        reward=Reward(samples=(opinion,), arbiter=opinion),
        added=(entry("p1.2"),),
        dropped={"p1.1": "of no use"},
        refused=("too long",),
        student_notes="Be quick.",
        trouble=("telemetry is incomplete",),
    )
    learned = replace(ASKED[0], learning=lesson, roles={"student": Bill(cost=0.1)}, learning_seconds=3.0)
    measured = replace(trial(planned("held", subject=learned.planned.subject)), learning=replace(lesson, held_out=True))
    alone = replace(measured, learning=None, planned=replace(planned("held", subject="m"), spec="openai:m"))
    run: JsonObject = {
        **RUN,
        "parts": [{**PART, "learning_from": "old", "inherited": {"crm/atlas": book.to_dict()}, "met": ["f"]}],
    }
    report = reports.build(run, {each.planned.key: each for each in (learned, measured, alone)}, [])

    path = reports.write(report, tmp_path)

    assert any(summary.learning and summary.learning.comparison for summary in report.standings)
    schema().validate(json.loads(path.read_text(encoding="utf-8")))
    assert report == reports.load(path)


def answered(case: str, attempt: Attempt, confidence: float | None = None) -> Trial:
    """Return the trial of a question that a judge has graded."""
    mark = float(attempt is Attempt.CORRECT)
    grade = Grade(attempt=attempt, confidence=confidence)
    return replace(
        trial(planned(case, suite="q"), Verdict.PASSED if mark else Verdict.FAILED),
        answer=AnswerOutcome(attempt=attempt, confidence=confidence),
        judgement=Judgement(grades=(grade,), cached=True, key="k"),
    )


def test_report_of_questions_is_written_as_documented(tmp_path: Path) -> None:
    """Grades, confidences and metrics."""
    trials = [answered(str(attempt), attempt, 0.5) for attempt in Attempt] + [answered("sure", Attempt.CORRECT)]
    path = reports.write(build(trials, []), tmp_path)

    schema().validate(json.loads(path.read_text(encoding="utf-8")))
    assert build(trials, []) == reports.load(path)
    assert 2 == reports.load(path).standings[0].metrics.confidences


@pytest.mark.parametrize("wrong", [{}, {"attempt": "nearly"}, {"attempt": "correct", "confidence": 80}])
def test_schema_rejects_a_wrong_answer(wrong: object) -> None:
    """A confidence is a share."""
    given = json.loads(json.dumps(build([answered("one", Attempt.CORRECT)], []).to_dict()))
    given["trials"][0]["answer"] = wrong

    assert not schema().is_valid(given)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bill", {}),
        ("bill", {"usage": USAGE.to_dict(), "cost": -1.0, "replayed": False}),
        ("bill", {"usage": USAGE.to_dict(), "cost": "unknown", "replayed": False}),
        ("bill", {"usage": {**USAGE.to_dict(), "input": 0.5}, "cost": None, "replayed": False}),
        ("bill", None),
        ("judge", {"graded": 1}),
        ("notes", {}),
        ("notes", ["no seed"]),
        ("cost_per_pass", None),
        ("replayed", -1),
    ],
)
def test_schema_rejects_a_wrong_bill(name: str, wrong: object) -> None:
    """Unknown is null, and a missing figure is absent."""
    given = json.loads(json.dumps(build(ASKED, []).to_dict()))
    given["results"][0][name] = wrong

    assert not schema().is_valid(given)


def test_older_report_is_as_documented() -> None:
    """Fields were added within version 1, so they are optional."""
    schema().validate(older(json.loads(json.dumps(document()))))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("metrics", {"turn_success": 1.5}),
        ("metrics", {"turn_success": None}),
        ("metrics", {"first_failed_turn": {"0": 1}}),
        ("metrics", {"errors": -1}),
        ("metrics", {"mood": 1.0}),
        ("by", {"weekday": {}}),
        ("by", {"tag": {}}),
        ("by", {"tag": {"dates": {"turns": 1}}}),
        ("by", {"tool": {"create_quote": {"turns": 0}}}),
        ("invalid", -1),
    ],
)
def test_schema_rejects_invalid_reports(name: str, wrong: object) -> None:
    given = json.loads(json.dumps(document()))
    given["results"][0][name] = wrong

    assert not schema().is_valid(given)


def test_written_report_can_be_loaded(tmp_path: Path) -> None:
    report = build()

    assert report == reports.load(reports.write(report, tmp_path))


def test_report_without_metrics_can_be_loaded(tmp_path: Path) -> None:
    trials = [trial("one"), trial("two", Verdict.FAILED)]
    path = tmp_path / "older.json"
    path.write_text(json.dumps(older(json.loads(json.dumps(build(trials, []).to_dict())))), encoding="utf-8")

    report = reports.load(path)

    assert {("crm", "oracle"): (1, 1, 0, 0, 0)} == counts(report)
    assert trials == list(report.trials)
    assert [{}] == [summary.metrics.to_dict() for summary in report.standings]


def test_characters_stay_readable(tmp_path: Path) -> None:
    """People read reports, too."""
    assert "größe" in reports.write(build(), tmp_path).read_text(encoding="utf-8")


def test_lone_surrogate_does_not_prevent_a_report(tmp_path: Path) -> None:
    """A model may send half a surrogate pair."""
    report = build([Trial.errored(planned(), "ValueError: \ud83d")], [])

    (shown,) = reports.load(reports.write(report, tmp_path)).trials

    assert r"ValueError: \ud83d" == shown.reason


def test_latest_links_to_the_run(tmp_path: Path) -> None:
    """To its report and its folder; relatively, so that reports can be moved."""
    reports.write(build(run="first"), tmp_path)
    reports.write(build(run="second"), tmp_path)

    assert "second.json" == str((tmp_path / "latest.json").readlink())
    assert "second" == str((tmp_path / "latest").readlink())
    assert "second" == reports.load(tmp_path / "latest.json").run["id"]


def test_no_temporary_file_remains(tmp_path: Path) -> None:
    reports.write(build(run="first"), tmp_path)
    reports.write(build(run="second"), tmp_path)

    assert ["first.json", "latest", "latest.json", "second.json"] == sorted(found.name for found in tmp_path.iterdir())


def test_report_is_written_completely_or_not_at_all(tmp_path: Path) -> None:
    """A reader that has opened the old report can read it to its end."""
    path = reports.write(build(), tmp_path)
    old = path.read_text(encoding="utf-8")

    with path.open(encoding="utf-8") as reading:
        reports.write(build([], []), tmp_path)

        assert old == reading.read()
    assert [] == reports.load(path).trials


def test_report_that_cannot_be_written_keeps_the_old_one(tmp_path: Path) -> None:
    """A value in it can't be written as JSON."""
    path = reports.write(build(), tmp_path)
    bad = reports.build({**RUN, "machine": object()}, {}, [])  # type: ignore[dict-item] # no JSON, that is the point

    with pytest.raises(TypeError):
        reports.write(bad, tmp_path)

    assert build() == reports.load(path)


JUNK = [
    pytest.param(b"", id="empty"),
    pytest.param(b"not json", id="not JSON"),
    pytest.param(b'"\xff"', id="not UTF-8"),
    pytest.param([], id="a list"),
    pytest.param(7, id="a number"),
    pytest.param({}, id="an empty object"),
    pytest.param(document(schema="crmeval.report/2"), id="another schema"),
    pytest.param(document(results=None), id="no results"),
    pytest.param(document(results=[7]), id="results are numbers"),
    pytest.param(document(results=[{"suite": "crm"}]), id="a result without a subject"),
    pytest.param(document(results=[{**document()["results"][0], "metrics": 7}]), id="metrics are a number"),
    pytest.param(document(results=[{**document()["results"][0], "by": {"tag": 7}}]), id="groups are a number"),
    pytest.param(document(results=[{**document()["results"][0], "bill": 7}]), id="a bill is a number"),
    pytest.param(document(results=[{**document()["results"][0], "bill": {"cost": 1}}]), id="a bill without usage"),
    pytest.param(document(results=[{**document()["results"][0], "judge": {}}]), id="a judge of nothing"),
    pytest.param(document(results=[{**document()["results"][0], "notes": 7}]), id="notes are a number"),
    pytest.param(document(trials=[7]), id="trials are numbers"),
    pytest.param(document(trials=[{"key": "k"}]), id="half a trial"),
    pytest.param(document(trials=[{**TRIALS[0].to_dict(), "verdict": "great"}]), id="another verdict"),
    pytest.param(document(run={}), id="a run without an id"),
    pytest.param(document(run=7), id="a run that is a number"),
]


@pytest.mark.parametrize("junk", JUNK)
def test_invalid_file_is_not_a_report(tmp_path: Path, junk: object) -> None:
    """The error names the file; the caller needs to catch one kind of error."""
    path = tmp_path / "junk.json"
    path.write_bytes(junk if isinstance(junk, bytes) else json.dumps(junk).encode())

    with pytest.raises(ReportError) as caught:
        reports.load(path)

    assert str(caught.value).startswith(f"{path}: not a report (crmeval.report/1): ")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"trials": []}, "browsecomp × oracle: the results say 1 passed, the trials 0"),
        ({"results": []}, "browsecomp × oracle: the results say 0 passed, the trials 1"),
        ({"schema": ...}, "it has no 'schema'"),
    ],
)
def test_results_that_do_not_match_the_trials_are_refused(changes: dict[str, Any], why: str) -> None:
    changed = {name: value for name, value in document(**changes).items() if value is not ...}

    with pytest.raises((ValueError, KeyError)) as caught:
        reports.read(changed)

    assert why == reports.why_not(caught.value)


def test_unsupported_schema_is_named(tmp_path: Path) -> None:
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(document(schema="crmeval.report/2")), encoding="utf-8")

    with pytest.raises(ReportError, match=r"its schema is 'crmeval.report/2'"):
        reports.load(path)


def test_report_with_unknown_fields_can_be_loaded(tmp_path: Path) -> None:
    """Fields are added within version 1; an older version ignores them."""
    more = document(cost=1.5)
    for record in (*more["results"], *more["trials"], *(score for each in more["trials"] for score in each["scores"])):
        record["cost"] = 1.5
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(more), encoding="utf-8")

    assert build() == reports.load(path)


@pytest.mark.parametrize(("name", "said"), [("nowhere.json", "No such file or directory"), (".", "Is a directory")])
def test_missing_file_is_not_a_report(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ReportError) as caught:
        reports.load(tmp_path / name)

    assert f"{tmp_path / name}: {said}" == str(caught.value)
