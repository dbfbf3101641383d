"""`crmeval merge`: join the runs of shards, and evaluate gates on the result."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_crmeval.cli.judging import add_judging, baseline_of, gates_of, is_fine, judged, judgement
from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.journal.ids import problem_of
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.render import summary
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.merge_checks import KINDS, MergeConflict, differences, merge_conflicts
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.sources import SourceError, sources

HELP = f"""\
Join several runs into one: the shards of an evaluation (pytest --crmeval-shard 2/4), or runs of several agents. A run
is named by its id in the reports folder, or by a path to its folder, its journal or its report. A folder of runs or a
quoted pattern stands for several.

    crmeval merge nightly-1 nightly-2 nightly-3 nightly-4 -o nightly
    crmeval merge 'nightly-*' -o nightly
    crmeval merge artifacts/ -o nightly --gate 'crm.pass_rate >= 0.60'

Runs that conflict are refused. --allow KIND joins them anyway: later runs win, and the report says so.

{chr(10).join(f"    {kind:9} {what}" for kind, what in KINDS.items())}

Runs with different versions of pytest-crmeval, prompts, settings or code of an agent are merged with a warning.

The gates are those of --gate, which are always evaluated, else of crmeval_gates in the project's pytest settings.
Gates of plugins are evaluated only by a run: pytest --crmeval-run nightly.

Exit status: 0 if the merged run is complete, nothing in it errored or failed outside a trial, and all gates hold;
1 if not, or if a plugin's gate was not evaluated (the run is merged anyway); 2 if nothing was merged.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="id or path of a run, a folder of runs, or a pattern")
    parser.add_argument("-o", "--output", required=True, metavar="ID", help="id of the merged run")
    add_reports(parser)
    parser.add_argument(
        "--allow", action="append", choices=tuple(KINDS), default=[], help="allow this kind of conflict; repeatable"
    )
    add_judging(parser)
    parser.add_argument("--no-gates", action="store_true", help="evaluate no gates")


def run(options: argparse.Namespace) -> int:
    """Join the runs, show the result, and evaluate the gates."""
    gates, folder, baseline = gates_of(options), reports_of(options), baseline_of(options)
    _check_output(options.output, folder)
    try:
        found = sources(options.runs, folder)
    except (NoRunError, SourceError, journal.JournalError, reports.ReportError) as error:
        raise UsageError(error) from error
    conflicts = _allowed(list(merge_conflicts(found)), options.allow)
    from pytest_crmeval.report.merge import merge

    try:
        merged = merge(found, folder, options.output, allowed=conflicts)
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror}; nothing was merged") from error
    report, idle = judged(merged, gates, baseline, every=bool(options.gate))
    path = folder / f"{options.output}.json"
    if report.rulings or report.comparison:
        try:
            reports.save(report, path)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; the run is merged, but its report has no gates") from error
    lines = [
        *summary.table(report),
        *summary.answers(report),
        *bills.lines(report),
        *summary.invalid(report),
        *(f"allowed: {text}" for text in conflicts),
        *summary.missing(report),
        *summary.omissions(report),
        *(f"warning: {text}" for text in differences(found)),
        *judgement(report, idle),
        f"report: {path}",
        _page(report, folder),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if is_fine(report, idle, gated=not options.no_gates) else 1


def _check_output(run: str, folder: Path) -> None:
    if why := problem_of(run):
        raise UsageError(f"-o {run!r}: {why}")
    for path in (folder / run, folder / f"{run}.json"):
        if path.exists() or path.is_symlink():
            raise UsageError(f"-o {run}: {path} already exists; choose another id, or move it away")


def _allowed(conflicts: Sequence[MergeConflict], allowed: Sequence[str]) -> list[str]:
    """Return the conflicts of allowed kinds; UsageError if there are others."""
    refused = [conflict for conflict in conflicts if conflict.kind not in allowed]
    if refused:
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        options = " ".join(f"--allow {kind}" for kind in dict.fromkeys(conflict.kind for conflict in refused))
        raise UsageError(f"these runs conflict: {refused[0].text}{more}; to merge them anyway: {options}")
    return [f"{conflict.kind}: {conflict.text}" for conflict in conflicts]


def _page(report: Report, folder: Path) -> str:
    """Write the page of the merged run; return where it is, or why it could not be written."""
    from pytest_crmeval.render import page

    try:
        return f"page:   {page.write(report, folder)}"
    except OSError as error:
        return f"the page could not be written: {error}"
