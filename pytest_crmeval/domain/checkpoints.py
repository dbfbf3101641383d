"""How the solutions of a checkpoint were judged: file by file, and all its files together."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pytest_crmeval.domain.figures import LEVEL, Figure
from pytest_crmeval.domain.interval import Interval, pass_at, wilson
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.solution import TestVerdict

PASS_AT_1 = "pass@1"  # noqa: S105 (no password)
"""What the score of a solution file is called, and the metric of its checkpoint."""
UNJUDGED = frozenset({str(TestVerdict.JUDGE_ERROR), str(TestVerdict.SKIPPED)})
RATINGS = 400
"""How many ratings are reported together: 800 to 1199, 1200 to 1599."""
NO_RATING = "unrated"
_TRIES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Those k that pass@k is told for, as far as there are so many samples."""
_NAME = re.compile(r"checkpoint-(?P<step>\d+(?=[_-]|$))?.*")
Shares = Mapping[str, tuple[int, int]]
"""Label -> solved and judged solutions."""
Rate = Callable[[float, float, float], Interval | None]
"""Finds the interval of a share: hits, of how many, at which level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """How the lines of one solution file were judged; they add up to the lines that there are."""

    step: int | None = None
    """Of the checkpoint; None if nobody knows."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """AC, WA and so on -> solutions."""
    ungradable: Mapping[str, int] = field(default_factory=dict)
    """Why a line can't be judged -> lines."""
    missing: int = 0
    """Lines that nobody has come to: the time was up."""
    samples: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """(Judged, solved) solutions of a problem -> problems of which it is true."""
    by: Mapping[str, Shares] = field(default_factory=dict)
    """The same, told apart by rating and by tag."""
    results: str = ""
    """Where each verdict is told, below the folder of the run."""
    reused: int = 0
    """Verdicts that an earlier evaluation of the same file has found,"""
    reused_from: str = ""
    """in this run; empty if all were found now."""

    @property
    def solved(self) -> int:
        """Solutions that passed every test."""
        return self.verdicts.get(TestVerdict.ACCEPTED, 0)

    @property
    def judged(self) -> int:
        """Solutions with a verdict that speaks of them."""
        return sum(count for verdict, count in self.verdicts.items() if verdict not in UNJUDGED)

    @property
    def unjudged(self) -> int:
        """Solutions that could have been judged and were not: the judge's trouble, or no time."""
        return sum(self.verdicts.get(verdict, 0) for verdict in UNJUDGED) + self.missing

    @property
    def lines(self) -> int:
        """All that there is in the file, judged or not."""
        return self.judged + self.unjudged + sum(self.ungradable.values())

    @property
    def pass_at_1(self) -> float | None:
        """Share of solved among the judged, each problem counted alike; None if nothing was judged."""
        return mean_pass(self.samples, 1)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "step": self.step,
            "verdicts": dict(self.verdicts),
            "ungradable": dict(self.ungradable),
            "missing": self.missing,
            "samples": samples_told(self.samples),
            "by": {kind: {label: list(found) for label, found in shares.items()} for kind, shares in self.by.items()},
            "results": self.results,
            **({"reused": self.reused, "reused_from": self.reused_from} if self.reused_from else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the outcome that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        return cls(
            step=record["step"],
            verdicts=dict(record["verdicts"]),
            ungradable=dict(record["ungradable"]),
            missing=int(record["missing"]),
            samples=samples_from(record["samples"]),
            by={kind: _shares_from(shares) for kind, shares in dict(record["by"]).items()},
            results=str(record["results"]),
            reused=int(record.get("reused", 0)),
            reused_from=str(record.get("reused_from", "")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFigures:
    """How one checkpoint did, all its files together; also of files whose evaluation has not come to its end."""

    files: int
    whole: FileOutcome
    """The files as if they were one."""
    lost: int = 0
    """Files of which nothing is known, since they could not be read, or nobody has come to them; not in ``files``."""

    @property
    def pass_at(self) -> Mapping[int, tuple[float, int]]:
        """By k: the unbiased estimate of pass@k, and how many problems have so many judged samples."""
        samples = self.whole.samples
        most = max((judged for judged, _ in samples), default=0)
        found = {k: mean_pass(samples, k) for k in sorted({*(k for k in _TRIES if k <= most), most} - {0})}
        return {k: (rate, _problems(samples, k)) for k, rate in found.items() if rate is not None}

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of pass@1; None if nothing was judged."""
        found = self.figures().get(PASS_AT_1)
        return found.interval if found else None

    @property
    def solved_of_all(self) -> float | None:
        """Share of solved among all lines, also those that can't be judged: cut answers solve nothing, either."""
        return self.whole.solved / self.whole.lines if self.whole.lines else None

    def figures(self, level: float = LEVEL, rate: Rate = wilson, method: str = "wilson") -> dict[str, Figure]:
        """Return pass@k and the share of all lines that are solved, with their intervals.

        Problems are independent, samples of a problem are not: with several samples, intervals are conservative.
        """
        shares = {f"pass@{k}": (share, problems, self.whole.judged) for k, (share, problems) in self.pass_at.items()}
        if self.solved_of_all is not None:
            lines = self.whole.lines
            shares["solved_of_all"] = self.solved_of_all, min(lines, _lines_apart(self.whole)), lines
        return {
            name: _figure(share, rate(share * units, units, level), method, n=n, units=units)
            for name, (share, units, n) in shares.items()
        }

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; a share of nothing is absent."""
        whole, interval = self.whole, self.interval
        return {
            "step": whole.step,
            "files": self.files,
            **({"lost": self.lost} if self.lost else {}),
            "lines": whole.lines,
            "solved": whole.solved,
            "judged": whole.judged,
            "unjudged": whole.unjudged,
            "ungradable": sum(whole.ungradable.values()),
            "problems": _problems(whole.samples, 1),
            "pass_at": {str(k): {"value": round(rate, 6), "problems": n} for k, (rate, n) in self.pass_at.items()},
            **({"interval": [round(end, 6) for end in interval]} if interval else {}),
            **({} if self.solved_of_all is None else {"solved_of_all": round(self.solved_of_all, 6)}),
            "verdicts": dict(whole.verdicts),
            "ungradable_because": dict(whole.ungradable),
            "by": {kind: {label: _share(*found) for label, found in each.items()} for kind, each in whole.by.items()},
            "samples": whole.to_dict()["samples"],
            **({"reused": whole.reused, "reused_from": whole.reused_from} if whole.reused_from else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the figures that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        verdicts = dict(record["verdicts"])
        missing = int(record["unjudged"]) - sum(verdicts.get(verdict, 0) for verdict in UNJUDGED)
        groups = {
            kind: {label: (share["solved"], share["judged"]) for label, share in shares.items()}
            for kind, shares in dict(record["by"]).items()
        }
        told = {"verdicts": verdicts, "ungradable": record["ungradable_because"], "missing": missing, "by": groups}
        whole = FileOutcome.from_dict({**record, **told, "results": ""})
        return cls(files=int(record["files"]), whole=whole, lost=int(record.get("lost", 0)))


def samples_told(samples: Mapping[tuple[int, int], int]) -> list[list[int]]:
    """Return samples in the form in which they are written."""
    return [[judged, solved, count] for (judged, solved), count in sorted(samples.items())]


def samples_from(record: Iterable[Sequence[int]]) -> dict[tuple[int, int], int]:
    """Return samples from the form in which they are written; TypeError or ValueError if it is invalid."""
    return {(int(judged), int(solved)): int(count) for judged, solved, count in record}


def figures_of(outcomes: Iterable[FileOutcome | None]) -> CheckpointFigures | None:
    """Return the figures of some files; None if there are none."""
    found = [outcome for outcome in outcomes if outcome is not None]
    return CheckpointFigures(files=len(found), whole=together(found)) if found else None


def pooled_figures(parts: Iterable[CheckpointFigures | None]) -> CheckpointFigures | None:
    """Return the figures of several checkpoints as if they were one; None if there are none."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return CheckpointFigures(
        files=sum(part.files for part in found),
        whole=together([part.whole for part in found]),
        lost=sum(part.lost for part in found),
    )


def with_lost(figures: CheckpointFigures | None, name: str, lost: int) -> CheckpointFigures | None:
    """Return the figures of a checkpoint with the files of which nothing is known, although it had no others."""
    if not lost:
        return figures
    return replace(figures or CheckpointFigures(files=0, whole=FileOutcome(step=step_of(name))), lost=lost)


def pass_figures(
    outcomes: Iterable[FileOutcome | None], level: float, rate: Rate = wilson, method: str = "wilson"
) -> dict[str, Figure]:
    """Return pass@k and the share of all lines that are solved, with their intervals; empty if there are no files."""
    found = figures_of(outcomes)
    return found.figures(level, rate, method) if found else {}


def _figure(share: float, interval: Interval | None, method: str, *, n: int, units: int) -> Figure:
    low, high = interval or (None, None)
    return Figure(value=share, low=low, high=high, n=n, units=units if units < n else None, method=method)


def _lines_apart(whole: FileOutcome) -> int:
    """Return how many lines are of problems of their own, as far as anybody knows."""
    return _problems(whole.samples, 1) + whole.lines - whole.judged


def step_of(name: str) -> int | None:
    """Return the step that the name of a checkpoint, or of its folder, tells; None if it tells none."""
    read = _NAME.fullmatch(name.rpartition("/")[2])
    return int(read["step"]) if read and read["step"] else None


def by_step(name: str, step: int | None) -> tuple[float, str]:
    """Return what checkpoints are sorted by: their steps; those without one come last, by name."""
    return (float("inf") if step is None else step, name)


def best_of(figures: Mapping[str, CheckpointFigures]) -> str:
    """Return the checkpoint with the highest pass@1, of several the one of the earliest step; empty if none has any.

    Whose files were not judged to their end can't be the best: nobody knows what is missing.
    """
    whole = {
        name: rate
        for name, found in sorted(figures.items(), key=lambda each: by_step(each[0], each[1].whole.step))
        if (rate := found.whole.pass_at_1) is not None and not found.whole.unjudged and not found.lost
    }
    return max(whole, key=whole.__getitem__, default="")


def curves_of(found: Iterable[tuple[str, str, CheckpointFigures]]) -> dict[str, JsonObject]:
    """Return, by suite, the best checkpoint, and all of them by their steps: what a curve is drawn from."""
    suites: dict[str, dict[str, CheckpointFigures]] = {}
    for suite, name, figures in found:
        suites.setdefault(suite, {})[name] = figures
    return {suite: {"best": best_of(each), "curve": _curve(each)} for suite, each in suites.items()}


def _curve(figures: Mapping[str, CheckpointFigures]) -> Sequence[JsonObject]:
    ordered = sorted(figures.items(), key=lambda each: by_step(each[0], each[1].whole.step))
    kept = ("step", "lost", "solved", "judged", "unjudged", "ungradable", "pass_at", "interval", "solved_of_all")
    told = ((name, found.to_dict()) for name, found in ordered)
    return [{"subject": name, **{key: found[key] for key in kept if key in found}} for name, found in told]


def together(outcomes: Sequence[FileOutcome]) -> FileOutcome:
    """Return several files as if they were one: the same problem in two of them counts twice."""
    steps, sources = {each.step for each in outcomes}, {each.reused_from for each in outcomes} - {""}
    return FileOutcome(
        step=steps.pop() if len(steps) == 1 else None,
        verdicts=_sum(each.verdicts for each in outcomes),
        ungradable=_sum(each.ungradable for each in outcomes),
        missing=sum(each.missing for each in outcomes),
        samples=sum((Counter(each.samples) for each in outcomes), Counter[tuple[int, int]]()),
        by={kind: _joined([each.by.get(kind, {}) for each in outcomes]) for kind in _kinds(outcomes)},
        reused=sum(each.reused for each in outcomes),
        reused_from=", ".join(sorted(sources)),
    )


def mean_pass(samples: Mapping[tuple[int, int], int], k: int) -> float | None:
    """Return the mean of pass@k over the problems that have so many judged samples; None if none has."""
    problems = _problems(samples, k)
    if not problems:
        return None
    return sum(count * pass_at(n, c, k) for (n, c), count in sorted(samples.items()) if n >= k) / problems


def rating_group(rating: int | None) -> str:
    """Return under which label a rating is reported."""
    if rating is None:
        return NO_RATING
    low = rating // RATINGS * RATINGS
    return f"{low}-{low + RATINGS - 1}"


def label_order(label: str) -> tuple[int, str]:
    """Return what labels are sorted by: ratings by number, the rest by name."""
    low = label.partition("-")[0]
    return (int(low), label) if low.isdecimal() else (10**9, label)


def _problems(samples: Mapping[tuple[int, int], int], k: int) -> int:
    return sum(count for (judged, _), count in samples.items() if judged >= k)


def _share(solved: int, judged: int) -> JsonObject:
    return {"solved": solved, "judged": judged, **({"pass_rate": round(solved / judged, 6)} if judged else {})}


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


def _kinds(outcomes: Iterable[FileOutcome]) -> Sequence[str]:
    return list(dict.fromkeys(kind for each in outcomes for kind in each.by))


def _joined(parts: Sequence[Shares]) -> dict[str, tuple[int, int]]:
    solved, judged = Counter[str](), Counter[str]()
    for part in parts:
        for label, found in part.items():
            solved[label] += found[0]
            judged[label] += found[1]
    return {label: (solved[label], judged[label]) for label in sorted(judged, key=label_order)}


def _shares_from(record: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {label: (int(solved), int(judged)) for label, (solved, judged) in dict(record).items()}
