"""How far a run is: what was planned, what was tried, how fast it goes. No clock and no disk of its own."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pytest_crmeval.domain.checkpoints import PASS_AT_1, CheckpointFigures, FileOutcome, samples_from
from pytest_crmeval.domain.figures import Figure
from pytest_crmeval.domain.interval import Clusters, unit_of
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill

RECENT = 60.0
"""Seconds that a rate looks back,"""
LEAST = 10
"""or further, until it has seen so many trials."""
SHORTEST = 1.0
"""Seconds that a rate has to see; what is over sooner has none worth telling."""
_CENT = 100_000_000
"""Money is summed in these parts of a dollar, as bills are rounded: what is taken back leaves no crumbs."""
Group = tuple[str, str]
"""Suite and subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What progress wants to know of a trial."""

    key: str
    group: Group
    verdict: str
    seconds: float = 0.0
    bill: Bill | None = None
    judge: Bill | None = None
    unit: str = ""
    """The independent unit: the chain of the case, or the case; if empty, the trial itself."""
    samples: Mapping[tuple[int, int], int] | None = None
    """For a solution file: (judged, solved) solutions of a problem -> number of problems; else None."""

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return it of what a trial was written as, and look at nothing else; KeyError, TypeError or ValueError."""
        judge = (record.get("judgement") or {}).get("bill")
        solutions = record.get("solutions")
        return cls(
            key=record["key"],
            group=(record["suite"], record["subject"]),
            verdict=Verdict(record["verdict"]),
            seconds=float(record["seconds"]),
            bill=Bill.from_dict(record["bill"]) if "bill" in record else None,
            judge=Bill.from_dict(judge) if judge else None,
            unit=unit_of(record["case"], (record.get("labels") or {}).get("chain", "")),
            samples=samples_from(solutions["samples"]) if solutions else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one subject is in one suite; or all together."""

    suite: str = ""
    subject: str = ""
    total: int = 0
    passed: int = 0
    failed: int = 0
    errored: int = 0
    invalid: int = 0
    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    """Dollars that its trials took; None if a price is not known, zero for who asked no model."""
    rate: float | None = None
    """Trials in a minute, over the recent past; None if there were none."""
    eta: float | None = None
    """Seconds until all is done, if it goes on like this; None if nobody knows."""
    in_flight: int | None = None
    """Cases that are being played; None if nobody tells."""
    pass_rate: Figure | None = None
    """Share of passed among the scored, as in the report; None when nothing was scored, which is not zero."""
    pass_at_1: Figure | None = None
    """For a checkpoint, which has no pass rate."""

    @property
    def done(self) -> int:
        """Cases that have a trial, whatever came of it."""
        return self.passed + self.failed + self.errored + self.invalid

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the pass rate, or of pass@1; None if there is none."""
        figure = self.pass_at_1 or self.pass_rate
        return figure.interval if figure else None

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what is not known is null."""
        return {
            "suite": self.suite,
            "subject": self.subject,
            "done": self.done,
            **{name: getattr(self, name) for name in ("total", "passed", "failed", "errored", "invalid")},
            "pass_rate": _rounded(self.pass_rate.value, 6) if self.pass_rate else None,
            PASS_AT_1: _rounded(self.pass_at_1.value, 6) if self.pass_at_1 else None,
            "interval": [round(end, 6) for end in self.interval] if self.interval else None,
            **{name: getattr(self, name) for name in ("calls", "retries", "tokens_in", "tokens_out", "cost")},
            "rate_per_minute": _rounded(self.rate, 3),
            "eta_seconds": _rounded(self.eta, 1),
            "in_flight": self.in_flight,
        }


@dataclass(slots=True)
class Pace:
    """How fast trials come."""

    begun: float | None = None
    """When the first of them did begin, or the last one ended that is too long ago to count."""
    _times: deque[float] = field(default_factory=deque)

    def tick(self, at: float, seconds: float) -> None:
        """Note that one ended, which took so long."""
        if self.begun is None:
            self.begun = at - seconds
        self._times.append(at)
        while len(self._times) > LEAST and self._times[0] < at - RECENT:
            self.begun = self._times.popleft()

    def per_second(self, now: float) -> float | None:
        """Return how many come in a second; the longer none comes, the fewer. None if nobody knows."""
        if self.begun is None or not self._times:
            return None
        passed = max(now, self._times[-1]) - self.begun  # a clock that was put back is not believed
        return len(self._times) / passed if passed >= SHORTEST else None

    def eta(self, missing: int, now: float) -> float | None:
        """Return the seconds until ``missing`` more have come; None if nobody knows.

        No less than nothing has come for: the last ones of a run are its slowest, and whoever has kept us waiting for
        a minute will hardly be here in a second.
        """
        if not missing:
            return 0.0
        speed = self.per_second(now)
        return max(missing / speed, now - self._times[-1]) if speed else None


class _Shares:
    """The pass rate of a subject in a suite, or pass@1 of a checkpoint, while trials are added and removed."""

    def __init__(self) -> None:
        self.samples: Counter[tuple[int, int]] = Counter()
        self._units: dict[str, tuple[int, int]] = {}
        self._clusters = Clusters()
        self._is_checkpoint = False

    def add(self, outcome: Outcome, sign: int) -> None:
        """Count a trial, or take it back."""
        if outcome.samples is not None:
            self._is_checkpoint = True
            for sample, count in outcome.samples.items():
                self.samples[sample] += sign * count
        elif outcome.verdict in {Verdict.PASSED, Verdict.FAILED}:
            unit = outcome.unit or outcome.key
            hits, size = self._units.get(unit, (0, 0))
            self._clusters.add((hits, size), -1)
            self._units[unit] = (hits + sign * (outcome.verdict == Verdict.PASSED), size + sign)
            self._clusters.add(self._units[unit])

    def on(self, row: Progress) -> Progress:
        """Return the row with the figure that a report of these trials has."""
        if self._is_checkpoint:
            found = CheckpointFigures(files=0, whole=FileOutcome(samples=+self.samples))
            return replace(row, pass_at_1=found.figures().get(PASS_AT_1))
        share = self._clusters.share
        if share is None:
            return row
        low, high = self._clusters.interval() or (None, None)
        return replace(row, pass_rate=Figure(value=share, low=low, high=high))


class Tally:
    """Counts a run as it goes on. Each trial is counted once, when it comes, however many there are."""

    def __init__(self) -> None:
        self.spent = 0.0
        """Dollars that the run has cost: all trials ever, judges, and what is in no trial."""
        self.unpriced = 0
        """How many times something was asked at a price that nobody knows."""
        self._planned: dict[str, Group] = {}
        self._tried: dict[str, Outcome] = {}
        self._counts: dict[Group, Counter[str]] = {}
        self._shares: dict[Group, _Shares] = {}
        self._paces: dict[Group, Pace] = {}
        self._pace = Pace()

    def begin(self, planned: Mapping[str, Group]) -> None:
        """Know that a part of the run begins; what it plans has still to be done, whatever came of it before."""
        for key, group in planned.items():
            if trial := self._tried.pop(key, None):
                self._add(trial, -1)
            self._plan(key, group)
        self._paces, self._pace = {}, Pace()

    def take(self, outcome: Outcome, at: float | None = None) -> None:
        """Count a trial that ended then, instead of an earlier one of the same case; None if nobody knows when."""
        before = self._tried.pop(outcome.key, None)
        if before:
            self._add(before, -1)
        self._plan(outcome.key, outcome.group)
        self._tried[outcome.key] = outcome
        self._add(outcome, 1)
        for bill in (outcome.bill, outcome.judge):
            if bill:
                self.spent += bill.spent
                self.unpriced += bill.cost is None and not bill.replayed
        if at is not None and before is None:
            for pace in (self._pace, self._paces.setdefault(outcome.group, Pace())):
                pace.tick(at, outcome.seconds)

    def missing(self, keys: Iterable[str]) -> Counter[Group]:
        """Count those of the cases that have not been tried yet, by suite and subject."""
        return Counter(self._planned[key] for key in keys if key in self._planned and key not in self._tried)

    def rows(self, now: float, in_flight: Mapping[Group, int] | None = None) -> list[Progress]:
        """Return how far each subject is in each suite, in the order of their names."""
        rows = []
        for group, counts in sorted(self._counts.items()):
            if counts["total"]:
                playing = None if in_flight is None else in_flight.get(group, 0)
                row = _progress(group, counts, self._paces.get(group, Pace()), now, playing)
                rows.append(self._with_figure(row, group))
        return rows

    def whole(self, now: float, in_flight: Mapping[Group, int] | None = None) -> Progress:
        """Return the total progress; it has no pass rate if there are several subjects or suites."""
        groups = [group for group, counts in self._counts.items() if counts["total"]]
        counts = sum(self._counts.values(), start=Counter[str]())
        playing = None if in_flight is None else sum(in_flight.values())
        whole = _progress(("", ""), counts, self._pace, now, playing)
        return self._with_figure(whole, groups[0]) if len(groups) == 1 else whole

    def samples(self, group: Group) -> Mapping[tuple[int, int], int]:
        """Return (judged, solved) solutions of a problem -> number of problems, for all files of a checkpoint."""
        return +self._shares[group].samples if group in self._shares else {}

    def _with_figure(self, row: Progress, group: Group) -> Progress:
        return self._shares[group].on(row) if group in self._shares else row

    def _plan(self, key: str, group: Group) -> None:
        before = self._planned.get(key)
        if before != group:
            if before:
                self._counts[before]["total"] -= 1
            self._planned[key] = group
            self._counts.setdefault(group, Counter())["total"] += 1

    def _add(self, outcome: Outcome, sign: int) -> None:
        """Count a trial, or take it back."""
        counts = self._counts[outcome.group]
        counts[outcome.verdict] += sign
        self._shares.setdefault(outcome.group, _Shares()).add(outcome, sign)
        if bill := outcome.bill:
            usage = bill.usage
            counts["calls"] += sign * usage.calls
            counts["retries"] += sign * usage.retries
            counts["tokens_in"] += sign * usage.input
            counts["tokens_out"] += sign * usage.output
            counts["cost"] += sign * round((bill.cost or 0.0) * _CENT)
            counts["unpriced"] += sign * (bill.cost is None)


def _progress(group: Group, counts: Counter[str], pace: Pace, now: float, in_flight: int | None) -> Progress:
    verdicts = {str(verdict): counts[str(verdict)] for verdict in Verdict}
    sums: dict[str, Any] = {name: counts[name] for name in ("total", "calls", "retries", "tokens_in", "tokens_out")}
    speed = pace.per_second(now)
    return Progress(
        suite=group[0],
        subject=group[1],
        **{**sums, **verdicts},
        cost=None if counts["unpriced"] else counts["cost"] / _CENT,
        rate=None if speed is None else 60 * speed,
        eta=pace.eta(counts["total"] - sum(verdicts.values()), now),
        in_flight=in_flight,
    )


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)
