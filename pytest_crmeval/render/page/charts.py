"""Charts as numbers and labels: positions of everything. The templates draw them as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pytest_crmeval.render.page.scales import Scale, linear, logarithmic, stretched
from pytest_crmeval.render.page.words import dollars, interval, rate, seconds, whole

WIDTH, HEIGHT = 400, 264
LEFT, RIGHT, TOP, BOTTOM = 40, 14, 12, 40
ROW = 30
"""Height of a row of a strip."""
APART = 13
"""The minimum distance between two labels."""
MUCH = 20
"""The scale is logarithmic if the largest value is more than this many times the smallest."""
_UNITS = (("minutes", 120.0), ("seconds", 1.0), ("milliseconds", 0.0))
"""Units of an axis, and the seconds from which each is used."""
_SHOWN_RATES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A place on an axis, and its value."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A value with its interval."""

    x: float
    y: float
    low: float
    """The ends of the interval, as positions in the chart."""
    high: float
    colour: int
    label: str = ""
    label_x: float = 0.0
    label_y: float = 0.0
    anchor: str = "start"
    title: str = ""
    """The tooltip."""
    link: str = ""
    """What the dot leads to."""
    mood: str = ""
    """``better`` or ``worse`` for a significant change, which is marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A curve with the band of its intervals."""

    name: str
    colour: int
    points: str
    band: str
    dots: Sequence[Dot]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A row: a name, and a bar with marks from one value to another."""

    name: str
    colour: int
    y: float
    start: float
    end: float
    marks: Sequence[Tick]
    title: str
    """The tooltip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing, and its numbers as a table for screen readers."""

    title: str
    caption: str
    """What the chart shows, in a sentence."""
    across: str
    """Title of the horizontal axis."""
    x: Sequence[Tick]
    y: Sequence[Tick] = ()
    height: float = HEIGHT
    dots: Sequence[Dot] = ()
    lines: Sequence[Line] = ()
    strips: Sequence[Strip] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    width: float = WIDTH
    left: float = field(default=LEFT, init=False)
    top: float = field(default=TOP, init=False)

    @property
    def right(self) -> float:
        """The right end of the horizontal axis."""
        return self.width - RIGHT

    @property
    def bottom(self) -> float:
        """Position of the horizontal axis."""
        return self.height - BOTTOM


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A rate at a position of an axis, with its interval."""

    x: float
    rate: float
    low: float
    high: float
    name: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points of one subject."""

    name: str
    colour: int
    points: Sequence[Point]


RATES = Scale(low=0.0, high=1.0, start=HEIGHT - BOTTOM, end=TOP)
"""The vertical scale of rates."""


def cost_against_quality(points: Sequence[tuple[Point, int]]) -> Chart:
    """Return a chart of cost per trial and pass rate by subject; ``points`` come with their colours."""
    values = [point.x for point, _ in points]
    scale = _fitting(values, LEFT + 8, WIDTH - RIGHT)
    dots = [_dot(point, scale, colour) for point, colour in points]
    # Names beside the dots, without overlap.
    done: list[Dot] = []
    lowest = {"start": float("-inf"), "end": float("-inf")}
    for dot, (point, colour) in sorted(zip(dots, points, strict=True), key=lambda pair: pair[0].y):
        anchor = "end" if dot.x > WIDTH * 0.6 else "start"
        place = max(dot.y + 4, lowest[anchor] + APART)
        lowest[anchor] = place
        beside = dot.x - 9 if anchor == "end" else dot.x + 9
        done.append(
            Dot(
                x=dot.x,
                y=dot.y,
                low=dot.low,
                high=dot.high,
                colour=colour,
                label=point.name,
                label_x=round(beside, 1),
                label_y=round(place, 1),
                anchor=anchor,
                title=dot.title,
            )
        )
    return Chart(
        title="Cost against quality",
        caption="Up is better, left is cheaper; the whiskers are 95 % intervals.",
        across="dollars per trial",
        x=[Tick(at=scale(value), label=dollars(value)) for value in scale.ticks()],
        y=rates_axis(),
        dots=done,
        head=("subject", "cost per trial", "pass rate", "95 % interval"),
        rows=[(point.name, dollars(point.x), rate(point.rate), interval(point.low, point.high)) for point, _ in points],
    )


def latency(spans: Sequence[tuple[str, int, Sequence[tuple[str, float]]]]) -> Chart:
    """Return a chart of durations: for each subject its colour, and percentiles by name in rising order."""
    values = [value for _, _, found in spans for _, value in found if value > 0]
    scale = _fitting(values or [1.0], LEFT, WIDTH - RIGHT - 10)
    height = TOP + ROW * len(spans) + BOTTOM
    strips = [_strip(span, scale, TOP + ROW * (number + 0.72)) for number, span in enumerate(spans)]
    marks = ", ".join(name for name, _ in spans[0][2][1:])
    unit = next(name for name, least in _UNITS if scale.high >= least)
    size = {"minutes": 60.0, "seconds": 1.0, "milliseconds": 0.001}[unit]
    return Chart(
        title="Latency",
        caption=f"Duration of a trial: the dot is the median, the marks are {marks}.",
        across=f"{unit} per trial",
        x=[Tick(at=scale(value), label=whole(value / size)) for value in scale.ticks()],
        height=height,
        strips=strips,
        head=("subject", *(name for name, _ in spans[0][2])),
        rows=[(name, *(seconds(value) for _, value in found)) for name, _, found in spans],
    )


def curve(title: str, caption: str, across: str, series: Sequence[Series]) -> Chart:
    """Return a chart of rates along an axis, a line per subject."""
    places = [point.x for one in series for point in one.points]
    scale = stretched(places, LEFT + 8, WIDTH - RIGHT - 6)
    # The places themselves have labels if there is room, else round values.
    own = sorted(set(places))
    gaps = [scale(after) - scale(before) for before, after in pairwise(own)]
    marks = own if min(gaps, default=WIDTH) >= 3 * APART else scale.ticks()
    return Chart(
        title=title,
        caption=caption,
        across=across,
        x=[Tick(at=scale(value), label=whole(value)) for value in marks],
        y=rates_axis(),
        lines=[_line(one, scale) for one in series],
        head=(across, "subject", "rate", "95 % interval"),
        rows=[
            (point.name or whole(point.x), one.name, rate(point.rate), interval(point.low, point.high))
            for one in series
            for point in one.points
        ],
    )


def _fitting(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale on which small values are also distinguishable."""
    is_wide = min(values) > 0 and max(values) / min(values) > MUCH
    return logarithmic(values, start, end) if is_wide else linear(values, start, end)


