"""`crmeval gate`: judge a stored report again, without a run."""

import argparse
import sys

from pytest_crmeval.cli.judging import add_judging, baseline_of, gates_of, is_fine, judged, judgement, named_report
from pytest_crmeval.cli.places import add_reports
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.runs import summary

HELP = """\
Hold gates against a report that is there already: other rules, another baseline, no run.

    crmeval gate nightly --gate 'crm.pass_rate >= 0.60 with 95% confidence'
    crmeval gate reports/nightly.json --baseline git:main --gate 'crm.pass_rate not worse than baseline'

Gates are those of the command line, else crmeval_gates of the project's pytest settings; the report is not changed.
What gates of plugins found when the run was played is told again, and counts; only a run asks them.

Exit status: 0 if all gates hold, the run is complete, and nothing in it errored or is red for other reasons; 1 if not;
2 if there is no such report, or no gate.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "run", nargs="?", default="latest", help="id of the run, or path of its report (default: latest)"
    )
    add_reports(parser)
    add_judging(parser)


def run(options: argparse.Namespace) -> int:
    """Judge, and say what was found."""
    gates = gates_of(options)
    if not gates:
        raise UsageError("there is no gate: give --gate RULE, or crmeval_gates in the project's pytest settings")
    report, idle = judged(named_report(options.run, options), gates, baseline_of(options), every=bool(options.gate))
    head = f"run {report.run['id']}, {report.run['started']}"
    lines = [head, *summary.table(report), *summary.missing(report), *judgement(report, idle)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if is_fine(report, idle) else 1
