"""What a text says, in any common format."""

import pytest

from pytest_crmeval.conversations.scorers.mentions import Figure, read, same_phone, words_of
from pytest_crmeval.conversations.scorers.number_words import in_digits
from pytest_crmeval.domain.json import Json

ACME = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("75000", 75000),
        ("75,000", 75000),
        ("75,000.00", 75000),
        ("$75,000.", 75000),
        ("**$75,000**", 75000),
        ("USD 75,000", 75000),
        ("USD75,000", 75000),
        ("75,000USD", 75000),
        ("75 000 \u20ac", 75000),
        ("75\u00a0000", 75000),
        ("75\u202f000", 75000),
        ("75'000", 75000),
        ("75\u2019000", 75000),
        ("75.000 \u20ac", 75000),
        ("75.000,00 \u20ac", 75000),
        ("$75k", 75000),
        ("75 K", 75000),
        ("75 thousand", 75000),
        ("(75,000)", 75000),
        ("75,000\u201380,000", 75000),
        ("75,000\u201380,000", 80000),
        ("1.234.567,89 \u20ac", 1234567.89),
        ("1,234,567.89", 1234567.89),
        ("$1.2M", 1_200_000),
        ("$1.2M", 1_234_000),
        ("1,2 Mio. \u20ac", 1_200_000),
        ("1.2 million", 1_200_000),
        ("$2bn", 2_000_000_000),
        ("84000.5", 84000.5),
        ("84,000.50", 84000.5),
        ("Quote 1 $100,000", 100000),
        ("Quote 1 100,000", 100000),
        ("50%", 50),
        ("50 %", 50),
        ("50 percent", 50),
        ("50 per cent", 50),
        ("three deals", 3),
        ("Twelve", 12),
        ("twenty-one", 21),
        ("ninety", 90),
        ("both", 2),
        ("a single client", 1),
        ("a dozen", 12),
        ("I have 0 results", 0),
    ],
)
def test_numbers(text: str, number: float) -> None:
    """As people, spreadsheets and models write them."""
    assert read(text).says(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("75,000", 75),
        ("75,001", 75000),
        ("$1.2M", 1_260_000),
        ("$75k", 750),
        ("175,000", 75000),
        ("75,000,000", 75000),
        ("A75000", 75000),
        ("75000abc", 75000),
        ("v2.0", 2),
        ("version 1.0.3", 3),
        ("2025-11-30", 11),
        ("Nov 30, 2025", 30),
        ("at 09:45", 45),
        ("21st", 21),
        (ACME, 59),
        ("a75@b.example", 75),
        ("+1 555 0101", 555),
        ("someone", 1),
        ("", 0),
    ],
)
def test_other_numbers(text: str, number: float) -> None:
    """Parts of words, dates, times, ids and addresses are no numbers."""
    assert not read(text).says(number)


DATES = [
    "2025-11-30",
    "2025/11/30",
    "2025-11-30T00:00:00+00:00",
    "2025-11-30T09:00:00.123Z",
    "Nov 30, 2025",
    "Nov. 30 2025",
    "November 30th, 2025",
    "30 November 2025",
    "30th of November, 2025",
    "30. November 2025",
    "30-Nov-2025",
    "Sunday, November 30",
    "30/11/2025",
    "11/30/2025",
    "11/30/25",
    "30/11/25",
    "30.11.2025",
    "30-11-2025",
    "NOV 30",
    "**Nov 30, 2025**",
]


@pytest.mark.parametrize("text", DATES)
def test_dates(text: str) -> None:
    """With the year or without it, in any order."""
    assert read(f"It closes on {text}.").says("2025-11-30")
    assert read(f"It closes on {text}.").says("2025-11-30T17:00:00+00:00")


@pytest.mark.parametrize(
    "text", ["2025-11-29", "Nov 30, 2026", "30 October 2025", "29/11/2025", "2025-30-11", "Nov 2025", "30", "Dec 11"]
)
def test_other_dates(text: str) -> None:
    """Another day, month or year."""
    assert not read(f"It closes on {text}.").says("2025-11-30")


def test_a_date_in_numbers_may_be_one_of_two() -> None:
    """Month and day change places between continents; names of months don't."""
    assert read("03/04/2026").says("2026-03-04")
    assert read("03/04/2026").says("2026-04-03")
    assert not read("March 4, 2026").says("2026-04-03")