def rates_axis() -> Sequence[Tick]:
    """Return the ticks of rates."""
    return [Tick(at=RATES(value), label=f"{value:.0%}") for value in _SHOWN_RATES]


def _dot(point: Point, scale: Scale, colour: int) -> Dot:
    return Dot(
        x=scale(point.x),
        y=RATES(point.rate),
        low=RATES(point.low),
        high=RATES(point.high),
        colour=colour,
        title=point.title,
    )


def _line(series: Series, scale: Scale) -> Line:
    dots = [_dot(point, scale, series.colour) for point in series.points]
    above = [f"{dot.x},{dot.high}" for dot in dots]
    below = [f"{dot.x},{dot.low}" for dot in reversed(dots)]
    return Line(
        name=series.name,
        colour=series.colour,
        points=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        band=" ".join([*above, *below]),
        dots=dots,
    )


def _strip(span: tuple[str, int, Sequence[tuple[str, float]]], scale: Scale, y: float) -> Strip:
    name, colour, marks = span
    places = [Tick(at=scale(max(value, scale.low)), label=f"{mark} {seconds(value)}") for mark, value in marks]
    return Strip(
        name=name,
        colour=colour,
        y=round(y, 1),
        start=places[0].at,
        end=places[-1].at,
        marks=places,
        title=f"{name}: {', '.join(place.label for place in places)}",
    )
