"""What has come of learning, as a person wants to read it in a terminal."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.report.costs import dollars
from pytest_crmeval.report.learning_curve import Learning, PlaybookEffect, Share, Window
from pytest_crmeval.report.report import Report, SubjectSummary
from pytest_crmeval.report.tables import Row, aligned, equation

_BAR = 20


def lines(report: Report) -> Iterator[str]:
    """Yield a few lines for each subject that has learnt; nothing if nobody has."""
    for summary in report.standings:
        if summary.learning and summary.learning.learning != "off":
            yield f"learning of {summary.subject} ({summary.suite}): {'; '.join(_told(summary.learning))}"
            yield from measured(summary)


def curve(learning: Learning) -> Iterator[str]:
    """Yield how success went along the stream, window by window, and what became of reviews and the playbook."""
    if learning.windows:
        yield from aligned(list(_rows(learning.windows)), names=1)
    told = (_halves, _late, _known, _interventions, _used, _paid, _timed)
    yield from filter(None, (tell(learning) for tell in told))


def playbook_lines(playbook: Playbook) -> Iterator[str]:
    """Yield what a playbook says, and how each entry has done."""
    yield f"{len(playbook.practices)} entries after {playbook.played} conversations"
    for practice in playbook.practices:
        entry, gain = practice.entry, practice.gain
        yield f"{entry.id}  on {', '.join(map(repr, entry.cue))}: {entry.action}"
        told = (
            f"heard in {practice.fired} of {practice.since}, adopted {practice.adoptions}, refused {practice.failures}"
        )
        yield f"    {told}{'' if gain is None else f', reward {gain:+.2f}'}; for {entry.scope or 'all'}: {entry.effect}"
    for name in ("student_notes", "teacher_notes"):
        if text := getattr(playbook, name):
            yield f"{name.replace('_', ' ')}: {' '.join(text.split())}"


def _rows(windows: Sequence[Window]) -> Iterator[Row]:
    yield ("conversations", "passed", "rate", "95 %", "")
    for window in windows:
        rate = window.rate
        bar = "" if rate is None else "█" * round(rate * _BAR)
        shown = f"{window.passed}/{window.scored}"
        yield (f"{window.first}-{window.last}", shown, _rate(rate), _interval(window), bar.ljust(_BAR))


def _told(learning: Learning) -> Iterator[str]:
    yield _halves(learning) or _share(learning.stream)
    yield from filter(None, (tell(learning) for tell in (_late, _known, _interventions, _used, _paid)))


def _halves(learning: Learning) -> str:
    return ", then ".join(f"{_share(half)} in {half.first}-{half.last}" for half in learning.halves)


def _late(learning: Learning) -> str:
    """Say what was not played in its place."""
    return f"{learning.late} played later than in their order, after they had errored" if learning.late else ""


def _known(learning: Learning) -> str:
    """Say what was met before."""
    return (
        f"{learning.known} were learnt from before, in another run: that they pass is no news" if learning.known else ""
    )


def _interventions(learning: Learning) -> str:
    if not learning.reviews:
        return ""
    reviews = ", ".join(f"{name} {count}" for name, count in sorted(learning.reviews.items()))
    effect = f"passed {_share(learning.intervened)} where he stepped in, {_share(learning.not_intervened)} where not"
    return f"reviews: {reviews}; {effect}"


def _used(learning: Learning) -> str:
    counts = learning.counts
    if not any(counts.values()):
        return ""
    return (
        f"playbook: {counts['added']} added, {counts['dropped']} dropped, {counts['refused']} refused, "
        f"{counts['cue_hits']} cue hits, {counts['adoptions']} adopted"
    )


def _paid(learning: Learning) -> str:
    to_play, to_learn, each = learning.cost_to_play, learning.cost_to_learn, learning.cost_per_success
    per = f", {dollars(each)} per success" if each is not None else ""
    return f"cost: {dollars(to_play)} to play, {dollars(to_learn)} to learn{per}"


def _timed(learning: Learning) -> str:
    """Say how long it took; nothing if nobody knows: trials of before learning was timed have both in one."""
    if learning.learnt_from and not learning.seconds_to_learn:
        return ""
    return f"time: {learning.seconds_to_play:.1f} s to play, {learning.seconds_to_learn:.1f} s to learn"


def measured(summary: SubjectSummary) -> Iterator[str]:
    """Yield the honest figure of a learner, or what is missing for it; nothing for others."""
    learning = summary.learning
    if learning is None or learning.learning == "off":
        return
    after = f" (after {_numbers(learning.measured_after)} of {learning.learnt_from} conversations)"
    held_out = f"held out{after if learning.is_measured_early else ''}"
    if learning.comparison:
        yield f"{held_out}: {_compared(learning.comparison)}"
    elif learning.held_out:
        yield (
            f"{held_out}: {_share(learning.held_out)} with the frozen playbook; to hold the student alone against "
            f"{summary.subject}, add --crmeval-agent '{learning.student}'"
        )
    else:
        yield 'held out: nothing was played; what was learnt is measured with cases of "split": "test"'


def _numbers(found: Sequence[int]) -> str:
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else "".join(map(str, found))


def _compared(found: PlaybookEffect) -> str:
    odd = f"{found.only_frozen} only with it, {found.only_alone} only without"
    return (
        f"{_share(found.with_playbook)} with the frozen playbook, {_share(found.without)} without ({found.alone}); "
        f"{odd}, p {equation(found.p_value)}"
    )


def _share(share: Share) -> str:
    return f"{_rate(share.rate)} ({share.passed}/{share.scored}, {_interval(share)})" if share.scored else "none"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"


def _interval(share: Share) -> str:
    found = wilson(share.passed, share.scored)
    return f"{found[0]:.2f} to {found[1]:.2f}" if found else "-"
