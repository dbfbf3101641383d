"""Every metric of a subject with its interval, taken from its trials."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import comb
from operator import attrgetter

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.file_outcome import pass_at
from pytest_crmeval.domain.interval import LEVEL, Interval, Part, clustered, wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.checkpoints import pass_figures
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.report.metrics import SCORED, metrics_of
from pytest_crmeval.report.spreads import percentile, percentile_interval, ratio, spread

PERCENTILES = (50, 90, 95, 99)
MOST = 10
"""pass@k and pass^k are reported for every k up to this number of trials, and for all trials of a case."""
_Measured = Callable[[Trial], Part | None]
_Units = Sequence[Sequence[Trial]]
"""The trials of each independent unit: chain or case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """Observations of a share or a mean, the sums of each independent unit."""

    parts: Sequence[Part]
    n: int


def figures_of(
    trials: Sequence[Trial], level: float = LEVEL, only: str = "", *, exact: bool = False
) -> dict[str, Figure]:
    """Return all figures that the trials, of one subject or of several, give; ``level`` is that of their intervals.

    ``only`` computes a single figure. ``exact`` uses intervals of shares that are missed no more often than
    the level says.

    Observations that share a case or a chain are not independent, so intervals use their effective sample size. A
    checkpoint is measured by the solutions in all its files, not by whether each file passes.
    """
    scored = [trial for trial in trials if trial.verdict in SCORED]
    answered = [trial for trial in scored if trial.solutions is None]
    units = _by_unit(scored)
    taker = (_Exact if exact else _Taker)(level, only)
    found: dict[str, Figure | None] = {
        **taker.shares(units if len(answered) == len(scored) else _by_unit(answered)),
        **taker.repeats(answered),
        **taker.means(units, [trial for trial in trials if trial.verdict is not Verdict.INVALID]),
        **taker.latency(scored, len(units)),
        **(_calibration(scored) if only in {"", "calibration_error"} else {}),
        **taker.tallies(trials),
        **taker.solved(trials),
    }
    return {name: figure for name, figure in found.items() if figure is not None and only in {"", name}}


def case_values(trials: Sequence[Trial], metric: str) -> dict[str, float]:
    """Return a metric of each case, its repeats averaged; only for metrics of single cases, such as the pass rate."""
    named = _score_named(metric.removeprefix("score:")) if metric.startswith("score:") else _PER_CASE[metric]
    cases: dict[str, Part] = {}
    for trial in trials:
        part = named(trial) if trial.verdict in SCORED else None
        if part is not None:
            hits, size = cases.get(trial.planned.case, (0.0, 0.0))
            cases[trial.planned.case] = (hits + part[0], size + part[1])
    return {case: hits / size for case, (hits, size) in cases.items() if size}


