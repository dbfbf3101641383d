"""Transcripts on disk: one complete document per trial, which can be read, scored again and replayed."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.paths import names, own_name
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import decoded, encoded, read_turn, written_turn
from pytest_crmeval.journal.cipher import decrypted, encrypted

FOLDER = "transcripts"
"""Name of the folder of transcripts in the folder of a run."""
SCHEMA = "crmeval.transcript/1"
ENCRYPTED = "encrypted"
"""Field with the whole transcript of a confidential trial."""
Lines = Sequence[JsonObject]
_LISTS = frozenset({"messages", "exchanges"})
"""Fields that are written with one line per item; each exchange is one line."""


class TranscriptError(Exception):
    """A transcript can't be read; the message names the file and the reason."""


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
    """Write the transcript of a trial atomically; OSError with the name of the file if it can't be written.

    ``name`` replaces the id of the case in the path; ``index`` is the number of the trial, if ``trial`` does not have
    it. ``exchanges`` are the model calls of the subject, ``judged`` those of the judge and ``roles`` those of the
    subject's other models, as lines of a cassette. With a ``canary`` the dialogue is encrypted.
    """
    path = path_of(folder, trial, index, name)
    store(
        path,
        content_of(
            trial, index=index, exchanges=exchanges, judged=judged, roles=roles, redactor=redactor, canary=canary
        ),
    )
    return path


def content_of(  # noqa: PLR0913 (each may be left out)
    trial: Trial,
    *,
    index: int | None = None,
    exchanges: Lines = (),
    judged: Lines = (),
    roles: Mapping[str, Lines] | None = None,
    redactor: Redactor | None = None,
    canary: str = "",
) -> bytes:
    """Return the content of the file that ``write`` writes."""
    document = _document(trial, index or trial.planned.trial, exchanges, judged, roles or {})
    redactor = redactor or Redactor()
    content = _laid_out(document)
    text = content.decode()
    if redactor.text(text) != text:  # only then part by part, which takes longer
        content = _laid_out({name: redactor.json(part) for name, part in document.items()})
    content += b"\n"
    if not canary:
        return content
    # Only the names of the trial can be read without the canary.
    named = decoded(content)
    head = {name: named[name] for name in ("$schema", "schema", "suite", "subject", "case", "trial")}
    return encoded({**head, "canary": canary, ENCRYPTED: encrypted(content.decode(), canary)}) + b"\n"


def store(path: Path, content: bytes) -> None:
    """Write a file atomically; OSError with its name if it can't be written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            draft.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def path_of(folder: Path, trial: Trial, index: int | None = None, name: str = "") -> Path:
    """Return the path of a trial's transcript."""
    return folder / name_of(trial, index, name)


def name_of(trial: Trial, index: int | None = None, name: str = "") -> str:
    """Return the path of a trial's transcript relative to the folder of transcripts."""
    planned = trial.planned
    index = index or planned.trial
    named = "/".join(names(planned.suite, planned.subject, name or planned.case))
    return f"{named}.{index}.json" if index > 1 else f"{named}.json"


def load(path: Path) -> Transcript:
    """Return the dialogue of a transcript; TranscriptError if the file is not a transcript."""
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


def file_of(run: Path, trial: Trial) -> Path | None:
    """Return the transcript of a trial in the folder of its run; None if there is none."""
    cases = (own_name(trial.planned.case, trial.planned.key), "")  # two tests may play a case of the same name
    paths = (path_of(run / FOLDER, trial, name=case) for case in cases)
    return next((path for path in paths if path.is_file()), None)


def dialogue_of(run: Path, trial: Trial) -> Transcript | None:
    """Return the dialogue of a trial in the folder of its run; None if there is none, or it is confidential."""
    path = file_of(run, trial)
    return load(path) if path and not is_confidential(path) else None


def is_confidential(path: Path) -> bool:
    """Whether the dialogue is encrypted, so that it is not read by accident."""
    try:
        return ENCRYPTED in decoded(path.read_bytes())
    except (OSError, ValueError, TypeError):
        return False


def _document(trial: Trial, index: int, exchanges: Lines, judged: Lines, roles: Mapping[str, Lines]) -> JsonObject:
    planned = trial.planned
    document: JsonObject = {
        **headed(SCHEMA),
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


def _laid_out(value: Json, opened: int = 4) -> bytes:
    """Return JSON with a line for each message and each exchange.

    ``opened`` levels are split into lines. Python's own indenting encoder takes ten times as long.
    """
    if opened and isinstance(value, list) and value:
        return b"[\n" + b",\n".join(_laid_out(item, opened - 1) for item in value) + b"\n]"
    if opened and isinstance(value, Mapping) and value.keys() & _LISTS and "provider" not in value:
        fields = (encoded(name) + b": " + _laid_out(item, opened - 1) for name, item in value.items())
        return b"{\n" + b",\n".join(fields) + b"\n}"
    return encoded(value)
