"""Transcripts on disk: one document per trial, complete, to be read, scored again and replayed."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_crmeval.domain.cipher import decrypted, encrypted
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.paths import names
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import decoded, encoded, read_turn, written_turn

SCHEMA = "crmeval.transcript/1"
ENCRYPTED = "encrypted"
"""Under this name a confidential trial has its whole transcript."""
Lines = Sequence[JsonObject]
_LISTS = frozenset({"messages", "exchanges"})
"""What is laid out: the document, its turns, its judge; not an exchange, which has a key and is one line."""


class TranscriptError(Exception):
    """A transcript that can't be read; the message says which and why."""


def write(  # noqa: PLR0913 (each may be left out)
    folder: Path,
    trial: Trial,
    *,
    name: str = "",
    index: int | None = None,
    exchanges: Lines = (),
    judged: Lines = (),
    roles: Mapping[str, Lines] | None = None,
    redactor: Redactor | None = None,
    canary: str = "",
) -> Path:
    """Write all that is known of a trial, whole or not at all; OSError with the name of the file if it can't be.

    ``name`` is what the case is called there, if not by its id; ``index`` tells which trial of its case it is, where it
    does not itself;
    ``exchanges`` are what the subject asked of models, ``judged`` what the judge did, ``roles`` what others did who
    make up the subject, as lines of a cassette. With a ``canary`` what was said is encrypted.
    """
    index = index or trial.planned.trial
    path = path_of(folder, trial, index, name)
    content = _redacted(_document(trial, index, exchanges, judged, roles or {}), redactor or Redactor()) + b"\n"
    if canary:
        content = _hidden(content, canary)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(draft, content)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path


def path_of(folder: Path, trial: Trial, index: int | None = None, name: str = "") -> Path:
    """Return where the transcript of a trial is."""
    return folder / name_of(trial, index, name)


def name_of(trial: Trial, index: int | None = None, name: str = "") -> str:
    """Return the path of a trial's transcript relative to the folder of transcripts."""
    planned = trial.planned
    index = index or planned.trial
    named = "/".join(names(planned.suite, planned.subject, name or planned.case))
    return f"{named}.{index}.json" if index > 1 else f"{named}.json"


def load(path: Path) -> Transcript:
    """Return the dialogue as it was played; TranscriptError if the file is no transcript."""
    try:
        document = decoded(path.read_bytes())
        if document["schema"] == SCHEMA and ENCRYPTED in document:
            document = decoded(decrypted(document[ENCRYPTED], document["canary"]).encode())
        if document["schema"] == SCHEMA:
            return Transcript(exchanges=tuple(map(read_turn, document["turns"])))
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TranscriptError(f"{path}: not a transcript ({SCHEMA}): {error!r}") from error
    raise TranscriptError(f"{path}: unsupported schema {cut(repr(document['schema']), 80)}; supported: {SCHEMA}")


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _document(trial: Trial, index: int, exchanges: Lines, judged: Lines, roles: Mapping[str, Lines]) -> JsonObject:
    planned = trial.planned
    document: JsonObject = {
        "schema": SCHEMA,
        "suite": planned.suite,
        "subject": planned.subject,
        "case": planned.case,
        "trial": index,
        "record": trial.to_dict(),
        "turns": [written_turn(exchange) for exchange in trial.transcript.exchanges],
        "exchanges": list(exchanges),
    }
    others = {role: {"exchanges": list(lines)} for role, lines in roles.items() if lines}
    return {
        **document,
        **({"judge": {"exchanges": list(judged)}} if judged else {}),
        **({"roles": others} if others else {}),
    }


def _hidden(content: bytes, canary: str) -> bytes:
    """Return a document that tells of which trial it is, and holds the rest as nobody reads it by accident."""
    document = decoded(content)
    told = {name: document[name] for name in ("schema", "suite", "subject", "case", "trial")}
    return encoded({**told, "canary": canary, ENCRYPTED: encrypted(content.decode(), canary)}) + b"\n"


def _redacted(document: JsonObject, redactor: Redactor) -> bytes:
    """Return the document as it is written; only where there is a secret it is looked at part by part."""
    content = _laid_out(document)
    text = content.decode()
    if redactor.text(text) == text:
        return content
    return _laid_out({name: redactor.json(part) for name, part in document.items()})


def _laid_out(value: Json, opened: int = 4) -> bytes:
    """Return JSON with a line for each message and each exchange.

    ``opened`` levels are laid out. The encoder of Python that indents all of them takes ten times as long.
    """
    if opened and isinstance(value, list) and value:
        return b"[\n" + b",\n".join(_laid_out(item, opened - 1) for item in value) + b"\n]"
    if opened and isinstance(value, Mapping) and value.keys() & _LISTS and "provider" not in value:
        fields = (encoded(name) + b": " + _laid_out(item, opened - 1) for name, item in value.items())
        return b"{\n" + b",\n".join(fields) + b"\n}"
    return encoded(value)
