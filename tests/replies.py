"""Measure how `reply` judges labelled replies: ``python -m tests.replies FILE... [--summary]``.

The calls are made on a real PostgreSQL. What they bring is kept in the temporary folder, so that only the first run of
a file takes time; ``--again`` plays them anew.
"""

import argparse
import pickle
import sys
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from pytest_crmeval.conversations.calibration.labelled import JudgedReply, LabelledPlay, Replayer, judge_replies
from pytest_crmeval.conversations.calibration.labelled_replies import read_labelled
from pytest_crmeval.conversations.crm.standalone import standalone_crm
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.conversations.scorers.reply import reply_faults
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Evidence

Played = Sequence[tuple[LabelledPlay, Evidence]]


def played(path: Path, crm: Crm) -> Played:
    """Play the calls of a file."""
    found = []
    for play in read_labelled(path):
        reference = play_reference(play.case, Oracle(play.case), crm)
        found.append((play, observe(play.case, Replayer(play.turns), crm, reference)))
    return found


def judged(plays: Played) -> Iterator[JudgedReply]:
    """Yield how `reply` judges each labelled reply."""
    for play, evidence in plays:
        yield from judge_replies(play, evidence, reply_faults)


def counted(replies: Sequence[JudgedReply]) -> tuple[int, int, int, int]:
    """Return the true replies that were accepted, of how many, and the false ones that were caught, of how many."""
    true, false = ([reply for reply in replies if reply.is_true is label] for label in (True, False))
    return sum(reply.right for reply in true), len(true), sum(reply.right for reply in false), len(false)


def _cached(path: Path, *, again: bool) -> Played:
    kept = Path(tempfile.gettempdir()) / f"crmeval-replies-{sha256(path.read_bytes()).hexdigest()[:16]}.pickle"
    if kept.exists() and not again:
        plays: Played = pickle.loads(kept.read_bytes())  # noqa: S301 (written by this script)
        return plays
    with standalone_crm() as crm:
        plays = played(path, crm)
    kept.write_bytes(pickle.dumps(plays))
    return plays


def main(arguments: Sequence[str]) -> None:
    """Print the counts of each file, and which replies were misjudged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--summary", action="store_true", help="counts only")
    parser.add_argument("--again", action="store_true", help="play the calls again")
    parser.add_argument("--reasons", action="store_true", help="also print why false replies were caught")
    options = parser.parse_args(arguments)
    for path in options.files:
        replies = list(judged(_cached(path, again=options.again)))
        accepted, true, caught, false = counted(replies)
        sys.stdout.write(f"{path}: accepted {accepted} of {true} true, caught {caught} of {false} false\n")
        for reply in replies if not options.summary else ():
            if not reply.right or (options.reasons and not reply.is_true):
                label = "true " if reply.is_true else "false"
                sys.stdout.write(f"  {label} {reply.case} turn {reply.turn}: {reply.text!r}\n")
                sys.stdout.write(f"        -> {reply.fault}\n" if reply.fault else "")


if __name__ == "__main__":
    main(sys.argv[1:])
