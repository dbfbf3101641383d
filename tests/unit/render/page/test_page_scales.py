"""Axes: positions of values and ticks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.render.page.scales import Scale, linear, logarithmic, stretched
from tests.hypothesis_settings import DETERMINISTIC

POSITIVE = st.floats(min_value=1e-9, max_value=1e12)


def test_a_scale_maps_its_ends_to_its_ends() -> None:
    """Also when it runs from the bottom to the top, as rates do."""
    up = Scale(low=0.0, high=1.0, start=200, end=20)

    assert [200, 110, 20] == [up(0.0), up(0.5), up(1.0)]


def test_values_beyond_the_scale_are_drawn_at_its_end() -> None:
    """Nothing is drawn outside of the chart."""
    scale = Scale(low=1.0, high=100.0, start=0, end=100, logarithmic=True)

    assert [0, 0, 50, 100, 100] == [scale(0.01), scale(1), scale(10), scale(100), scale(1e9)]


def test_single_value_is_in_the_middle_of_the_scale() -> None:
    """A single checkpoint is a curve, too."""
    assert 50 == stretched([196.0], 0, 100)(196.0)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.031, 0.012, 0.0021], [0.0, 0.01, 0.02, 0.03, 0.04]),
        ([18.0], [0.0, 5.0, 10.0, 15.0, 20.0]),
        ([0.0], [0.0, 0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_ticks_are_easily_read(values: list[float], ticks: list[float]) -> None:
    """Round numbers, from zero."""
    assert ticks == list(linear(values, 0, 100).ticks())


def test_decades_are_the_ticks_of_a_logarithmic_scale() -> None:
    assert [0.001, 0.01, 0.1] == pytest.approx(list(logarithmic([0.0021, 0.05], 0, 100).ticks()))
    assert [1.0, 100.0, 10_000.0, 1_000_000.0] == list(logarithmic([1.0, 900_000.0], 0, 100).ticks(4))


@DETERMINISTIC
@given(st.lists(POSITIVE, min_size=1, max_size=8))
def test_values_and_ticks_are_on_the_scale(values: list[float]) -> None:
    for scale in (linear(values, 10, 90), logarithmic(values, 10, 90), stretched(values, 10, 90)):
        places = [scale(value) for value in (*values, *scale.ticks())]

        assert all(10 <= place <= 90 for place in places)
        assert sorted(scale.ticks()) == list(scale.ticks())
    assert len(linear(values, 0, 1).ticks()) <= 6
    assert 2 <= len(logarithmic(values, 0, 1).ticks()) <= 6
