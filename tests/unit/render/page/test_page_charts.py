"""Charts, as far as numbers go."""

from itertools import pairwise
from typing import Any

from pytest_crmeval.render.page.charts import APART, Point, Series, cost_against_quality, curve, latency
from pytest_crmeval.render.page.curves import (
    CHECKPOINT_HEAD,
    checkpoint_curve,
    checkpoint_table,
    learning_curve,
    learning_table,
    ungradable,
)


def point(x: float, rate: float = 0.5, name: str = "") -> Point:
    """Return a point with an interval."""
    return Point(x=x, rate=rate, low=max(0.0, rate - 0.1), high=min(1.0, rate + 0.1), name=name, title=f"{name}!")


def checkpoint(step: int | None, value: float | None, name: str = "") -> dict[str, Any]:
    """Return what a report says of a checkpoint."""
    passed = {} if value is None else {"1": {"value": value, "problems": 164}}
    shown = {"step": step, "files": 1, "solved": 82, "judged": 164, "unjudged": 0, "ungradable": 3, "pass_at": passed}
    interval = {} if value is None else {"interval": [value - 0.07, value + 0.07], "solved_of_all": value - 0.01}
    return {"suite": "checkpoints", "subject": name or f"checkpoint-{step}", "checkpoint": {**shown, **interval}}


def window(first: int, last: int, passed: int) -> dict[str, Any]:
    """Return what a report says of a window of a stream."""
    shown = {"first": first, "last": last, "passed": passed, "scored": last - first + 1}
    return {**shown, "rate": passed / (last - first + 1), "interval": [0.1, 0.9]}


LEARNER: dict[str, Any] = {
    "suite": "crm",
    "subject": "atlas",
    "learning": {
        "learning": "on",
        "mode": "paired",
        "stream": window(1, 20, 12),
        "windows": [window(1, 10, 3), window(11, 20, 9), {"first": 21, "last": 30, "passed": 0, "scored": 0}],
        "halves": [window(1, 10, 3), window(11, 20, 9)],
        "comparison": {"alone": "mini", "with_playbook": window(1, 5, 4), "without": window(1, 5, 1), "p_value": 0.25},
        "counts": {"cue_hits": 7},
        "reviews": {"taken over": 2},
        "cost_per_success": 0.25,
    },
}


def test_cheap_is_left_and_good_is_up() -> None:
    """In places of the chart, whose zero is at the top."""
    chart = cost_against_quality([(point(0.03, 0.9, "dear"), 0), (point(0.01, 0.4, "cheap"), 1)])
    by_name = {dot.label: dot for dot in chart.dots}

    assert by_name["cheap"].x < by_name["dear"].x
    assert by_name["dear"].y < by_name["cheap"].y
    assert by_name["dear"].high < by_name["dear"].y < by_name["dear"].low
    assert [("dear", "$0.03", "0.900"), ("cheap", "$0.01", "0.400")] == [tuple(row[:3]) for row in chart.rows]


def test_scale_is_logarithmic_if_costs_differ_by_orders_of_magnitude() -> None:
    """The scale is logarithmic then."""
    chart = cost_against_quality([(point(cost, name=str(cost)), 0) for cost in (0.001, 0.01, 0.5)])
    places = sorted(dot.x for dot in chart.dots)

    assert min(after - before for before, after in pairwise(places)) > 50


def test_no_name_is_written_upon_another() -> None:
    chart = cost_against_quality([(point(0.01, 0.5 + n / 1000, f"m{n}"), n) for n in range(6)])
    for anchor in ("start", "end"):
        heights = sorted(dot.label_y for dot in chart.dots if dot.anchor == anchor)

        assert all(after - before >= APART for before, after in pairwise(heights))


