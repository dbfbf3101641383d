"""Where cassettes are, and how they are read: from a folder of their own, or from the transcripts of a run.

A cassette is ``<suite>/<subject>/<case>.jsonl``: for each trial a line that says so, then a line per exchange. What a
judge was asked is in ``<case>.judge.jsonl``, and so with other roles that make up a subject, like a teacher. System
prompts and tools, which hardly ever change, are in ``prompts``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.paths import place
from pytest_crmeval.domain.wire import decoded
from pytest_crmeval.models.cassettes.exchanges import Recorded, Recording
from pytest_crmeval.models.usage_meter import CallPurpose

SCHEMA = "crmeval.cassette/1"
TRANSCRIPT = "crmeval.transcript/1"
PROMPTS = "prompts"
_OF_TEST = re.compile(r"(.+)~[0-9a-f]{8}", re.DOTALL)
"""Case and digest of its test, where several tests play the case."""
_AGAIN = "restore the file, or take it away and record it again"


class CassetteError(Exception):
    """A cassette that can't be read; the message says which, where, and what to do."""


class TranscriptError(CassetteError):
    """A transcript that can't be played again: it was not recorded to be."""


def cassette_path(folder: Path, purpose: CallPurpose) -> Path:
    """Return where the exchanges of a purpose are recorded."""
    named = place(purpose.suite, purpose.subject, purpose.case)
    return folder / f"{named}{'' if purpose.role == 'agent' else f'.{purpose.role}'}.jsonl"


def prompt_path(folder: Path, prompt: str) -> Path:
    """Return where a system prompt and its tools are kept."""
    return folder / PROMPTS / f"{prompt}.json"


def find(folder: Path, purpose: CallPurpose) -> tuple[Path, Sequence[Recorded]]:
    """Return the file that a purpose is recorded in, and its exchanges; CassetteError if there is none."""
    path = _path(folder, purpose)
    if path is None:
        raise CassetteError(f"there is no {cassette_path(folder, purpose)}{_others(folder, purpose)}")
    return path, _from_transcript(path, purpose) if path.suffix == ".json" else _of_trial(path, purpose.trial)


def is_recorded(folder: Path, purpose: CallPurpose) -> bool:
    """Whether anything of a purpose is recorded under just this name: of its agent, or of its judge."""
    judge = replace(purpose, role="judge")
    paths = (cassette_path(folder, purpose), cassette_path(folder, judge), _transcript_path(folder, purpose))
    return any(path.exists() for path in paths)


def _path(folder: Path, purpose: CallPurpose) -> Path | None:
    """Return where a purpose is recorded; what was recorded when its test alone played the case has the case's name."""
    whole = _OF_TEST.fullmatch(purpose.case)
    for each in (purpose, replace(purpose, case=whole[1])) if whole else (purpose,):
        for path in (cassette_path(folder, each), _transcript_path(folder, each)):
            if path.exists():
                return path
    return None


def told_judgement(folder: Path, purpose: CallPurpose) -> Mapping[str, Any] | None:
    """Return what the transcript of a purpose says of its judgement; None where there is none, or a cassette."""
    path = _path(folder, purpose)
    if path is None or path.suffix != ".json":
        return None
    try:
        judgement = _checked(decoded(path.read_bytes()))["record"]["judgement"]
    except (OSError, ValueError, KeyError, TypeError):  # whoever looks for exchanges tells
        return None
    return judgement if isinstance(judgement, Mapping) else None


def _others(folder: Path, purpose: CallPurpose) -> str:
    """Return who else was recorded in the case: a folder is named after its agent, as it was given."""
    wanted = cassette_path(folder, purpose)
    names = [name for path in sorted(wanted.parents[1].glob(f"*/{wanted.name}")) if (name := _subject(path))]
    return f"; recorded there for this case: {', '.join(names)}" if names else ""


def _subject(path: Path) -> str:
    """Return whose cassette it is; nothing if it is none."""
    try:
        return str(decoded(next(_lines(path))[1])["subject"])
    except (CassetteError, StopIteration, ValueError, KeyError, TypeError):
        return ""


def read(path: Path) -> dict[int, list[Recorded]]:
    """Return the exchanges of a cassette by trial; CassetteError if there is a line that is none."""
    trials: dict[int, list[Recorded]] = {}
    trial, recording = 0, Recording(0)
    for number, line in _lines(path):
        try:
            record = decoded(line)
            if "cassette" in record:
                trial = _trial(record)
                trials[trial], recording = [], Recording(trial)
            else:
                trials[trial].append(recording.read(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = _why(error) if trial else f"the first line is to be that of {SCHEMA}"
            raise CassetteError(f"{path}:{number}: not an exchange ({why}); {_AGAIN}") from error
    return trials


def read_prompts(folder: Path, exchanges: Sequence[Recorded]) -> Mapping[str, Any]:
    """Return the system prompts and tools of exchanges by their ids, as far as they can be read."""
    names = {exchange.line["prompt"] for exchange in exchanges}
    return {name: known for name in names if (known := _read_prompt(prompt_path(folder, name)))}


def _of_trial(path: Path, trial: int) -> Sequence[Recorded]:
    trials = read(path)
    if trial not in trials:
        known = ", ".join(map(str, sorted(trials))) or "none"
        raise CassetteError(f"{path} has no trial {trial}; it has {known}")
    return trials[trial]


def _from_transcript(path: Path, purpose: CallPurpose) -> Sequence[Recorded]:
    try:
        document = _checked(decoded(path.read_bytes()))
        recording = Recording(purpose.trial, marked=False)
        return [recording.read(line) for line in _part(path, document, purpose.role)["exchanges"]]
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TranscriptError(f"{path}: not a transcript with exchanges ({_why(error)})") from error


def _part(path: Path, document: Mapping[str, Any], role: str) -> Any:  # noqa: ANN401 (JSON from a file)
    """Return what has the exchanges of a role; TranscriptError if a judge was asked nothing in this trial."""
    if role == "agent":
        return document
    if role != "judge":
        return document["roles"][role]
    if "judge" in document:
        return document["judge"]
    if (document.get("record", {}).get("judgement") or {}).get("cached"):
        raise TranscriptError(f"{path}: the judgement of this trial came from the cache, and answers another request")
    raise TranscriptError(f"{path}: no judge gave an answer in this trial")


def _checked(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if document["schema"] != TRANSCRIPT:
        raise ValueError(f"unsupported schema {cut(repr(document['schema']), 80)}; supported: {TRANSCRIPT}")
    return document


def _transcript_path(folder: Path, purpose: CallPurpose) -> Path:
    named = place(purpose.suite, purpose.subject, purpose.case)
    return folder / f"{named}{f'.{purpose.trial}' if purpose.trial > 1 else ''}.json"


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that have something on them, with their numbers."""
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