class _Taker:
    """Computes figures with intervals of one level, by one method."""

    def __init__(self, level: float, only: str) -> None:
        self._level = level
        self._only = only

    def shares(self, observed: _Units) -> dict[str, Figure | None]:
        """Return the figures between 0 and 1: rates of trials, turns and answers, and scores."""
        scored = list(chain.from_iterable(observed))
        answers = _ANSWERS if any(trial.answer for trial in scored) else {}
        measured: dict[str, _Measured] = {"pass_rate": _passed, **_TURNS, **answers}
        for name in sorted({score.name for trial in scored for score in trial.scores}):
            measured[f"score:{name}"] = _score_named(name)
        wanted = {name: measure for name, measure in measured.items() if self._only in {"", name}}
        return {name: self._share(_taken(observed, measure)) for name, measure in wanted.items()}

    def means(self, observed: _Units, played: Sequence[Trial]) -> dict[str, Figure | None]:
        """Return the unbounded figures: steps, seconds, dollars, tokens."""
        if self._only in _RATIOS:
            return {}
        steps = _taken(
            observed,
            lambda trial: (sum(turn.steps for turn in trial.turns), len(trial.turns)) if trial.turns else None,
        )
        found = {
            "steps_per_turn": self._mean(steps),
            "latency_mean": self._mean(_taken(observed, lambda trial: (trial.seconds, 1))),
        }
        bills = [trial.bill for trial in played if trial.bill]
        if bills and all(bill.cost is not None for bill in bills):
            found["cost_per_trial"] = self._mean(
                _taken(_by_unit(played), lambda trial: ((trial.bill.cost if trial.bill else None) or 0.0, 1))
            )
        if bills:
            found["tokens_per_trial"] = self._mean(
                _taken(
                    _by_unit(played),
                    lambda trial: (trial.bill.usage.input + trial.bill.usage.output if trial.bill else 0, 1),
                )
            )
        return found

    def latency(self, scored: Sequence[Trial], units: int) -> dict[str, Figure]:
        """Return percentiles of the time that trials took, which are of so many independent units."""
        ordered = sorted(trial.seconds for trial in scored)
        return {
            f"latency_p{share}": _figure(
                percentile(ordered, share / 100),
                percentile_interval(ordered, share / 100, self._level, units),
                "order statistics",
                n=len(ordered),
                units=units,
            )
            for share in PERCENTILES
            if ordered
        }

    def repeats(self, scored: Sequence[Trial]) -> dict[str, Figure | None]:
        """Return pass@k and pass^k over the cases with at least k trials; nothing if no case was tried twice."""
        cases: dict[tuple[str, str], list[Trial]] = {}
        for trial in scored if self._only.startswith(("pass@", "pass^")) or not self._only else ():
            cases.setdefault((trial.planned.subject, trial.planned.case), []).append(trial)
        most = max(map(len, cases.values()), default=0)
        found: dict[str, Figure | None] = {}
        for k in range(1, most + 1) if most > 1 else ():
            enough = [tried for tried in cases.values() if len(tried) >= k]
            for name, chance in ((f"pass@{k}", pass_at), (f"pass^{k}", pass_all)):
                if self._only == name or (not self._only and (k <= MOST or k == most)):
                    found[name] = self._share(_tried(enough, k, chance))
        return found

    def tallies(self, trials: Sequence[Trial]) -> dict[str, Figure | None]:
        """Return figures of kinds of cases that count other things than trials; each thing counted is independent."""
        names = dict.fromkeys(name for trial in trials for name in trial.tallies)
        found = {name: [trial.tallies[name] for trial in trials if name in trial.tallies] for name in names}
        sums = {name: (sum(hits for hits, _ in each), sum(of for _, of in each)) for name, each in found.items()}
        return {name: self._counted(*tally) for name, tally in sums.items()}

    def solved(self, trials: Sequence[Trial]) -> dict[str, Figure]:
        """Return figures of checkpoints, including errored and invalid files: missing solutions count as not solved."""
        return pass_figures((trial.solutions for trial in trials), self._level)

    def _counted(self, hits: int, of: int) -> Figure | None:
        interval = wilson(hits, of, self._level)
        return _figure(hits / of, interval, "wilson", n=of) if of else None

    def _share(self, taken: _Taken) -> Figure | None:
        parts = [part for part in taken.parts if part[1]]
        if not parts:
            return None
        value, units = ratio(parts), len(parts)
        alone = taken.n == units
        interval = clustered(parts, self._level)
        return _figure(value, interval, "wilson" if alone else "wilson (clustered)", n=taken.n, units=units)

    def _mean(self, taken: _Taken) -> Figure | None:
        parts = [part for part in taken.parts if part[1]]
        if not parts:
            return None
        low, high = spread(parts, self._level) or (None, None)
        interval = None if low is None or high is None else (max(0.0, low), high)  # none of these is negative
        return _figure(ratio(parts), interval, "normal", n=taken.n, units=len(parts))


class _Exact(_Taker):
    """Computes the same figures with exact intervals of shares."""

    def solved(self, trials: Sequence[Trial]) -> dict[str, Figure]:
        """Return figures of checkpoints."""
        from pytest_crmeval.report.exact_interval import METHOD, clopper_pearson

        return pass_figures((trial.solutions for trial in trials), self._level, clopper_pearson, METHOD)

    def _counted(self, hits: int, of: int) -> Figure | None:
        from pytest_crmeval.report.exact_interval import METHOD, clopper_pearson

        return _figure(hits / of, clopper_pearson(hits, of, self._level), METHOD, n=of) if of else None

    def _share(self, taken: _Taken) -> Figure | None:
        from pytest_crmeval.report.exact_interval import METHOD, exact_clustered

        parts = [part for part in taken.parts if part[1]]
        interval = exact_clustered(parts, self._level)
        return _figure(ratio(parts), interval, METHOD, n=taken.n, units=len(parts)) if parts else None