def test_latency_goes_from_the_median_to_the_slowest() -> None:
    """A row per subject, in words, too."""
    marks = [("p50", 2.0), ("p95", 9.0), ("p99", 14.0)]
    chart = latency([("claude", 0, marks), ("mute", 1, [("p50", 0.0), ("p95", 0.5), ("p99", 0.5)])])
    first, second = chart.strips

    assert first.start < first.end
    assert first.y < second.y < chart.bottom
    assert "claude: p50 2 s, p95 9 s, p99 14 s" == first.title
    assert ("mute", "0 s", "500 ms", "500 ms") == tuple(chart.rows[1])


def test_a_curve_has_a_band_of_its_intervals() -> None:
    chart = curve("Title", "Told.", "step", [Series(name="one", colour=2, points=[point(49), point(98), point(196)])])
    (line,) = chart.lines

    assert 3 == len(line.points.split())
    assert 6 == len(line.band.split())
    assert ["49", "98", "196"] == [tick.label for tick in chart.x]


def test_many_steps_have_round_ticks() -> None:
    points = [point(step) for step in range(10, 2_000, 10)]

    assert len(curve("Title", "Told.", "step", [Series(name="one", colour=0, points=points)]).x) <= 6


def test_checkpoints_are_drawn_by_step() -> None:
    """Not by name; one without a step, or of which nothing was judged, is in the table only."""
    records = [checkpoint(196, 0.5), checkpoint(49, 0.25), checkpoint(None, 0.3, "final"), checkpoint(98, None)]
    (chart,) = checkpoint_curve("checkpoints", records)
    table = checkpoint_table(records)

    assert [("49", "0.250"), ("196", "0.500")] == [(row[0], row[2]) for row in chart.rows]
    assert "the best is checkpoint-196 with 0.500" in chart.caption
    assert ["49", "98", "196", "\N{EN DASH}"] == [row[1] for row in table]
    assert {len(CHECKPOINT_HEAD)} == {len(row) for row in table}


def test_incomplete_checkpoint_is_drawn_but_never_the_best() -> None:
    late, half, good = checkpoint(196, 1.0), checkpoint(98, 0.9), checkpoint(49, 0.25)
    late["checkpoint"] |= {"unjudged": 3}
    half["checkpoint"] |= {"lost": 1}

    (chart,) = checkpoint_curve("checkpoints", [late, half, good])
    (nothing_whole,) = checkpoint_curve("checkpoints", [late])

    assert ["49", "98", "196"] == [row[0] for row in chart.rows]
    assert "the best is checkpoint-49 with 0.250" in chart.caption
    assert "best" not in nothing_whole.caption


def test_ungradable_lines_are_shown() -> None:
    """Who cuts half of his answers is not to look perfect."""
    record = checkpoint(49, 1.0)
    record["checkpoint"] |= {"lines": 167, "ungradable_because": {"bad_line": 3}}

    assert ["Ungradable, so not in pass@1: 3 of 167 lines of checkpoint-49 (bad line 3)."] == list(ungradable(record))
    assert [] == list(ungradable({"subject": "mini"}))


def test_learning_is_drawn_along_the_stream() -> None:
    """A window in which nothing was scored is no point."""
    (chart,) = learning_curve([LEARNER, {"suite": "crm", "subject": "mini"}], {"atlas": 3, "mini": 0})
    figures = {row[0]: row[1] for row in learning_table([LEARNER])}

    assert [("1 to 10", "0.300"), ("11 to 20", "0.900")] == [(row[0], row[2]) for row in chart.rows]
    assert 3 == chart.lines[0].colour
    assert ("0.300 of 10 (0.100 to 0.900)", "7", "2", "$0.25") == tuple(
        figures[name] for name in ("first half", "cue hits", "reviews: taken over", "cost per success")
    )
    assert "0.250" == figures["p (McNemar)"]


def test_other_subjects_have_no_curve() -> None:
    """Absent, not empty."""
    plain = [{"suite": "crm", "subject": "mini"}]

    assert [] == [*checkpoint_curve("crm", plain), *learning_curve(plain, {}), *checkpoint_table(plain)]
    assert [] == learning_table(plain)
