"""`crmeval gate`: evaluate gates on a stored report, without a run."""

import argparse
import sys

from pytest_crmeval.cli.judging import (
    add_judging,
    gates_of,
    is_fine,
    judged,
    judgement,
    named_report,
    report_of_subject,
    run_baseline,
)
from pytest_crmeval.cli.places import NAMED, add_reports
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.render import summary
from pytest_crmeval.report.gate import Gate, is_absent

HELP = """\
Evaluate gates on a stored run: with other rules, against another baseline, or for one subject only.

    crmeval gate nightly --gate 'crm.pass_rate >= 0.60 with 95% confidence'
    crmeval gate reports/nightly.json --baseline git:main --gate 'crm.pass_rate not worse than baseline'
    crmeval gate nightly --subject gpt-4.1      # only this agent; the others may still be running

The gates are those of --gate, else of crmeval_gates in the project's pytest settings. The report is not changed.
The baseline is --baseline, else crmeval_baseline of the settings, else the one that the run was compared with.
Gates of plugins are evaluated only during a run; their results from the run are shown again, and count.

Exit status: 0 if all gates hold, the run is complete, and nothing in it errored or failed outside a trial; 1 if not;
2 if there is no such report, or no gate.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", default="latest", help=f"{NAMED} (default)")
    parser.add_argument(
        "--subject",
        metavar="NAME",
        help="evaluate only this agent or checkpoint; it must be complete, but the rest of the run may be incomplete",
    )
    add_reports(parser)
    add_judging(parser)


def run(options: argparse.Namespace) -> int:
    """Evaluate the gates, and print the results."""
    gates, others = gates_of(options), list[Gate]()
    if options.subject:
        whole, report = report_of_subject(options.run, options)
        if not options.gate:  # gates of the command line are always evaluated, so that a misspelt one is an error
            others = [gate for gate in gates if is_absent(gate, report) and not is_absent(gate, whole)]
    else:
        report = named_report(options.run, options)
    gates = [gate for gate in gates if gate not in others]
    if not gates:
        about = f" about {options.subject}" if others else ""
        raise UsageError(
            f"there is no gate{about}: add --gate RULE, or set crmeval_gates in the project's pytest settings"
        )
    baseline = run_baseline(report, options)
    report, idle = judged(report, gates, baseline, every=bool(options.gate))
    head = f"run {report.run['id']}, {report.run['started']}"
    lines = [head, *summary.table(report), *summary.missing(report), *judgement(report, idle)]
    lines += [f"gate {gate.text}: not evaluated (it is not about {options.subject})" for gate in others]
    if report.comparison and baseline is None and any(gate.baseline for gate in gates):
        lines.append(
            f"the baseline of the run ({report.comparison.baseline['id']}) no longer exists or has changed; "
            "name one with --baseline"
        )
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if is_fine(report, idle) else 1
