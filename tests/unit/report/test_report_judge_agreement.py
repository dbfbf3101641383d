"""Whether a judge and the scorers say the same."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_crmeval.domain.judgement import Grade, Judgement, decided
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report.judge_agreement import Agreement, agreement_of
from tests.fakes import trial

GOOD, POOR = Judgement(grades=(Grade(goal=1, process=1),)), Judgement(grades=(Grade(goal=0, process=0),))
UNKNOWN = Judgement(trouble="timeout: no answer")


def judged(judgement: Judgement | None, *values: float) -> Trial:
    """Return a trial with these scores, after the judge was heard."""
    scores = tuple(Score(name=f"scorer {place}", value=value) for place, value in enumerate(values))
    verdict = Verdict.PASSED if all(score.passed for score in scores) else Verdict.FAILED
    return replace(trial(), verdict=decided(verdict, judgement), scores=scores, judgement=judgement)


def agreement(*trials: Trial) -> Agreement:
    """Return the agreement over trials that were judged."""
    found = agreement_of(trials)
    assert found is not None
    return found


def test_without_a_judge_there_is_nothing_to_agree_on() -> None:
    """None, not zero."""
    assert agreement_of([judged(None, 1.0), trial(verdict=Verdict.ERRORED)]) is None
    assert agreement_of([]) is None


def test_each_trial_is_in_one_cell() -> None:
    """The scorers let pass what all of them let pass; that the judge cleared a trial does not make them agree."""
    found = agreement(
        *[judged(GOOD, 1.0, 1.0)] * 4,
        *[judged(POOR, 1.0, 0.0)] * 3,
        *[judged(GOOD, 0.0, 1.0)] * 2,
        *[judged(POOR, 1.0, 1.0)] * 1,
    )

    assert (4, 3, 2, 1) == (found.both_pass, found.both_fail, found.only_judge, found.only_scorers)
    assert (10, 0.7) == (found.graded, found.agreement)


def test_what_is_not_graded_is_counted_apart() -> None:
    """Whether the scorers let it pass or not; what broke, or is invalid, was never to be graded."""
    invalid = trial(verdict=Verdict.INVALID)
    found = agreement(judged(UNKNOWN, 1.0), judged(UNKNOWN, 0.0), trial(verdict=Verdict.ERRORED), invalid)

    assert (2, 0) == (found.not_graded, found.graded)
    assert (None, None, None) == (found.agreement, found.kappa, found.spread)


def test_opinions_that_were_cut_short_are_not_graded() -> None:
    """Although there are some."""
    found = agreement(judged(replace(GOOD, trouble="timeout"), 1.0))

    assert (1, 0) == (found.not_graded, found.graded)


def test_those_from_the_cache_are_counted() -> None:
    """They are graded like others."""
    found = agreement(judged(replace(GOOD, cached=True), 1.0), judged(GOOD, 1.0))

    assert (2, 1) == (found.graded, found.cached)


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [
        ((20, 15, 5, 10), 0.4),
        ((50, 50, 0, 0), 1.0),
        ((25, 25, 25, 25), 0.0),
        ((0, 0, 5, 5), -1.0),
        ((0, 0, 10, 0), 0.0),
        ((90, 0, 10, 0), 0.0),
    ],
)
def test_kappa_takes_chance_away(cells: Sequence[int], kappa: float) -> None:
    """The first is the textbook's: 70 % agreement, half of it by chance. A judge who always says yes has none."""
    both_pass, both_fail, only_judge, only_scorers = cells
    found = Agreement(both_pass=both_pass, both_fail=both_fail, only_judge=only_judge, only_scorers=only_scorers)

    assert found.kappa is not None
    assert kappa == pytest.approx(found.kappa)


@pytest.mark.parametrize("cells", [{}, {"both_pass": 7}, {"both_fail": 7}])
def test_kappa_is_not_known_where_all_are_alike(cells: dict[str, int]) -> None:
    """Chance alone would agree on everything."""
    assert Agreement(**cells).kappa is None  # type: ignore[arg-type] # counts only


def test_the_spread_is_the_mean_of_those_that_are_graded() -> None:
    """Opinions of 1 and 0 are 1 apart."""
    torn = Judgement(grades=(*GOOD.grades, *POOR.grades))
    found = agreement(judged(torn, 0.0), judged(GOOD, 1.0), judged(replace(torn, trouble="timeout"), 1.0))

    assert 0.5 == found.spread


def test_the_bill_is_that_of_every_judgement() -> None:
    """Also of those that came to nothing, and of no subject."""
    bill = Bill(usage=Usage(input=100, calls=3), cost=0.25)
    subject = replace(judged(replace(GOOD, bill=bill), 1.0), bill=Bill(cost=9.0))
    found = agreement(subject, judged(replace(UNKNOWN, bill=bill), 0.0), judged(GOOD, 1.0))

    assert Bill(usage=Usage(input=200, calls=6), cost=0.5) == found.bill


def test_a_price_that_is_not_known_stays_unknown() -> None:
    """It is not zero."""
    found = agreement(judged(replace(GOOD, bill=Bill(cost=None)), 1.0), judged(replace(GOOD, bill=Bill(cost=1.0)), 1.0))

    assert found.bill is not None
    assert found.bill.cost is None


def test_what_can_not_be_known_is_not_written() -> None:
    """The rest is, with what follows from it."""
    expected = {
        "graded": 1,
        "both_pass": 1,
        "both_fail": 0,
        "only_judge": 0,
        "only_scorers": 0,
        "not_graded": 0,
        "cached": 0,
        "agreement": 1.0,
        "spread": 0.0,
    }

    assert expected == agreement(judged(GOOD, 1.0)).to_dict()


@pytest.mark.parametrize(
    "found",
    [
        Agreement(),
        Agreement(both_pass=5, both_fail=4, only_judge=3, only_scorers=2, not_graded=1, cached=6, spread=0.125),
        Agreement(both_pass=1, bill=Bill(usage=Usage(input=5), cost=None)),
    ],
)
def test_an_agreement_survives_a_wire(found: Agreement) -> None:
    """Whole."""
    assert found == Agreement.from_dict(json.loads(json.dumps(found.to_dict())))


@pytest.mark.parametrize("change", [{"both_pass": "7"}, {"both_pass": True}, {"cached": None}, {"spread": "x"}])
def test_junk_is_no_agreement(change: dict[str, Any]) -> None:
    """It is refused in a way that readers of reports expect."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Agreement.from_dict({**Agreement().to_dict(), **change})
