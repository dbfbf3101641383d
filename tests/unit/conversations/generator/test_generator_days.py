"""Days as people say them."""

from datetime import date, timedelta

import pytest

from pytest_crmeval.conversations.generator.days import ahead, months_on, ordinal, past, today, written
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.scorers.mentions import read

NOW = date(2026, 1, 31)


def test_a_day_to_the_letter_can_be_read_back() -> None:
    """In whatever form it is written, and so can the day that it is today."""
    for throw in range(40):
        chance = SeededRandom(throw)

        assert read(written(chance, date(2026, 3, 2))).says("2026-03-02"), throw
        assert read(today(chance, date(2026, 11, 12))).says("2026-11-12"), throw


def test_a_day_ahead_is_not_over() -> None:
    """Not even if today is the last day of a month."""
    for throw in range(60):
        assert ahead(SeededRandom(throw), NOW).value >= NOW, throw


def test_a_day_that_is_over_is_over() -> None:
    for throw in range(20):
        day = past(SeededRandom(throw), NOW)

        assert day.value < NOW - timedelta(days=14), throw
        assert not day.relative, throw


def test_relative_days_are_computed_from_today() -> None:
    """All ways of counting, each checked by hand for the last day of January."""
    by_hand = {
        "in 30 days": "2026-03-02",
        "in three weeks": "2026-02-21",
        "the end of next month": "2026-02-28",
        "the last day of next month": "2026-02-28",
        "the last day of the month after next": "2026-03-31",
        "the first of next month": "2026-02-01",
        "the end of this year": "2026-12-31",
        "a year from today": "2027-01-31",
        "the 15th of next month": "2026-02-15",
    }
    met = {day.said: day.iso for day in (ahead(SeededRandom(throw), NOW) for throw in range(5000)) if day.relative}

    assert by_hand == {said: met[said] for said in by_hand}


@pytest.mark.parametrize(
    ("months", "expected"),
    [(1, date(2026, 2, 28)), (2, date(2026, 3, 31)), (12, date(2027, 1, 31)), (-1, date(2025, 12, 31))],
)
def test_months_end_where_they_end(months: int, expected: date) -> None:
    """The 31st of a month that has none is its last day."""
    assert expected == months_on(NOW, months)


def test_ordinals_have_irregular_endings() -> None:
    """Those that are irregular, too."""
    assert ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd"] == [
        ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23)
    ]
