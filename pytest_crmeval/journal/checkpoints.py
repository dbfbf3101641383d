"""Results of the solutions of a checkpoint, by file and for all its files together."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Self

from msgspec.structs import replace

from pytest_crmeval.domain.file_outcome import PASS_AT_1, UNJUDGED, FileOutcome, Samples, Shares, mean_pass, problems_of
from pytest_crmeval.domain.interval import LEVEL, Interval, wilson
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.journal.figures import Figure

RATINGS = 400
"""Width of a group of ratings: 800 to 1199, 1200 to 1599."""
_SOLVED_OF_ALL = "solved_of_all"
NO_RATING = "unrated"
_TRIES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The values of k for which pass@k is reported, if there are enough samples."""
_STEP = re.compile(r"(?:checkpoint|ckpt|(?:global[-_]?)?step|iter(?:ation)?)[-_]?(\d{1,18})(?:[-_].*)?", re.IGNORECASE)
"""``checkpoint-49``, ``checkpoint_49``, ``step_49``, ``global_step49``, with or without a suffix."""
Rate = Callable[[float, float, float], Interval | None]
"""Returns the interval of a share for its hits, its total and a confidence level."""


class PassAt(Record, frozen=True, kw_only=True):
    """The unbiased estimate of pass@k."""

    value: float
    problems: int
    """Number of problems with at least k graded samples."""


class Solved(Record, frozen=True, kw_only=True):
    """Solutions with one label."""

    solved: int
    judged: int
    pass_rate: float | None = None


class CheckpointFigures(Record, frozen=True, kw_only=True):
    """The figures of one checkpoint over all its files, including incomplete ones."""

    step: int | None = always(None)
    files: int
    lost: int = 0
    """Files with unknown results, because they were unreadable or not reached; not in ``files``."""
    lines: int
    solved: int
    judged: int
    unjudged: int
    ungradable: int
    problems: int
    pass_at: Mapping[int, PassAt]
    """By k."""
    interval: tuple[float, float] | None = None
    """The 95 % interval of pass@1; None if nothing was graded."""
    solved_of_all: float | None = None
    """Share of solved among all lines, ungradable ones included."""
    verdicts: Mapping[str, int]
    ungradable_because: Mapping[str, int]
    by: Mapping[str, Mapping[str, Solved]]
    samples: Samples
    reused: int = 0
    reused_from: str = ""

    @classmethod
    def of(cls, whole: FileOutcome, files: int, lost: int = 0) -> Self:
        """Return the figures of files that were combined into one."""
        found = rates_of(whole)
        pass_at_1, solved_of_all = found.get(PASS_AT_1), found.get(_SOLVED_OF_ALL)
        interval = pass_at_1.interval if pass_at_1 else None
        return cls(
            step=whole.step,
            files=files,
            lost=lost,
            lines=whole.lines,
            solved=whole.solved,
            judged=whole.judged,
            unjudged=whole.unjudged,
            ungradable=sum(whole.ungradable.values()),
            problems=problems_of(whole.samples, 1),
            pass_at={k: PassAt(value=round(rate, 6), problems=n) for k, (rate, n) in _pass_at(whole.samples).items()},
            interval=(round(interval[0], 6), round(interval[1], 6)) if interval else None,
            solved_of_all=round(solved_of_all.value, 6) if solved_of_all else None,
            verdicts=dict(whole.verdicts),
            ungradable_because=dict(whole.ungradable),
            by={kind: {label: _share(*each) for label, each in shares.items()} for kind, shares in whole.by.items()},
            samples=whole.samples,
            reused=whole.reused,
            reused_from=whole.reused_from,
        )

    @property
    def whole(self) -> FileOutcome:
        """All files combined into one."""
        return FileOutcome(
            step=self.step,
            verdicts=self.verdicts,
            ungradable=self.ungradable_because,
            missing=self.unjudged - sum(self.verdicts.get(verdict, 0) for verdict in UNJUDGED),
            samples=self.samples,
            by={
                kind: {label: (each.solved, each.judged) for label, each in shares.items()}
                for kind, shares in self.by.items()
            },
            reused=self.reused,
            reused_from=self.reused_from,
        )


def rates_of(
    whole: FileOutcome, level: float = LEVEL, rate: Rate = wilson, method: str = "wilson"
) -> dict[str, Figure]:
    """Return pass@k and the share of all lines that are solved, with their intervals.

    Problems are independent, samples of a problem are not: with several samples, intervals are conservative.
    """
    shares = {f"pass@{k}": (share, n, whole.judged) for k, (share, n) in _pass_at(whole.samples).items()}
    if whole.lines:
        apart = problems_of(whole.samples, 1) + whole.lines - whole.judged
        shares[_SOLVED_OF_ALL] = whole.solved / whole.lines, min(whole.lines, apart), whole.lines
    return {
        name: Figure(
            value=share,
            interval=rate(share * units, units, level),
            n=n,
            units=units if units < n else None,
            method=method,
        )
        for name, (share, units, n) in shares.items()
    }


def _pass_at(samples: Samples) -> dict[int, tuple[float, int]]:
    """Return pass@k by k, and the number of problems with at least k graded samples."""
    most = max((judged for judged, _, _ in samples), default=0)
    found = {k: mean_pass(samples, k) for k in sorted({*(k for k in _TRIES if k <= most), most} - {0})}
    return {k: (rate, problems_of(samples, k)) for k, rate in found.items() if rate is not None}


