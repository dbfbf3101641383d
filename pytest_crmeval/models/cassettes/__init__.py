"""Cassettes: calls to models are recorded on disk, and replayed without the models."""

import fcntl
import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from threading import Lock, get_ident

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.models.cassettes.differences import HIDDEN, PresentRequest, difference
from pytest_crmeval.models.cassettes.exchanges import (
    Dialogue,
    Digest,
    RecordedExchange,
    key_of,
    lines_of,
    prompt_id,
    tools_of,
)
from pytest_crmeval.models.cassettes.files import (
    SCHEMA,
    CassetteError,
    ReplayError,
    cassette_path,
    find,
    prompt_path,
    read,
    read_prompts,
)
from pytest_crmeval.models.usage_meter import UsageMeter, current
from pytest_crmeval.ports.chat_model import Cause, ChatModel, Completion, ModelCall, ModelError, ModelIdentity, Prompt

__all__ = [
    "CassetteError",
    "RecordingModel",
    "ReplayingModel",
    "lines_of",
    "prompt_files",
    "read",
    "write",
    "write_prompts",
]

LONGEST_MESSAGE = 2_000
_AFRESH = "play it again without --crmeval-replay"


def write(folder: Path, meter: UsageMeter, redactor: Redactor | None = None) -> None:
    """Record the calls of a meter; recordings of other trials of the case are kept.

    OSError with the name of the file if it can't be written, and then it is unchanged; CassetteError if the existing
    file is not a cassette.
    """
    if not meter.calls:
        return
    redactor = redactor or Redactor()
    purpose, path = meter.purpose, cassette_path(folder, meter.purpose)
    lines = lines_of(meter.calls, purpose.trial, redactor)
    if meter.notes:  # they are stored in the first line
        lines[0] = {**lines[0], "notes": [redactor.text(note) for note in meter.notes]}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_prompts(folder, meter.calls, redactor)
    with _locked(path.parent):
        kept = read(path) if path.exists() else {}
        trials: dict[int, Sequence[JsonObject]] = {
            trial: [exchange.line for exchange in recorded] for trial, recorded in kept.items()
        }
        trials[purpose.trial] = lines
        head = {"cassette": SCHEMA, "suite": purpose.suite, "subject": purpose.subject, "case": purpose.case}
        content: list[JsonObject] = []
        for trial, exchanges in sorted(trials.items()):
            content += [{**head, "trial": trial}, *exchanges]
        _replace(path, b"".join(encoded(line) + b"\n" for line in content))


def write_prompts(folder: Path, calls: Iterable[ModelCall], redactor: Redactor | None = None) -> None:
    """Write the system prompts and tools that exchanges refer to, if they are new; OSError if they can't be written."""
    for digest, prompt in {prompt_id(asking.prompt): asking.prompt for asking in calls}.items():
        path = prompt_path(folder, digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, _prompt_content(prompt, redactor or Redactor()))


def prompt_files(calls: Iterable[ModelCall], redactor: Redactor, known: Container[str]) -> dict[str, bytes]:
    """Return the files of the prompts that exchanges refer to, by their paths, without those that are ``known``.

    Most cases have the same prompt, so that its file is made once.
    """
    prompts = {str(prompt_path(Path(), prompt_id(call.prompt))): call.prompt for call in calls}
    return {path: _prompt_content(prompt, redactor) for path, prompt in prompts.items() if path not in known}


def _prompt_content(prompt: Prompt, redactor: Redactor) -> bytes:
    document: JsonObject = {"system": prompt.system.split("\n"), "tools": tools_of(prompt)}
    text = json.dumps(redactor.careful().json(document), ensure_ascii=False, indent=1, default=dict) + "\n"
    return text.encode("utf-8", "backslashreplace")


class RecordingModel:
    """A model whose calls are recorded: no call is made, or paid for, if the existing cassette is unreadable."""

    def __init__(self, model: ChatModel, folder: Path, *, judged: bool = False) -> None:
        self._model = model
        self._folder = folder
        self._judged = judged
        """Whether the trial is judged, so that the judge's cassette is checked as well."""

    @property
    def identity(self) -> ModelIdentity:
        """The model."""
        return self._model.identity

    def complete(self, prompt: Prompt) -> Completion:
        """Call the model; before the first request of a trial, ModelError if an existing cassette can't be read."""
        meter = current()
        if not meter.calls:
            roles = [meter.purpose.role, "judge"] if self._judged else [meter.purpose.role]
            try:
                for path in (cassette_path(self._folder, replace(meter.purpose, role=role)) for role in roles):
                    if path.exists():
                        read(path)
            except CassetteError as error:
                raise ModelError(Cause.NO_RECORDING, str(error)) from error
        return self._model.complete(prompt)


