"""`crmeval atlas`: what the learners of a run have learned."""

import argparse
import json
import sys

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.journal.reader import JournalError
from pytest_crmeval.render import learning as curves
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.learning import inherited_in, inherited_playbook, playbooks_of
from pytest_crmeval.report.sources import SourceError, source_of

HELP = """Show what the learning agents of a run have learned: success along the stream, and the playbook.

    crmeval atlas
    crmeval atlas nightly --json | jq '.learners[].playbook'

Exit status: 0; 2 if there is no such run, or no agent has learned anything in it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", default="latest", help="id or path of the run (default: the latest)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a run that is not in progress."""
    try:
        past = source_of(options.run, reports_of(options)).past
    except (NoRunError, SourceError, JournalError, reports.ReportError) as error:
        raise UsageError(error) from error
    report = reports.build({"id": options.run, "parts": past.parts}, past.trials, past.planned.values())
    inherited = inherited_in(past.parts)
    learned = playbooks_of(past.trials.values(), inherited)
    learners: list[JsonObject] = []
    lines: list[str] = []
    for summary in report.standings:
        if summary.learning:
            key = f"{summary.suite}/{summary.subject}"
            playbook = learned.get(key) or inherited_playbook(inherited, key) or Playbook()
            learners.append(
                {
                    "suite": summary.suite,
                    "subject": summary.subject,
                    "learning": summary.learning.to_dict(),
                    "playbook": playbook.to_dict(),
                }
            )
            lines.append(f"{summary.suite} × {summary.subject}")
            lines += [*curves.curve(summary.learning), *curves.playbook_lines(playbook), *curves.measured(summary)]
    if not learners:
        raise UsageError(f"{options.run}: no agent has learned anything in this run; try --crmeval-agent atlas")
    if options.json:
        document = {**headed("crmeval.atlas/1"), "run": report.run["id"], "learners": learners}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write("\n".join(lines) + "\n")
    return 0
