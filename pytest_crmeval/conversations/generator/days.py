"""Dates as people say them: written out, or relative to today."""

import calendar
from dataclasses import dataclass
from datetime import date, timedelta

from pytest_crmeval.conversations.generator.figures import count
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A date and how it is said."""

    value: date
    said: str
    relative: bool = False
    """Whether it is relative to today."""

    @property
    def iso(self) -> str:
        """The date as the CRM writes it."""
        return self.value.isoformat()


def written(chance: SeededRandom, day: date, *, year: bool = True) -> str:
    """Return a date written out, in one of several unambiguous forms."""
    month = MONTHS[day.month - 1]
    if not year:
        return chance.one_of((f"{day.day} {month}", f"{month} {day.day}", f"the {ordinal(day.day)} of {month}"))
    return chance.one_of(
        (
            day.isoformat(),
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{day.day} {month[:3]} {day.year}",
            f"the {ordinal(day.day)} of {month} {day.year}",
        )
    )


def today(chance: SeededRandom, day: date) -> str:
    """Return today's date in words, with the year."""
    weekday, month = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    return chance.one_of(
        (
            f"{weekday}, {day.day} {month} {day.year}",
            f"{weekday}, {month} {day.day}, {day.year}",
            f"{day.day} {month} {day.year}",
            f"{weekday} the {ordinal(day.day)} of {month} {day.year}",
            day.isoformat(),
        )
    )


def ahead(chance: SeededRandom, now: date, *, near: int = 5, far: int = 300) -> Day:
    """Return a future date, written out or relative to today."""
    if chance.chance(0.45):
        next_month = months_on(now.replace(day=1), 1)
        match chance.one_of(_RELATIVE):
            case "days":
                days = chance.one_of((10, 14, 20, 30, 45, 60, 75, 90, 120))
                day = now + timedelta(days=days)
                said = chance.one_of((f"in {days} days", f"{days} days from today", f"{days} days from now"))
            case "weeks":
                weeks = chance.between(2, 8)
                day = now + timedelta(weeks=weeks)
                form = chance.one_of(("in {} weeks", "{} weeks from today", "{} weeks from now"))
                said = form.format(count(chance, weeks))
            case "end of month":
                months = chance.between(1, 2)
                day = months_on(next_month, months) - timedelta(days=1)
                forms = ("the last day of next month", "the end of next month")
                said = chance.one_of(forms if months == 1 else ("the last day of the month after next",))
            case "first of month":
                day, said = next_month, chance.one_of(("the first of next month", "the 1st of next month"))
            case "end of year":
                day = date(now.year, 12, 31)
                said = chance.one_of(("the last day of this year", "the end of this year", "year-end"))
            case "year":
                day, said = months_on(now, 12), chance.one_of(("a year from today", "one year from today"))
            case _:
                number = chance.between(5, 28)
                day, said = next_month.replace(day=number), f"the {ordinal(number)} of next month"
        return Day(value=day, said=said, relative=True)
    return written_ahead(chance, now, near=near, far=far)


def written_ahead(chance: SeededRandom, now: date, *, near: int = 5, far: int = 300) -> Day:
    """Return a future date, written out."""
    day = now + timedelta(days=chance.between(near, far))
    return Day(value=day, said=written(chance, day))


def past(chance: SeededRandom, now: date) -> Day:
    """Return a past date, written out."""
    day = now - timedelta(days=chance.between(20, 400))
    return Day(value=day, said=written(chance, day))


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 11th."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def months_on(day: date, months: int) -> date:
    """Return the same day ``months`` later, or the last day of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


_RELATIVE = ("days", "weeks", "end of month", "first of month", "end of year", "year", "day of next month")
