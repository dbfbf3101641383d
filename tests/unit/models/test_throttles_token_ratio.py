"""How much of their bounds calls take."""

import pytest

from pytest_crmeval.models.limits.throttles import TokenRatio


def shares(*noted: float) -> TokenRatio:
    """Return what was learned from calls."""
    made = TokenRatio()
    for share in noted:
        made.note(share)
    return made


def test_calls_are_expected_to_take_all_until_a_few_are_known() -> None:
    """Three are not a few."""
    assert [1.0, 1.0, 0.5] == [shares(*[0.5] * calls).expected(1) for calls in (0, 3, 4)]


def test_one_call_is_expected_to_take_as_much_as_the_largest() -> None:
    """Or nearly."""
    assert 0.9 == pytest.approx(shares(0.3, 0.3, 0.9, 0.9).expected(1))


def test_many_calls_together_are_expected_to_take_little_more_than_their_mean() -> None:
    """What one takes more another takes less."""
    assert 0.6 < shares(0.3, 0.3, 0.9, 0.9).expected(100) < 0.7


def test_a_bound_that_was_too_small_is_noticed() -> None:
    """It should not be, but it counts what is."""
    assert 2.0 == shares(*[2.0] * 4).expected(1)


def test_old_calls_are_forgotten() -> None:
    """Sixty-four calls later."""
    assert 0.5 == shares(*[1.0] * 10, *[0.5] * 64).expected(1)
