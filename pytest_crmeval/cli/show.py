"""`crmeval show`: one case of a run, with its whole dialogue."""

import argparse
import sys
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from pytest_crmeval.cli.places import add_reports, named_run, next_command
from pytest_crmeval.cli.terminal import UsageError, positive, width
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.reader import JournalError, read
from pytest_crmeval.journal.transcripts import FOLDER, TranscriptError, file_of, is_confidential, load
from pytest_crmeval.render.fitting import wrapped, wrapped_dialogue
from pytest_crmeval.report.outliers import reason_of

HELP = """\
Show how a case went: what the user and the agent said, the calls, their results, and what is wrong, turn by turn.

    crmeval show deal-simple-0323
    crmeval show deal-simple-0323 --subject gpt-4.1 --run nightly
    crmeval show                                    # list the cases that did not pass

Exit status: 0; 2 if there is no such run or no such case.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("case", nargs="?", default="", metavar="CASE", help="id of the case (default: list failures)")
    parser.add_argument("--run", default="latest", metavar="RUN", help="which run (default: the latest)")
    parser.add_argument("--subject", metavar="NAME", help="only this agent or checkpoint")
    parser.add_argument("--suite", metavar="NAME", help="only this suite")
    parser.add_argument("--trial", type=positive, metavar="N", help="only the N-th trial of the case")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a case, or list those that did not pass."""
    folder = named_run(options)
    try:
        trials = list(read(folder / JOURNAL).trials.values())
    except (JournalError, OSError) as error:
        raise UsageError(error) from error
    wanted = {"suite": options.suite, "subject": options.subject, "trial": options.trial}
    for name in (name for name, value in wanted.items() if value is not None):
        trials = [trial for trial in trials if getattr(trial.planned, name) == wanted[name]]
    if not options.case:
        failed = [(trial, trial.planned) for trial in trials if trial.verdict is not Verdict.PASSED]
        lines = [f"{p.suite}  {p.subject}  {p.case}  {trial.verdict}: {reason_of(trial)}" for trial, p in failed]
        room = width()
        sys.stdout.writelines(f"{each}\n" for line in lines or ["every case passed"] for each in wrapped(line, room))
        return 0
    found = [trial for trial in trials if trial.planned.case == options.case]
    if not found:
        near = get_close_matches(options.case, list(dict.fromkeys(trial.planned.case for trial in trials)), n=3)
        where = f"run {options.run!r}" + "".join(f", {name} {value}" for name, value in wanted.items() if value)
        meant = f"; similar: {', '.join(near)}" if near else ""
        listing = next_command("show", f"--run {options.run}", options)
        raise UsageError(f"no case {options.case!r} in {where}{meant}; to list the failures: {listing}")
    sys.stdout.write("\n\n".join(_shown(trial, folder) for trial in found) + "\n")
    return 0


def _shown(trial: Trial, folder: Path) -> str:
    """Return the dialogue of a trial, and the path of its transcript."""
    path = file_of(folder, trial)
    if path is None:
        return f"{_explained(trial)}\n(no transcript in {folder / FOLDER})"
    if is_confidential(path):
        return f"{_explained(trial)}\n(confidential: the dialogue is not shown)"
    try:
        whole = replace(trial, transcript=load(path), colored=sys.stdout.isatty())
    except TranscriptError as error:
        raise UsageError(error) from error
    return f"{_explained(whole)}\n{path}"


def _explained(trial: Trial) -> str:
    """Return the explanation of a trial, wrapped to the width of the terminal."""
    room = width()
    return wrapped_dialogue(trial.explain(), room) if room else trial.explain()
