"""What models took, as a person wants to read it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.usage import Usage, money, total
from pytest_crmeval.report.judge_agreement import Agreement
from pytest_crmeval.report.report import Report, SubjectSummary

Row = Sequence[str]
UNKNOWN = "unknown"
NOTHING = "-"
NOTES = 10
"""How many notes are shown, the most frequent ones."""
LONGEST = 200
_CONFUSION = ("both_pass", "both_fail", "only_judge", "only_scorers")


def columns(summaries: Sequence[SubjectSummary]) -> Row:
    """Return the heads of what a table tells of bills; none when nobody has one."""
    if all(summary.bill is None for summary in summaries):
        return ()
    replayed = ["replayed"] if any(summary.replayed for summary in summaries) else []
    return ("calls", "tokens in", "cached", "tokens out", "cost", *replayed)


def cells(summary: SubjectSummary, heads: Row) -> Row:
    """Return what a table tells of one bill below ``heads``; who has none has dashes."""
    if summary.bill is None:
        return [NOTHING] * len(heads)
    usage = summary.bill.usage
    counts = [number(count) for count in (usage.calls, usage.input, usage.cached, usage.output)]
    told = [*counts, dollars(summary.cost), number(summary.replayed)]
    return told[: len(heads)]


def lines(report: Report) -> Iterator[str]:
    """Yield what a run took as a whole, whose price is unknown, the judge, and the notes; nothing without models."""
    bill = total(summary.bill for summary in report.standings)
    if bill:
        costs = together([summary.cost for summary in report.standings])
        yield "; ".join([f"total: {used(bill.usage)}, {costs}", *_spent(report)])
    elif report.run.get("spent") or _has_paid_more(report):
        yield from _spent(report)
    missing = [summary for summary in report.standings if _has_no_price(summary)]
    yield from unpriced(summary.subject for summary in missing if not summary.learning)
    for summary in missing:
        if summary.learning:
            yield from unpriced_roles(
                summary.subject, [role for role, bill in summary.learning.roles.items() if bill.cost is None]
            )
    for summary in report.standings:
        if summary.judge:
            is_alone = summary.metrics.correct is not None  # of questions: there is no scorer to agree with
            told = _graded(summary.judge) if is_alone else _judged(summary.judge)
            yield f"judge of {summary.subject} ({summary.suite}): {told}"
    yield from _notes(report.standings)


def details(suite: str, summaries: Sequence[SubjectSummary]) -> Iterator[Row]:
    """Yield all that is known of the bills of a suite: a row per figure, a column per subject; perhaps nothing."""
    if all(summary.bill is None for summary in summaries):
        return
    yield (f"{suite} bill", *(summary.subject for summary in summaries))
    found = [dict(_figures(summary)) for summary in summaries]
    names = dict.fromkeys(name for figures in found for name in figures)
    for name in names:
        yield (name, *(figures.get(name, NOTHING) for figures in found))


def used(usage: Usage) -> str:
    """Return calls and tokens on one line."""
    retries = f" ({number(usage.retries)} retried)" if usage.retries else ""
    cached = f" ({number(usage.cached)} cached)" if usage.cached else ""
    return f"{number(usage.calls)} calls{retries}, {number(usage.input)} tokens in{cached}, {number(usage.output)} out"


def number(count: int) -> str:
    """Return a count that may be large."""
    return f"{count:,}"


def dollars(cost: float | None) -> str:
    """Return a sum, as short as it can be read; unknown is not zero."""
    return UNKNOWN if cost is None else money(cost)


def together(costs: Sequence[float | None]) -> str:
    """Return what all cost together: as much of it as is known."""
    known = sum(cost for cost in costs if cost is not None)
    return _at_least(known) or f"cost {UNKNOWN}" if None in costs else dollars(known)


def unpriced(subjects: Iterable[str]) -> Iterator[str]:
    """Yield whose price nobody knows, and what to do; nothing if there is no such subject."""
    if names := ", ".join(dict.fromkeys(subjects)):
        yield f"nobody knows the price of {names}: give dollars for a million tokens, ?price=INPUT/OUTPUT"


def unpriced_roles(subject: str, roles: Sequence[str]) -> Iterator[str]:
    """Yield the same for a subject that is made of several models: each has a price of its own."""
    if roles:
        yield (
            f"nobody knows the price of {', '.join(roles)} of {subject}: give dollars for a million tokens with the "
            f"model, {roles[0]}=MODEL;price=INPUT/OUTPUT"
        )


def _has_no_price(summary: SubjectSummary) -> bool:
    """Whether a price is missing; where nobody counts tokens, none helps."""
    return summary.cost is None and bool(summary.bill and summary.bill.usage.input)


def _figures(summary: SubjectSummary) -> Iterator[tuple[str, str]]:
    if summary.bill is None:
        return
    usage = summary.bill.usage
    yield "calls", number(usage.calls)
    yield "retries", number(usage.retries)
    yield "tokens in", number(usage.input)
    yield "cached", number(usage.cached)
    yield "put into the cache", number(usage.cache_written)
    yield "tokens out", number(usage.output)
    yield "reasoning", number(usage.reasoning)
    yield "cost", dollars(summary.cost)
    yield "cost per trial", _per(summary, summary.cost_per_trial)
    yield "cost per pass", _per(summary, summary.cost_per_pass)
    tokens = summary.tokens_per_pass
    yield "tokens per pass", NOTHING if tokens is None else number(round(tokens))
    yield "replayed trials", number(summary.replayed)


def _per(summary: SubjectSummary, cost: float | None) -> str:
    return NOTHING if cost is None and summary.cost is not None else dollars(cost)


def _at_least(known: float) -> str:
    """Return a sum that is larger than what is known of it; nothing if nothing is."""
    return f"more than {dollars(known)}" if known else ""


def _spent(report: Report) -> Iterator[str]:
    """Yield what the run has paid, which is another sum: judges and repeated trials count, replayed ones don't."""
    spent = report.run.get("spent")
    if isinstance(spent, int | float):
        told = _at_least(spent) or UNKNOWN if _has_paid_more(report) else dollars(spent)
        yield f"spent by this run: {told}"


