"""What models took in earlier runs: a quick look into their journals."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.specs import asked
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.ids import JOURNAL

JOURNALS = 100
BYTES = 32 * 1024 * 1024
"""How much is read, the newest first: more would take longer than it is worth."""
_PLAYED = {str(Verdict.PASSED), str(Verdict.FAILED)}
Case = tuple[str, str, str]
"""Suite, id and fingerprint: the same content, whoever plays it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a trial took that was played to its end."""

    case: Case
    spec: str
    turns: int
    is_question: bool = False
    usage: Usage = field(default_factory=Usage)
    """Nothing for an agent that asks no model, and was judged; of a learner, its student's."""
    roles: Mapping[str, Usage] = field(default_factory=dict)
    """What each of the models that make up a learner took; nothing for others."""
    learning_seconds: float = 0.0
    """What came after the conversation."""
    held_out: bool = False
    """Whether the student has played it alone, because it was for measuring."""
    seconds: float | None = None
    """None if it was played from a cassette, which takes no time."""
    solutions: int = 0
    """Programs that were run, if it is a solution file; 0 for other cases."""
    judged: Usage | None = None
    """What its judge took; None if none was asked."""


def case_of(planned: PlannedCase) -> Case:
    """Return what a case is known by."""
    return planned.suite, planned.case, planned.fingerprint


def history(
    folder: Path, wanted: Iterable[PlannedCase] = (), addresses: Mapping[str, str] | None = None
) -> Sequence[Played]:
    """Return the trials of the runs in ``folder`` that called a model or ran programs, the newest first.

    It reads only until the time of each of the ``wanted`` cases is known, and never more than a limit. ``addresses``
    are addresses of providers other than their own. Unreadable lines are skipped.
    """
    missing = {(case_of(planned), asked(planned.spec, addresses)) for planned in wanted}
    bounded, left, found = bool(missing), BYTES, list[Played]()
    for path, size in _journals(folder)[:JOURNALS]:
        if left <= 0 or (bounded and not missing):
            break
        trials = list(_trials(path, left))[::-1]
        missing.difference_update((trial.case, trial.spec) for trial in trials if trial.seconds is not None)
        found += trials
        left -= size
    return found


def _journals(folder: Path) -> list[tuple[Path, int]]:
    """Return the journals and their sizes, the newest first; ``latest`` is none of its own."""
    found = []
    try:
        with os.scandir(folder) as runs:
            for run in runs:
                path = Path(run.path, JOURNAL)
                if run.is_dir(follow_symlinks=False) and path.is_file():
                    status = path.stat()
                    found.append((status.st_mtime_ns, path, status.st_size))
    except OSError:
        return []
    return [(path, size) for _, path, size in sorted(found, key=itemgetter(0), reverse=True)]


def _trials(path: Path, size: int) -> Iterator[Played]:
    try:
        with path.open("rb") as file:
            lines = file.readlines(size)
    except OSError:
        return
    addresses: Mapping[str, str] = {}
    for line in lines:
        try:
            if line.startswith(b'{"part"'):
                addresses = json.loads(line)["part"].get("addresses", {}) if b'"addresses"' in line else {}
            elif b'"bill"' in line or b'"solutions"' in line:  # most lines are from agents that call no model
                trial = json.loads(line)["trial"]
                if trial["verdict"] in _PLAYED:
                    yield from _judged(trial) if "solutions" in trial else _played(trial, addresses)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue


def _judged(trial: dict[str, Any]) -> Iterator[Played]:
    """Yield how long a solution file took; nothing if some of its verdicts were reused."""
    found = trial["solutions"]
    solutions = sum(found.get("verdicts", {}).values()) + sum(found.get("ungradable", {}).values())
    if solutions and not found.get("reused"):
        yield Played(
            case=_case_in(trial),
            spec=asked(str(trial["spec"])),
            turns=1,
            solutions=solutions,
            seconds=float(trial["seconds"]),
        )


def _played(trial: dict[str, Any], addresses: Mapping[str, str]) -> Iterator[Played]:
    """Yield what a trial took; nothing if neither its agent nor its judge asked a model."""
    bill, judged = trial.get("bill"), (trial.get("judgement") or {}).get("bill")
    if not (bill or judged):
        return
    roles = {str(role): Usage.from_dict(each["usage"]) for role, each in trial.get("roles", {}).items()}
    own = roles.get("student") if roles else None
    yield Played(
        case=_case_in(trial),
        spec=asked(str(trial["spec"]), addresses),
        turns=max(1, len(trial.get("turns", ()))),
        is_question="answer" in trial,
        usage=own or (Usage.from_dict(bill["usage"]) if bill else Usage()),
        roles=roles,
        learning_seconds=float(trial.get("learning_seconds", 0.0)),
        held_out=bool(trial.get("learning", {}).get("held_out")),
        seconds=None if bill and bill.get("replayed") else float(trial["seconds"]),
        judged=Usage.from_dict(judged["usage"]) if judged else None,
    )


def _case_in(trial: Mapping[str, Any]) -> Case:
    return str(trial["suite"]), str(trial["case"]), str(trial["fingerprint"])
