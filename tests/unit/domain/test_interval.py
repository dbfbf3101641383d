"""How far a pass rate can be believed: Wilson's interval."""

import pytest

from pytest_crmeval.domain.interval import wilson


@pytest.mark.parametrize(
    ("passed", "scored", "published"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0000, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_intervals_are_those_that_were_published(passed: int, scored: int, published: tuple[float, float]) -> None:
    """In Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    assert pytest.approx(published, abs=0.00005) == wilson(passed, scored)


def test_what_fails_is_the_mirror_of_what_passes() -> None:
    """20 of 20 is 0 of 20, seen from the other end."""
    none, every = wilson(0, 20), wilson(20, 20)
    assert none
    assert every

    assert pytest.approx((1 - none[1], 1 - none[0])) == every


def test_nothing_scored_has_no_interval() -> None:
    """It is not the interval of zero."""
    assert wilson(0, 0) is None