def _has_paid_more(report: Report) -> bool:
    """Whether a subject or a judge was asked at a price that nobody knows; what was replayed was not paid again."""
    subjects = (trial.bill for trial in report.trials)
    judges = (trial.judgement.bill for trial in report.trials if trial.judgement)
    return any(bill.cost is None and not bill.replayed for bill in chain(subjects, judges) if bill)


def _judged(found: Agreement) -> str:
    """Return on one line what a judge did, whether it can be believed, and what it took."""
    confusion = [f"{name.replace('_', ' ')} {number(getattr(found, name))}" for name in _CONFUSION]
    rates = [f"{name} {_rate(getattr(found, name))}" for name in ("agreement", "kappa", "spread")]
    counts, cost = _graded(found).split("; ")
    return "; ".join([counts, ", ".join(rates), ", ".join(confusion), cost])


def _graded(found: Agreement) -> str:
    """Return how many trials a judge has graded, and what it took."""
    cached = f" ({number(found.cached)} cached)" if found.cached else ""
    counts = f"{number(found.graded)} graded{cached}, {number(found.not_graded)} not graded"
    cost = f"{number(found.bill.usage.calls)} calls, {dollars(found.bill.cost)}" if found.bill else "nobody was asked"
    return f"{counts}; {cost}"


def _rate(rate: float | None) -> str:
    return NOTHING if rate is None else f"{rate:.3f}"


def _notes(summaries: Sequence[SubjectSummary]) -> Iterator[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for summary in summaries:
        # What concerns several checkpoints is said once.
        who = summary.suite if summary.checkpoint else summary.subject
        counts.update({(who, note): count for note, count in summary.notes.items()})
    notes = [(count, who, note) for (who, note), count in counts.items()]
    notes.sort(key=lambda note: (-note[0], *note[1:]))
    for count, subject, note in notes[:NOTES]:
        yield f"note: {subject}: {_line(note)} ({number(count)} trial{'s' * (count != 1)})"
    if len(notes) > NOTES:
        yield f"... and {len(notes) - NOTES} more notes: see the JSON report"


def _line(note: str) -> str:
    """Return a note on one line, and no book."""
    line = " ".join(note.split())
    shown = line if line.isprintable() else ascii(line)[1:-1]
    return shown if len(shown) <= LONGEST else cut(shown, LONGEST - 1)
