"""The estimated usage, cost and time of a run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.checkpoints import by_step, step_of
from pytest_crmeval.journal.history import PastTrial, case_of, relevant_spec
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.loads import (
    OPINION,
    CaseSize,
    Throughput,
    UsageEstimate,
    assumed_opinion,
    assumptions,
    clock,
    guessed,
    total_load,
)
from pytest_crmeval.report.role_costs import STUDENT, LearnerRoles, assumed_roles
from pytest_crmeval.report.tables import Row
from pytest_crmeval.report.usage_history import QUEUE, FileGround, UsageHistory, assumed_solution, file_times, load_of

Pricing = Callable[[Usage], float | None]
Ground = Literal["played", "alike", "lent", "guessed", "judged", "unjudged", "unasked"] | FileGround
"""The source of an estimate: the same case, other cases of the same model, other models, or a guess; for a judge,
earlier opinions or a guess; for the other roles of a learner, a guess."""
Known = tuple[Ground, UsageEstimate, Sequence[str]]
"""The estimate of a case: its source, the usage, and the other models that it is taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The judge of the run."""

    name: str
    """As it was given."""
    spec: str
    samples: int
    """How many opinions it gives on each trial."""
    price: Pricing


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The estimate for one subject in one suite."""

    suite: str
    subject: str
    spec: str
    cases: int
    load: UsageEstimate = field(default_factory=UsageEstimate)
    cost: float | None = 0.0
    """None if the price is unknown."""
    grounds: Mapping[Ground, int] = field(default_factory=dict)
    """Number of cases by the source of their estimate; empty for a subject that calls no model."""
    lenders: Sequence[str] = ()
    """Other models whose trials were used, because this one has none."""
    role: str = ""
    """The role of this model in a learner; empty: the subject is one model."""
    queue: str = ""
    """Name of a queue whose cases are played one after the other; empty: any number at the same time."""
    queued: float = 0.0
    """Seconds of those cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimate of a run."""

    forecasts: Sequence[Forecast]
    pace: Throughput

    @property
    def cost(self) -> float | None:
        """Dollars, all subjects together; None if a price is unknown."""
        costs = [forecast.cost for forecast in self.forecasts]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    def elapsed(self, forecasts: Sequence[Forecast] = ()) -> float:
        """Return the wall time in seconds of some forecasts alone, or of all."""
        chosen = forecasts or self.forecasts
        queues: dict[str, float] = {}
        for each in chosen:
            if not (self.pace.replayed and each.role):
                queues[each.queue] = queues.get(each.queue, 0.0) + each.queued
        return max(self.pace.elapsed((each.spec, each.load) for each in chosen), *queues.values(), 0.0)


def estimate(  # noqa: PLR0913 (everything that decides what a run takes)
    planned: Sequence[PlannedCase],
    history: Iterable[PastTrial],
    sizes: Mapping[str, CaseSize],
    price: Callable[[str], Pricing | None],
    *,
    overhead: int,
    pace: Throughput,
    judge: Judging | None = None,
    casts: Mapping[str, LearnerRoles] | None = None,
    addresses: Mapping[str, str] | None = None,
) -> Estimate:
    """Return the estimate for the planned cases.

    ``sizes`` are by the key of a case; ``price`` returns None for a spec that calls no model; ``overhead`` are the
    characters of prompt and tools, which are sent with each call; ``casts`` are learners' models, by spec;
    ``addresses`` are addresses of providers other than their own: a model there is a different one.
    """
    memory, key = UsageHistory(history), partial(relevant_spec, addresses=addresses)
    groups, forecasts = dict[tuple[str, str], list[PlannedCase]](), list[Forecast]()
    for case in planned:
        groups.setdefault((case.suite, case.subject), []).append(case)
    pace = replace(pace, at_once=max(1, min(pace.at_once, len(planned))))
    expected = partial(_expected, memory=memory, sizes=sizes, overhead=overhead, key=key)
    for group in sorted(groups, key=lambda each: (each[0], *by_step(each[1], step_of(each[1])))):
        cases = groups[group]
        if sizes[cases[0].key].solutions:
            forecasts.append(_file_forecast(cases, memory, sizes, pace))
        elif cast := (casts or {}).get(cases[0].spec):
            troupe = _LearnerHistory(cast, memory, sizes, overhead, expected, key)
            forecasts += [_role_forecast(cases, role, troupe, price, pace) for role in troupe.wanted(cases)]
        else:
            forecasts.append(_forecast(cases, expected, price, pace))
    judged = sum(sizes[case.key].judged for case in planned) if judge else 0
    judges = [_judged(judge, judged, memory, pace)] if judge and judged else []
    return Estimate(forecasts=[*forecasts, *judges], pace=pace)


