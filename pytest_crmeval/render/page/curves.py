"""Curves: pass@1 of checkpoints over their steps, and success of learners along their stream.

They are drawn from the summaries as they are stored in the report; a report without these fields has no curve.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_crmeval.render.page.charts import Chart, Point, Series, curve
from pytest_crmeval.render.page.words import NOTHING, dollars, interval, rate, words
from pytest_crmeval.report.tables import p_value

Record = Mapping[str, Any]
"""A summary as it is stored in the report."""
_COUNTS = ("files", "solved", "judged", "unjudged", "ungradable")


def checkpoint_curve(suite: str, records: Sequence[Record]) -> Iterator[Chart]:
    """Yield pass@1 over the steps of checkpoints; nothing if none has a step."""
    points = [point for record in records if (point := _at_step(record))]
    if points:
        judged = [record for record in records if (found := record.get("checkpoint")) and not found.get("unjudged")]
        complete = sorted((record for record in judged if not record["checkpoint"].get("lost")), key=_step)
        best = max(
            (point for record in complete if (point := _at_step(record))), key=lambda point: point.rate, default=None
        )
        yield curve(
            "Checkpoints",
            f"pass@1 over training steps{f'; the best is {best.title}' if best else ''}.",
            "step",
            [Series(name=suite, colour=0, points=sorted(points, key=lambda point: point.x))],
        )


def learning_curve(records: Sequence[Record], colours: Mapping[str, int]) -> Iterator[Chart]:
    """Yield the success of learners along their stream; nothing if there are none."""
    series = [
        Series(name=record["subject"], colour=colours[record["subject"]], points=list(_windows(record)))
        for record in records
        if "learning" in record
    ]
    if series := [each for each in series if each.points]:
        yield curve(
            "Learning",
            "Share of conversations that passed, window by window along the stream.",
            "conversations played",
            series,
        )


def checkpoint_table(records: Sequence[Record]) -> Sequence[Sequence[str]]:
    """Return all checkpoints by step, below ``CHECKPOINT_HEAD``; nothing if there are none."""
    found = sorted((record for record in records if "checkpoint" in record), key=_step)
    return [_checkpoint(record) for record in found]


_COUNTED = ("files", "solved", "graded", "not graded", "ungradable")
CHECKPOINT_HEAD = ("checkpoint", "step", *_COUNTED, "pass@1", "95 % interval", "of all")


def ungradable(record: Record) -> Iterator[str]:
    """Yield how many lines of a checkpoint could not be graded; nothing if all could."""
    figures = record.get("checkpoint", {})
    if figures.get("ungradable"):
        counts = ", ".join(f"{words(why)} {count}" for why, count in figures.get("ungradable_because", {}).items())
        lines = f"{figures['ungradable']} of {figures.get('lines', NOTHING)} lines of {record['subject']}"
        yield f"Ungradable, so not in pass@1: {lines} ({counts})."


def learning_table(records: Sequence[Record]) -> Sequence[Sequence[str]]:
    """Return the results of learning: a row per figure, a column per learner; nothing if there are none."""
    learners = [record for record in records if "learning" in record]
    found = [dict(_learned(record["learning"])) for record in learners]
    names = dict.fromkeys(name for each in found for name in each)
    head = [("", *(record["subject"] for record in learners))]
    return [*head, *((name, *(each.get(name, NOTHING) for each in found)) for name in names)] if names else []


def _at_step(record: Record) -> Point | None:
    figures = record.get("checkpoint", {})
    passed = figures.get("pass_at", {}).get("1")
    if passed is None or figures.get("step") is None:
        return None
    low, high = figures.get("interval", (passed["value"], passed["value"]))
    title = f"{record['subject']} with {rate(passed['value'])} ({interval(low, high)})"
    return Point(x=figures["step"], rate=passed["value"], low=low, high=high, title=title)


def _windows(record: Record) -> Iterator[Point]:
    for window in record["learning"].get("windows", ()):
        if "rate" in window:
            low, high = window["interval"]
            name = f"{window['first']} to {window['last']}"
            title = f"{record['subject']}, {name}: {rate(window['rate'])} ({interval(low, high)})"
            yield Point(x=window["last"], rate=window["rate"], low=low, high=high, name=name, title=title)


def _step(record: Record) -> tuple[float, str]:
    step = record["checkpoint"].get("step")
    return (float("inf") if step is None else step), record["subject"]


def _checkpoint(record: Record) -> Sequence[str]:
    figures = record["checkpoint"]
    passed = figures.get("pass_at", {}).get("1", {}).get("value")
    return (
        record["subject"],
        NOTHING if figures.get("step") is None else str(figures["step"]),
        *(str(figures.get(name, NOTHING)) for name in _COUNTS),
        rate(passed),
        interval(*figures.get("interval", (None, None))),
        rate(figures.get("solved_of_all")),
    )


def _learned(figures: Record) -> Iterator[tuple[str, str]]:
    """Yield the results of learning for one subject, figure by figure."""
    yield "learning", f"{figures.get('learning', NOTHING)}, {figures.get('mode', NOTHING)}"
    yield "stream", _share(figures.get("stream"))
    for name, half in zip(("first half", "second half"), figures.get("halves", ()), strict=False):
        yield name, _share(half)
    yield "held out", _share(figures.get("held_out"))
    if compared := figures.get("comparison"):
        yield "held out, with the playbook", _share(compared.get("with_playbook"))
        yield f"held out, {compared.get('alone', 'alone')}", _share(compared.get("without"))
        yield "p (McNemar)", p_value(compared.get("p_value"))
    yield from ((words(name), str(count)) for name, count in figures.get("counts", {}).items())
    yield from ((f"reviews: {words(name)}", str(count)) for name, count in figures.get("reviews", {}).items())
    yield "passed with intervention", _share(figures.get("intervened"))
    yield "passed without intervention", _share(figures.get("not_intervened"))
    for name in ("cost_to_play", "cost_to_learn", "cost_per_success"):
        if name in figures:
            yield words(name), dollars(figures[name])


def _share(figures: Record | None) -> str:
    if not figures or "rate" not in figures:
        return NOTHING
    return f"{rate(figures['rate'])} of {figures['scored']} ({interval(*figures['interval'])})"
