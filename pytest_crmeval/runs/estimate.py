"""What a run will take, told before anything is spent."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.runs import bills
from pytest_crmeval.runs.history import Case, Played, asked, case_of
from pytest_crmeval.runs.loads import (
    OPINION,
    CaseSize,
    Load,
    Pace,
    assumed_opinion,
    assumptions,
    clock,
    guessed,
    together,
)
from pytest_crmeval.runs.tables import aligned

Pricing = Callable[[Usage], float | None]
Ground = Literal["played", "alike", "lent", "guessed", "judged", "unjudged"]
"""How a case is known: by itself, by others of the same model, by other models, not at all; for a judge: by earlier
opinions, not at all."""
Known = tuple[Ground, Load, Sequence[str]]
"""What a case will take: how that is known, and from which other models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The judge of the run."""

    name: str
    """As it was given."""
    spec: str
    samples: int
    """How often it is asked about each trial."""
    price: Pricing


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What one subject will take in one suite."""

    suite: str
    subject: str
    spec: str
    cases: int
    load: Load = field(default_factory=Load)
    cost: float | None = 0.0
    """None if nobody knows the price."""
    grounds: Mapping[Ground, int] = field(default_factory=dict)
    """How many cases are known in which way; empty for a subject that asks no model."""
    lenders: Sequence[str] = ()
    """The other models whose trials were taken, where this one has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run will take."""

    forecasts: Sequence[Forecast]
    pace: Pace

    @property
    def cost(self) -> float | None:
        """Dollars, all subjects together; None if a price is not known."""
        costs = [forecast.cost for forecast in self.forecasts]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    def elapsed(self, forecasts: Sequence[Forecast] = ()) -> float:
        """Return the seconds that some of it would take on the clock, alone; or all of it."""
        return self.pace.elapsed((each.spec, each.load) for each in forecasts or self.forecasts)


class _Memory:
    """Earlier trials, by what they are asked for; of several trials of a case the newest counts.

    Of what was replayed the tokens count, and the time of the newest trial that was not.
    """

    def __init__(self, history: Iterable[Played]) -> None:
        self._trials: dict[tuple[Case, str], Played] = {}
        self._opinions: dict[tuple[Case, str], Usage] = {}
        for played in history:
            place = (played.case, played.spec)
            if played.judged and played.judged.calls:
                self._opinions.setdefault(place, played.judged)
            if played.usage.calls:
                newest = self._trials.setdefault(place, played)
                if newest.seconds is None:
                    self._trials[place] = replace(newest, seconds=played.seconds)
        self._means: dict[str, Load] = {}

    @cached_property
    def specs(self) -> Sequence[str]:
        """Every model that was asked."""
        return sorted({played.spec for played in self._trials.values()})

    @cached_property
    def cases(self) -> Mapping[Case, Played]:
        """Each case, as any model has played it."""
        return {played.case: played for played in reversed(self._trials.values())}

    def trial(self, case: Case, spec: str) -> Played | None:
        """Return how a model has played a case."""
        return self._trials.get((case, spec))

    def turn(self, spec: str = "") -> Load:
        """Return what a turn takes on average, of one model or of all."""
        if spec not in self._means:
            self._means[spec] = _mean([each for each in self._trials.values() if spec in {"", each.spec}])
        return self._means[spec]

    def opinion(self) -> Load | None:
        """Return what one opinion of a judge takes on average; None if there was none."""
        whole = together(map(Load.of, self._opinions.values()))
        return whole.times(1 / whole.calls) if whole.calls else None


def estimate(  # noqa: PLR0913 (everything that decides what a run takes)
    planned: Sequence[PlannedCase],
    history: Iterable[Played],
    sizes: Mapping[str, CaseSize],
    price: Callable[[str], Pricing | None],
    *,
    overhead: int,
    pace: Pace,
    judge: Judging | None = None,
) -> Estimate:
    """Return what the planned cases will take.

    ``sizes`` are by the key of a case; ``price`` returns None for a spec that asks no model; ``overhead`` are the
    characters of the prompt and the tools, which are sent with each call.
    """
    memory = _Memory(history)
    groups: dict[tuple[str, str], list[PlannedCase]] = {}
    for case in planned:
        groups.setdefault((case.suite, case.subject), []).append(case)
    pace = replace(pace, at_once=max(1, min(pace.at_once, len(planned))))
    expected = partial(_expected, memory=memory, sizes=sizes, overhead=overhead)
    forecasts = [_forecast(groups[group], expected, price, pace) for group in sorted(groups)]
    judges = [_judged(judge, len(planned), memory, pace)] if judge and planned else []
    return Estimate(forecasts=[*forecasts, *judges], pace=pace)


