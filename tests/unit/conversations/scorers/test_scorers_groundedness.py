"""Whether the figures of a reply stand on something."""

from collections.abc import Sequence

import pytest

from pytest_crmeval.conversations.scorers.groundedness import KnownValues, follows_from, kind_of, rows_in, sums
from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, agent_says, crm_says, user_says
from tests.fakes import call, calls, says
from tests.plays import FLEET, HARBOR, LARGE_QUOTE, MIRA, SMALL_QUOTE, found, refused, row, uid


def unsupported(text: str, *messages: Message, today: str = "2025-11-12") -> list[str]:
    """Return what a reply says that nothing before it bears out."""
    known_values = KnownValues(today)
    known_values.add(messages)
    return list(known_values.unsupported(read(text)))


DIALOGUE = (
    user_says("My budget is 4,711, until Dec 5."),
    agent_says(calls(call("client_search", email="asked@a.example"))),
    crm_says(
        [found([FLEET, SMALL_QUOTE, HARBOR]), refused("Amount must not exceed 10,000."), found([], note="50 of 120")]
    ),
)


@pytest.mark.parametrize(
    "text",
    [
        "4711",
        "December 5",
        "asked@a.example",
        "$84,000 at 55%",
        "75k",
        "closes 30 Nov 2025",
        "in 2026",
        "10,000",
        "120",
        "today, 2025-11-12",
        f"{uid('fleet')} and {uid('fleet')[:8]}",
        "ops@harborlight.example, +1 555 0101",
        "99 is the highest probability, 10,000,000 the highest amount",
        "31 of these, 7 of those, 3.0 times",
        "$9,000 less than the deal",
        "159,000 together",
        "46,200 weighted",
        "89% of it",
        "a share of 0.55",
        "18 days until then, 139 until the quote expires",
        "nothing to check",
    ],
)
def test_what_was_heard_bears_a_reply_out(text: str) -> None:
    """The user, the CRM, what it was asked for, today; what these make together; and what is too small to matter."""
    assert [] == unsupported(text, *DIALOGUE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("86,000", ["86,000"]),
        ("84,001", ["84,001"]),
        ("32", ["32"]),
        ("1.5", ["1.5"]),
        ("0.35", ["0.35"]),
        ("20%", ["20 %"]),
        ("Nov 29", ["????-11-29"]),
        ("2025-11-13", ["2025-11-13"]),
        ("in 2031", ["2,031"]),
        (uid("other"), [uid("other")]),
        ("0badc0de", ["0badc0de"]),
        ("ops@b.example", ["ops@b.example"]),
        ("+1 555 0102", ["15550102"]),
        ("86,000 and ops@b.example", ["ops@b.example", "86,000"]),
    ],
)
def test_what_was_not_heard_is_baseless(text: str, expected: list[str]) -> None:
    assert expected == unsupported(text, *DIALOGUE)


def test_what_the_agent_itself_said_proves_nothing() -> None:
    """Otherwise a lie would be true the second time."""
    assert ["555"] == unsupported("555", user_says("Hello."), agent_says(says("555")))


def test_numbers_add_up_over_results() -> None:
    """Rows that were seen one by one make a sum, each of them once."""
    one, other = crm_says([found([SMALL_QUOTE])]), crm_says([found(LARGE_QUOTE)])
    third = crm_says([found([{**SMALL_QUOTE, "quote_id": uid("third"), "amount": 11.0}])])

    assert [] == unsupported("1,275,011", one, other, third, one)
    assert ["1,350,011"] == unsupported("1,350,011", one, other, third, one)


def test_groups_of_rows_add_up() -> None:
    """Those that have something in common."""
    deals: Json = [
        {**FLEET, "opportunity_id": uid(str(n)), "amount": 1000.0 * n, "owner": "DE"[n % 2]} for n in range(1, 8)
    ]

    assert [] == unsupported("Dana has $12,000, Eve $16,000, together $28,000", crm_says([found(deals)]))
    assert ["29,000"] == unsupported("together $29,000", crm_says([found(deals)]))


