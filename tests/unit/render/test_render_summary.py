"""A report as a person wants to read it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.render import checkpoints, summary
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.gate import Gate
from pytest_crmeval.report.gating import judge
from pytest_crmeval.report.report import Report, SubjectSummary
from tests.fakes import planned, trial

REPORT = Report(
    run={"id": "mine"},
    standings=[
        SubjectSummary(suite="browsecomp", subject="oracle", errored=3),
        SubjectSummary(suite="crm", subject="gpt-4.1-mini", passed=996, failed=4, errored=1, not_run=1234),
        SubjectSummary(suite="crm", subject="mute", failed=12),
        SubjectSummary(suite="crm", subject="oracle", passed=12),
    ],
    trials=[],
)


def test_summary_table_shows_counts_rates_and_intervals(snapshot: SnapshotAssertion) -> None:
    """Names to the left, numbers to the right; a rate of nothing is a dash, not a zero."""
    assert snapshot == "\n".join(summary.table(REPORT))


def test_invalid_cases_have_a_column_when_there_are_any(snapshot: SnapshotAssertion) -> None:
    """Of one subject, in one suite: then it is there for all. Most runs have none, and a smaller table."""
    some = SubjectSummary(suite="crm", subject="parrot", passed=1, failed=2, errored=3, invalid=81, not_run=4)

    assert snapshot == "\n".join(summary.table(replace(REPORT, standings=[*REPORT.standings, some])))


def test_table_of_an_empty_report_is_only_a_header() -> None:
    """One line."""
    assert ["suite  subject  cases  passed  failed  pass rate  95 % interval"] == list(
        summary.table(Report(run={"id": "mine"}, standings=[], trials=[]))
    )


def test_gates_are_shown_with_value_and_reason(snapshot: SnapshotAssertion) -> None:
    """What holds, what does not, and why."""
    verdicts = (Verdict.PASSED, Verdict.PASSED, Verdict.FAILED)
    complete = reports.build({}, {str(n): trial(planned(str(n)), verdict) for n, verdict in enumerate(verdicts)}, [])
    texts = ["crm.pass_rate >= 0.60", "crm.failed == 0", "crn.passed > 0"]

    assert snapshot == "\n".join(summary.gates(judge([Gate.parse(text) for text in texts], complete)))


def broken(case: str, file: Path | str, subject: str = "oracle") -> Trial:
    """Return the trial of a case that no agent can pass."""
    return Trial.invalid(planned(case, subject=subject), f"{file}:7: {case}: turn 1: {{stage}}: 8", Labels())


def invalid(*trials: Trial) -> list[str]:
    """Return what is said of invalid cases."""
    return list(summary.invalid(Report(run={}, standings=[], trials=trials)))


def test_run_without_invalid_cases_has_no_notice() -> None:
    """Errored is not invalid."""
    assert [] == invalid(trial("one"), trial("two", Verdict.FAILED), trial("three", Verdict.ERRORED))


def test_invalid_cases_are_shown_with_the_lint_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file as it is called from here."""
    monkeypatch.chdir(tmp_path)

    assert [
        "1 case is invalid: crmeval lint data/crm.jsonl",
        "for example data/crm.jsonl:7: one: turn 1: {stage}: 8",
    ] == invalid(broken("one", tmp_path / "data/crm.jsonl"))


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        (["49-a"], "1 solution file is invalid, because nothing in it can be graded: 49-a"),
        (list("abcd"), "4 solution files are invalid, because nothing in them can be graded: a, b, c, ..."),
    ],
)
def test_solution_files_without_a_verdict_are_named(files: list[str], shown: str) -> None:
    """Lint has nothing to say about them."""
    assert [shown] == invalid(*(replace(broken(file, "x.jsonl"), solutions=FileOutcome()) for file in files))


def test_a_case_is_invalid_once_for_all_subjects() -> None:
    """Each file is named once, as a shell takes it; one example will do."""
    trials = [
        broken(case, file, subject)
        for case, file in [("one", "/data/a b.jsonl"), ("two", "/data/a b.jsonl"), ("three", "/data/c.jsonl")]
        for subject in ("oracle", "mute")
    ]

    assert [
        "3 cases are invalid: crmeval lint '/data/a b.jsonl' /data/c.jsonl",
        "for example /data/a b.jsonl:7: one: turn 1: {stage}: 8",
    ] == invalid(*trials)


def test_a_long_example_is_cut() -> None:
    """It may have many lines, and the report has them all."""
    shown = invalid(Trial.invalid(planned(), "/data/crm.jsonl:7: one: much\n" + 300 * "more ", Labels()))

    assert "1 case is invalid: crmeval lint /data/crm.jsonl" == shown[0]
    assert shown[1].startswith("for example /data/crm.jsonl:7: one: much more more")
    assert shown[1].endswith("…")
    assert len("for example ") + 200 == len(shown[1])


def test_invalid_case_without_a_location_is_shown() -> None:
    shown = invalid(Trial.invalid(planned(), "no reason", Labels()))

    assert ["1 case is invalid: crmeval lint FILE", "for example no reason"] == shown


