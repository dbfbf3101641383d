"""`crmeval merge`: join the runs of shards, and judge the whole."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crmeval.cli.judging import add_judging, baseline_of, gates_of, is_fine, judged, judgement
from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal import writer as journal
from pytest_crmeval.journal.ids import problem_of
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.render import summary
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.merge_checks import KINDS, MergeConflict, differences, misfits
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.sources import Source, SourceError, sources

HELP = f"""\
Join runs to one, as if it had been one: the shards of an evaluation (pytest --crmeval-shard 2/4), or runs of several
agents. A run is named by its id in the reports folder, or by a path to its folder, its journal or its report.

    crmeval merge nightly-1 nightly-2 nightly-3 nightly-4 -o nightly
    crmeval merge artifacts/*/reports/shard-* -o nightly --gate 'crm.pass_rate >= 0.60'

Runs that don't fit together are refused. --allow KIND takes them all the same: later runs win, and the report says so.

{chr(10).join(f"    {kind:9} {what}" for kind, what in KINDS.items())}

Runs with different versions of pytest-crmeval or of an agent's code are merged with a warning.

Gates are those of the command line, each of which is judged, else crmeval_gates of the project's pytest settings.
Gates of plugins are asked by a run only: pytest --crmeval-run nightly.

Exit status: 0 if the merged run is complete, nothing in it errored or is red for other reasons, and all gates hold;
1 if not, a missing shard or a plugin's gate that was not asked included (the run is merged all the same); 2 if nothing
was merged.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="id of a run, or path of its folder, journal or report")
    parser.add_argument("-o", "--output", required=True, metavar="ID", help="id of the run that they are together")
    add_reports(parser)
    parser.add_argument(
        "--allow", action="append", choices=tuple(KINDS), default=[], help="take this misfit; repeatable"
    )
    add_judging(parser)
    parser.add_argument("--no-gates", action="store_true", help="judge no gates")


def run(options: argparse.Namespace) -> int:
    """Join the runs, show the whole, and say whether it is good enough."""
    gates, folder, baseline = gates_of(options), reports_of(options), baseline_of(options)
    _check_output(options.output, folder)
    try:
        found = sources(options.runs, folder)
    except (NoRunError, SourceError, journal.JournalError, reports.ReportError) as error:
        raise UsageError(error) from error
    odd = _taken(list(misfits(found)), options.allow)
    merged = _merged(found, folder, options.output, odd)
    report, idle = judged(merged, gates, baseline, every=bool(options.gate))
    path = folder / f"{options.output}.json"
    if report.rulings or report.comparison:
        _keep(report, path)
    ending = [*judgement(report, idle), f"report: {path}", _page(report, folder)]
    warnings = [f"warning: {text}" for text in differences(found)]
    sys.stdout.write("\n".join([*_told(report, odd), *warnings, *ending]) + "\n")
    return 0 if is_fine(report, idle, gated=not options.no_gates) else 1


def _check_output(run: str, folder: Path) -> None:
    if why := problem_of(run):
        raise UsageError(f"-o {run!r}: {why}")
    for path in (folder / run, folder / f"{run}.json"):
        if path.exists() or path.is_symlink():
            raise UsageError(f"-o {run}: {path} is there already; choose another id, or move it away")


def _taken(odd: Sequence[MergeConflict], allowed: Sequence[str]) -> list[str]:
    """Return what does not fit together and is to be taken all the same; UsageError about the rest."""
    refused = [misfit for misfit in odd if misfit.kind not in allowed]
    if refused:
        first = refused[0]
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        options = " ".join(f"--allow {kind}" for kind in dict.fromkeys(misfit.kind for misfit in refused))
        raise UsageError(f"these runs don't fit together: {first.text}{more}; {options} joins them all the same")
    return [f"{misfit.kind}: {misfit.text}" for misfit in odd]


def _merged(found: Sequence[Source], folder: Path, run: str, odd: Sequence[str]) -> Report:
    from pytest_crmeval.report.merge import merge

    try:
        return merge(found, folder, run, allowed=odd)
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror}; nothing was merged") from error


def _page(report: Report, folder: Path) -> str:
    """Write the page of what was merged; return where it is, or why it is not there: the report is the record."""
    from pytest_crmeval.render import page

    try:
        return f"page:   {page.write(report, folder)}"
    except OSError as error:
        return f"the page could not be written: {error}"


def _keep(report: Report, path: Path) -> None:
    """Write the report again, with what was found."""
    try:
        reports.save(report, path)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}; the run is merged, and its report does not tell of gates"
        ) from error


def _told(report: Report, odd: Sequence[str]) -> Iterator[str]:
    yield from summary.table(report)
    yield from summary.answers(report)
    yield from bills.lines(report)
    yield from summary.invalid(report)
    yield from (f"allowed: {text}" for text in odd)
    yield from summary.missing(report)
    yield from summary.omissions(report)