def _figure(value: float, interval: Interval | None, method: str, *, n: int, units: int | None = None) -> Figure:
    """Return a figure; without an interval it has no method."""
    fewer = units if units is not None and units < n else None
    return Figure(value=value, interval=interval, n=n, units=fewer, method=method if interval else "")


def _by_unit(trials: Iterable[Trial]) -> _Units:
    units: dict[str, list[Trial]] = {}
    for trial in trials:
        units.setdefault(trial.unit, []).append(trial)
    return list(units.values())


def _taken(observed: _Units, measure: _Measured) -> _Taken:
    """Measure trials, and add up the values of each unit."""
    parts: list[Part] = []
    for trials in observed:
        measured = [part for part in map(measure, trials) if part is not None]
        if len(measured) == 1:
            parts += measured
        elif measured:
            parts.append((sum(hits for hits, _ in measured), sum(size for _, size in measured)))
    return _Taken(parts=parts, n=round(sum(size for _, size in parts)))


def _tried(cases: Sequence[Sequence[Trial]], k: int, chance: Callable[[int, int, int], float]) -> _Taken:
    """Return the chance of each case; all cases have the same weight, the mean number of trials."""
    units: dict[str, Part] = {}
    weight = sum(map(len, cases)) / len(cases)
    for tried in cases:
        hits, size = units.get(tried[0].unit, (0.0, 0.0))
        value = chance(len(tried), sum(trial.passed for trial in tried), k)
        units[tried[0].unit] = (hits + weight * value, size + weight)
    return _Taken(parts=list(units.values()), n=len(cases))


def _passed(trial: Trial) -> Part:
    return trial.passed, 1


def _turned(name: str) -> _Measured:
    held = attrgetter(name)
    return lambda trial: (sum(map(held, trial.turns)), len(trial.turns)) if trial.turns else None


def _answered(*attempts: Attempt) -> _Measured:
    return lambda trial: (trial.answer.attempt in attempts, 1) if trial.answer else None


def _accuracy(trial: Trial) -> Part | None:
    """Count right answers among the attempted ones."""
    if trial.answer is None or trial.answer.attempt is Attempt.NOT_ATTEMPTED:
        return None
    return trial.answer.attempt is Attempt.CORRECT, 1


def _f1(trial: Trial) -> Part | None:
    """F1 is the ratio of twice the right answers to answers and questions together."""
    if trial.answer is None:
        return None
    return 2 * (trial.answer.attempt is Attempt.CORRECT), 1 + (trial.answer.attempt is not Attempt.NOT_ATTEMPTED)


def _score_named(name: str) -> _Measured:
    def measure(trial: Trial) -> Part | None:
        values = [score.value for score in trial.scores if score.name == name]
        return (sum(values), len(values)) if values else None

    return measure


def _calibration(scored: Sequence[Trial]) -> dict[str, Figure]:
    """Return the calibration error of stated confidences; it has no interval."""
    found = metrics_of([trial for trial in scored if trial.answer])
    if found.calibration_error is None or not found.confidences:
        return {}
    return {"calibration_error": Figure(value=found.calibration_error, n=found.confidences)}


_TURNS: Mapping[str, _Measured] = {
    "turn_success": _turned("passed"),
    "tool_success": _turned("called"),
    "reply_success": _turned("replied"),
}
_ANSWERS: Mapping[str, _Measured] = {
    "correct": _answered(Attempt.CORRECT),
    "incorrect": _answered(Attempt.INCORRECT),
    "not_attempted": _answered(Attempt.NOT_ATTEMPTED),
    "accuracy_given_attempted": _accuracy,
    "f1": _f1,
}
_PER_CASE: Mapping[str, _Measured] = {"pass_rate": _passed, "strict_success": _passed, **_TURNS}
_RATIOS = frozenset({"pass_rate", *_TURNS, *_ANSWERS})


def pass_all(tried: int, passed: int, k: int) -> float:
    """Return the probability that all of ``k`` trials of a case pass."""
    return comb(passed, k) / comb(tried, k)
