"""The part of the page about one suite: its subjects side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_crmeval.domain.interval import clustered
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.render.page.causes import FaultGroup, causes_of
from pytest_crmeval.render.page.charts import Chart, Point, Series, cost_against_quality, curve, latency
from pytest_crmeval.render.page.curves import (
    CHECKPOINT_HEAD,
    checkpoint_curve,
    checkpoint_table,
    learning_curve,
    learning_table,
)
from pytest_crmeval.render.page.heat import Heat, heats_of
from pytest_crmeval.render.page.rows import is_measured
from pytest_crmeval.render.page.words import NOTHING, dollars, interval, rate, seconds, signed, words
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.comparison import Contrast
from pytest_crmeval.report.metrics import SCORED
from pytest_crmeval.report.numbers import value_of
from pytest_crmeval.report.report import Report, SubjectSummary

COLOURS = 8
PERCENTILES = (50, 90, 95, 99)
FEWEST = 5
"""Conversations below which a share of them is not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectResult:
    """The result of a subject: a row of the first table of a suite."""

    summary: SubjectSummary
    colour: int
    metric: str
    """The metric; empty for the pass rate."""
    value: float | None
    low: float | None
    high: float | None
    cost: str
    per_pass: str
    times: Sequence[str]
    measured: int = 0
    """Trials of which nothing was required, so that they did not pass; they count as passed in the report."""
    contrast: Contrast | None = None
    """The comparison with the baseline."""

    @property
    def rate(self) -> str:
        """The value of the metric."""
        return rate(self.value)

    @property
    def interval(self) -> str:
        """The 95 % interval of the value."""
        return interval(self.low, self.high)

    @property
    def change(self) -> str:
        """The difference from the baseline; a dash if there is none."""
        found = self.contrast and self.contrast.difference
        return signed(found.value) if found else NOTHING

    @property
    def change_mood(self) -> str:
        """Whether the difference is significantly good or bad; empty if it is neither."""
        if self.contrast is None or not self.contrast.significant or not self.contrast.difference:
            return ""
        return "good" if self.contrast.difference.value > 0 else "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A table: a row per figure, a column per subject."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    open: bool = False
    """Whether it is unfolded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteView:
    """All that the page shows of a suite."""

    name: str
    number: int
    places: Sequence[SubjectResult]
    charts: Sequence[Chart]
    heats: Sequence[Heat]
    causes: Sequence[FaultGroup]
    figures: Sequence[Figures]
    has_invalid: bool
    has_bills: bool


def suites_of(report: Report) -> Sequence[SuiteView]:
    """Return the views of all suites; a subject has the same colour on the whole page."""
    colours = {name: n for n, name in enumerate(dict.fromkeys(summary.subject for summary in report.standings))}
    names = dict.fromkeys(summary.suite for summary in report.standings)
    return [_suite(report, name, number, colours) for number, name in enumerate(names)]


def _suite(report: Report, name: str, number: int, colours: Mapping[str, int]) -> SuiteView:
    summaries = [summary for summary in report.standings if summary.suite == name]
    trials = [trial for trial in report.trials if trial.planned.suite == name]
    evaluated = [summary for summary in summaries if not summary.is_control] or summaries
    subjects = {summary.subject for summary in evaluated}
    times = {summary.subject: times_of(trials, summary) for summary in summaries}
    places = [
        replace(
            _place(summary, colours[summary.subject] % COLOURS, times[summary.subject]),
            contrast=report.comparison.of(name, summary.subject) if report.comparison else None,
            measured=sum(is_measured(trial) for trial in trials if trial.planned.subject == summary.subject),
        )
        for summary in summaries
    ]
    return SuiteView(
        name=name,
        number=number,
        places=places,
        charts=[
            *_curves(name, summaries, colours),
            *_charts(places, times),
            *_repeats(places),
            *_endurance([place for place in places if place.summary.subject in subjects], trials),
        ],
        heats=heats_of(evaluated),
        causes=causes_of(name, [trial for trial in trials if trial.planned.subject in subjects]),
        figures=list(_figures(summaries)),
        has_invalid=any(summary.invalid for summary in summaries),
        has_bills=any(summary.bill for summary in summaries),
    )


def times_of(trials: Sequence[Trial], summary: SubjectSummary) -> Mapping[int, float]:
    """Return the durations of the trials of a subject, by percentile; nothing if none was played.

    They are the nearest ranks if the report has no such figures.
    """
    stored = {n: figure.value for n in PERCENTILES if (figure := summary.figures.get(f"latency_p{n}"))}
    if stored:
        return stored
    subject = summary.subject
    found = sorted(trial.seconds for trial in trials if trial.planned.subject == subject and trial.seconds)
    return {n: found[max(0, -(-n * len(found) // 100) - 1)] for n in PERCENTILES} if found else {}


def _place(summary: SubjectSummary, colour: int, times: Mapping[int, float]) -> SubjectResult:
    metric, figure = summary.headline
    return SubjectResult(
        summary=summary,
        colour=colour,
        metric=metric if summary.checkpoint else "",
        value=figure.value if figure else summary.pass_rate,
        low=figure.low if figure else None,
        high=figure.high if figure else None,
        cost=dollars(summary.cost) if summary.bill else NOTHING,
        per_pass=dollars(summary.cost_per_pass) if summary.bill else NOTHING,
        times=[seconds(times.get(n)) for n in (50, 95)],
    )


def _curves(name: str, summaries: Sequence[SubjectSummary], colours: Mapping[str, int]) -> Iterator[Chart]:
    records = [summary.to_dict() for summary in summaries]
    yield from checkpoint_curve(name, records)
    yield from learning_curve(records, {subject: number % COLOURS for subject, number in colours.items()})


def _repeats(places: Sequence[SubjectResult]) -> Iterator[Chart]:
    """Yield pass@k, if cases were tried several times."""
    series = [Series(name=place.summary.subject, colour=place.colour, points=list(_tries(place))) for place in places]
    if found := [each for each in series if len(each.points) > 1]:
        yield curve("Repeats", "pass@k: the chance that at least one of k trials of a case passes.", "k", found)


def _tries(place: SubjectResult) -> Iterator[Point]:
    for name, figure in place.summary.figures.items():
        if name.startswith("pass@") and not place.metric:
            low, high = figure.interval or (figure.value, figure.value)
            title = f"{place.summary.subject}, {name}: {rate(figure.value)} ({interval(low, high)})"
            yield Point(x=float(name.removeprefix("pass@")), rate=figure.value, low=low, high=high, title=title)


def _endurance(places: Sequence[SubjectResult], trials: Sequence[Trial]) -> Iterator[Chart]:
    """Yield the share of conversations without a fault up to each turn, if there are conversations of several turns."""
    series = [
        Series(name=place.summary.subject, colour=place.colour, points=list(_faultless(place.summary.subject, trials)))
        for place in places
    ]
    if found := [each for each in series if len(each.points) > 1]:
        caption = "Share of conversations in which no turn up to this one has failed."
        yield curve("First failed turn", caption, "turn", found)


def _faultless(subject: str, trials: Sequence[Trial]) -> Iterator[Point]:
    played = [trial for trial in trials if trial.planned.subject == subject and trial.turns and trial.verdict in SCORED]
    if len(played) < FEWEST:
        return
    for turn in range(1, max(len(trial.turns) for trial in played) + 1):
        units: dict[str, tuple[float, float]] = {}
        for trial in played:
            hits, size = units.get(trial.unit, (0.0, 0.0))
            units[trial.unit] = (hits + all(each.passed for each in trial.turns[:turn]), size + 1)
        share = sum(hits for hits, _ in units.values()) / len(played)
        low, high = clustered(list(units.values())) or (share, share)
        title = f"{subject}, turn {turn}: {rate(share)} ({interval(low, high)})"
        yield Point(x=turn, rate=share, low=low, high=high, title=title)


def _charts(places: Sequence[SubjectResult], times: Mapping[str, Mapping[int, float]]) -> Iterator[Chart]:
    if priced := [(point, place.colour) for place in places if (point := _priced(place))]:
        yield cost_against_quality(priced)
    if spans := [
        (place.summary.subject, place.colour, [(f"p{n}", value) for n, value in found.items()])
        for place in places
        if (found := times[place.summary.subject]) and not place.metric  # not of solution files
    ]:
        yield latency(spans)


def _priced(place: SubjectResult) -> Point | None:
    """Return cost and pass rate of a subject; None if it calls no model, or a price is unknown."""
    summary = place.summary
    cost, passing = summary.cost_per_trial, summary.pass_rate
    if summary.bill is None or cost is None or passing is None or place.low is None or place.high is None:
        return None
    title = f"{summary.subject}: {rate(passing)} ({place.interval}) for {dollars(cost)} per trial"
    return Point(x=cost, rate=passing, low=place.low, high=place.high, name=summary.subject, title=title)


def _figures(summaries: Sequence[SubjectSummary]) -> Iterator[Figures]:
    """Yield the metrics of a suite, and its bills."""
    records = [summary.to_dict() for summary in summaries]
    if steps := checkpoint_table(records):
        yield Figures(title="Checkpoints", head=CHECKPOINT_HEAD, rows=steps, open=True)
    if learned := learning_table(records):
        yield Figures(title="Learning", head=learned[0], rows=learned[1:], open=True)
    head = ["", *(summary.subject for summary in summaries)]
    found = [_flat(summary) for summary in summaries]
    names = dict.fromkeys(name for figures in found for name in figures)
    if names:
        rows = [(words(name), *(figures.get(name, bills.NOTHING) for figures in found)) for name in names]
        yield Figures(title="Metrics with 95 % intervals", head=head, rows=rows)
    if judged := list(_judges(summaries)):
        yield Figures(title="Judge", head=head, rows=judged)
    if paid := list(bills.details("", summaries))[1:]:
        yield Figures(title="Bill", head=head, rows=paid)


def _judges(summaries: Sequence[SubjectSummary]) -> Iterator[Sequence[str]]:
    """Yield the figures of the judge for each subject, and its agreement with the labelled statements."""
    found = [summary.judge.to_dict() if summary.judge else {} for summary in summaries]
    for name in dict.fromkeys(name for each in found for name in each if name not in {"bill", "agreement"}):
        yield (words(name), *(_number(each.get(name)) for each in found))
    agreements = [summary.judge.agreement if summary.judge else None for summary in summaries]
    if any(agreements):
        yield ("kappa", *(bills.agreement_text(each) if each else NOTHING for each in agreements))
    if any("bill" in each for each in found):
        costs = (summary.judge.bill if summary.judge else None for summary in summaries)
        yield ("cost", *(dollars(bill.cost) if bill else NOTHING for bill in costs))


def _flat(summary: SubjectSummary) -> Mapping[str, str]:
    """Return all metrics by name with their intervals, then the counts."""
    found = {name: _with_interval(name, figure) for name, figure in summary.figures.items()}
    for name, value in summary.metrics.to_dict().items():
        if isinstance(value, Mapping):
            found |= {f"{name} {label}": str(count) for label, count in value.items()}
        elif name not in found and not (name == "strict_success" and found):  # that is the pass rate
            found[name] = _number(value)
    return {**{f"score:{name}": rate(value) for name, value in (summary.scores or {}).items()}, **found}


def _with_interval(name: str, figure: Figure) -> str:
    """Return a figure in its unit: a duration, money, a count, or a share with three digits."""
    ends = f" ({' to '.join(value_of(name, end) for end in figure.interval)})" if figure.interval else ""
    return f"{value_of(name, figure.value)}{ends}"


def _number(value: Json) -> str:
    """Return a count as it is, a rate with three digits, and a dash for an unknown value."""
    if value is None:
        return NOTHING
    return f"{value:.3f}" if isinstance(value, float) else str(value)
