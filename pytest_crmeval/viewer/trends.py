"""Results over runs: each subject of a suite from run to run, and which changes are significant."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pytest_crmeval.render.page.charts import RATES, Chart, Dot, Line, Tick, rates_axis
from pytest_crmeval.render.page.scales import stretched
from pytest_crmeval.render.page.words import NOTHING, interval, moment, rate, signed
from pytest_crmeval.report.comparison import Contrast
from pytest_crmeval.report.tables import p_value
from pytest_crmeval.viewer.catalogue import RunEntry, SubjectFigure

WIDTH, LABELS = 900, 8
"""Width of a chart; runs that are named below it."""
COLOURS = 8
_DAY, _TIME = slice(5, 10), slice(11, 16)
"""The parts of a time that name a run: the time of day if all runs are of one day."""


class TrendChange(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of one subject from its run before, by the statistics of `crmeval compare`."""

    suite: str
    subject: str
    paired: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    significant: bool

    @property
    def mood(self) -> str:
        """Whether it is significantly better or worse; empty if it is neither."""
        if not self.significant or not self.difference:
            return ""
        return "better" if self.difference > 0 else "worse"


def change_of(contrast: Contrast) -> TrendChange:
    """Return what the index keeps of a contrast."""
    difference = contrast.difference
    return TrendChange(
        suite=contrast.suite,
        subject=contrast.subject,
        paired=contrast.paired,
        difference=difference.value if difference else None,
        low=difference.low if difference else None,
        high=difference.high if difference else None,
        p=contrast.p_holm,
        significant=contrast.significant,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The result of a subject in one run."""

    run: RunEntry
    figure: SubjectFigure
    before: str
    """The run before that has the same suite and subject; empty for the first."""
    change: TrendChange | None
    """The difference from it; None if there is no such run, or it has not been computed yet."""

    @property
    def value(self) -> str:
        """The result with its interval."""
        return " ".join(filter(None, [rate(self.figure.value), self.interval and f"({self.interval})"]))

    @property
    def interval(self) -> str:
        """The 95 % interval of the result."""
        return interval(self.figure.low, self.figure.high)

    @property
    def difference(self) -> str:
        """The difference from the run before, with its interval."""
        found = self.change
        if found is None or found.difference is None:
            return NOTHING
        ends = (
            f" ({signed(found.low)} to {signed(found.high)})"
            if found.low is not None and found.high is not None
            else ""
        )
        return f"{signed(found.difference)}{ends}"

    @property
    def p(self) -> str:
        """The p-value of the difference, corrected as in `crmeval compare`."""
        return p_value(self.change.p) if self.change and self.change.p is not None else NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTrend:
    """A suite over all runs that have it."""

    suite: str
    chart: Chart
    series: Mapping[str, Sequence[Step]]
    """Subject -> its results, the newest first."""


Changes = Mapping[tuple[str, str], Sequence[TrendChange]]
"""A run and the run before -> how its subjects differ."""


def pairs_of(runs: Sequence[RunEntry]) -> Iterator[tuple[str, str]]:
    """Yield each finished run, the newest first, with each run before that its subjects are compared with."""
    steps = [step for steps in _steps(runs, {}).values() for step in steps]
    order = {run.id: number for number, run in enumerate(runs)}
    pairs = dict.fromkeys((step.run.id, step.before) for step in steps if step.before)
    yield from sorted(pairs, key=lambda pair: order[pair[0]])


def trends_of(runs: Sequence[RunEntry], changes: Changes) -> Sequence[SuiteTrend]:
    """Return the trend of each suite; ``runs`` come newest first."""
    steps = _steps(runs, changes)
    colours = {name: number % COLOURS for number, name in enumerate(sorted({subject for _, subject in steps}))}
    suites = sorted({suite for suite, _ in steps})
    found = []
    for suite in suites:
        series = {subject: each for (name, subject), each in sorted(steps.items(), key=_naturally) if name == suite}
        found.append(SuiteTrend(suite=suite, chart=_chart(suite, series, colours), series=series))
    return found


def _naturally(each: tuple[tuple[str, str], object]) -> list[tuple[int, str]]:
    """Return the sort key of a subject: numbers in its name count as numbers."""
    _, subject = each[0]
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d{1,9})", subject)]


def _steps(runs: Sequence[RunEntry], changes: Changes) -> dict[tuple[str, str], list[Step]]:
    """Return the results of each suite and subject, the newest first; controls have no trend."""
    found: dict[tuple[str, str], list[Step]] = {}
    for run in reversed(runs):
        for figure in run.figures if not run.is_running else ():
            if figure.value is None or figure.is_control:
                continue
            steps = found.setdefault((figure.suite, figure.subject), [])
            before = steps[0].run.id if steps else ""
            named = (each for each in changes.get((run.id, before), ()) if _is_of(each, figure))
            steps.insert(0, Step(run=run, figure=figure, before=before, change=next(named, None)))
    return found


def _is_of(change: TrendChange, figure: SubjectFigure) -> bool:
    return (change.suite, change.subject) == (figure.suite, figure.subject)


def _chart(suite: str, series: Mapping[str, Sequence[Step]], colours: Mapping[str, int]) -> Chart:
    """Return the chart of a suite: one place per run from left to right, a line per subject."""
    runs = list({step.run.id: step.run for steps in series.values() for step in steps}.values())
    runs.sort(key=lambda run: (run.when, run.id))
    places = {run.id: number for number, run in enumerate(runs)}
    across = stretched([0, max(1, len(runs) - 1)], 56, WIDTH - 30)
    stride = -(-len(runs) // LABELS)
    at = _TIME if len({run.when[_DAY] for run in runs}) == 1 < len(runs) else _DAY
    metrics = dict.fromkeys(step.figure.metric.replace("_", " ") for steps in series.values() for step in steps)
    return Chart(
        title=f"{suite}: {' and '.join(metrics)}",
        caption="Bands are 95 % intervals; ▲ and ▼ are significant changes from the previous run (paired, p < 0.05).",
        across="runs, the newest on the right",
        width=WIDTH,
        x=[Tick(at=across(number), label=run.when[at] or run.id) for number, run in enumerate(runs)][::stride],
        y=rates_axis(),
        lines=[
            _line(subject, colours[subject], [(across(places[step.run.id]), step) for step in reversed(steps)])
            for subject, steps in series.items()
        ],
    )


def _line(subject: str, colour: int, placed: Sequence[tuple[float, Step]]) -> Line:
    dots = [_dot(x, step, colour) for x, step in placed]
    above = [f"{dot.x},{dot.high}" for dot in dots]
    below = [f"{dot.x},{dot.low}" for dot in reversed(dots)]
    return Line(
        name=subject,
        colour=colour,
        points=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        band=" ".join([*above, *below]),
        dots=dots,
    )


def _dot(x: float, step: Step, colour: int) -> Dot:
    figure, up = step.figure, RATES
    value = figure.value or 0.0
    low, high = (value if end is None else end for end in (figure.low, figure.high))
    commit = f", commit {step.run.commit}" if step.run.commit else ""
    change = f"; {step.difference} from {step.before}, p {step.p}" if step.change else ""
    return Dot(
        x=x,
        y=up(value),
        low=up(low),
        high=up(high),
        colour=colour,
        title=f"{figure.subject} in {step.run.id}, {moment(step.run.when)}{commit}: {step.value}{change}",
        link=f"runs/{step.run.id}/",
        mood=step.change.mood if step.change else "",
    )
