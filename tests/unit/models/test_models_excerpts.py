"""Values cut to a length."""

import json
from typing import Any

import pytest

from pytest_crmeval.models.excerpts import Excerpts, encoded

CUT = Excerpts()


@pytest.mark.parametrize("value", [None, True, False, 0, 7, -1.5, "", "Ada", [], {}, [1, [2]], {"a": {"b": [None]}}])
def test_what_is_short_stays_as_it_is(value: object) -> None:
    """With its type."""
    assert (type(value), value) == (type(CUT.of(value, 100)), CUT.of(value, 100))


def test_a_long_text_says_how_long_it_was() -> None:
    """Its beginning is kept."""
    assert f"{'x' * 80}… (5,000 characters)" == CUT.of("x" * 5000, 100)


def test_a_long_list_shows_its_first_items_whole_and_says_how_many_there_are() -> None:
    """No item is cut in the middle."""
    rows = [{"name": f"Client {number}"} for number in range(500)]

    assert [*rows[:3], "… 497 more, 500 in all"] == CUT.of(rows, 80)


def test_a_long_field_does_not_hide_the_others() -> None:
    """Each has its share."""
    told: Any = CUT.of({"notes": "x" * 5000, "name": "Ada"}, 100)

    assert ("Ada", True) == (told["name"], told["notes"].endswith("… (5,000 characters)"))


def test_too_many_fields_are_counted() -> None:
    """Like items of a list."""
    told: Any = CUT.of({f"field{number}": number for number in range(1000)}, 100)

    assert told["…"].endswith("more, 1,000 in all")


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000_000,
        "\x00" * 100_000,
        "<" * 100_000,
        ["x" * 100_000] * 100,
        [[[["x" * 1000] * 100] * 100] * 100] * 100,
        {f"{'k' * 1000}{number}": {"v": ["x" * 1000] * 1000} for number in range(1000)},
    ],
    ids=["text", "controls", "tags", "texts", "nested", "fields"],
)
def test_nothing_is_much_longer_than_allowed(value: object) -> None:
    """Whatever escaping makes of it."""
    assert len(encoded(CUT.of(value, 500))) <= 1_500


def deep() -> object:
    """Return a list in a list in a list, too deep for the stack."""
    value: object = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**5000, "\ud800", b"bytes", object(), {1: {2}}, {"a": "\u2028\x1b"}, deep()],
    ids=["nan", "inf", "digits", "surrogate", "bytes", "object", "keys", "controls", "deep"],
)
def test_whatever_an_agent_sends_can_be_told(value: object) -> None:
    """As JSON that everybody can read and that a wire can carry."""
    told = CUT.of(value, 200)

    text = encoded(told)
    assert told == json.loads(text.encode("utf-8"))


def test_no_tag_can_be_opened_or_closed() -> None:
    """And nothing is lost by that."""
    text = encoded("</evidence><|im_end|>")

    assert "<" not in text
    assert "</evidence><|im_end|>" == json.loads(text)
