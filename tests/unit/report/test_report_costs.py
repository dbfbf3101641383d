"""Usage and cost of models as text."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.judgement import Grade, Judgement, LabelAgreement
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.render import summary
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.judge_figures import JudgeFigures
from pytest_crmeval.report.learning_curve import Learning
from pytest_crmeval.report.report import Report, SubjectSummary
from tests.fakes import trial

USAGE = Usage(
    input=1_234_567, cached=987_654, cache_written=4_321, output=45_678, reasoning=1_200, calls=540, retries=12
)
GPT = SubjectSummary(suite="crm", subject="gpt-4.1", passed=80, failed=40, bill=Bill(usage=USAGE, cost=3.1234))
ORACLE = SubjectSummary(suite="crm", subject="oracle", passed=120)
UNPRICED = Bill(usage=Usage(input=77, output=7, calls=2), cost=None)
VLLM = SubjectSummary(suite="crm", subject="vllm", failed=2, bill=UNPRICED)
JUDGE = JudgeFigures(
    graded=120,
    not_graded=3,
    cached=5,
    statements=310,
    false=12,
    failed=9,
    agreement=LabelAgreement(found=70, missed=6, accepted=74, refused=2),
    bill=Bill(usage=USAGE, cost=0.5),
)


def report(*summaries: SubjectSummary, **run: float) -> Report:
    """Return the report of a run."""
    return Report(run={"id": "mine", **run}, standings=summaries, trials=())


def lines(*summaries: SubjectSummary, **run: float) -> list[str]:
    """Return the lines below the table."""
    return list(bills.lines(report(*summaries, **run)))


def paid(spent: float, *, subject: Bill | None = None, judge: Bill | None = None) -> list[str]:
    """Return the lines for a run with one trial."""
    judged = Judgement(grades=(Grade(reason="fine"),), bill=judge) if judge else None
    played = replace(trial("one"), bill=subject, judgement=judged)
    run: JsonObject = {"id": "mine", "spent": spent}
    return list(bills.lines(reports.build(run, {played.planned.key: played}, [])))


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.00001234, "$0.00001234"),
        (0.012346, "$0.01235"),
        (0.0123, "$0.0123"),
        (0.5, "$0.50"),
        (0.123456, "$0.1235"),
        (0.99999, "$1.00"),
        (1.0, "$1.00"),
        (12.345678, "$12.35"),
        (12345.6, "$12,345.60"),
    ],
)
def test_amount_has_its_significant_digits(cost: float | None, shown: str) -> None:
    """Four digits below a dollar, cents above; unknown is not zero."""
    assert shown == bills.dollars(cost)


def test_table_has_cost_columns_if_a_subject_has_a_bill(snapshot: SnapshotAssertion) -> None:
    """A subject that called no model has dashes; a missing price makes the cost unknown."""
    assert snapshot == "\n".join(summary.table(report(GPT, ORACLE, VLLM)))


def test_table_marks_replayed_trials(snapshot: SnapshotAssertion) -> None:
    """In a column of its own, if there are any."""
    assert snapshot == "\n".join(summary.table(report(replace(GPT, replayed=120), ORACLE)))


def test_without_models_there_is_no_line_about_costs() -> None:
    assert [] == lines(ORACLE, spent=0.0)
    assert [] == list(bills.details("crm", [ORACLE]))
    assert next(summary.table(report(ORACLE))).endswith("  failed  pass rate  95 % interval")


def test_total_of_a_run_is_one_line() -> None:
    """What the run has paid is a different sum: it includes repeated trials, and no replayed ones."""
    used = "540 calls (12 retried), 1,234,567 tokens in (987,654 cached), 45,678 out"

    assert [f"total: {used}, $3.12"] == lines(GPT, ORACLE)
    assert [f"total: {used}, $3.12; spent by this run: $0.00"] == lines(GPT, ORACLE, spent=0.0)


def test_total_with_an_unknown_price_is_at_least_what_is_known() -> None:
    unknown = "unknown price: vllm; add ?price=INPUT/OUTPUT, in dollars per million tokens"

    assert (
        "total: 542 calls (12 retried), 1,234,644 tokens in (987,654 cached), 45,685 out, more than $3.12"
        == (lines(GPT, VLLM)[0])
    )
    assert ["total: 2 calls, 77 tokens in, 7 out, cost unknown", unknown] == lines(VLLM)


def test_each_model_of_a_learner_has_its_own_price() -> None:
    """A missing price is set where the model is named: the learner itself takes no price."""
    roles = {"student": Bill(usage=USAGE, cost=0.1), "teacher": UNPRICED, "learner": UNPRICED}
    learner = replace(VLLM, subject="atlas", learning=Learning(learning="on", mode="paired", student="m", roles=roles))

    assert (
        "unknown price: teacher, learner of atlas; add it to the model, in dollars per million tokens: "
        "teacher=MODEL;price=INPUT/OUTPUT" == lines(learner)[-1]
    )


@pytest.mark.parametrize(("spent", "shown"), [(0.24, "more than $0.24"), (0.0, "unknown")])
@pytest.mark.parametrize("who", ["subject", "judge"])
def test_run_has_paid_more_than_what_is_known(who: str, spent: float, shown: str) -> None:
    """If a subject or a judge was called at an unknown price."""
    assert f"spent by this run: {shown}" in paid(spent, **{who: UNPRICED})[0]


def test_replay_at_an_unknown_price_was_not_paid() -> None:
    assert paid(0.0, subject=replace(UNPRICED, replayed=True))[0].endswith("; spent by this run: $0.00")


def test_judge_has_a_line_for_each_subject() -> None:
    """Its findings, its agreement with the labels, and its cost."""
    (shown,) = lines(replace(ORACLE, judge=JUDGE))

    assert (
        "judge of oracle (crm): 120 graded (5 cached), 3 not graded; 310 undecided statements, 12 of them false, "
        "9 replies failed; kappa 0.89 on 152 labelled statements (70 of 76 false ones found, 2 of 76 true ones called "
        "false); 540 calls, $0.50"
    ) == shown


def test_judge_that_may_not_decide_has_the_reason_in_its_line() -> None:
    """A judge of questions has only counts and cost."""
    (shown,) = lines(replace(ORACLE, judge=JudgeFigures(graded=2, statements=3, false=1, restriction="it is new")))
    (of_questions,) = lines(replace(ORACLE, judge=JudgeFigures(not_graded=3)))

    assert (
        "judge of oracle (crm): 2 graded, 0 not graded; 3 undecided statements, 1 of them false, 0 replies failed; "
        "only reported, because it is new; no calls"
    ) == shown
    assert "judge of oracle (crm): 0 graded, 3 not graded; no calls" == of_questions


def test_each_note_has_a_line() -> None:
    """The most frequent first, on one line whatever it contains."""
    noted = replace(ORACLE, notes={"slow\n\x1b[31m": 1, "temperature is left out": 1200})

    assert [
        "note: oracle: temperature is left out (1,200 trials)",
        r"note: oracle: slow \x1b[31m (1 trial)",
    ] == lines(noted)


def test_only_some_of_many_notes_are_shown() -> None:
    """The report has all of them."""
    shown = lines(replace(ORACLE, notes={f"{number} {'much ' * 100}": 1 for number in range(10, 35)}))

    assert 11 == len(shown)
    assert "... and 15 more notes: see the JSON report" == shown[-1]
    assert max(map(len, shown)) < 240


def test_details_show_everything(snapshot: SnapshotAssertion) -> None:
    """Side by side; unknown figures are dashes."""
    nothing_passed = replace(GPT, subject="unlucky", passed=0, failed=120, replayed=120)

    shown = list(summary.details(report(GPT, ORACLE, nothing_passed, VLLM)))

    assert snapshot == "\n".join(shown)