class ReplayingModel:
    """A model that answers recorded requests with the recorded answers, and no others."""

    def __init__(
        self,
        identity: ModelIdentity,
        folder: Path,
        price: Callable[[Usage], float | None],
        redactor: Redactor | None = None,
        former: "ReplayingModel | None" = None,
    ) -> None:
        self._identity = identity
        self._former = former
        """The model that the same agent asked before, if that is on the cassette."""
        self._folder = folder
        self._price = price
        self._redactor = redactor or Redactor()

    @property
    def identity(self) -> ModelIdentity:
        """The model that was recorded."""
        return self._identity

    def complete(self, prompt: Prompt) -> Completion:
        """Answer from the cassette of the open meter; ModelError with the difference if the request is not in it."""
        meter = current()
        with _REPLAYING:  # threads may send the same request at the same time
            playback = _PLAYBACK.get()
            if playback is None or playback.meter is not meter or playback.folder != self._folder:
                playback = _Playback(meter, self._folder, self._redactor)
                _PLAYBACK.set(playback)
            model = self._former if self._former and playback.has(self._former.identity) else self
            completion = playback.answer(model.identity, prompt)
            call = ModelCall(identity=model.identity, prompt=prompt, completion=completion)
            meter.take(call, model._price(completion.usage), replayed=True)  # noqa: SLF001 (of the same class)
        return completion


class _Playback:
    """The recording of one trial, and how much of it has been replayed."""

    def __init__(self, meter: UsageMeter, folder: Path, redactor: Redactor) -> None:
        self.meter = meter
        self.folder = folder
        try:
            self._path, self._exchanges = find(folder, meter.purpose)
        except ReplayError as error:
            raise ModelError(Cause.NOT_RECORDED, f"{error}\n{_AFRESH}") from error
        except CassetteError as error:
            raise ModelError(Cause.NOT_RECORDED, f"{error}\nrecord it with --crmeval-record {folder}") from error
        notes = self._exchanges[0].line.get("notes") if self._exchanges else None
        for note in notes if isinstance(notes, list) else ():
            meter.note(str(note))
        self._redactor = redactor
        self._dialogue, self._digest = Dialogue(), Digest()
        self._left: dict[str, list[RecordedExchange]] = {}
        for exchange in reversed(self._exchanges):
            self._left.setdefault(exchange.key, []).append(exchange)
        self._played = 0
        self._last: tuple[ModelIdentity, Prompt, str] | None = None

    def has(self, identity: ModelIdentity) -> bool:
        """Whether a model was recorded, with whatever settings."""
        return any(
            (each.line["provider"], each.line["model"]) == (identity.provider, identity.model)
            for each in self._exchanges
        )

    def answer(self, identity: ModelIdentity, prompt: Prompt) -> Completion:
        """Return the first answer to the request that has not been replayed yet; calls on the meter have been."""
        for call in self.meter.calls[self._played :]:
            # Its answer has been replayed; its key is known if it is the last request.
            same = self._last and self._last[0] == call.identity and self._last[1] is call.prompt
            key = self._last[2] if self._last and same else self._key(call.identity, call.prompt)
            if self._left.get(key):
                self._left[key].pop()
            self._played += 1
        key = self._key(identity, prompt)
        self._last = (identity, prompt, key)
        found = self._left.get(key)
        if not found or found[-1].redacted:
            raise ModelError(Cause.NOT_RECORDED, self._problem(HIDDEN if found else self._why(identity, prompt)))
        return found[-1].completion

    def _key(self, identity: ModelIdentity, prompt: Prompt) -> str:
        continued, lines = self._dialogue.extend(prompt.messages)
        return key_of(identity, prompt, self._digest.extend(lines, continued=continued), self.meter.purpose.trial)

    def _why(self, identity: ModelIdentity, prompt: Prompt) -> str:
        messages = [self._redactor.careful().json(line) for line in Dialogue().extend(prompt.messages)[1]]
        request = PresentRequest(identity=identity, prompt=prompt, messages=messages)
        known = read_prompts(self.folder, self._exchanges)
        return difference(request, self._exchanges, self._played, known)

    def _problem(self, why: str) -> str:
        problem = self._redactor.text(f"request {self._played + 1} is not in {self._path}: {why}")
        if why == HIDDEN:
            return problem
        is_transcript = self._path.suffix == ".json"
        again = f"record it again with --crmeval-record {self.folder}"
        advice = f"a transcript can't be changed: {_AFRESH}" if is_transcript else again
        return f"{cut(problem, LONGEST_MESSAGE - len(advice) - 2)}\n{advice}"


_PLAYBACK: ContextVar[_Playback | None] = ContextVar("crmeval_playback", default=None)
_REPLAYING = Lock()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the cassettes of a folder: several workers may play trials of one case."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically; an OSError has its name."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
