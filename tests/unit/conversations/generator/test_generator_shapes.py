"""How many conversations of which kind."""

from collections import Counter

import pytest

from pytest_crmeval.conversations.generator.shapes import LEVELS, THEMES, shapes

MANY = list(shapes(42, 1200))


def test_the_shares_are_those_of_the_published_suite() -> None:
    assert {"simple": 276, "medium": 624, "complex": 300} == Counter(shape.level for shape in MANY)


@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_any_number_of_shapes_can_be_generated(count: int) -> None:
    assert list(range(1, count + 1)) == [shape.number for shape in shapes(1, count)]


def test_every_theme_occurs_in_every_level() -> None:
    """So that no skill is tried only in long conversations."""
    assert {(level, theme) for level in LEVELS for theme in THEMES} == {(shape.level, shape.theme) for shape in MANY}


def test_a_quarter_is_held_out_of_every_kind() -> None:
    """Agents that learn are tested with what they have not seen, but with no other mix."""
    for level in LEVELS:
        of_level = [shape.split for shape in MANY if shape.level == level]

        assert 0.22 < of_level.count("test") / len(of_level) < 0.26


def test_turns_go_with_the_level() -> None:
    """One to three, four to six, seven to ten."""
    bounds = {"simple": (1, 3), "medium": (4, 6), "complex": (7, 10)}

    for shape in MANY:
        low, high = bounds[shape.level]

        assert low <= sum(shape.segments)
        assert shape.is_chain or sum(shape.segments) <= high


def test_chains_have_three_to_five_segments() -> None:
    chains = [shape for shape in MANY if shape.is_chain]

    assert {3, 4, 5} == {len(shape.segments) for shape in chains}
    assert 40 < len(chains) < 90
    assert {"complex"} == {shape.level for shape in chains}