def lines(found: Estimate) -> Iterator[str]:
    """Yield the estimate as a person wants to read it: a table, and how much of it is known."""
    rows = [_row(forecast, found) for forecast in found.forecasts]
    head = ("suite", "subject", "cases", "calls", "tokens in", "cached", "tokens out", "cost", "time")
    yield from aligned([head, *rows], names=2)
    whole = together(forecast.load for forecast in found.forecasts)
    cost = bills.together([forecast.cost for forecast in found.forecasts])
    yield f"total: about {bills.used(whole.usage)}, {cost}, {clock(found.elapsed())}"
    yield from bills.unpriced(forecast.subject for forecast in found.forecasts if forecast.cost is None)
    for forecast in found.forecasts:
        yield f"{forecast.suite} × {forecast.subject}: {_grounds(forecast)}"
    yield from _guesses({ground for forecast in found.forecasts for ground in forecast.grounds})
    yield _speed(found.pace)


def _forecast(
    cases: Sequence[PlannedCase],
    expected: Callable[[PlannedCase], Known],
    price: Callable[[str], Pricing | None],
    pace: Pace,
) -> Forecast:
    """Return what the cases of one subject will take: they all have its spec."""
    suite, subject, spec = cases[0].suite, cases[0].subject, cases[0].spec
    pricing = price(spec)
    if pricing is None:
        return Forecast(suite=suite, subject=subject, spec=spec, cases=len(cases))
    known = list(map(expected, cases))
    load = together(load for _, load, _ in known)
    grounds = [ground for ground, _, _ in known]
    return Forecast(
        suite=suite,
        subject=subject,
        spec=spec,
        cases=len(cases),
        load=load,
        cost=_cost(load, pricing, pace),
        grounds={ground: grounds.count(ground) for ground in dict.fromkeys(grounds)},
        lenders=sorted({lender for _, _, lenders in known for lender in lenders}),
    )


def _expected(case: PlannedCase, memory: _Memory, sizes: Mapping[str, CaseSize], overhead: int) -> Known:
    """Return what a case will take."""
    spec = asked(case.spec)
    if played := memory.trial(case_of(case), spec):
        return "played", _load(played), ()
    size = sizes[case.key]
    if spec in memory.specs:
        return "alike", memory.turn(spec).times(size.turns), ()
    if lent := memory.cases.get(case_of(case)):
        return "lent", _load(lent), (lent.spec,)
    if memory.specs:
        return "lent", memory.turn().times(size.turns), memory.specs
    return "guessed", guessed(size, overhead, spec), ()


def _judged(judge: Judging, cases: int, memory: _Memory, pace: Pace) -> Forecast:
    opinion = memory.opinion()
    load = (opinion or Load.of(OPINION)).times(judge.samples * cases)
    return Forecast(
        suite="judge",
        subject=judge.name,
        spec=judge.spec,
        cases=cases,
        load=load,
        cost=_cost(load, judge.price, pace),
        grounds={"judged" if opinion else "unjudged": cases},
    )


def _load(played: Played) -> Load:
    return Load.of(played.usage, played.seconds)


def _mean(trials: Sequence[Played]) -> Load:
    return together(map(_load, trials)).times(1 / sum(played.turns for played in trials))


def _cost(load: Load, price: Pricing, pace: Pace) -> float | None:
    """Return so many times the price of an average call: the price of a token may depend on the length of a call."""
    if pace.replayed or not load.calls:
        return 0.0
    cost = price(load.times(1 / load.calls).usage)
    return None if cost is None else cost * load.calls


def _row(forecast: Forecast, found: Estimate) -> Sequence[str]:
    usage = forecast.load.usage
    share = f"{usage.cached / usage.input:.0%}" if usage.input else bills.NOTHING
    return (
        forecast.suite,
        forecast.subject,
        bills.number(forecast.cases),
        bills.number(usage.calls),
        bills.number(usage.input),
        share,
        bills.number(usage.output),
        bills.dollars(forecast.cost),
        clock(elapsed) if (elapsed := found.elapsed([forecast])) else bills.NOTHING,
    )


def _grounds(forecast: Forecast) -> str:
    """Say how much is known, and from where."""
    if not forecast.grounds:
        return "asks no model"
    told: Mapping[Ground, str] = {
        "played": "were played before",
        "alike": "are taken to be like others that were, turn by turn",
        "lent": f"are taken from other models ({', '.join(forecast.lenders)})",
        "guessed": "are guessed",
        "judged": "are taken to be like those that were judged before",
        "unjudged": "are guessed",
    }
    found = [(bills.number(forecast.grounds[each]), told[each]) for each in told if each in forecast.grounds]
    (count, first), *others = found
    told_first = f"{count} of {bills.number(forecast.cases)} cases {first}"
    return ", ".join([told_first, *(f"{count} {other}" for count, other in others)])


def _guesses(grounds: Collection[Ground]) -> Iterator[str]:
    """Yield what was assumed where nothing is known."""
    if "guessed" in grounds:
        yield assumptions()
    if "unjudged" in grounds:
        yield assumed_opinion()


def _speed(pace: Pace) -> str:
    """Say what the time is made from."""
    if pace.replayed:
        return "nothing is paid: replayed"
    caps = ", no faster than crmeval_rates" if pace.caps else ""
    return f"time: {pace.at_once} at once{caps}; rate limits of the providers may make it longer"