def test_of_many_numbers_pairs_prove_nothing() -> None:
    """With enough numbers any figure is the difference of two."""
    many = user_says(", ".join(f"{number}.0" for number in range(1000, 1500, 7)))

    assert ["2,007"] == unsupported("2,007", many)
    assert [] == unsupported("2,007", user_says("1000 and 1007"))


def test_an_id_that_begins_with_digits_may_be_cut_short() -> None:
    """It looks like a number then."""
    heard = user_says("about 12345678-cec1-59dd-933c-2ef2b966d0b0")

    assert [] == unsupported("ID 12345678\u2026", heard)
    assert ["12,345,679"] == unsupported("ID 12345679\u2026", heard)


def test_words_that_were_heard() -> None:
    """Whole ones, in any case; names of columns count."""
    known_values = KnownValues()
    known_values.add(DIALOGUE)

    assert [True, True, True, False, False] == [
        known_values.contains_words(words)
        for words in ("harbor LIGHT", "Proposal", "valid until", "Harb", "Negotiation")
    ]


def test_rows_are_counted_by_kind() -> None:
    known_values = KnownValues()
    known_values.add(
        [user_says("All five?"), crm_says([found([SMALL_QUOTE, LARGE_QUOTE, FLEET]), found({"total_count": 7})])]
    )

    assert {5.0, 7.0, 2.0, 1.0, 0.0} == known_values.counts("quote_id")
    assert {5.0, 7.0, 1.0, 0.0} == known_values.counts("opportunity_id")
    assert {5.0, 7.0, 0.0} == known_values.counts("contact_id")
    assert {5.0, 7.0, 3.0, 2.0, 1.0, 0.0} == known_values.counts("")


def test_people_that_were_heard_of() -> None:
    """First name and last name."""
    known_values = KnownValues()
    known_values.add([crm_says([found([MIRA])]), agent_says(calls(call("x", first_name="Ada", last_name="Lee")))])

    assert {("Mira", "O'Brien"), ("Ada", "Lee")} == known_values.people


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ([FLEET, HARBOR], ["fleet", "harbor"]),
        (FLEET, ["fleet"]),
        ({uid("fleet"): FLEET, uid("harbor"): HARBOR}, ["fleet", "harbor"]),
        ({"quotes": [SMALL_QUOTE], "amounts": [75000.0], "statuses": ["Draft"]}, ["small"]),
        ({"total_count": 1, "by_stage": {"Proposal": 1}}, []),
        (["VAN"], []),
        (True, []),
        (None, []),
    ],
)
def test_rows_in_a_result(value: Json, names: Sequence[str]) -> None:
    """However it wraps them."""
    assert [uid(name) for name in names] == [row[kind_of(row)] for row in rows_in(value)]


def test_a_row_is_of_the_kind_whose_id_is_its_own() -> None:
    """Not of those that it refers to."""
    assert ["opportunity_id", "client_id", "quote_id", "contact_id"] == [
        kind_of(row) for row in (FLEET, HARBOR, SMALL_QUOTE, MIRA)
    ]


def test_sums_of_rows() -> None:
    """Number, sum and mean of all, and of those that have something in common."""
    rows: Json = [row("quote", str(n), amount=float(n), status="Draft" if n < 3 else "Sent") for n in (1, 2, 30)]

    assert {1.0, 2.0, 3.0, 1.5, 33.0, 11.0} == sums(rows)
    assert {0.0} == sums([])
    assert {2.0, 0.0} == sums(["VAN", "BIK"])


@pytest.mark.parametrize(
    ("value", "fact", "expected"),
    [
        ([SMALL_QUOTE, LARGE_QUOTE], 1275000.0, True),
        ([SMALL_QUOTE, LARGE_QUOTE], 2, True),
        ([SMALL_QUOTE], "Draft", True),
        ([SMALL_QUOTE], "Sent", False),
        ([SMALL_QUOTE], 3, False),
        ({"total_count": 3}, 3, True),
    ],
)
def test_what_follows_from_a_result(value: Json, fact: Json, expected: bool) -> None:  # noqa: FBT001 (a table)
    """It says it, or lets one count or add it up."""
    assert expected is follows_from(value, fact)
