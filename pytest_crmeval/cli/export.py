"""`crmeval export`: a run as tables, or as logs for Inspect."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.journal.reader import JournalError
from pytest_crmeval.journal.transcripts import TranscriptError
from pytest_crmeval.render.export.files import WRITERS, ExportError
from pytest_crmeval.render.export.run import LoadedRun, load_run
from pytest_crmeval.render.export.tables import TABLES
from pytest_crmeval.report.files import ReportError

INSPECT = "inspect"
STDOUT = "-"
HELP = f"""\
Write a run as data for other tools. The formats csv, jsonl and parquet have one file per table:
{", ".join(TABLES)}. Each row has the columns run, suite, subject, case and trial, so
that tables can be joined. The format inspect has one log per suite and subject, for Inspect's viewer: inspect view
--log-dir FOLDER. parquet needs pytest-crmeval[parquet].

    crmeval export nightly                            # nightly-csv/trials.csv, nightly-csv/scores.csv ...
    crmeval export nightly --format parquet -o data/
    crmeval export --table calls --format jsonl -o - | jq -r .tool | sort | uniq -c
    crmeval export nightly --format inspect

Confidential dialogues are not exported. A run in progress is exported up to its last finished trial.

Exit status: 0; 2 if there is no such run, or the files can't be written.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "run", nargs="?", default="latest", metavar="RUN", help="id or path of the run (default: the latest)"
    )
    parser.add_argument("--format", choices=(*WRITERS, INSPECT), default="csv", help="file format (default: csv)")
    parser.add_argument("--table", choices=tuple(TABLES), help="only this table")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="folder to write to (default: RUN-FORMAT), or - for one table on stdout"
    )
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Write the files, and print their paths."""
    if options.table and options.format == INSPECT:
        raise UsageError("--table: a log for Inspect has no tables; choose csv, jsonl or parquet")
    if options.output == STDOUT and not options.table:
        raise UsageError("-o -: choose one table with --table")
    try:
        loaded = load_run(options.run, reports_of(options))
        if options.output == STDOUT:
            WRITERS[options.format](TABLES[options.table][0], loaded.rows(options.table), sys.stdout.buffer)
            return 0
        folder = Path(options.output or f"{loaded.id}-{options.format}").expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        for path in _written(loaded, folder, options):
            sys.stdout.write(f"{path}\n")
    except (NoRunError, JournalError, ReportError, TranscriptError, ExportError) as error:
        raise UsageError(error) from error
    except BrokenPipeError:  # the reader of our output has closed it
        raise
    except OSError as error:
        raise UsageError(f"{error.filename or options.output}: {error.strerror}") from error
    return 0


def _written(loaded: LoadedRun, folder: Path, options: argparse.Namespace) -> Iterator[Path]:
    """Write the files one by one, each completely or not at all, and yield their paths."""
    if options.format == INSPECT:
        from pytest_crmeval.render.export.inspect_log import write_logs

        yield from write_logs(loaded, folder)
        return
    for table in [options.table] if options.table else TABLES:
        path = folder / f"{table}.{options.format}"
        draft = path.with_name(f"{path.name}.part")
        try:
            with draft.open("wb") as file:
                WRITERS[options.format](TABLES[table][0], loaded.rows(table), file)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        yield path
