"""How far a judge agrees with the labels of committed statements, measured once per judge, settings and prompt."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from pytest_crmeval.conversations.judge.request import asking
from pytest_crmeval.conversations.scorers.undecided import Undecided
from pytest_crmeval.domain.judgement import Judgement, LabelAgreement
from pytest_crmeval.models.judge import CorruptError, Judgements, key_of
from pytest_crmeval.ports.chat_model import ModelIdentity, Prompt

_FILE = Path(__file__).parent / "labelled_statements.jsonl"


class LabelledTrial(Struct, frozen=True, kw_only=True):
    """Statements of the replies of one conversation, and for each whether it is true.

    They come from the open sets of labelled replies: a statement of a true reply is true; in a false reply, the
    statement that makes it false was picked by hand.
    """

    case: str
    statements: tuple[Undecided, ...]
    labels: tuple[bool, ...]

    @property
    def prompt(self) -> Prompt:
        """The request about its statements, the same as in a run."""
        return asking(self.statements)


@cache
def labelled_trials() -> Sequence[LabelledTrial]:
    """Return the labelled statements, as they are shipped."""
    decoder = msgspec.json.Decoder(LabelledTrial)
    return [decoder.decode(line) for line in _FILE.read_bytes().splitlines()]


def agreement_of(trials: Iterable[LabelledTrial], judgements: Iterable[Judgement]) -> LabelAgreement:
    """Compare judgements with the labels; a statement without a readable opinion is not called false."""
    counts = dict.fromkeys(("found", "missed", "accepted", "refused"), 0)
    for trial, judgement in zip(trials, judgements, strict=True):
        for place, is_true in enumerate(trial.labels):
            names = ("accepted", "refused") if is_true else ("missed", "found")
            counts[names[place in judgement.false_places]] += 1
    return LabelAgreement(**counts)


def known_agreement(judge: ModelIdentity, samples: int, cache: Judgements) -> LabelAgreement | None:
    """Return the agreement from cached opinions, without a call; None if it was not measured completely."""
    found = [_cached(judge, samples, trial, cache) for trial in labelled_trials()]
    complete = [judgement for judgement in found if judgement is not None]
    return agreement_of(labelled_trials(), complete) if len(complete) == len(found) else None


def copy_opinions(judge: ModelIdentity, samples: int, source: Judgements, target: Judgements) -> None:
    """Copy the opinions on the labelled statements, so that a recording has the agreement of its judge."""
    for trial in labelled_trials():
        if judgement := _cached(judge, samples, trial, source):
            target.keep(key_of(judge, samples, trial.prompt), judge, judgement.grades)


def unmeasured(judge: ModelIdentity, samples: int, cache: Judgements) -> list[LabelledTrial]:
    """Return the trials about which the judge has still to be asked."""
    return [trial for trial in labelled_trials() if _cached(judge, samples, trial, cache) is None]


def _cached(judge: ModelIdentity, samples: int, trial: LabelledTrial, cache: Judgements) -> Judgement | None:
    try:
        return cache.find(key_of(judge, samples, trial.prompt), samples)
    except CorruptError:
        return None  # measured again