def added_samples(parts: Iterable[Samples]) -> Samples:
    """Return the combined samples of several files or checkpoints."""
    whole: Counter[tuple[int, int]] = Counter()
    for judged, solved, count in chain.from_iterable(parts):
        whole[judged, solved] += count
    return tuple((*sample, count) for sample, count in sorted(whole.items()))


def figures_of(outcomes: Iterable[FileOutcome | None]) -> CheckpointFigures | None:
    """Return the figures of some files; None if there are none."""
    found = [outcome for outcome in outcomes if outcome is not None]
    return CheckpointFigures.of(combined(found), len(found)) if found else None


def pooled_figures(parts: Iterable[CheckpointFigures | None]) -> CheckpointFigures | None:
    """Return the combined figures of several checkpoints; None if there are none."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return CheckpointFigures.of(
        combined([part.whole for part in found]), sum(part.files for part in found), sum(part.lost for part in found)
    )


def with_lost(figures: CheckpointFigures | None, name: str, lost: int) -> CheckpointFigures | None:
    """Return the figures of a checkpoint with its number of lost files, even if it has no other files."""
    if not lost:
        return figures
    return replace(figures or CheckpointFigures.of(FileOutcome(step=step_of(name)), 0), lost=lost)


def pass_figures(
    outcomes: Iterable[FileOutcome | None], level: float, rate: Rate = wilson, method: str = "wilson"
) -> dict[str, Figure]:
    """Return pass@k and the share of all lines that are solved, with their intervals; empty if there are no files."""
    found = [outcome for outcome in outcomes if outcome is not None]
    return rates_of(combined(found), level, rate, method) if found else {}


def step_of(name: str) -> int | None:
    """Return the step in the name of a checkpoint, or of its folder; None if there is none."""
    found = _STEP.fullmatch(name.rpartition("/")[2])
    return int(found[1]) if found else None


def is_checkpoint_name(name: str) -> bool:
    """Whether a folder with this name is a checkpoint; ``checkpoint-final`` has no step, but is one."""
    return name.startswith(("checkpoint-", "checkpoint_")) or step_of(name) is not None


def by_step(name: str, step: int | None) -> tuple[float, str]:
    """Return the sort key of a checkpoint: its step; checkpoints without a step come last, by name."""
    return (float("inf") if step is None else step, name)


def best_of(figures: Mapping[str, CheckpointFigures]) -> str:
    """Return the checkpoint with the highest pass@1 and, among equals, the earliest step; empty if there is none.

    A checkpoint whose files were not graded completely can't be the best.
    """
    whole = {
        name: rate
        for name, found in sorted(figures.items(), key=lambda each: by_step(each[0], each[1].whole.step))
        if (rate := found.whole.pass_at_1) is not None and not found.whole.unjudged and not found.lost
    }
    return max(whole, key=whole.__getitem__, default="")


def curves_of(found: Iterable[tuple[str, str, CheckpointFigures]]) -> dict[str, JsonObject]:
    """Return, by suite, the best checkpoint, and all checkpoints in order of their steps, for a curve."""
    suites: dict[str, dict[str, CheckpointFigures]] = {}
    for suite, name, figures in found:
        suites.setdefault(suite, {})[name] = figures
    kept = ("step", "lost", "solved", "judged", "unjudged", "ungradable", "pass_at", "interval", "solved_of_all")
    curves: dict[str, JsonObject] = {}
    for suite, each in suites.items():
        ordered = sorted(each.items(), key=lambda one: by_step(one[0], one[1].whole.step))
        records = [{"subject": name, **figures.to_dict()} for name, figures in ordered]
        curve = [{key: record[key] for key in ("subject", *kept) if key in record} for record in records]
        curves[suite] = {"best": best_of(each), "curve": curve}
    return curves


def combined(outcomes: Sequence[FileOutcome]) -> FileOutcome:
    """Return several files combined into one; a problem in two of them counts twice."""
    steps, sources = {each.step for each in outcomes}, {each.reused_from for each in outcomes} - {""}
    return FileOutcome(
        step=steps.pop() if len(steps) == 1 else None,
        verdicts=_sum(each.verdicts for each in outcomes),
        ungradable=_sum(each.ungradable for each in outcomes),
        missing=sum(each.missing for each in outcomes),
        samples=added_samples(each.samples for each in outcomes),
        by={
            kind: _joined([each.by.get(kind, {}) for each in outcomes])
            for kind in dict.fromkeys(kind for each in outcomes for kind in each.by)
        },
        reused=sum(each.reused for each in outcomes),
        reused_from=", ".join(sorted(sources)),
    )


def rating_group(rating: int | None) -> str:
    """Return the label of a rating's group."""
    if rating is None:
        return NO_RATING
    low = rating // RATINGS * RATINGS
    return f"{low}-{low + RATINGS - 1}"


def label_order(label: str) -> tuple[int, str]:
    """Return the sort key of a label: ratings by number, other labels by name."""
    low = label.partition("-")[0]
    return (int(low), label) if low.isdecimal() else (10**9, label)


def _share(solved: int, judged: int) -> Solved:
    return Solved(solved=solved, judged=judged, pass_rate=round(solved / judged, 6) if judged else None)


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


def _joined(parts: Sequence[Shares]) -> dict[str, tuple[int, int]]:
    solved, judged = Counter[str](), Counter[str]()
    for part in parts:
        for label, found in part.items():
            solved[label] += found[0]
            judged[label] += found[1]
    return {label: (solved[label], judged[label]) for label in sorted(judged, key=label_order)}
