"""Two runs of the same cases: checked against published examples and independent computations."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.report.paired import (
    MCNEMAR,
    PERMUTATION,
    Pair,
    bonett_price,
    detectable,
    difference_of,
    holm,
    mean_difference,
)
from tests.hypothesis_settings import DETERMINISTIC


def pairs(*values: tuple[float, float], chain: str = "") -> list[Pair]:
    """Return cases by what they had before and have now."""
    return [
        Pair(case=str(n), unit=chain or str(n), before=before, after=after) for n, (before, after) in enumerate(values)
    ]


def test_an_interval_of_a_paired_difference_is_the_one_that_was_published() -> None:
    """12, 4, 26 and 6 people: 0.2548067 to 0.6251933.

    The example of ``ci.prop.ps`` in the R package statpsych, by Bonett, after Bonett and Price (2012).
    """
    assert pytest.approx((0.2548067, 0.6251933), abs=1e-7) == bonett_price(26, 4, 48)


def test_the_interval_is_the_mirror_when_runs_change_places() -> None:
    """Who gains here loses there."""
    low, high = bonett_price(9, 2, 50)

    assert pytest.approx((-high, -low)) == bonett_price(2, 9, 50)


@pytest.mark.parametrize(("up", "down"), [(0.0, 0.0), (0.05, 0.05), (0.2, 0.1), (0.02, 0.15)])
def test_the_interval_holds_the_truth_as_often_as_it_says(up: float, down: float) -> None:
    """An independent computation: all outcomes of 40 pairs, by their probability."""
    count, covered = 40, 0.0
    for better in range(count + 1):
        for worse in range(count + 1 - better):
            ways = comb(count, better) * comb(count - better, worse)
            chance = ways * up**better * down**worse * (1 - up - down) ** (count - better - worse)
            low, high = bonett_price(better, worse, count)
            covered += chance * (low <= up - down <= high)

    assert covered >= 0.93


def test_holm_is_the_one_of_the_textbooks() -> None:
    """0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02: ``p.adjust(p, "holm")`` in R."""
    assert pytest.approx([0.03, 0.06, 0.06, 0.02]) == holm([0.01, 0.04, 0.03, 0.005])
    assert [] == holm([])


@DETERMINISTIC
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_corrects_upwards_in_order_and_at_most_as_bonferroni(chances: list[float]) -> None:
    corrected = holm(chances)
    by_size = sorted(range(len(chances)), key=chances.__getitem__)

    assert all(old <= new <= min(1.0, old * len(chances)) + 1e-12 for old, new in zip(chances, corrected, strict=True))
    assert sorted(corrected) == [corrected[place] for place in by_size]


def power(count: int, discordant: float, difference: float) -> float:
    """Return how often the exact test finds a difference: all outcomes, by their probability."""
    differing = max(discordant, difference)
    up, found = (differing + difference) / 2 / differing, 0.0
    for changed in range(1, count + 1):
        tails = [comb(changed, heads) / 2**changed for heads in range(changed + 1)]
        within = 0.0
        for heads in range(changed + 1):
            if 2 * sum(tails[: min(heads, changed - heads) + 1]) < 0.05:
                within += comb(changed, heads) * up**heads * (1 - up) ** (changed - heads)
        found += comb(count, changed) * differing**changed * (1 - differing) ** (count - changed) * within
    return found


@pytest.mark.parametrize(("count", "discordant"), [(8, 0.1), (12, 0.1), (20, 0.4), (36, 0.05), (50, 0.4), (100, 0.2)])
def test_a_detectable_difference_is_found_in_four_of_five_runs(count: int, discordant: float) -> None:
    """An independent computation: McNemar's exact test, as gates have it, finds it in so many, or a few more."""
    least = detectable(count, discordant)

    assert 0.79 <= power(count, discordant, least) <= 0.88


def test_more_cases_show_smaller_differences() -> None:
    """Five cases show nothing at all; fifteen of which none differs show only that no more than half of them does."""
    found = [detectable(count, 0.2) for count in (5, 15, 50, 500, 5000)]

    assert sorted(found, reverse=True) == found
    assert 1.0 == found[0]
    assert 0.45 <= detectable(15, 1 / 17) < 0.55


def test_verdicts_are_compared_by_mcnemar() -> None:
    """One gained, seven lost, of 21: the published example."""
    found = difference_of(pairs((0, 1), *[(1, 0)] * 7, *[(1, 1)] * 13))

    assert (MCNEMAR, "Bonett-Price", 21) == (found.test, found.figure.method, found.figure.n)
    assert pytest.approx((0.0703, -6 / 21), abs=5e-5) == (found.p, found.figure.value)


def test_repeats_are_compared_by_signs() -> None:
    """Fractions of trials, not verdicts."""
    found = difference_of(pairs(*[(1.0, 2 / 3)] * 6, *[(0.5, 0.5)] * 14))

    assert (PERMUTATION, 0.03125, "paired bootstrap") == (found.test, found.p, found.figure.method)
    assert found.figure.interval
    assert found.figure.interval[1] < 0


def test_cases_of_one_chain_are_one_difference() -> None:
    """Ten lost in one chain are one thing that was lost."""
    chained = pairs(*[(1.0, 0.0)] * 10, chain="c") + pairs(*[(1.0, 1.0)] * 5)

    found = difference_of(chained)

    assert (1.0, 6) == (found.p, found.figure.units)


def test_equal_changes_have_an_interval() -> None:
    """Twenty cases that gained everything do not prove that each would."""
    found = mean_difference(pairs(*[(0.0, 1.0)] * 20))

    assert found.interval
    assert (1.0, 1.0) == (found.value, found.interval[1])
    assert found.interval[0] < 0.9


def test_unchanged_pairs_have_an_interval() -> None:
    """Twenty cases that stay as they were do not prove that none ever changes."""
    for found in (difference_of(pairs(*[(1.0, 1.0)] * 20)).figure, mean_difference(pairs(*[(0.5, 0.5)] * 20))):
        assert 0.0 == found.value
        assert found.interval == bonett_price(0, 0, 20)


def test_repeats_that_did_not_change_show_no_more_than_verdicts_that_did_not() -> None:
    """Nothing varies here: that is no proof that the least difference would be seen."""
    found = difference_of(pairs(*[(1 / 3, 1 / 3)] * 20))

    assert difference_of(pairs(*[(1.0, 1.0)] * 20)).detectable == found.detectable


def test_a_difference_that_is_detectable_takes_six_cases_that_differ() -> None:
    """One of a hundred gained a third: six such would be significant, at the least."""
    found = difference_of(pairs(*[(1 / 3, 1 / 3)] * 99, (1 / 3, 2 / 3)))

    assert pytest.approx(6 / 3 / 100) == found.detectable


def test_one_change_does_not_narrow_the_interval() -> None:
    """Intervals of what was drawn are narrow where hardly anything differs."""
    none, one = (mean_difference(pairs(*[(0.5, 0.5)] * 99, (0.5, after))) for after in (0.5, 1.0))

    assert none.interval
    assert one.interval
    assert pytest.approx(none.interval[1] - none.interval[0]) == one.interval[1] - one.interval[0]
