"""Usage and cost of models as text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.judgement import LabelAgreement
from pytest_crmeval.domain.usage import Service, Usage, money, total
from pytest_crmeval.report.judge_figures import JudgeFigures
from pytest_crmeval.report.report import Report, SubjectSummary

Row = Sequence[str]
UNKNOWN = "unknown"
NOTHING = "-"
NOTES = 10
"""How many notes are shown, the most frequent ones."""
LONGEST = 200


def columns(summaries: Sequence[SubjectSummary]) -> Row:
    """Return the columns of bills; none if no subject has a bill."""
    if all(summary.bill is None for summary in summaries):
        return ()
    replayed = ["replayed"] if any(summary.replayed for summary in summaries) else []
    return ("calls", "tokens in", "cached", "tokens out", "cost", *replayed)


def cells(summary: SubjectSummary, heads: Row) -> Row:
    """Return the cells of a subject's bill below ``heads``; dashes if it has none."""
    if summary.bill is None:
        return [NOTHING] * len(heads)
    usage = summary.bill.usage
    counts = [number(count) for count in (usage.calls, usage.input, usage.cached, usage.output)]
    return [*counts, dollars(summary.cost), number(summary.replayed)][: len(heads)]


def lines(report: Report) -> Iterator[str]:
    """Yield the total, unknown prices, the judge and the notes of a run; nothing without models."""
    bill = total(summary.bill for summary in report.standings)
    if bill:
        costs = total_cost([summary.cost for summary in report.standings])
        yield "; ".join([f"total: {calls_and_tokens(bill.usage)}, {costs}", *_spent(report)])
    elif report.run.get("spent") or _has_paid_more(report):
        yield from _spent(report)
    # A price does not help where tokens are not counted.
    missing = [each for each in report.standings if each.cost is None and each.bill and each.bill.usage.input]
    yield from unpriced(summary.subject for summary in missing if not summary.learning)
    for summary in missing:
        if summary.learning:
            yield from unpriced_roles(
                summary.subject, [role for role, bill in summary.learning.roles.items() if bill.cost is None]
            )
    for summary in report.standings:
        if summary.judge:
            yield f"judge of {summary.subject} ({summary.suite}): {_judged(summary.judge)}"
    if simulated := total(trial.simulator for trial in report.trials):
        yield f"simulated user: {calls_and_tokens(simulated.usage)}, {dollars(simulated.cost)}"
    yield from _notes(report.standings)


def details(suite: str, summaries: Sequence[SubjectSummary]) -> Iterator[Row]:
    """Yield the bills of a suite: a row per figure, a column per subject; nothing if there are no bills."""
    if all(summary.bill is None for summary in summaries):
        return
    yield (f"{suite} bill", *(summary.subject for summary in summaries))
    found = [dict(_figures(summary)) for summary in summaries]
    names = dict.fromkeys(name for figures in found for name in figures)
    for name in names:
        yield (name, *(figures.get(name, NOTHING) for figures in found))


def calls_and_tokens(usage: Usage) -> str:
    """Return calls and tokens on one line."""
    retries = f" ({number(usage.retries)} retried)" if usage.retries else ""
    cached = f" ({number(usage.cached)} cached)" if usage.cached else ""
    return f"{number(usage.calls)} calls{retries}, {number(usage.input)} tokens in{cached}, {number(usage.output)} out"


def number(count: int) -> str:
    """Return a count that may be large."""
    return f"{count:,}"


def dollars(cost: float | None) -> str:
    """Return an amount of money; "unknown" if a price is missing."""
    return UNKNOWN if cost is None else money(cost)


def total_cost(costs: Sequence[float | None]) -> str:
    """Return the sum of costs, or of those that are known."""
    known = sum(cost for cost in costs if cost is not None)
    return _at_least(known) or f"cost {UNKNOWN}" if None in costs else dollars(known)


def unpriced(subjects: Iterable[str]) -> Iterator[str]:
    """Yield which prices are unknown, and what to do; nothing if all are known."""
    if names := ", ".join(dict.fromkeys(subjects)):
        yield f"unknown price: {names}; add ?price=INPUT/OUTPUT, in dollars per million tokens"


def unpriced_roles(subject: str, roles: Sequence[str]) -> Iterator[str]:
    """Yield the same for a subject with several models, each with its own price."""
    if roles:
        yield (
            f"unknown price: {', '.join(roles)} of {subject}; add it to the model, in dollars per million tokens: "
            f"{roles[0]}=MODEL;price=INPUT/OUTPUT"
        )


