"""What stands out: the slowest, the dearest, and why trials did not pass."""

from dataclasses import replace

import pytest

from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill
from pytest_crmeval.render import intervals as certainty
from pytest_crmeval.report.figures import figures_of
from pytest_crmeval.report.outliers import dearest, generalized, reason_of, reasons_of, slowest
from pytest_crmeval.report.report import SubjectSummary
from tests.fakes import trial

FAILED = Verdict.FAILED


def wrong(case: str, *scores: Score) -> Trial:
    """Return a trial that failed by scores."""
    return replace(trial(case, FAILED), scores=scores)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("turn 3: expected 'Ada Ltd', found 'Bob Inc'", "turn 12: expected 'X', found 'Y and Z'"),
        ('no client "a@b.example"', 'no client "c"'),
        ("quotes: 1 row too many", "quotes: 23 row too many"),
        ("client 3f2b8a4e-1c2d-4e5f-8a9b-0123456789ab is gone", "client 00000000-0000-0000-0000-000000000000 is gone"),
        ("amount 1,250.50 is not there", "amount 7 is not there"),
        ("due on 2026-11-17", "due on 2025-01-02"),
        ("quote Q-0042 was touched", "quote Q-7 was touched"),
        ("sent to ada@ada.example", "sent to bob@firm.example"),
        ("two  spaces\there", "two spaces here"),
        (
            "state: clients: missing: name='Ada', email=None",
            "state: clients: missing: name='Bob', amount=-3.5, lost=True",
        ),
        ("state: clients: missing: name='Ada'", "state: clients: missing: name='Bob', phone='1', em…"),
        (
            "clients Ada (Clone) (3f2b8a4e-1c2d-4e5f-8a9b-0123456789ab): owner expected 'Ada', actual None",
            "clients Bob (00000000-0000-0000-0000-000000000000): owner expected 'Bob', actual 'Eve'",
        ),
    ],
)
def test_reasons_that_differ_in_names_and_numbers_are_grouped(one: str, other: str) -> None:
    """Quotes, ids, dates, amounts, addresses, space, fields of records, and the records' names."""
    assert generalized(one) == generalized(other)


def test_reasons_of_different_kinds_are_not_grouped() -> None:
    """What is left still says what went wrong."""
    assert generalized("state: clients: 1 row is missing") != generalized("state: quotes: 1 row is missing")
    assert "expected …, found …" == generalized("turn 3: expected 'Ada', found \"Bob\"")
    assert "state: clients …: owner expected …, actual …" == generalized(
        "state: clients Ada Ltd (3f2b8a4e-1c2d-4e5f-8a9b-0123456789ab): owner expected 'Ada', actual None"
    )


def test_a_trial_has_one_reason() -> None:
    """That of the first score that is too low; its first line."""
    found = wrong("one", Score(name="state", value=1.0), Score(name="reply", value=0.0, reason="turn 1: wrong\nmore"))

    assert "reply: turn 1: wrong" == reason_of(found)
    assert "state is too low" == reason_of(wrong("one", Score(name="state", value=0.2)))
    assert "ConnectionError: no route to model" == reason_of(trial("one", Verdict.ERRORED))
    placed = replace(trial("one", Verdict.ERRORED), reason="/data/x.jsonl:7: one: not readable")
    assert "not readable" == reason_of(placed)


def test_reasons_are_counted_the_most_frequent_first() -> None:
    trials = [
        *(wrong(f"c{n}", Score(name="reply", value=0.0, reason=f"turn {n}: no answer")) for n in range(7)),
        wrong("other", Score(name="state", value=0.0, reason="quotes: a row is missing")),
        trial("broken", Verdict.ERRORED),
        trial("right"),
    ]

    found = reasons_of(trials)

    assert [("reply: no answer", "failed", 7)] == [(each.text, each.verdict, each.count) for each in found[:1]]
    assert (("c0", "c1", "c2", "c3", "c4"), "reply: turn 0: no answer") == (found[0].cases, found[0].example)
    assert 9 == sum(each.count for each in found)


def test_a_long_reason_is_cut() -> None:
    """A table is no book."""
    assert 200 == len(reason_of(replace(trial("one", Verdict.ERRORED), reason="x" * 900)))


def test_the_slowest_and_the_dearest_come_first() -> None:
    trials = [replace(trial(str(n), seconds=float(n)), bill=Bill(cost=n / 10) if n % 2 else None) for n in range(20)]

    assert [19.0, 18.0, 17.0] == [each.value for each in slowest(trials)[:3]]
    assert 10 == len(slowest(trials))
    assert ["19", "17", "15"] == [each.case for each in dearest(trials)[:3]]
    assert () == dearest([replace(trial("one"), bill=Bill(cost=None))])


def test_figures_and_reasons_in_a_terminal() -> None:
    """A column per subject; a dash for what one of them has not."""
    trials = [trial("a"), wrong("b", Score(name="state", value=0.0, reason="a row is missing"))]
    one = SubjectSummary(suite="crm", subject="x", figures=figures_of(trials), reasons=reasons_of(trials))
    other = SubjectSummary(suite="crm", subject="y")

    head, first, *_ = certainty.figures("crm", [one, other])
    assert ("crm with 95 % intervals", "x", "y") == head
    assert ("pass rate", "0.500 (0.095 to 0.905)", "-") == first
    assert [
        "why trials of x in crm did not pass:",
        "     1 failed: state: a row is missing (for example b)",
    ] == list(certainty.reasons(one))
    assert [] == list(certainty.figures("crm", [other]))
