"""The contents of the page, from top to bottom, except the list of trials."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.usage import total
from pytest_crmeval.journal.annotations import NO_ANNOTATIONS, Annotations
from pytest_crmeval.journal.shard import listed, objects
from pytest_crmeval.render.page.baseline import BaselineView, baseline_of
from pytest_crmeval.render.page.curves import ungradable
from pytest_crmeval.render.page.gates import GateView
from pytest_crmeval.render.page.rows import is_measured
from pytest_crmeval.render.page.suites import SuiteView, suites_of
from pytest_crmeval.render.page.words import NOTHING, amount, moment, seconds, words
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.compare import commit_label
from pytest_crmeval.report.outcome import RunOutcome, outcome_of
from pytest_crmeval.report.people import PeopleAgreement, agreements_of
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.scope import left_out_of

_COUNTS = (("passed", "good"), ("failed", "bad"), ("errored", "warn"), ("invalid", "warn"), ("not_run", "warn"))
_LATER = ("id", "started", "ended", "parts", "spent", "red")
"""Facts of a run that are shown elsewhere, or in another form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A number at the top of the page."""

    name: str
    value: str
    mood: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """The page, without its list of trials."""

    run: str
    outcome: RunOutcome
    facts: Sequence[tuple[str, str]]
    tiles: Sequence[Tile]
    notes: Sequence[str]
    gates: Sequence[GateView]
    baseline: BaselineView | None
    suites: Sequence[SuiteView]
    people: Sequence[PeopleAgreement]
    origin: Sequence[tuple[str, str]]
    version: str


def view_of(report: Report, annotations: Annotations = NO_ANNOTATIONS) -> PageView:
    """Return the view of a run, with what people say about its trials."""
    versions = report.run.get("versions")
    return PageView(
        run=str(report.run["id"]),
        outcome=outcome_of(report),
        facts=list(_facts(report)),
        tiles=list(_tiles(report)),
        notes=list(_notes(report)),
        gates=[GateView(found=ruling) for ruling in sorted(report.rulings, key=lambda ruling: ruling.holds)],
        baseline=baseline_of(report.comparison) if report.comparison else None,
        suites=suites_of(report),
        people=agreements_of(report.trials, annotations),
        origin=list(_origin(report.run)),
        version=str(versions.get("pytest-crmeval", "")) if isinstance(versions, Mapping) else "",
    )


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the facts below the name of the run."""
    yield "started", moment(report.run["started"])
    if commit := commit_label(report):
        yield "commit", commit


def _tiles(report: Report) -> Iterator[Tile]:
    """Yield the counts of all suites together, and the cost and time of the run."""
    yield Tile(name="Planned", value=f"{sum(summary.planned for summary in report.standings):,}")
    measured = sum(map(is_measured, report.trials))
    for name, mood in _COUNTS:
        count = sum(getattr(summary, name) for summary in report.standings) - (measured if name == "passed" else 0)
        if count or name in {"passed", "failed", "errored"}:
            yield Tile(name=words(name).capitalize(), value=f"{count:,}", mood=mood if count else "")
    if measured:
        yield Tile(name="Measured", value=f"{measured:,}")
    if bill := total(summary.bill for summary in report.standings):
        yield Tile(name="Cost", value=bills.total_cost([summary.cost for summary in report.standings]))
        yield Tile(name="Tokens", value=amount(bill.usage.input + bill.usage.output))
    yield Tile(name="Time of all trials", value=seconds(sum(summary.seconds for summary in report.standings)))


def _notes(report: Report) -> Iterator[str]:
    """Yield what a reader must know to interpret the numbers."""
    if report.missing:
        yield f"Partial evaluation: shard {listed(report.missing)} is missing."
    for suite, reasons in left_out_of(report.run).items():
        for why, count in reasons.items():
            yield f"{count:,} case{'s' * (count != 1)} of {suite} skipped: {why}."
    for summary in report.standings:
        yield from ungradable(summary.to_dict())
    for line in bills.lines(report):
        if line.startswith(("note: ", "unknown price", "... and")):
            yield f"{line[0].upper()}{line[1:]}"


def _origin(run: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield everything that is known about the run."""
    for name in ("id", "started", "ended", "spent"):
        if name in run:
            yield name, _fact(run[name])
    for number, part in enumerate(objects(run.get("parts")), start=1):
        yield (
            f"part {number}",
            "\n".join(f"{name}: {_fact(value)}" for name, value in part.items() if value not in (None, [], {})),
        )
    yield from ((words(name), _fact(value)) for name, value in run.items() if name not in _LATER)


def _fact(value: Json) -> str:
    """Return a fact on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(item)}" for name, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_fact, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None else str(value)
