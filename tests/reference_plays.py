"""The reference calls of cases, played on PostgreSQL; a sample of the bundled cases is played once per test run.

All tests share what came of it, in a file of the run's temporary folder.
"""

import fcntl
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import play_reference
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Reference
from tests.leak_detector import TappedCrm
from tests.reference_steps import WatchedCrm
from tests.referents import World

EVERY = 3
"""One bundled case in so many is played: all of them are written by one generator, and linted in ``test_bundle``."""
EVERY_HARD = 20
"""The same for the hard conversations, which take longer."""
BUNDLE = Path(__file__).parents[1] / "evals" / "data" / "crm.jsonl"
HARD = BUNDLE.with_name("crm-hard.jsonl")


@dataclass(frozen=True, kw_only=True)
class ReferencePlay:
    """A case, what its reference calls come to, and what was to be seen on the way."""

    case: Conversation
    reference: Reference
    said: Sequence[ToolResult]
    """What the CRM really answered, whatever the harness made of it."""
    worlds: Sequence[World]
    """What it held before each call."""


def play_of(case: Conversation, crm: Crm) -> ReferencePlay:
    """Play the reference calls of a case, as the harness does."""
    tapped = TappedCrm(crm)
    watched = WatchedCrm(tapped)
    reference = play_reference(case, Oracle(case), watched)
    return ReferencePlay(case=case, reference=reference, said=tapped.said, worlds=watched.worlds)


def plays_of(path: Path, crm: Crm, every: int = 1) -> list[ReferencePlay]:
    """Play the reference calls of one case in ``every`` of a file."""
    return [play_of(ref.read(), crm) for ref in index([path])[::every]]


def shared_plays(kept: Path, path: Path, crm: Crm, every: int = 1) -> list[ReferencePlay]:
    """Return the plays of a file from ``kept``; the first process to ask plays them while the others wait."""
    with kept.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if written := file.read():
            plays: list[ReferencePlay] = pickle.loads(written)  # noqa: S301 (one of our own workers wrote it)
            return plays
        plays = plays_of(path, crm, every)
        file.write(pickle.dumps(plays))
        return plays


def folder_of_run(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all workers of a run share; of one without workers, its own."""
    base = factory.getbasetemp()
    return base.parent if hasattr(config, "workerinput") else base