def table(found: Estimate) -> list[Row]:
    """Return the estimate as a table: one row per suite and subject, below the header."""
    head = ("suite", "subject", "cases", "calls", "tokens in", "cached", "tokens out", "cost", "time")
    return [head, *(_row(forecast, found) for forecast in found.forecasts)]


def remarks(found: Estimate) -> Iterator[str]:
    """Yield the total, and the sources of the figures."""
    whole = total_load(forecast.load for forecast in found.forecasts)
    cost = bills.total_cost([forecast.cost for forecast in found.forecasts])
    yield f"total: about {bills.calls_and_tokens(whole.usage)}, {cost}, {clock(found.elapsed())}"
    missing = [forecast for forecast in found.forecasts if forecast.cost is None]
    yield from bills.unpriced(forecast.subject for forecast in missing if not forecast.role)
    learners: dict[str, list[str]] = {}
    for forecast in missing:
        if forecast.role:
            learners.setdefault(forecast.subject.removesuffix(f": {forecast.role}"), []).append(forecast.role)
    for subject, roles in learners.items():
        yield from bills.unpriced_roles(subject, roles)
    for forecast in found.forecasts:
        yield f"{forecast.suite} × {forecast.subject}: {_grounds(forecast)}"
    grounds = {ground for forecast in found.forecasts for ground in forecast.grounds}
    if "guessed" in grounds:
        yield assumptions()
    if "unjudged" in grounds:
        yield assumed_opinion()
    if "unasked" in grounds:
        yield assumed_roles()
    if "file guessed" in grounds:
        yield assumed_solution()
    caps = ", limited by crmeval_rates" if found.pace.caps else ""
    speed = f"time: {found.pace.at_once} in flight{caps}; rate limits of the providers may make it longer"
    yield "cost: none, because calls are replayed" if found.pace.replayed else speed


def _file_forecast(
    cases: Sequence[PlannedCase], memory: UsageHistory, sizes: Mapping[str, CaseSize], pace: Throughput
) -> Forecast:
    """Return the estimate for the solution files of one checkpoint."""
    seconds, grounds = file_times(cases, memory, sizes)
    return Forecast(
        suite=cases[0].suite,
        subject=cases[0].subject,
        spec=cases[0].spec,
        cases=len(cases),
        grounds={ground: count for ground, count in grounds.items()},  # noqa: C416 (some of all grounds)
        queue=QUEUE,
        queued=seconds / pace.workers,
    )


def _forecast(
    cases: Sequence[PlannedCase],
    expected: Callable[[PlannedCase], Known],
    price: Callable[[str], Pricing | None],
    pace: Throughput,
) -> Forecast:
    """Return the estimate for the cases of one subject, which all have its spec."""
    suite, subject, spec = cases[0].suite, cases[0].subject, cases[0].spec
    pricing = price(spec)
    if pricing is None:
        return Forecast(suite=suite, subject=subject, spec=spec, cases=len(cases))
    known = list(map(expected, cases))
    return _added_up(Forecast(suite=suite, subject=subject, spec=spec, cases=len(cases)), known, pricing, pace)


def _added_up(forecast: Forecast, known: Sequence[Known], pricing: Pricing, pace: Throughput) -> Forecast:
    load = total_load(load for _, load, _ in known)
    grounds = [ground for ground, _, _ in known]
    return replace(
        forecast,
        load=load,
        cost=_cost(load, pricing, pace),
        grounds={ground: grounds.count(ground) for ground in dict.fromkeys(grounds)},
        lenders=sorted({lender for _, _, lenders in known for lender in lenders}),
    )