def _figures(summary: SubjectSummary) -> Iterator[tuple[str, str]]:
    if summary.bill is None:
        return
    usage = summary.bill.usage
    if summary.models:
        yield "model", ", ".join(summary.models)
    yield "calls", number(usage.calls)
    yield "retries", number(usage.retries)
    yield "tokens in", number(usage.input)
    yield "cached", number(usage.cached)
    yield "written to the cache", number(usage.cache_written)
    yield "tokens out", number(usage.output)
    yield "reasoning", number(usage.reasoning)
    if summary.cache_hit_rate:
        yield "cache hits", f"{summary.cache_hit_rate:.0%}"
    if summary.service:
        yield from _service(summary, summary.service)
    yield "cost", dollars(summary.cost)
    yield "cost per trial", _per(summary, summary.cost_per_trial)
    yield "cost per pass", _per(summary, summary.cost_per_pass)
    tokens = summary.tokens_per_pass
    yield "tokens per pass", NOTHING if tokens is None else number(round(tokens))
    yield "replayed trials", number(summary.replayed)


def _service(summary: SubjectSummary, service: Service) -> Iterator[tuple[str, str]]:
    if summary.tokens_per_second is not None:
        yield "tokens per second", f"{summary.tokens_per_second:,.1f}"
    if summary.latency_first_token is not None:
        yield "first token after", f"{summary.latency_first_token:.2f} s"
    if service.thoughts_cost != 0:
        yield "cost of thoughts", dollars(service.thoughts_cost)
    if service.saved != 0:
        yield "saved by the cache", dollars(service.saved)


def _per(summary: SubjectSummary, cost: float | None) -> str:
    return NOTHING if cost is None and summary.cost is not None else dollars(cost)


def _at_least(known: float) -> str:
    """Return a lower bound of a sum; empty if nothing of it is known."""
    return f"more than {dollars(known)}" if known else ""


def _spent(report: Report) -> Iterator[str]:
    """Yield the money spent by the run, which includes judges and repeated trials, but not replayed ones."""
    spent = report.run.get("spent")
    if isinstance(spent, int | float):
        amount = _at_least(spent) or UNKNOWN if _has_paid_more(report) else dollars(spent)
        yield f"spent by this run: {amount}"


def _has_paid_more(report: Report) -> bool:
    """Whether any model was called at an unknown price; replayed calls were not paid again."""
    subjects = (bill for trial in report.trials for bill in (trial.bill, trial.simulator))
    judges = (trial.judgement.bill for trial in report.trials if trial.judgement)
    return any(bill.cost is None and not bill.replayed for bill in chain(subjects, judges) if bill)


def _judged(found: JudgeFigures) -> str:
    """Return what a judge did, how far it can be trusted, and its cost on one line."""
    cached = f" ({number(found.cached)} cached)" if found.cached else ""
    parts = [f"{number(found.graded)} graded{cached}, {number(found.not_graded)} not graded"]
    if found.statements:
        counts = f"{number(found.statements)} undecided statements, {number(found.false)} of them false"
        parts.append(f"{counts}, {number(found.failed)} replies failed")
    if found.agreement:
        parts.append(f"kappa {agreement_text(found.agreement)}")
    if found.restriction:
        parts.append(f"only reported, because {found.restriction}")
    parts.append(f"{number(found.bill.usage.calls)} calls, {dollars(found.bill.cost)}" if found.bill else "no calls")
    return "; ".join(parts)


def agreement_text(found: LabelAgreement) -> str:
    """Return the agreement of a judge with the labels: kappa, and what it is computed from."""
    false, true = found.found + found.missed, found.accepted + found.refused
    kappa = NOTHING if found.kappa is None else f"{found.kappa:.2f}"
    counts = f"{found.found} of {false} false ones found, {found.refused} of {true} true ones called false"
    return f"{kappa} on {found.statements} labelled statements ({counts})"


def _notes(summaries: Sequence[SubjectSummary]) -> Iterator[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for summary in summaries:
        # A note on several checkpoints is shown once.
        who = summary.suite if summary.checkpoint else summary.subject
        counts.update({(who, note): count for note, count in summary.notes.items()})
    notes = [(count, who, note) for (who, note), count in counts.items()]
    notes.sort(key=lambda note: (-note[0], *note[1:]))
    for count, subject, note in notes[:NOTES]:
        line = " ".join(note.split())
        shown = line if line.isprintable() else ascii(line)[1:-1]
        text = shown if len(shown) <= LONGEST else cut(shown, LONGEST - 1)
        yield f"note: {subject}: {text} ({number(count)} trial{'s' * (count != 1)})"
    if len(notes) > NOTES:
        yield f"... and {len(notes) - NOTES} more notes: see the JSON report"
