"""`crmeval generate`: write conversations, and prove that they can be played."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING

from pytest_crmeval.cli.terminal import UsageError, positive, show_progress

if TYPE_CHECKING:  # psycopg and msgspec are loaded only when something is played
    from pytest_crmeval.domain.conversation import Conversation
    from pytest_crmeval.ports.crm import Crm

HELP = """\
Generate CRM conversations with different companies, people, deals, wordings and skills. Every value that a call needs
was said or shown before, or can be calculated. The same seed and count give the same file, byte for byte, on every
machine. Before the file is written, the oracle plays each conversation on a real PostgreSQL (embedded, or the one
that CRMEVAL_DSN names).

    crmeval generate --seed 42 --count 1200 -o evals/data/crm.jsonl     # the bundled suite
    crmeval generate --level hard --seed 42 --count 400 -o evals/data/crm-hard.jsonl     # the hard one
    crmeval generate --seed 7 --count 50 -o mine.jsonl && crmeval describe mine.jsonl
    crmeval generate --count 3 -o - | jq .turns

Exit status: 0 if the file was written, 1 if a conversation can't be played (nothing is written then), 2 if the file
can't be written, or there is no PostgreSQL.
"""
SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--seed", type=int, default=42, help="seed of the random choices (default: 42)")
    parser.add_argument(
        "--count", type=positive, default=1200, metavar="N", help="number of conversations (default: 1200)"
    )
    parser.add_argument(
        "--level",
        choices=("usual", "hard"),
        default="usual",
        help="hard: large CRMs, company rules, changes by other users and other difficulties (default: usual)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="file to write; - for standard output"
    )
    parser.add_argument("--force", action="store_true", help="replace a file with different content")


def run(options: argparse.Namespace) -> int:
    """Write the conversations to a draft, play them, and only then write the file."""
    import psycopg

    from pytest_crmeval.conversations.generator import DeadEndError
    from pytest_crmeval.postgres.embedded import ServerUnavailable

    target = _target(options.output)
    try:
        with TemporaryDirectory() as folder:
            draft = Path(folder) / "conversations.jsonl"
            turns = _write(options, draft)
            _spare(target, draft, force=options.force)
            problems = _played(draft)
            if problems:
                faults = f"{len(problems)} conversations can't be played: this is a bug in crmeval; nothing was written"
                sys.stderr.write("\n".join([*problems[:SHOWN], faults, ""]))
                return 1
            _deliver(draft, target)
    except DeadEndError as error:
        sys.stderr.write(f"crmeval: {error}; try fewer, or another seed\n")
        return 1
    except ServerUnavailable as error:
        raise UsageError(error) from error
    except OSError as error:
        raise UsageError(f"{error.filename or gettempdir()}: {error.strerror}") from error
    except psycopg.OperationalError as error:
        raise UsageError(f"the connection to PostgreSQL was lost: {error}") from error
    finally:
        show_progress(0)
    summary = f"{options.count} conversations, {turns} turns, each played with the oracle: {options.output}\n"
    (sys.stderr if str(options.output) == "-" else sys.stdout).write(summary)
    return 0


def _write(options: argparse.Namespace, draft: Path) -> int:
    """Write the draft and return its number of turns."""
    from pytest_crmeval.conversations.generator import generate, generate_hard, line_of

    turns, records = 0, (generate_hard if options.level == "hard" else generate)(options.seed, options.count)
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        for number, record in enumerate(records, start=1):
            file.write(line_of(record))
            turns += len(record.turns)
            show_progress(number)
    return turns


def _played(draft: Path) -> list[str]:
    """Return one line for each conversation that the oracle can't pass."""
    from pytest_crmeval.conversations.crm.standalone import standalone_crm
    from pytest_crmeval.conversations.dataset.files import index

    problems = []
    with standalone_crm(os.environ.get("CRMEVAL_DSN")) as crm:
        for number, ref in enumerate(index([draft]), start=1):
            if found := list(_problems(ref.read(), crm)):
                problems.append(f"{ref.id}: {'; '.join(found)}")
            show_progress(number)
    return problems


def _problems(case: "Conversation", crm: "Crm") -> Iterator[str]:
    from pytest_crmeval.conversations.consistency import inconsistencies
    from pytest_crmeval.conversations.oracle import Oracle
    from pytest_crmeval.conversations.play import observe, play_reference
    from pytest_crmeval.conversations.scorers.named import SCORERS
    from pytest_crmeval.ports.crm import SeedError

    yield from case.defects
    try:
        reference = play_reference(case, Oracle(case), crm)
    except SeedError as error:
        yield str(error)
        return
    yield from inconsistencies(case, reference)
    evidence = observe(case, Oracle(case), crm, reference)
    for name in ("state", "calls", "reply"):
        score = SCORERS[name](case, evidence)
        if not score.passed:
            yield f"{name}: {score.reason}"


def _target(output: Path) -> Path | None:
    """Return the file to write, with links resolved; None is standard output."""
    if str(output) == "-":
        return None
    target = output.resolve()
    if not target.parent.is_dir():
        raise UsageError(f"{output.parent} is not a folder; create it first")
    if target.exists() and not target.is_file():
        raise UsageError(f"{output} is not a regular file; use - for standard output")
    return target


def _spare(target: Path | None, draft: Path, *, force: bool) -> None:
    """Refuse to replace a file with different content, unless ``force``."""
    try:
        if target and not force and target.exists() and target.read_bytes() != draft.read_bytes():
            raise UsageError(f"{target} already exists with different content; --force replaces it")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error


def _deliver(draft: Path, target: Path | None) -> None:
    """Write the draft to its target, completely or not at all."""
    if target is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(draft.read_bytes())  # the same bytes, whatever the encoding of the terminal
        return
    part = target.with_name(f"{target.name}.part")
    try:
        shutil.copyfile(draft, part)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"{target}: {error.strerror}") from error
