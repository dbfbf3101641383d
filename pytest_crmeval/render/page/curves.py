"""Curves: how checkpoints do over their steps, and how those who learn do along their stream.

They are drawn from what the report says of a summary, as it is written: a report that says nothing has no curve.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_crmeval.render.page.charts import Chart, Point, Series, curve
from pytest_crmeval.render.page.words import NOTHING, dollars, interval, rate, words
from pytest_crmeval.report.tables import p_value

Record = Mapping[str, Any]
"""A summary as it is written."""
_COUNTS = ("files", "solved", "judged", "unjudged", "ungradable")


def checkpoint_curve(suite: str, records: Sequence[Record]) -> Iterator[Chart]:
    """Yield pass@1 over the steps of checkpoints; nothing if none has a step."""
    points = [point for record in records if (point := _at_step(record))]
    if points:
        yield curve(
            "Checkpoints",
            f"pass@1 over the steps of training{_best(records)}.",
            "step",
            [Series(name=suite, colour=0, points=sorted(points, key=lambda point: point.x))],
        )


def learning_curve(records: Sequence[Record], colours: Mapping[str, int]) -> Iterator[Chart]:
    """Yield success along the stream of those who learn; nothing if nobody does."""
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


CHECKPOINT_HEAD = ("checkpoint", "step", *_COUNTS, "pass@1", "95 % interval", "of all")


def ungradable(record: Record) -> Iterator[str]:
    """Yield how many lines of a checkpoint are in no figure; nothing if all are."""
    told = record.get("checkpoint", {})
    if told.get("ungradable"):
        counts = ", ".join(f"{words(why)} {count}" for why, count in told.get("ungradable_because", {}).items())
        lines = f"{told['ungradable']} of {told.get('lines', NOTHING)} lines of {record['subject']}"
        yield f"Not in pass@1, because nobody can judge them: {lines} ({counts})."


def learning_table(records: Sequence[Record]) -> Sequence[Sequence[str]]:
    """Return what has come of learning: a row per figure, a column per subject who learns; nothing if nobody does."""
    learners = [record for record in records if "learning" in record]
    found = [dict(_learnt(record["learning"])) for record in learners]
    names = dict.fromkeys(name for figures in found for name in figures)
    head = [("", *(record["subject"] for record in learners))]
    return [*head, *((name, *(figures.get(name, NOTHING) for figures in found)) for name in names)] if names else []


def _best(records: Sequence[Record]) -> str:
    """Say which is the best of those that were judged to their end; of several the earliest."""
    whole = [record for record in records if "checkpoint" in record and _is_whole(record["checkpoint"])]
    points = [point for record in sorted(whole, key=_step) if (point := _at_step(record))]
    return f"; the best is {max(points, key=lambda point: point.rate).told}" if points else ""


def _is_whole(told: Record) -> bool:
    return not told.get("unjudged") and not told.get("lost")


def _at_step(record: Record) -> Point | None:
    told = record.get("checkpoint", {})
    passed = told.get("pass_at", {}).get("1")
    if passed is None or told.get("step") is None:
        return None
    low, high = told.get("interval", (passed["value"], passed["value"]))
    words_of = f"{record['subject']} with {rate(passed['value'])} ({interval(low, high)})"
    return Point(x=told["step"], rate=passed["value"], low=low, high=high, told=words_of)


def _windows(record: Record) -> Iterator[Point]:
    for window in record["learning"].get("windows", ()):
        if "rate" in window:
            low, high = window["interval"]
            name = f"{window['first']} to {window['last']}"
            told = f"{record['subject']}, {name}: {rate(window['rate'])} ({interval(low, high)})"
            yield Point(x=window["last"], rate=window["rate"], low=low, high=high, name=name, told=told)


def _step(record: Record) -> tuple[float, str]:
    step = record["checkpoint"].get("step")
    return (float("inf") if step is None else step), record["subject"]


def _checkpoint(record: Record) -> Sequence[str]:
    told = record["checkpoint"]
    passed = told.get("pass_at", {}).get("1", {}).get("value")
    return (
        record["subject"],
        NOTHING if told.get("step") is None else str(told["step"]),
        *(str(told.get(name, NOTHING)) for name in _COUNTS),
        rate(passed),
        interval(*told.get("interval", (None, None))),
        rate(told.get("solved_of_all")),
    )


def _learnt(told: Record) -> Iterator[tuple[str, str]]:
    """Yield what has come of learning for one subject, figure by figure."""
    yield "learning", f"{told.get('learning', NOTHING)}, {told.get('mode', NOTHING)}"
    yield "stream", _share(told.get("stream"))
    for name, half in zip(("first half", "second half"), told.get("halves", ()), strict=False):
        yield name, _share(half)
    yield "held out", _share(told.get("held_out"))
    if compared := told.get("comparison"):
        yield "held out, with the playbook", _share(compared.get("with_playbook"))
        yield f"held out, {compared.get('alone', 'alone')}", _share(compared.get("without"))
        yield "p (McNemar)", p_value(compared.get("p_value"))
    yield from ((words(name), str(count)) for name, count in told.get("counts", {}).items())
    yield from ((f"reviews: {words(name)}", str(count)) for name, count in told.get("reviews", {}).items())
    yield "passed where the teacher intervened", _share(told.get("intervened"))
    yield "passed where not", _share(told.get("not_intervened"))
    for name in ("cost_to_play", "cost_to_learn", "cost_per_success"):
        if name in told:
            yield words(name), dollars(told[name])


def _share(told: Record | None) -> str:
    if not told or "rate" not in told:
        return NOTHING
    return f"{rate(told['rate'])} of {told['scored']} ({interval(*told['interval'])})"