@dataclass(frozen=True, slots=True)
class _LearnerHistory:
    """The roles of a learner, and what is known about its cases."""

    cast: LearnerRoles
    memory: UsageHistory
    sizes: Mapping[str, CaseSize]
    overhead: int
    expected: Callable[[PlannedCase], Known]
    key: Callable[[str], str]

    def needs(self, case: PlannedCase, role: str) -> bool:
        """Whether a role is called for a case."""
        return role == STUDENT or self.cast.calls(role, self.sizes[case.key]) > 0.0

    def wanted(self, cases: Sequence[PlannedCase]) -> Sequence[str]:
        """Return the roles that are called for at least one of some cases."""
        return [role for role in self.cast.specs if any(self.needs(case, role) for case in cases)]

    def is_queued(self, key: str) -> bool:
        """Whether a case waits for those before it."""
        return self.cast.learns and not self.sizes[key].held_out

    def takes(self, case: PlannedCase, role: str) -> Known:
        """Return the estimate for a role in a case."""
        spec, size = self.key(case.spec), self.sizes[case.key]
        if played := self.memory.role(case_of(case), spec, role):
            return "played", played, ()
        if turn := self.memory.role_turn(spec, role):
            return "alike", turn.times(size.turns), ()
        if role == STUDENT:
            return self.expected(replace(case, spec=self.cast.specs[STUDENT]))
        return "unasked", self.cast.guessed(role, size, self.overhead), ()


def _role_forecast(
    cases: Sequence[PlannedCase],
    role: str,
    troupe: _LearnerHistory,
    price: Callable[[str], Pricing | None],
    pace: Throughput,
) -> Forecast:
    """Return the estimate for one role of a learner, which has a model and a price of its own."""
    suite, subject, spec = cases[0].suite, cases[0].subject, troupe.cast.specs[role]
    known = {case.key: troupe.takes(case, role) for case in cases if troupe.needs(case, role)}
    found = Forecast(
        suite=suite,
        subject=f"{subject}: {role}",
        spec=spec,
        cases=len(known),
        role=role,
        queue=f"{suite}/{subject}",
        queued=sum(load.seconds for key, (_, load, _) in known.items() if troupe.is_queued(key)),
    )
    pricing = price(spec)
    return _added_up(found, list(known.values()), pricing, pace) if pricing else found


def _expected(
    case: PlannedCase, memory: UsageHistory, sizes: Mapping[str, CaseSize], overhead: int, key: Callable[[str], str]
) -> Known:
    """Return the estimate for a case."""
    spec = key(case.spec)
    if played := memory.trial(case_of(case), spec):
        return "played", load_of(played), ()
    size = sizes[case.key]
    questions, specs = size.asked_once, memory.specs(questions=size.asked_once)
    if spec in specs:
        return "alike", memory.turn(spec, questions=questions).times(size.turns), ()
    if lent := memory.cases.get(case_of(case)):
        return "lent", load_of(lent), (lent.spec,)
    if specs:
        return "lent", memory.turn(questions=questions).times(size.turns), specs
    return "guessed", guessed(size, overhead, spec), ()


def _judged(judge: Judging, cases: int, memory: UsageHistory, pace: Throughput) -> Forecast:
    opinion = memory.opinion()
    load = (opinion or UsageEstimate.of(OPINION)).times(judge.samples * cases)
    return Forecast(
        suite="judge",
        subject=judge.name,
        spec=judge.spec,
        cases=cases,
        load=load,
        cost=_cost(load, judge.price, pace),
        grounds={"judged" if opinion else "unjudged": cases},
    )


def _cost(load: UsageEstimate, price: Pricing, pace: Throughput) -> float | None:
    """Return the price of an average call times the calls: the price per token may depend on the length of a call."""
    if pace.replayed or not load.calls:
        return 0.0
    cost = price(load.times(1 / load.calls).usage)
    return None if cost is None else cost * load.calls


def _row(forecast: Forecast, found: Estimate) -> Row:
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
    """Return the sources of a forecast in words."""
    if not forecast.grounds:
        return "calls no model"
    words: Mapping[Ground, str] = {
        "played": "were played before",
        "alike": "are estimated from other cases of this model, turn by turn",
        "lent": f"are estimated from other models ({', '.join(forecast.lenders)})",
        "guessed": "are estimated from assumptions",
        "judged": "are estimated from earlier opinions",
        "unjudged": "are estimated from assumptions",
        "unasked": "are estimated from assumptions",
        "file judged": "were run before",
        "files judged": "are estimated from the time per solution of other files",
        "file guessed": "are estimated from assumptions",
    }
    found = [(bills.number(forecast.grounds[each]), words[each]) for each in words if each in forecast.grounds]
    (count, first), *others = found
    start = f"{count} of {bills.number(forecast.cases)} cases {first}"
    return ", ".join([start, *(f"{count} {other}" for count, other in others)])
