"""Progress of a run: planned and completed cases, and their rate. It has no clock and reads no file."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_crmeval.domain.file_outcome import PASS_AT_1, FileOutcome, Samples
from pytest_crmeval.domain.interval import Clusters
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill
from pytest_crmeval.journal.checkpoints import by_step, rates_of, step_of
from pytest_crmeval.journal.figures import Counts, Figure

RECENT = 60.0
"""A rate is based on the trials of so many seconds,"""
LEAST = 10
"""but on at least so many trials."""
SHORTEST = 1.0
"""Seconds; a rate over a shorter time is not reported."""
_CENT = 100_000_000
"""Costs are added as integers in this fraction of a dollar, so that subtraction leaves no rounding error."""
Group = tuple[str, str]
"""Suite and subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedTrial:
    """What progress needs of a trial."""

    key: str
    group: Group
    verdict: str
    seconds: float = 0.0
    bill: Bill | None = None
    judge: Bill | None = None
    unit: str = ""
    """The independent unit: the chain of the case, or the case; if empty, the trial itself."""
    samples: Samples | None = None
    """Samples of a solution file; None for other cases."""


class Progress(Counts, frozen=True, kw_only=True):
    """The progress of one subject in one suite, or of the whole run."""

    suite: str = ""
    subject: str = ""
    total: int = 0
    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    """Cost of its trials in dollars; None if a price is unknown, 0 without model calls."""
    rate: float | None = None
    """Recent trials per minute; None if there were none."""
    eta: float | None = None
    """Seconds until all cases are done, at the current rate; None if unknown."""
    in_flight: int | None = None
    """Cases that are being played; None if unknown."""
    pass_rate: Figure | None = None
    """Share of scored trials that passed, as in the report; None (not 0) if none was scored."""
    pass_at_1: Figure | None = None
    """pass@1 of a checkpoint, which has no pass rate."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the pass rate, or of pass@1; None if there is none."""
        figure = self.pass_at_1 or self.pass_rate
        return figure.interval if figure else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON primitives; unknown values are null."""
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
    """Measures the rate at which trials end."""

    begun: float | None = None
    """Start of the measured time: when the first trial began, or the latest trial ended that no longer counts."""
    _times: deque[float] = field(default_factory=deque)

    def tick(self, at: float, seconds: float) -> None:
        """Count a trial that ended at ``at`` and took ``seconds``."""
        if self.begun is None:
            self.begun = at - seconds
        self._times.append(at)
        while len(self._times) > LEAST and self._times[0] < at - RECENT:
            self.begun = self._times.popleft()

    def per_second(self, now: float) -> float | None:
        """Return trials per second, which falls while no trial ends; None if unknown."""
        if self.begun is None or not self._times:
            return None
        passed = max(now, self._times[-1]) - self.begun  # the clock may have been set back
        return len(self._times) / passed if passed >= SHORTEST else None

    def eta(self, missing: int, now: float) -> float | None:
        """Return the seconds until ``missing`` more trials have ended; None if unknown.

        It is at least the time since the last trial ended: the last trials of a run are its slowest, and one that has
        taken a minute rarely ends within the next second.
        """
        if not missing:
            return 0.0
        speed = self.per_second(now)
        return max(missing / speed, now - self._times[-1]) if speed else None


class _RateCounter:
    """The pass rate of a subject in a suite, or pass@1 of a checkpoint, while trials are added and removed."""

    def __init__(self) -> None:
        self._samples: Counter[tuple[int, int]] = Counter()
        self._units: dict[str, tuple[int, int]] = {}
        self._clusters = Clusters()
        self._is_checkpoint = False

    def add(self, outcome: CountedTrial, sign: int) -> None:
        """Count a trial, or take it back."""
        if outcome.samples is not None:
            self._is_checkpoint = True
            for judged, solved, count in outcome.samples:
                self._samples[judged, solved] += sign * count
        elif outcome.verdict in {Verdict.PASSED, Verdict.FAILED}:
            unit = outcome.unit or outcome.key
            hits, size = self._units.get(unit, (0, 0))
            self._clusters.add((hits, size), -1)
            self._units[unit] = (hits + sign * (outcome.verdict == Verdict.PASSED), size + sign)
            self._clusters.add(self._units[unit])

    @property
    def samples(self) -> Samples:
        """The samples of all files of a checkpoint."""
        return tuple((*sample, count) for sample, count in sorted((+self._samples).items()))

    def on(self, row: Progress) -> Progress:
        """Return the row with its pass rate or pass@1, as in a report of these trials."""
        if self._is_checkpoint:
            return replace(row, pass_at_1=rates_of(FileOutcome(samples=self.samples)).get(PASS_AT_1))
        share = self._clusters.share
        if share is None:
            return row
        return replace(row, pass_rate=Figure(value=share, interval=self._clusters.interval()))


class ProgressCounter:
    """Counts the trials of a run as they end, in constant time per trial."""

    def __init__(self) -> None:
        self.spent = 0.0
        """Cost of the run in dollars: all trials, also repeated ones, judges, and calls outside of trials."""
        self.unpriced = 0
        """Number of bills without a known price."""
        self._planned: dict[str, Group] = {}
        self._tried: dict[str, CountedTrial] = {}
        self._counts: dict[Group, Counter[str]] = {}
        self._shares: dict[Group, _RateCounter] = {}
        self._paces: dict[Group, Pace] = {}
        self._pace = Pace()

    def begin(self, planned: Mapping[str, Group]) -> None:
        """Begin a part of the run; the cases that it plans are open again, whatever their earlier result."""
        for key, group in planned.items():
            if trial := self._tried.pop(key, None):
                self._add(trial, -1)
            self._plan(key, group)
        self._paces, self._pace = {}, Pace()

    def take(self, outcome: CountedTrial, at: float | None = None) -> None:
        """Count a trial that ended at ``at`` (None if unknown); it replaces an earlier trial of the same case."""
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
        """Return how many of the cases have no trial yet, by suite and subject."""
        return Counter(self._planned[key] for key in keys if key in self._planned and key not in self._tried)

    def rows(self, now: float, in_flight: Mapping[Group, int] | None = None) -> list[Progress]:
        """Return the progress of each subject in each suite, sorted by name, checkpoints by step."""
        rows = []
        for group in sorted(self._counts, key=lambda group: (group[0], *by_step(group[1], step_of(group[1])))):
            counts = self._counts[group]
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

    def samples(self, group: Group) -> Samples:
        """Return the samples of all files of a checkpoint."""
        return self._shares[group].samples if group in self._shares else ()

    def _with_figure(self, row: Progress, group: Group) -> Progress:
        return self._shares[group].on(row) if group in self._shares else row

    def _plan(self, key: str, group: Group) -> None:
        before = self._planned.get(key)
        if before != group:
            if before:
                self._counts[before]["total"] -= 1
            self._planned[key] = group
            self._counts.setdefault(group, Counter())["total"] += 1

    def _add(self, outcome: CountedTrial, sign: int) -> None:
        """Count a trial, or take it back."""
        counts = self._counts[outcome.group]
        counts[outcome.verdict] += sign
        self._shares.setdefault(outcome.group, _RateCounter()).add(outcome, sign)
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
