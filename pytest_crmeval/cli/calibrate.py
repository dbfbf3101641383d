"""`crmeval calibrate`: check the scorers with agents whose verdict is known."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.cli.judge_agreement import agreement_lines, measured_agreement
from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError, positive, show_progress

if TYPE_CHECKING:  # psycopg and msgspec are loaded only when something is played
    from pytest_crmeval.conversations.calibration import Calibration
    from pytest_crmeval.conversations.calibration.tally import Share
    from pytest_crmeval.domain.conversation import Conversation
    from pytest_crmeval.domain.json import JsonObject
    from pytest_crmeval.ports.crm import Crm
    from pytest_crmeval.ports.scorer import Reference

HELP = """\
Check the scorers: play a suite with agents whose verdict is known. The oracle must always pass; mute and parrot,
which make no calls, must never pass. At least 99 % of the variants of the oracle with one flaw must fail, and at
least 99 % of those that reach the same result in another way must pass. Flaws in calls and state, generated false
replies, and replies that were written and labelled by hand are reported separately, each with a 95 % interval.
Without a suite, only the labelled replies are measured. Only --judge needs a key. A PostgreSQL server is started,
unless CRMEVAL_DSN names one.

With --weak-agents, the suite is played with agents that make one typical mistake each, such as stopping after the
first page of a result or ignoring the rules of the company. The result shows how many cases each of them passes, and
how often the mistake is caught in cases that require the missing skill. The field `mistakes` of a turn lists the
calls of such an agent.

