"""Runs on disk that are to be merged: from their journals, or from reports if only these are left."""

import fcntl
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import has_magic
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_crmeval.journal import reader as journal
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.places import journal_beside, place_of, report_beside
from pytest_crmeval.journal.reader import RunRecord
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import SCHEMA

TRANSCRIPTS = "transcripts"


class SourceError(Exception):
    """A run that can't be merged; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One run to be merged."""

    name: str
    """The name on the command line."""
    past: RunRecord
    facts: Mapping[str, Any]
    """The facts of the run in its report; empty if there is no report."""
    transcripts: Path | None
    """Folder of its dialogues; None if they are missing."""
    folder: Path | None = None
    """Folder of the run; None if only its report is left."""
    digest: str
    """Digest of the content: copies of a run have the same one."""


def sources(names: Sequence[str], folder: Path) -> list[Source]:
    """Return the runs by these names, each once; NoRunError, SourceError, JournalError or ReportError if one is bad."""
    found: dict[str, Source] = {}
    for name in names:
        for run in _runs(name, folder):
            source = source_of(run, folder)
            found.setdefault(source.digest, source)
    return list(found.values())


def _runs(name: str, folder: Path) -> list[str]:
    """Return the runs that a name stands for: a pattern matches several, and a folder may contain several."""
    path = Path(name).expanduser()
    if has_magic(name) and not path.exists():
        matches = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) or sorted(folder.glob(name))
        is_run = (match for match in matches if match.is_dir() or match.suffix in {".json", ".jsonl"})
        found = [run for match in is_run for run in _runs(str(match), folder)]
        if not found:
            raise SourceError(f"{name}: no run matches this pattern, here or in {folder}")
        return found
    if path.is_dir() and not (path / JOURNAL).exists() and not (folder / name / JOURNAL).exists():
        return [str(journal.parent) for journal in sorted(path.rglob(JOURNAL))] or [name]
    return [name]


def source_of(name: str, folder: Path) -> Source:
    """Return a run by its id in ``folder``, or by a path to it."""
    place = place_of(name, folder)
    if place.suffix == ".jsonl":
        return _journalled(name, place)
    document = _document(place)
    beside = journal_beside(place, str(document["run"]["id"]))
    return _journalled(name, beside) if beside else _reported(name, place)


def _journalled(name: str, path: Path) -> Source:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            digest = sha256(file.read()).hexdigest()
            past = journal.read(path)
    except BlockingIOError as error:
        raise SourceError(f"{name}: another process is writing this run; wait for it, or stop it") from error
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    if not past.parts:
        raise SourceError(f"{name}: this run has no parts, because it was never started")
    beside = report_beside(path)
    transcripts = path.parent / TRANSCRIPTS
    return Source(
        name=name,
        past=past,
        facts=_document(beside)["run"] if beside else {},
        transcripts=transcripts if transcripts.is_dir() else None,
        folder=path.parent,
        digest=digest,
    )


def _reported(name: str, path: Path) -> Source:
    """Return a run of which only the report is left."""
    report = reports.load(path)
    if missing := sum(summary.not_run for summary in report.standings):
        raise SourceError(
            f"{name}: {missing} cases were not run, and only the journal lists them; also copy the folder of the run"
        )
    facts: Mapping[str, Any] = report.run
    trials = {trial.planned.key: trial for trial in report.trials}
    spent = facts["spent"] if "spent" in facts else sum(map(journal.spent_on, trials.values()))
    parts = facts.get("parts")
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        raise SourceError(f"{path}: not the report of a run: it has no parts")
    # A report has the position at which a learner played a case, not the planned order.
    ordered = sorted(report.trials, key=lambda trial: trial.lesson.position if trial.lesson else 0)
    past = RunRecord(
        parts=parts,
        planned={trial.planned.key: trial.planned for trial in ordered},
        trials=trials,
        red=set(facts.get("red", ())),
        spent=float(spent),
    )
    digest = sha256(json.dumps(report.to_dict(), sort_keys=True).encode()).hexdigest()
    return Source(name=name, past=past, facts=facts, transcripts=None, digest=digest)


def _document(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
        if document["schema"] == SCHEMA and isinstance(document["run"]["id"], str):
            return document
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path}: not a report ({SCHEMA}): {error!r}") from error
    raise SourceError(f"{path}: not a report ({SCHEMA})")
