"""`crmeval atlas`: what the learners of a run have learnt."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping

from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.journal.writer import JournalError, Past
from pytest_crmeval.render import learning as curves
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.learning import inherited_in, playbooks_of, suited
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.sources import SourceError, source_of

HELP = """Show what the agents of a run that learn have learnt: success along the stream, and the playbook.

    crmeval atlas
    crmeval atlas nightly --json | jq '.learners[].playbook'
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", default="latest", help="id of the run, or path (default: the latest)")
    parser.add_argument("--json", action="store_true", help="all of it, for programs")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a run that nobody is playing now."""
    try:
        past = source_of(options.run, reports_of(options)).past
    except (NoRunError, SourceError, JournalError, reports.ReportError) as error:
        raise UsageError(error) from error
    report = reports.build({"id": options.run, "parts": past.parts}, past.trials, past.planned.values())
    playbooks = _playbooks(report, past)
    if not playbooks:
        raise UsageError(f"{options.run}: nobody has learnt anything in this run; try --crmeval-agent atlas")
    if options.json:
        sys.stdout.write(json.dumps(_document(report, playbooks), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write("\n".join(_lines(report, playbooks)) + "\n")
    return 0


def _playbooks(report: Report, past: Past) -> Mapping[str, Playbook]:
    """Return what each learner of a run knows, by its key; also what it was only given."""
    inherited = inherited_in(past.parts)
    learnt = playbooks_of(past.trials.values(), inherited)
    keys = (f"{standing.suite}/{standing.subject}" for standing in report.standings if standing.learning)
    return {key: learnt.get(key) or suited(inherited, key) or Playbook() for key in keys}


def _document(report: Report, playbooks: Mapping[str, Playbook]) -> JsonObject:
    return {
        "schema": "crmeval.atlas/1",
        "run": report.run["id"],
        "learners": [
            {
                "suite": standing.suite,
                "subject": standing.subject,
                "learning": standing.learning.to_dict(),
                "playbook": playbooks[f"{standing.suite}/{standing.subject}"].to_dict(),
            }
            for standing in report.standings
            if standing.learning
        ],
    }


def _lines(report: Report, playbooks: Mapping[str, Playbook]) -> Iterator[str]:
    for standing in report.standings:
        if standing.learning:
            yield f"{standing.suite} × {standing.subject}"
            yield from curves.curve(standing.learning)
            yield from curves.playbook_lines(playbooks[f"{standing.suite}/{standing.subject}"])
            yield from curves.measured(standing)