With --judge, a model is asked about 152 labelled statements, and its agreement with the labels (Cohen's kappa) is
reported and kept in the reports folder. Only a judge with a kappa of at least 0.8 may change a verdict in a run with
--crmeval-judge. The number of calls and their cost are shown first; a judge is measured once.

    crmeval calibrate evals/data/crm.jsonl
    crmeval calibrate
    crmeval calibrate evals/data/crm-hard.jsonl --weak-agents
    crmeval calibrate mine.jsonl --scorer state --tries 50
    crmeval calibrate mine.jsonl --format json > calibration.json
    crmeval calibrate --judge "openai:gpt-4.1?samples=3"

Exit status: 0 if the scorers are sound, 1 if not, 2 if there is no case to play, no PostgreSQL, or no answer from the
judge. Labelled replies and the judge's agreement don't affect it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", nargs="*", type=Path, metavar="SUITE", help="conversations, in JSON Lines")
    parser.add_argument(
        "--replies",
        action="append",
        type=Path,
        metavar="FILE",
        help="labelled replies, in JSON Lines; repeatable (default: the committed sets)",
    )
    parser.add_argument(
        "--scorer",
        action="append",
        choices=("state", "calls", "reply", "clbench"),
        help="scorer that decides the verdict; repeatable (default: state, calls and reply)",
    )
    parser.add_argument(
        "--invalid",
        choices=("report", "play"),
        default="report",
        help="skip cases that no agent can pass (default), or play them anyway",
    )
    parser.add_argument(
        "--tries", type=positive, default=200, metavar="N", help="variants of each kind of flaw (default: 200)"
    )
    parser.add_argument(
        "--weak-agents",
        action="store_true",
        help="measure how difficult the suite is for agents that make one typical mistake; nothing else is measured",
    )
    parser.add_argument(
        "--judge", metavar="SPEC", help="measure this judge; without a suite and --replies, nothing else is measured"
    )
    add_reports(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")


def run(options: argparse.Namespace) -> int:
    """Calibrate on the files and print the result."""
    import psycopg

    from pytest_crmeval.conversations.calibration import share_lines
    from pytest_crmeval.conversations.crm.standalone import standalone_crm
    from pytest_crmeval.conversations.dataset.files import index
    from pytest_crmeval.domain.dataset_error import DatasetError
    from pytest_crmeval.postgres.embedded import ServerUnavailable

    judged = measured_agreement(options.judge, reports_of(options)) if options.judge else None
    if judged and not options.files and not options.replies:
        _write({"judge": judged.to_dict()}, agreement_lines(options.judge, judged), options)
        return 0
    try:
        cases = [ref.read() for ref in index(options.files)]
        with standalone_crm(os.environ.get("CRMEVAL_DSN")) as crm:
            if options.weak_agents:
                return _show_difficulty(cases, options, crm)
            labelled = _labelled(options, crm)
            found = replace(_calibrated(cases, options, crm), labelled=labelled) if options.files else None
    except (DatasetError, ServerUnavailable) as error:
        raise UsageError(error) from error
    except psycopg.OperationalError as error:
        raise UsageError(f"the connection to PostgreSQL was lost: {error}") from error
    finally:
        show_progress(0)
    left_out = len(cases) - found.cases if found else 0
    figures = found.to_dict() if found else {"shares": [share.to_dict() for share in labelled]}
    omitted = [f"{left_out} invalid conversations were skipped", ""] if left_out else []
    lines = [*omitted, *(found.lines() if found else list(share_lines(labelled))[1:])]
    if judged:
        figures = {**figures, "judge": judged.to_dict()}
        lines = [*lines, "", *agreement_lines(options.judge, judged)]
    _write({**figures, "invalid": left_out}, lines, options)
    return 1 if found and not found.holds else 0


def _write(figures: "JsonObject", lines: Sequence[str], options: argparse.Namespace) -> None:
    text = json.dumps(figures, ensure_ascii=False, indent=2) if options.format == "json" else "\n".join(lines)
    sys.stdout.write(f"{text}\n")


def _show_difficulty(cases: Sequence["Conversation"], options: argparse.Namespace, crm: "Crm") -> int:
    from pytest_crmeval.conversations.calibration.difficulty import measured

    references = _references(cases, crm, play_invalid=options.invalid == "play")
    if not references:
        raise UsageError("no case can be played; name a suite that crmeval lint accepts")
    valid = [(case, references[case.id]) for case in cases if case.id in references]
    difficulty = measured(valid, crm, show_progress)
    show_progress(0)
    _write(difficulty.to_dict(), list(difficulty.lines()), options)
    return 0


def _labelled(options: argparse.Namespace, crm: "Crm") -> "Sequence[Share]":
    """Return how `reply` scores labelled replies, sealed and open sets apart; nothing if it is not a chosen scorer."""
    from pytest_crmeval.conversations.calibration.labelled import judge_replies, labelled_shares, played
    from pytest_crmeval.conversations.calibration.labelled_replies import SEALED, committed_sets, read_labelled
    from pytest_crmeval.conversations.scorers.reply import reply_faults

    if options.scorer and "reply" not in options.scorer:
        return ()
    paths = options.replies or committed_sets()
    shares: list[Share] = []
    for kind, sealed in (("sealed sets", True), ("open sets", False)):
        plays = [play for path in paths if path.name.startswith(SEALED) is sealed for play in read_labelled(path)]
        replies = [reply for play, e in played(plays, crm) for reply in judge_replies(play, e, reply_faults)]
        shares += labelled_shares(kind, replies) if replies else ()
    return shares


def _calibrated(cases: Sequence["Conversation"], options: argparse.Namespace, crm: "Crm") -> "Calibration":
    from pytest_crmeval.agents.scripted import mute, parrot
    from pytest_crmeval.conversations.calibration import calibrate
    from pytest_crmeval.conversations.play import observe
    from pytest_crmeval.conversations.scorers.named import SCORERS

    scorers = options.scorer or ("state", "calls", "reply")
    references = _references(cases, crm, play_invalid=options.invalid == "play")
    if not references:
        raise UsageError("no agent can pass any of these cases; crmeval lint shows why")
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
    """Return what the reference calls of each case do; invalid cases are included only with ``play_invalid``."""
    from pytest_crmeval.conversations.consistency import inconsistencies
    from pytest_crmeval.conversations.oracle import Oracle
    from pytest_crmeval.conversations.play import play_reference
    from pytest_crmeval.ports.crm import SeedError

    found = {}
    for case in cases:
        try:
            reference = play_reference(case, Oracle(case), crm)
        except SeedError:
            continue  # it can't be played at all
        if play_invalid or not (case.defects or any(inconsistencies(case, reference))):
            found[case.id] = reference
    return found
