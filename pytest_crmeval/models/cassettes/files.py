"""Paths of cassettes, and how they are read: from a folder of cassettes, or from the transcripts of a run.

A cassette is ``<suite>/<subject>/<case>.jsonl``: for each trial a header line, then a line per exchange. Calls of the
judge are in ``<case>.judge.jsonl``, and those of other roles, such as a teacher, likewise. System prompts and tools are
in ``prompts``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.paths import place
from pytest_crmeval.domain.wire import decoded
from pytest_crmeval.models.cassettes.exchanges import ExchangeReader, RecordedExchange
from pytest_crmeval.models.usage_meter import CallPurpose

SCHEMA = "crmeval.cassette/1"
TRANSCRIPT = "crmeval.transcript/1"
PROMPTS = "prompts"
_OF_TEST = re.compile(r"(.+)~[0-9a-f]{8}", re.DOTALL)
"""Case and digest of its test, if several tests play the case."""
_AGAIN = "restore the file, or delete it and record it again"


class CassetteError(Exception):
    """A cassette that can't be read; the message has the file, the line and what to do."""


class ReplayError(CassetteError):
    """A transcript that can't be replayed."""


def cassette_path(folder: Path, purpose: CallPurpose) -> Path:
    """Return the path of the cassette for a purpose."""
    named = place(purpose.suite, purpose.subject, purpose.case)
    return folder / f"{named}{'' if purpose.role == 'agent' else f'.{purpose.role}'}.jsonl"


def prompt_path(folder: Path, prompt: str) -> Path:
    """Return the path of a system prompt with its tools."""
    return folder / PROMPTS / f"{prompt}.json"


def find(folder: Path, purpose: CallPurpose) -> tuple[Path, Sequence[RecordedExchange]]:
    """Return the file that has the exchanges of a purpose, and these; CassetteError if there is none."""
    path = _path(folder, purpose)
    if path is None:
        wanted = cassette_path(folder, purpose)
        names = [name for path in sorted(wanted.parents[1].glob(f"*/{wanted.name}")) if (name := _subject(path))]
        others = f"; recorded there for this case: {', '.join(names)}" if names else ""
        raise CassetteError(f"there is no {wanted}{others}")
    if path.suffix == ".json":
        return path, _from_transcript(path, purpose)
    trials = read(path)
    if purpose.trial not in trials:
        known = ", ".join(map(str, sorted(trials))) or "none"
        raise CassetteError(f"{path} has no trial {purpose.trial}; it has {known}")
    return path, trials[purpose.trial]


def is_recorded(folder: Path, purpose: CallPurpose) -> bool:
    """Whether calls of the agent or the judge are recorded under exactly this name."""
    judge = replace(purpose, role="judge")
    paths = (cassette_path(folder, purpose), cassette_path(folder, judge), _transcript_path(folder, purpose))
    return any(path.exists() for path in paths)


def _path(folder: Path, purpose: CallPurpose) -> Path | None:
    """Return the file with the calls of a purpose; older recordings may lack the digest of the test in the name."""
    whole = _OF_TEST.fullmatch(purpose.case)
    for each in (purpose, replace(purpose, case=whole[1])) if whole else (purpose,):
        for path in (cassette_path(folder, each), _transcript_path(folder, each)):
            if path.exists():
                return path
    return None


def stored_judgement(folder: Path, purpose: CallPurpose) -> Mapping[str, Any] | None:
    """Return the judgement in the transcript of a purpose; None if there is none or it is a cassette."""
    path = _path(folder, purpose)
    if path is None or path.suffix != ".json":
        return None
    try:
        judgement = _checked(decoded(path.read_bytes()))["record"]["judgement"]
    except (OSError, ValueError, KeyError, TypeError):  # reported when the exchanges are read
        return None
    return judgement if isinstance(judgement, Mapping) else None


def _subject(path: Path) -> str:
    """Return the subject of a cassette; empty if the file is not a cassette."""
    try:
        return str(decoded(next(_lines(path))[1])["subject"])
    except (CassetteError, StopIteration, ValueError, KeyError, TypeError):
        return ""


def read(path: Path) -> dict[int, list[RecordedExchange]]:
    """Return the exchanges of a cassette by trial; CassetteError if a line is not an exchange."""
    trials: dict[int, list[RecordedExchange]] = {}
    trial, recording = 0, ExchangeReader(0)
    for number, line in _lines(path):
        try:
            record = decoded(line)
            if "cassette" in record:
                trial = _trial(record)
                trials[trial], recording = [], ExchangeReader(trial)
            else:
                trials[trial].append(recording.read(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = _why(error) if trial else f"the first line must be the header of {SCHEMA}"
            raise CassetteError(f"{path}:{number}: not an exchange ({why}); {_AGAIN}") from error
    return trials


def read_prompts(folder: Path, exchanges: Sequence[RecordedExchange]) -> Mapping[str, Any]:
    """Return the system prompts and tools of exchanges by id; those that can't be read are left out."""
    names = {exchange.line["prompt"] for exchange in exchanges}
    return {name: known for name in names if (known := _read_prompt(prompt_path(folder, name)))}


def _from_transcript(path: Path, purpose: CallPurpose) -> Sequence[RecordedExchange]:
    try:
        document = _checked(decoded(path.read_bytes()))
        recording = ExchangeReader(purpose.trial, marked=False)
        return [recording.read(line) for line in _part(path, document, purpose.role)["exchanges"]]
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReplayError(f"{path}: not a transcript with exchanges ({_why(error)})") from error


def _part(path: Path, document: Mapping[str, Any], role: str) -> Any:  # noqa: ANN401 (JSON from a file)
    """Return the part of a transcript with the exchanges of a role; TranscriptError if the judge made no call."""
    if role == "agent":
        return document
    if role != "judge":
        return document["roles"][role]
    if "judge" in document:
        return document["judge"]
    if (document.get("record", {}).get("judgement") or {}).get("cached"):
        raise ReplayError(f"{path}: the judgement of this trial came from the cache, and answers another request")
    raise ReplayError(f"{path}: no judge gave an answer in this trial")


def _checked(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if document["schema"] != TRANSCRIPT:
        raise ValueError(f"unsupported schema {cut(repr(document['schema']), 80)}; supported: {TRANSCRIPT}")
    return document


def _transcript_path(folder: Path, purpose: CallPurpose) -> Path:
    named = place(purpose.suite, purpose.subject, purpose.case)
    return folder / f"{named}{f'.{purpose.trial}' if purpose.trial > 1 else ''}.json"


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    try:
        whole = path.read_bytes()
    except OSError as error:
        raise CassetteError(f"{path}: {error.strerror}") from error
    yield from ((number, line) for number, line in enumerate(whole.split(b"\n"), start=1) if line.strip())


def _trial(record: Mapping[str, Any]) -> int:
    if record["cassette"] != SCHEMA:
        raise ValueError(f"unsupported schema {cut(repr(record['cassette']), 80)}; supported: {SCHEMA}")
    trial = record["trial"]
    if not isinstance(trial, int):
        raise TypeError(f"trial {cut(repr(trial), 80)} is not a number")
    return trial


def _read_prompt(path: Path) -> Any:  # noqa: ANN401 (JSON from a file)
    try:
        document = decoded(path.read_bytes())
        return {"system": "\n".join(document["system"]), "tools": document["tools"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _why(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)
