"""`crmeval lint`: find cases that no agent can pass."""

import argparse
import json
import sys
from pathlib import Path

from pytest_crmeval.cli.terminal import UsageError, count, show_progress

HELP = """\
Check conversations before they are played: find cases that no agent can pass (a placeholder that is never filled, a
value that is never provided, ...) and suspicious ones, with counts and the first examples.

    crmeval lint evals/data/crm.jsonl
    crmeval lint data/*.jsonl --examples 10
    crmeval lint data/crm.jsonl --format json | jq '.kinds["unsaid-value"].examples'

Exit status: 0 if no case is invalid, 1 if one is, 2 if a file can't be opened or has no conversation.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="conversations, in JSON Lines")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    parser.add_argument("--examples", type=count, default=3, metavar="N", help="examples of each kind (default: 3)")


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found."""
    from pytest_crmeval.conversations.crm.tools import check
    from pytest_crmeval.conversations.lint.lint import Lint
    from pytest_crmeval.conversations.lint.output import document, lines
    from pytest_crmeval.domain.dataset_error import DatasetError

    try:
        found = Lint(check, options.examples).check_files(options.files, show_progress)
    except DatasetError as error:
        raise UsageError(error) from error
    finally:
        show_progress(0)
    if options.format == "json":
        sys.stdout.write(json.dumps(document(found), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(lines(found)) + "\n")
    return 1 if found.invalid else 0
