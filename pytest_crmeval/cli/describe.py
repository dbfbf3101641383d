"""`crmeval describe`: show what a set of conversations consists of."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.cli.terminal import UsageError, count, positive, show_progress
from pytest_crmeval.domain.formats import headed

if TYPE_CHECKING:  # msgspec is loaded only when files are read
    from pytest_crmeval.conversations.dataset.records import ConversationRecord

HELP = """\
Summarise the conversations of the given files: turns, complexity, categories, splits, tags, calls by tool, refusals,
wordings, seeded rows, names, and how many conversations differ only in names and numbers.

    crmeval describe evals/data/crm.jsonl
    crmeval describe data/*.jsonl --examples 20
    crmeval describe data/crm.jsonl --max-alike 3
    crmeval describe data/crm.jsonl --format json | jq '.tools | map_values(.main + .further)'

To check whether the cases can be passed: crmeval lint.

Exit status: 0; 1 if more conversations are alike than --max-alike allows; 2 if a file can't be read, or has no
conversation.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="conversations, in JSON Lines")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    parser.add_argument(
        "--examples",
        type=count,
        default=10,
        metavar="N",
        help="wordings, and ids of similar conversations, to list (default: 10)",
    )
    parser.add_argument(
        "--max-alike",
        type=positive,
        metavar="N",
        help="exit with 1 if more than N conversations differ only in names and numbers",
    )


def run(options: argparse.Namespace) -> int:
    """Describe the files."""
    from pytest_crmeval.conversations.describe.description import SCHEMA, describe
    from pytest_crmeval.conversations.describe.text import page
    from pytest_crmeval.domain.dataset_error import DatasetError

    try:
        found = describe(_records(options.files), show_progress)
    except DatasetError as error:
        raise UsageError(error) from error
    finally:
        show_progress(0)
    if options.format == "json":
        files = [str(path) for path in options.files]
        document = {**headed(SCHEMA), "files": files, **found.to_dict(examples=options.examples)}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(page(found, examples=options.examples)) + "\n")
    alike, allowed = found.likeness.most, options.max_alike
    if allowed is None or alike <= allowed:
        return 0
    sys.stderr.write(f"crmeval: {alike} conversations are alike, but --max-alike allows {allowed}\n")
    return 1


def _records(files: Sequence[Path]) -> "Iterator[ConversationRecord]":
    """Yield the conversations of the files; DatasetError if a file has none or an invalid line."""
    from pytest_crmeval.conversations.dataset.files import decode
    from pytest_crmeval.domain.dataset_error import DatasetError

    for path in files:
        empty = True
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        empty = False
                        yield decode(line, path, number)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error
        if empty:
            raise DatasetError(f"{path}: the file has no conversation; write one JSON object per line")