def turn(tool: str, *, called: bool = True, replied: bool = True, steps: int = 2, errors: int = 0) -> TurnOutcome:
    """Return how a turn went; well, unless said otherwise."""
    return TurnOutcome(tool=tool, called=called, replied=replied, steps=steps, errors=errors)


def talked(
    case: str, subject: str, *turns: TurnOutcome, complexity: str, category: str = "Quotes", tags: Sequence[str] = ()
) -> Trial:
    """Return a trial of a conversation, which passes when its turns do."""
    verdict = Verdict.PASSED if all(turn.passed for turn in turns) else Verdict.FAILED
    labels = Labels(complexity=complexity, category=category, tags=tuple(tags))
    return replace(trial(planned(case, subject=subject), verdict), turns=turns, labels=labels)


def report(*trials: Trial) -> Report:
    """Return the report of trials."""
    return reports.build({"id": "mine"}, {each.planned.key: each for each in trials}, [])


TALKED = [
    talked("one", "gpt-4.1", turn("client_search"), complexity="simple", category="Clients"),
    talked("one", "mute", turn("client_search", called=False, replied=False, steps=1), complexity="simple"),
    talked(
        *("two", "gpt-4.1"),
        *(turn("client_search", errors=1), turn("view_opportunity_details"), turn("create_quote", replied=False)),
        complexity="complex",
        tags=["dates", "refusal"],
    ),
    talked("three", "gpt-4.1", turn("create_quote", called=False, errors=2), complexity="medium", tags=["dates"]),
    trial(planned("four", subject="mute"), Verdict.ERRORED),
]


def test_details_show_subjects_side_by_side_with_breakdowns(snapshot: SnapshotAssertion) -> None:
    """Subjects side by side, then each breakdown; what a subject was not scored for is a dash, not a zero."""
    assert snapshot == "\n".join(summary.details(report(*TALKED)))


def test_details_are_shown_suite_by_suite() -> None:
    """Whose subjects need not be the same."""
    other = replace(TALKED[0], planned=planned("one", suite="sales", subject="parrot"))

    lines = list(summary.details(report(*TALKED, other)))

    heads = [line.split("  ")[0] for before, line in pairwise(lines) if not before]
    kinds = ["with 95 % intervals", "by complexity", "by category", "by tag", "by tool"]
    whose = [head for head in heads if not head.startswith("why ")]
    assert ["crm", *(f"crm {kind}" for kind in kinds)] == whose[:6]
    assert ["sales", *(f"sales {kind}" for kind in kinds if kind != "by tag")] == whose[6:]


def test_trials_without_turns_have_figures_and_reasons() -> None:
    """Of an older report, which has none, the table has said everything."""
    lines = list(summary.details(report(trial("one"), trial("two", Verdict.FAILED))))

    assert [] == list(summary.details(REPORT))
    assert ["crm with 95 % intervals", "pass rate"] == [line.split("  ")[0] for line in lines[1:3]]
    assert "why trials of oracle in crm did not pass:" in lines


@pytest.mark.parametrize(
    ("place", "called"), [("reports/mine.json", "reports/mine.json"), ("../else", "<parent>/else")]
)
def test_a_path_is_short_where_it_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, called: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert called.replace("<parent>", str(tmp_path.parent)) == summary.short((tmp_path / place).resolve())


def answered(case: str, attempt: str, confidence: float | None = None) -> Trial:
    """Return the trial of a question."""
    outcome = AnswerOutcome(attempt=Attempt(attempt), confidence=confidence)
    verdict = Verdict.PASSED if attempt == "correct" else Verdict.FAILED
    return Trial(planned=planned(case, suite="q"), verdict=verdict, answer=outcome)


def questions() -> Report:
    """Return the report of four questions and a conversation."""
    trials = [
        answered("one", "correct", 0.9),
        answered("two", "correct"),
        answered("three", "incorrect", 0.8),
        answered("four", "not_attempted"),
        trial("five"),
    ]
    return reports.build({"id": "mine"}, {each.planned.case: each for each in trials}, [])


def test_line_shows_the_metrics_of_questions() -> None:
    (line,) = summary.answers(questions())

    assert line.partition(": ")[2] == (
        "correct 0.500, incorrect 0.250, not attempted 0.250; accuracy given attempted 0.667, F1 0.571; "
        "calibration error 0.450 (2 confidences)"
    )


def test_the_details_of_questions(snapshot: SnapshotAssertion) -> None:
    """A row per figure."""
    assert snapshot == "\n".join(summary.details(questions()))


def test_the_weakest_sandbox_of_a_run_is_named_if_its_parts_used_several() -> None:
    """A run that is resumed elsewhere may be isolated less strongly; one sandbox is in the header already."""
    strong, weak = "local (namespaces + seccomp)", "local (seccomp: programs can read what this user can read)"
    middle = "local (Landlock + seccomp; no namespaces: not permitted)"

    def notes(*sandboxes: str) -> list[str]:
        parts = [{"sandbox": each} for each in sandboxes]
        return list(checkpoints.notes(Report(run={"parts": parts}, standings=[], trials=[])))

    assert [] == notes(strong, strong)
    assert [f"programs ran in 3 sandboxes; the weakest: {weak}"] == notes(strong, weak, middle)
    assert [f"programs ran in 2 sandboxes; the weakest: {middle}"] == notes(middle, strong)
