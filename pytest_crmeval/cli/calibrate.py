"""`crmeval calibrate`: see whether scores can be believed."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.cli.terminal import UsageError, positive, show_progress

if TYPE_CHECKING:  # psycopg and msgspec are wanted only by those who play
    from pytest_crmeval.conversations.calibration import Calibration
    from pytest_crmeval.domain.conversation import Conversation
    from pytest_crmeval.domain.evidence import Reference
    from pytest_crmeval.ports.crm import Crm

HELP = """\
See whether the scores can be believed: play a suite with agents whose every step is known. The oracle must always pass;
mute and parrot, which call nothing, never may; an oracle with one flaw must be caught, and one that does the same in
another way must be accepted, in 99 of 100 cases each. Needs no key; starts a PostgreSQL, or uses CRMEVAL_DSN.

    crmeval calibrate evals/data/crm.jsonl
    crmeval calibrate mine.jsonl --scorer state --tries 50
    crmeval calibrate mine.jsonl --format json > calibration.json

Exit status: 0 if the scores can be believed, 1 if not, 2 if there is nothing to play, or nothing to play it on.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="SUITE", help="conversations, in JSON Lines")
    parser.add_argument(
        "--scorer",
        action="append",
        choices=("state", "calls", "reply", "clbench"),
        help="what decides the verdict; repeatable (default: state, calls and reply)",
    )
    parser.add_argument(
        "--invalid",
        choices=("report", "play"),
        default="report",
        help="leave out cases that nobody can pass (default), or play them all the same",
    )
    parser.add_argument("--tries", type=positive, default=200, metavar="N", help="of each kind of flaw (default: 200)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="for people (default) or programs")


def run(options: argparse.Namespace) -> int:
    """Calibrate on the files and tell what was found."""
    import psycopg

    from pytest_crmeval.conversations.dataset.files import index
    from pytest_crmeval.domain.dataset_error import DatasetError
    from pytest_crmeval.postgres.embedded import ServerUnavailable

    try:
        cases = [ref.read() for ref in index(options.files)]
        found = _calibrated(cases, options)
    except (DatasetError, ServerUnavailable) as error:
        raise UsageError(error) from error
    except psycopg.OperationalError as error:
        raise UsageError(f"PostgreSQL went away: {error}") from error
    finally:
        show_progress(0)
    left_out = len(cases) - found.cases
    if options.format == "json":
        sys.stdout.write(json.dumps({**found.to_dict(), "invalid": left_out}, ensure_ascii=False, indent=2) + "\n")
    else:
        told = [f"{left_out} invalid conversations are left out", ""] if left_out else []
        sys.stdout.write("\n".join([*told, *found.lines()]) + "\n")
    return 0 if found.holds else 1


def _calibrated(cases: Sequence["Conversation"], options: argparse.Namespace) -> "Calibration":
    from pytest_crmeval.agents.scripted import mute, parrot
    from pytest_crmeval.conversations.calibration import calibrate
    from pytest_crmeval.conversations.crm.standalone import standalone_crm
    from pytest_crmeval.conversations.play import observe
    from pytest_crmeval.conversations.scorers.named import SCORERS

    scorers = options.scorer or ("state", "calls", "reply")
    with standalone_crm(os.environ.get("CRMEVAL_DSN")) as crm:
        references = _references(cases, crm, play_invalid=options.invalid == "play")
        if not references:
            raise UsageError("no case can be passed by anybody: crmeval lint tells why")
        return calibrate(
            [case for case in cases if case.id in references],
            lambda case, agent: observe(case, agent, crm, references[case.id]),
            [SCORERS[name] for name in scorers],
            tools=crm.tools,
            bluffers=[mute(), parrot()],
            recites="clbench" in scorers,
            tries=options.tries,
            progress=show_progress,
        )


def _references(cases: Sequence["Conversation"], crm: "Crm", *, play_invalid: bool) -> "dict[str, Reference]":
    """Return what the reference calls of each case do; of cases that nobody can pass only if they are to be played."""
    from pytest_crmeval.conversations.consistency import inconsistencies
    from pytest_crmeval.conversations.oracle import Oracle
    from pytest_crmeval.conversations.play import refer
    from pytest_crmeval.ports.crm import SeedError

    found = {}
    for case in cases:
        try:
            reference = refer(case, Oracle(case), crm)
        except SeedError:
            continue  # nobody can play it at all
        if play_invalid or not (case.defects or any(inconsistencies(case, reference))):
            found[case.id] = reference
    return found