@pytest.mark.parametrize("text", ["32/11/2025", "2025-02-30", "Feb 30"])
def test_days_that_do_not_exist_are_no_dates(text: str) -> None:
    """Whatever they are."""
    assert frozenset() == read(text).dates


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"ID: {ACME}", ACME),
        (f"`{ACME.upper()}`", ACME),
        ("5fcdb532\u2026", ACME),
        ("5fcdb532...", ACME),
        ("(5fcdb532)", ACME),
        ("ops@a.example.", "ops@a.example"),
        ("[ops@a.example](mailto:ops@a.example)", "ops@a.example"),
        ("<OPS@A.Example>", "ops@a.example"),
        ("_ops@a.example_", "ops@a.example"),
        ("-j.w+x@m\u00fcnz.example", "j.w+x@m\u00fcnz.example"),
        ("+1 (555) 0101", "+1 555 0101"),
        ("+1-555-0101", "+1 555 0101"),
        ("+15550101", "+1 555 0101"),
        ("555-0101", "+1 555 0101"),
        ("Closed Won", "Closed-Won"),
        ("it was cancelled", "Canceled"),
        ("Lumen Fiber's account", "Lumen Fiber"),
        ("James' account", "James"),
        ("James\u2019s account", "James"),
        ("O\u2019Brien", "O'Brien"),
        ("McDonalds", "McDonald's"),
        ("McDonald\u2019s", "McDonald's"),
        ("JUNIPER AND SONS", "Juniper & Sons"),
        ("Juniper &amp; Sons", "Juniper & Sons"),
        ("Mu\u0308nzberg", "M\u00fcnzberg"),
        ("Munzberg", "M\u00fcnzberg"),
        ("WEISS", "Wei\u00df"),
        ("**Fleet** tracking\nrollout", "Fleet tracking rollout"),
        ("| offer.pdf |", "offer.pdf"),
        ("2.0", "2.0"),
        ("version 2", "2.0"),
        ("\u6771\u4eac \u682a\u5f0f", "\u6771\u4eac \u682a\u5f0f"),
        ("anything", None),
        ("anything", True),
    ],
)
def test_texts(text: str, value: Json) -> None:
    """Names, ids and addresses, whatever is around them."""
    assert read(text).says(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (ACME.replace("5", "6"), ACME),
        ("5fcdb533\u2026", ACME),
        ("ops@b.example", "ops@a.example"),
        ("ops@a.example.com", "ops@a.example"),
        ("+1 555 0102", "+1 555 0101"),
        ("Acme", "Acme North"),
        ("Acmes", "Acme"),
        ("Pacme", "Acme"),
        ("tracking fleet", "Fleet tracking"),
        ("2.1", "2.0"),
        ("", "Acme"),
        ("anything", ["anything"]),
    ],
)
def test_other_texts(text: str, value: Json) -> None:
    """Close, but not the same."""
    assert not read(text).says(value)


def test_choices_may_be_said_of_several() -> None:
    """Names may not: Acmes are not Acme."""
    assert read("Competitors: Acme, Globex").says("Competitor")
    assert not read("Competition: Acme").says("Competitor")


def test_half_a_cent_is_rounded() -> None:
    """In either direction."""
    assert read("18,712.63").says(18712.625)
    assert read("18,712.62").says(18712.625)
    assert not read("18,712.64").says(18712.625)


def test_a_name_within_a_longer_one_is_not_said_for_itself() -> None:
    """Unless it is said once more."""
    names = ["Vans", "Vans (Clone)"]

    assert not read("Vans (Clone)").says_beside("Vans", names)
    assert read("Vans, Vans (Clone)").says_beside("Vans", names)
    assert read("Vans (Clone)").says_beside("Vans (Clone)", names)


def test_how_precise_a_figure_is() -> None:
    """A rounded one means all that is rounded to it; to the cent otherwise."""
    assert Figure(value=1_200_000.0, precision=50_000.0) == read("1.2M").numbers[0]
    assert Figure(value=3.9, precision=0.05, percent=True) == read("3.9 %").numbers[0]
    assert Figure(value=84000.0, precision=0.005) == read("84000").numbers[0]
    assert Figure(value=75.0, precision=0.005, other=75000.0) == read("75.000").numbers[0]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("15550101", "15550101", True),
        ("15550101", "5550101", True),
        ("493077123", "03077123", True),
        ("15550101", "15550102", False),
        ("15550101", "0101", False),
    ],
)
def test_telephone_numbers(one: str, other: str, same: bool) -> None:  # noqa: FBT001 (a table)
    """With their country or without it."""
    assert same is same_phone(one, other)


def test_words_stand_alone() -> None:
    """In small letters, without accents, marks and whose they are."""
    assert " juniper and sons a b obrien " == words_of("*Juniper* & Sons\u2019: A_b, O'Brien's!")


@pytest.mark.parametrize(
    "text", ["9" * 5000, "1" + ",000" * 2000, "+" + "1 " * 2000, "a" * 20000, "@" * 2000, " " * 20000]
)
def test_strange_texts_are_read_in_no_time(text: str) -> None:
    """There is no figure to be found in them, and nothing to wait for."""
    assert not read(text).says(7)


def test_a_telephone_number_before_a_comma_is_whole() -> None:
    """As in lists; a thousand after a comma is none."""
    assert [] == list(read("Call +52 81 0890 1312, at Orefield.").numbers)
    assert read("It is +1 500,000 now.").says(500000)


def test_the_name_of_a_standard_is_no_figure() -> None:
    """As the CRM writes it when it refuses a date."""
    assert [] == list(read("Use an ISO-8601 date, please.").numbers)


@pytest.mark.parametrize(
    ("said", "digits"),
    [
        ("Sixty-nine thousand five hundred.", "69,500."),
        ("Half a million, four hundred and thirty thousand", "500,000, 430,000"),
        ("probability eighteen per cent", "probability 18%"),
        ("from the first of January to the thirty-first of December", "from 1 January to 31 December"),
        ("Draft \u279c Sent", "Draft \u2192 Sent"),
        (
            "There are twenty-two deals and a note over 1.2 million.",
            "There are twenty-two deals and a note over 1.2 million.",
        ),
    ],
)
def test_large_numbers_and_days_in_words_are_read_as_digits(said: str, digits: str) -> None:
    """Small numbers stay words: they count records."""
    assert digits == in_digits(said)
