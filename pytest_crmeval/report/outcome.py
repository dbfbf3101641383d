"""How a run ended, in a word."""

from dataclasses import dataclass

from pytest_crmeval.journal.shard import listed
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.scope import awaits_plugins


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How the run ended, in a word."""

    mood: str
    sign: str
    text: str


def outcome_of(report: Report) -> RunOutcome:
    """Return how a run ended, by what matters most."""
    breached = [ruling for ruling in report.rulings if not ruling.holds]
    missing = sum(summary.not_run for summary in report.standings)
    if not report.complete:
        lacks = f"{missing:,} not run" if missing else f"shard {listed(report.missing)} is missing"
        return RunOutcome(mood="bad" if report.rulings else "warn", sign="✗", text=f"Incomplete: {lacks}")
    if breached:
        return RunOutcome(mood="bad", sign="✗", text=f"{len(breached)} of {_gates(len(report.rulings))} breached")
    if errored := sum(summary.errored for summary in report.standings):
        return RunOutcome(mood="warn", sign="!", text=f"{errored:,} errored: infrastructure failed")
    if why := _not_green(report):
        return RunOutcome(mood="warn", sign="!", text=why)
    if report.rulings:
        return RunOutcome(
            mood="good", sign="✓", text=f"{_gates(len(report.rulings))} hold{'s' * (len(report.rulings) == 1)}"
        )
    return RunOutcome(mood="plain", sign="·", text="Complete; no gate was evaluated")


def _not_green(report: Report) -> str:
    """Return why a run with no breached gate is still not good; empty if it is."""
    red = report.run.get("red")
    if isinstance(red, list | tuple) and red:
        return f"{len(red):,} test{'s' * (len(red) != 1)} failed outside a trial"
    return "Gates of plugins were not evaluated" if awaits_plugins(report.run) else ""


def _gates(count: int) -> str:
    return f"{count} gate{'s' * (count != 1)}"
