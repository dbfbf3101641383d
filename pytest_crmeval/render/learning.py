"""The results of learning, for a terminal."""

from collections.abc import Iterator

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.report.costs import dollars
from pytest_crmeval.report.learning_curve import Learning, PassShare
from pytest_crmeval.report.report import Report, SubjectSummary
from pytest_crmeval.report.tables import aligned, equation

_BAR = 20


def lines(report: Report) -> Iterator[str]:
    """Yield a few lines for each subject that learned; nothing if there is none."""
    for summary in report.standings:
        if summary.learning and summary.learning.learning != "off":
            phrases = [_halves(summary.learning) or _share(summary.learning.stream), *_phrases(summary.learning)]
            yield f"learning of {summary.subject} ({summary.suite}): {'; '.join(phrases)}"
            yield from measured(summary)


def curve(learning: Learning) -> Iterator[str]:
    """Yield the success along the stream, window by window, and the figures of reviews, playbook, cost and time."""
    if learning.windows:
        rows = [("conversations", "passed", "rate", "95 %", "")]
        for window in learning.windows:
            bar = "█" * round((window.rate or 0.0) * _BAR)
            passed = f"{window.passed}/{window.scored}"
            place = f"{window.first}-{window.last}"
            rows.append((place, passed, _rate(window.rate), _interval(window), bar.ljust(_BAR)))
        yield from aligned(rows, names=1)
    if halves := _halves(learning):
        yield halves
    yield from _phrases(learning)
    if learning.seconds_to_learn or not learning.learnt_from:  # old trials have both times in one
        yield f"time: {learning.seconds_to_play:.1f} s playing, {learning.seconds_to_learn:.1f} s learning"


def playbook_lines(playbook: Playbook) -> Iterator[str]:
    """Yield the entries of a playbook, each with its record."""
    yield f"{len(playbook.practices)} entries after {playbook.played} conversations"
    for practice in playbook.practices:
        entry, gain = practice.entry, practice.gain
        yield f"{entry.id}  on {', '.join(map(repr, entry.cue))}: {entry.action}"
        counts = (
            f"matched in {practice.fired} of {practice.since} conversations, "
            f"adopted {practice.adoptions}, failed {practice.failures}"
        )
        reward = "" if gain is None else f", reward {gain:+.2f}"
        yield f"    {counts}{reward}; for {entry.scope or 'all'}: {entry.effect}"
    for name in ("student_notes", "teacher_notes"):
        if text := getattr(playbook, name):
            yield f"{name.replace('_', ' ')}: {' '.join(text.split())}"


def measured(summary: SubjectSummary) -> Iterator[str]:
    """Yield the pass rate of a learner on held-out cases, or how to measure it; nothing for other subjects."""
    learning = summary.learning
    if learning is None or learning.learning == "off":
        return
    after = " to ".join(map(str, dict.fromkeys([*learning.measured_after[:1], *learning.measured_after[-1:]])))
    early = f" (after {after} of {learning.learnt_from} conversations)" if learning.is_measured_early else ""
    if found := learning.comparison:
        yield (
            f"held out{early}: {_share(found.with_playbook)} with the frozen playbook, {_share(found.without)} without "
            f"({found.alone}); {found.only_frozen} passed only with it, {found.only_alone} only without, "
            f"p {equation(found.p_value)}"
        )
    elif learning.held_out:
        yield (
            f"held out{early}: {_share(learning.held_out)} with the frozen playbook; to compare {summary.subject} with "
            f"the student alone, add --crmeval-agent '{learning.student}'"
        )
    else:
        yield 'held out: no cases; to measure what was learned, add cases with "split": "test"'


def _halves(learning: Learning) -> str:
    return ", then ".join(f"{_share(half)} in {half.first}-{half.last}" for half in learning.halves)


def _phrases(learning: Learning) -> Iterator[str]:
    """Yield cautions about the stream, then the effect of reviews, the use of the playbook, and the cost."""
    if learning.late:
        yield f"{learning.late} played out of order, after they had errored"
    if learning.known:
        yield f"{learning.known} were already learned from in an earlier run, so passing them proves nothing"
    if learning.reviews:
        reviews = ", ".join(f"{name} {count}" for name, count in sorted(learning.reviews.items()))
        with_it, without = _share(learning.intervened), _share(learning.not_intervened)
        yield f"reviews: {reviews}; pass rate with intervention {with_it}, without {without}"
    counts = learning.counts
    if any(counts.values()):
        yield (
            f"playbook: {counts['added']} entries added, {counts['dropped']} dropped, {counts['refused']} rejected; "
            f"cues matched {counts['cue_hits']}, adopted {counts['adoptions']}"
        )
    each = learning.cost_per_success
    per = f", {dollars(each)} per success" if each is not None else ""
    yield f"cost: {dollars(learning.cost_to_play)} playing, {dollars(learning.cost_to_learn)} learning{per}"


def _share(share: PassShare) -> str:
    return f"{_rate(share.rate)} ({share.passed}/{share.scored}, {_interval(share)})" if share.scored else "none"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"


def _interval(share: PassShare) -> str:
    found = wilson(share.passed, share.scored)
    return f"{found[0]:.2f} to {found[1]:.2f}" if found else "-"
