"""So much a minute, and in any window its part."""

import pytest

from pytest_crmeval.models.limits.throttles import LATE, Quota


def test_the_first_goes_at_once() -> None:
    """And the next of three a minute after 20 s, and a little."""
    quota = Quota("requests", 3)
    quota.draw(0.0, 1.0)

    assert 20.0 + LATE == quota.wait(0.0, 1.0)
    assert 0.0 == quota.wait(20.0 + LATE, 1.0)


def test_unused_quota_is_not_accumulated() -> None:
    """After an hour of rest there are no more than otherwise."""
    quota = Quota("requests", 60)
    drawn = 0
    while quota.wait(3600.0, 1.0) == 0.0:
        quota.draw(3600.0, 1.0)
        drawn += 1

    assert 2 == drawn


def test_late_calls_do_not_reduce_the_rate() -> None:
    """The pace goes by when calls were due: asked for only every 0.1 s, and still all but the slack is drawn."""
    quota = Quota("requests", 6_000)
    drawn, now = 0, 0.0
    while now < 60.0:
        while quota.wait(now, 1.0) == 0.0:
            quota.draw(now, 1.0)
            drawn += 1
        now += 0.1

    assert 5_700 <= drawn <= 6_000


def test_overestimated_tokens_are_returned() -> None:
    """Of 9,000 tokens 100 were taken."""
    quota = Quota("tokens", 60_000)
    draft = quota.draw(0.0, 9_000.0)
    assert quota.wait(1.0, 9_000.0) > 7.0
    quota.settle(draft, 100.0)

    assert 0.0 == quota.wait(1.0, 9_000.0)


def test_underestimated_tokens_are_deducted() -> None:
    """9,000 tokens were taken where 100 were expected."""
    quota = Quota("tokens", 60_000)
    draft = quota.draw(0.0, 100.0)
    quota.settle(draft, 9_000.0)

    assert quota.wait(1.0, 100.0) > 7.0


def test_correction_of_an_old_call_does_not_count_in_the_current_window() -> None:
    """The answer took five minutes."""
    quota = Quota("tokens", 60_000)
    draft = quota.draw(0.0, 900.0)
    quota.draw(299.0, 900.0)
    quota.settle(draft, 0.0)

    assert 0.0 == quota.wait(300.0, 9_000.0)
    assert pytest.approx(9.0 + LATE) == quota.wait(300.0, 9_200.0)
