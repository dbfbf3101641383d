"""Usage and durations of earlier runs, from their journals."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.reader import RecordedTrial, lines

_LEARNER = "atlas"
_NO_MATTER = frozenset({"price", "timeout", "retries", "key"})
JOURNALS = 100
BYTES = 32 * 1024 * 1024
"""Maximum that is read, newest journals first, so that reading stays fast."""
Case = tuple[str, str, str]
"""Suite, id and fingerprint, which identify a case for every subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTrial:
    """Usage and duration of a completed trial."""

    case: Case
    spec: str
    turns: int
    is_question: bool = False
    usage: Usage = field(default_factory=Usage)
    """Usage of the agent, and of the student for a learner; zero if the agent calls no model."""
    roles: Mapping[str, Usage] = field(default_factory=dict)
    """Usage by role of a learner's models; empty for other agents."""
    learning_seconds: float = 0.0
    """Duration of learning, after the conversation."""
    held_out: bool = False
    """Whether the case was held out, so that the student played it without its teacher."""
    seconds: float | None = None
    """None if it was replayed from a cassette, which takes no time."""
    solutions: int = 0
    """Number of programs in a solution file; 0 for other cases."""
    judged: Usage | None = None
    """Usage of the judge; None if no judge was called."""


def case_of(planned: PlannedCase) -> Case:
    """Return the identity of a case."""
    return planned.suite, planned.case, planned.fingerprint


def history(
    folder: Path, wanted: Iterable[PlannedCase] = (), addresses: Mapping[str, str] | None = None
) -> Sequence[PastTrial]:
    """Return the trials of the runs in ``folder`` that called a model or ran programs, the newest first.

    It reads only until the time of each of the ``wanted`` cases is known, and never more than a limit. ``addresses``
    are addresses of providers other than their own. Unreadable lines are skipped.
    """
    missing = {(case_of(planned), relevant_spec(planned.spec, addresses)) for planned in wanted}
    bounded, left, found = bool(missing), BYTES, list[PastTrial]()
    for path, size in _journals(folder)[:JOURNALS]:
        if left <= 0 or (bounded and not missing):
            break
        trials = list(_trials(path, left))[::-1]
        missing.difference_update((trial.case, trial.spec) for trial in trials if trial.seconds is not None)
        found += trials
        left -= size
    return found


def _journals(folder: Path) -> list[tuple[Path, int]]:
    """Return the journals and their sizes, newest first; the link ``latest`` is skipped."""
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


def _trials(path: Path, size: int) -> Iterator[PastTrial]:
    addresses: Mapping[str, str] = {}
    try:
        for line in lines(path, size):
            if line.part is not None:
                addresses = line.part.get("addresses", {})
            elif line.trial and line.trial.is_scored:
                yield from _past(line.trial, addresses)
    except OSError:
        return


def _past(trial: RecordedTrial, addresses: Mapping[str, str]) -> Iterator[PastTrial]:
    """Yield the trial, unless it called no model or is a solution file with reused verdicts."""
    case = trial.suite, trial.case, trial.fingerprint
    bill, judge, found = trial.bill, trial.judge_bill, trial.solutions
    if found and not found.reused and (solutions := sum((*found.verdicts.values(), *found.ungradable.values()))):
        yield PastTrial(case=case, spec=relevant_spec(trial.spec), turns=1, solutions=solutions, seconds=trial.seconds)
    elif not found and (bill or judge):
        roles = {role: each.usage for role, each in trial.roles.items()}
        yield PastTrial(
            case=case,
            spec=relevant_spec(trial.spec, addresses),
            turns=max(1, len(trial.turns)),
            is_question=trial.answer is not None,
            usage=roles.get("student") or (bill.usage if bill else Usage()),
            roles=roles,
            learning_seconds=trial.learning_seconds,
            held_out=bool(trial.learning and trial.learning.held_out),
            seconds=None if bill and bill.replayed else trial.seconds,
            judged=judge.usage if judge else None,
        )


def relevant_spec(spec: str, addresses: Mapping[str, str] | None = None) -> str:
    """Return the parts of a spec that affect time and tokens: not its price, time-out or retries.

    ``addresses`` are the default addresses of providers; the same name at another address is another model.
    """
    model, _, query = spec.partition("?")
    no_matter = frozenset() if model == _LEARNER else _NO_MATTER  # its retries are those of its student
    parts = [part for part in query.split("&") if part]
    if "base_url" not in {part.partition("=")[0] for part in parts}:
        parts += [
            f"base_url={where}"
            for provider, where in (addresses or {}).items()
            if model == _LEARNER or model.startswith(f"{provider}:")  # a learner may have models of every provider
        ]
    kept = sorted(part for part in parts if part.partition("=")[0] not in no_matter)
    return f"{model}?{'&'.join(kept)}" if kept else model
