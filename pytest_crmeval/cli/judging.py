"""Gates and baselines of commands that evaluate a stored run."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_crmeval.agents import NAMED_AGENTS
from pytest_crmeval.cli.places import lines_of, project, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.render import summary
from pytest_crmeval.report.baselines import Baseline, BaselineError, load
from pytest_crmeval.report.gate import Gate, GateSyntaxError, applicable_gates, has_unjudged_oracle
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.scope import awaits_plugins

CHANGES = 5
"""How many cases of a list of changes are shown."""


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Declare the gates and the baseline."""
    parser.add_argument("--gate", action="append", metavar="RULE", help="rule that the run must meet; repeatable")
    parser.add_argument(
        "--baseline",
        metavar="FILE|RUN|git:REF",
        help="report to compare with: a file, a run, or git:REF[:PATH] (default: the project's crmeval_baseline)",
    )


def gates_of(options: argparse.Namespace) -> list[Gate]:
    """Return the gates of the command line, else those of the project."""
    if getattr(options, "no_gates", False):
        return []
    where, lines = ("--gate", options.gate) if options.gate else ("crmeval_gates", lines_of("crmeval_gates"))
    try:
        return [Gate.parse(line) for line in lines]
    except GateSyntaxError as error:
        raise UsageError(f"{where}: {error}") from error


def baseline_of(options: argparse.Namespace) -> Baseline | None:
    """Return the baseline of the command line, else the project's if it exists, else None."""
    root, settings = project()
    kept = str(settings.get("crmeval_baseline", ""))
    if not options.baseline and not (kept and (kept.startswith("git:") or (root / kept).exists())):
        return None
    given, here = (options.baseline, None) if options.baseline else (kept, root)
    try:
        return load(given, reports_of(options), root, here=here, path=kept)
    except BaselineError as error:
        raise UsageError(f"baseline {error}") from error


def run_baseline(report: Report, options: argparse.Namespace) -> Baseline | None:
    """Return the baseline of ``options``, else the one that the run was compared with, if it still exists unchanged."""
    if (found := baseline_of(options)) or report.comparison is None:
        return found
    (root, settings), before = project(), report.comparison.baseline
    for here in (None, root):
        try:
            kept = str(settings.get("crmeval_baseline", ""))
            found = load(str(before.get("source", "")), reports_of(options), root, here=here, path=kept)
        except BaselineError:
            continue
        if all(found.report.run.get(name) == before.get(name) for name in ("id", "started")):
            return found
    return None


def report_of_subject(given: str, options: argparse.Namespace) -> tuple[Report, Report]:
    """Return the report of a run, and the part of it about ``options.subject``.

    It is made from the journal, if there is one, so it also works for a run that is in progress or incomplete.
    """
    report = _journalled(given, options) or named_report(given, options)
    name = options.subject
    summaries = [each for each in report.standings if each.subject == name]
    if not summaries:
        there = ", ".join(dict.fromkeys(each.subject for each in report.standings))
        raise UsageError(f"--subject {name!r}: no such subject in this run; subjects: {there}")
    trials = [trial for trial in report.trials if trial.planned.subject == name]
    keys, red = {trial.planned.key for trial in trials}, report.run.get("red")
    compared = report.comparison
    return report, replace(
        report,
        run={**report.run, "red": [key for key in red if key in keys] if isinstance(red, list) else []},
        standings=summaries,
        trials=trials,
        rulings=tuple(ruling for ruling in report.rulings if ruling.subject == name),
        comparison=compared
        and replace(compared, contrasts=tuple(each for each in compared.contrasts if each.subject == name)),
    )


def _journalled(given: str, options: argparse.Namespace) -> Report | None:
    """Return a report of what is in the journal of a run so far; None if there is no such run or no journal."""
    from pytest_crmeval.journal import reader as journal
    from pytest_crmeval.journal.places import NoRunError, place_of, report_beside
    from pytest_crmeval.report import files as reports

    try:
        place = place_of(given, reports_of(options))
        past = journal.read(place) if place.suffix == ".jsonl" else journal.RunRecord()
    except NoRunError:
        return None
    except journal.JournalError as error:
        raise UsageError(error) from error
    if not past.parts:
        return None
    facts: JsonObject = {
        "id": place.resolve().parent.name,
        "started": past.parts[0]["started"],
        "parts": past.parts,
        "red": sorted(past.red),
    }
    report = reports.build(facts, past.trials, past.planned.values())
    if (beside := report_beside(place)) is None:
        return report
    stored = named_report(str(beside), options)
    return replace(report, rulings=stored.rulings, comparison=stored.comparison)


def named_report(given: str, options: argparse.Namespace) -> Report:
    """Return the report of a run: by its id, by a path, or by ``git:REF:PATH``."""
    root, settings = project()
    try:
        return load(given, reports_of(options), root, path=str(settings.get("crmeval_baseline", ""))).report
    except BaselineError as error:
        raise UsageError(error) from error


def judged(
    report: Report, gates: Sequence[Gate], baseline: Baseline | None, *, every: bool = False
) -> tuple[Report, Sequence[Gate]]:
    """Return the report with its comparison and what the gates found, and the gates that say nothing about it.

    ``every``: gates about suites that are not in the report are evaluated as well, and breached. Rulings of plugins are
    kept: only a run can ask plugins.
    """
    from pytest_crmeval.report.gating import judge

    known = {*NAMED_AGENTS, *(line.partition("=")[0].strip() for line in lines_of("crmeval_agents"))}
    concerning, idle = (gates, ()) if every else applicable_gates(gates, report, known)
    if baseline:
        from pytest_crmeval.report.compare import compare

        report = replace(report, comparison=compare(report, baseline.report, source=baseline.source))
    rulings = judge(concerning, report, baseline.report if baseline else None)
    kept = [ruling for ruling in report.rulings if ruling.of_plugin]
    return replace(report, rulings=(*rulings, *kept)), idle


def judgement(report: Report, idle: Sequence[Gate]) -> Iterator[str]:
    """Yield what changed, and what the gates found."""
    if report.comparison:
        from pytest_crmeval.render import comparison as contrasts

        yield from contrasts.lines(report.comparison, most=CHANGES)
    yield from summary.gates(report.rulings)
    if not report.complete:
        yield "the run is incomplete: no gate can pass"
    yield from summary.idle(idle)
    resume = f"pytest --crmeval-run {report.run['id']}"
    if awaits_plugins(report.run):
        yield f"gates of plugins were not evaluated; evaluate them with: {resume}"
    elif any(ruling.of_plugin for ruling in report.rulings):
        yield f"gates of plugins are those stored by the run; evaluate them again with: {resume}"


def is_fine(report: Report, idle: Sequence[Gate], *, gated: bool = True) -> bool:
    """Whether a run is complete, nothing errored or failed outside a trial, and all gates hold.

    Without a gate, no case may have failed. A plugin's gate that was not evaluated does not hold if ``gated``.
    """
    errored = any(each.errored for each in report.standings)
    whole = report.complete and report.trials and not errored and not report.run.get("red")
    forgiven = (
        bool(report.rulings) or not idle
    )  # a shard forgives failures because a gate decides later, so there must be a gate
    failed = any(each.failed for each in report.standings)
    holds = all(ruling.holds for ruling in report.rulings) and not (gated and awaits_plugins(report.run))
    if report.rulings and has_unjudged_oracle(report):
        return False
    return bool(whole) and holds and (forgiven or not failed)
