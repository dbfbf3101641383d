"""Cassettes: what was asked of models is written to disk, and played again without them."""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from threading import Lock, get_ident

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.prompt import Asking, Completion, ModelIdentity, Prompt
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.models.cassettes.differences import HIDDEN, Request, difference
from pytest_crmeval.models.cassettes.exchanges import (
    Dialogue,
    Digest,
    Recorded,
    key_of,
    lines_of,
    prompt_id,
    tools_of,
)
from pytest_crmeval.models.cassettes.files import (
    SCHEMA,
    CassetteError,
    TranscriptError,
    cassette_path,
    find,
    prompt_path,
    read,
    read_prompts,
)
from pytest_crmeval.models.usage_meter import CallPurpose, UsageMeter, current
from pytest_crmeval.ports.chat_model import Cause, ChatModel, ModelError

__all__ = ["CassetteError", "Replaying", "Taped", "lines_of", "read", "write", "write_prompts"]

LONGEST_MESSAGE = 2_000
_AFRESH = "play it again without --crmeval-replay"


def write(folder: Path, meter: UsageMeter, redactor: Redactor | None = None) -> None:
    """Record all that a meter has; what is recorded of other trials of the case stays.

    OSError with the name of the file if it can't be written, and then the file is as it was; CassetteError if what is
    there is no cassette.
    """
    if not meter.askings:
        return
    redactor = redactor or Redactor()
    purpose, path = meter.purpose, cassette_path(folder, meter.purpose)
    lines = _noted(lines_of(meter.askings, purpose.trial, redactor), map(redactor.text, meter.notes))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_prompts(folder, meter.askings, redactor)
    with _locked(path.parent):
        kept = read(path) if path.exists() else {}
        trials: dict[int, Sequence[JsonObject]] = {
            trial: [exchange.line for exchange in exchanges] for trial, exchanges in kept.items()
        }
        trials[purpose.trial] = lines
        _replace(path, b"".join(_section(purpose, *trial) for trial in sorted(trials.items())))


def write_prompts(folder: Path, askings: Iterable[Asking], redactor: Redactor | None = None) -> None:
    """Write the system prompts and tools that exchanges refer to, once; OSError if they can't be written."""
    for digest, prompt in {prompt_id(asking.prompt): asking.prompt for asking in askings}.items():
        path = prompt_path(folder, digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            document: JsonObject = {"system": prompt.system.split("\n"), "tools": tools_of(prompt)}
            clean = (redactor or Redactor()).careful().json(document)
            text = json.dumps(clean, ensure_ascii=False, indent=1, default=dict) + "\n"
            _replace(path, text.encode("utf-8", "backslashreplace"))


class Taped:
    """A model whose answers are to be recorded: it is neither asked nor paid where that can't be."""

    def __init__(self, model: ChatModel, folder: Path, *, judged: bool = False) -> None:
        self._model = model
        self._folder = folder
        self._judged = judged
        """Whether a judge will be asked about the trial, whose cassette has to be whole, too."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model is asked."""
        return self._model.identity

    def complete(self, prompt: Prompt) -> Completion:
        """Ask; ModelError before the first request of a trial if what was recorded before can't be read."""
        meter = current()
        if not meter.askings:
            self._check(meter.purpose)
        return self._model.complete(prompt)

    def _check(self, purpose: CallPurpose) -> None:
        purposes = [purpose, replace(purpose, role="judge")] if self._judged else [purpose]
        try:
            for path in (cassette_path(self._folder, each) for each in purposes):
                if path.exists():
                    read(path)
        except CassetteError as error:
            raise ModelError(Cause.NO_RECORDING, str(error)) from error


class Replaying:
    """A model that gives the answers that were recorded, to the requests that were recorded, and to no others."""

    def __init__(
        self,
        identity: ModelIdentity,
        folder: Path,
        price: Callable[[Usage], float | None],
        redactor: Redactor | None = None,
    ) -> None:
        self._identity = identity
        self._folder = folder
        self._price = price
        self._redactor = redactor or Redactor()

    @property
    def identity(self) -> ModelIdentity:
        """Which model was recorded."""
        return self._identity

    def complete(self, prompt: Prompt) -> Completion:
        """Answer from the cassette of the open meter; ModelError that tells what differs if it is not there."""
        meter = current()
        with _PLAYING:  # several may ask the same at the same time
            completion = self._reel(meter).answer(self._identity, prompt)
            asking = Asking(identity=self._identity, prompt=prompt, completion=completion)
            meter.take(asking, self._price(completion.usage), replayed=True)
        return completion

    def _reel(self, meter: UsageMeter) -> "_Reel":
        """Return what is left of the meter's cassette, which is read once."""
        reel = _REEL.get()
        if reel is None or reel.meter is not meter or reel.folder != self._folder:
            reel = _Reel(meter, self._folder, self._redactor)
            _REEL.set(reel)
        return reel


class _Reel:
    """The recording of one trial, and what of it has been played."""

    def __init__(self, meter: UsageMeter, folder: Path, redactor: Redactor) -> None:
        self.meter = meter
        self.folder = folder
        try:
            self._path, self._exchanges = find(folder, meter.purpose)
        except TranscriptError as error:
            raise ModelError(Cause.NOT_RECORDED, f"{error}\n{_AFRESH}") from error
        except CassetteError as error:
            raise ModelError(Cause.NOT_RECORDED, f"{error}\nrecord it with --crmeval-record {folder}") from error
        for note in _notes(self._exchanges):
            meter.note(note)
        self._redactor = redactor
        self._dialogue, self._digest = Dialogue(), Digest()
        self._left: dict[str, list[Recorded]] = {}
        for exchange in reversed(self._exchanges):
            self._left.setdefault(exchange.key, []).append(exchange)
        self._played = 0
        self._last: tuple[ModelIdentity, Prompt, str] | None = None

    def answer(self, identity: ModelIdentity, prompt: Prompt) -> Completion:
        """Return the first answer to the request that has not been given yet; what is on the meter has been."""
        for asking in self.meter.askings[self._played :]:
            self._take(asking)
        key = self._key(identity, prompt)
        self._last = (identity, prompt, key)
        found = self._left.get(key)
        if not found or found[-1].redacted:
            raise ModelError(Cause.NOT_RECORDED, self._complaint(HIDDEN if found else self._why(identity, prompt)))
        return found[-1].completion

    def _take(self, asking: Asking) -> None:
        key = self._known_key(asking) or self._key(asking.identity, asking.prompt)
        if self._left.get(key):
            self._left[key].pop()
        self._played += 1

    def _known_key(self, asking: Asking) -> str:
        """Return the key of what was asked last, if this is it."""
        if self._last and self._last[0] == asking.identity and self._last[1] is asking.prompt:
            return self._last[2]
        return ""

    def _key(self, identity: ModelIdentity, prompt: Prompt) -> str:
        continued, lines = self._dialogue.hear(prompt.messages)
        return key_of(identity, prompt, self._digest.take(lines, continued=continued), self.meter.purpose.trial)

    def _why(self, identity: ModelIdentity, prompt: Prompt) -> str:
        messages = [self._redactor.careful().json(line) for line in Dialogue().hear(prompt.messages)[1]]
        request = Request(identity=identity, prompt=prompt, messages=messages)
        known = read_prompts(self.folder, self._exchanges)
        return difference(request, self._exchanges, self._played, known)

    def _complaint(self, why: str) -> str:
        told = self._redactor.text(f"request {self._played + 1} is not in {self._path}: {why}")
        if why == HIDDEN:
            return told
        again = self._again()
        most = LONGEST_MESSAGE - len(again) - 2
        return f"{cut(told, most)}\n{again}"

    def _again(self) -> str:
        if self._path.suffix == ".json":
            return f"a transcript can't be changed: {_AFRESH}"
        return f"record it again with --crmeval-record {self.folder}"


_REEL: ContextVar[_Reel | None] = ContextVar("crmeval_reel", default=None)
_PLAYING = Lock()


def _noted(lines: Sequence[JsonObject], notes: Iterable[str]) -> Sequence[JsonObject]:
    """Return the lines of a trial, the first of them with what its reader has to know, if there is anything."""
    told = list(notes)
    return [{**lines[0], "notes": told}, *lines[1:]] if told else lines


def _notes(exchanges: Sequence[Recorded]) -> Iterator[str]:
    told = exchanges[0].line.get("notes") if exchanges else None
    yield from map(str, told if isinstance(told, list) else ())


def _section(purpose: CallPurpose, trial: int, lines: Sequence[JsonObject]) -> bytes:
    named = {"suite": purpose.suite, "subject": purpose.subject, "case": purpose.case}
    head: JsonObject = {"cassette": SCHEMA, **named, "trial": trial}
    return b"".join(encoded(line) + b"\n" for line in (head, *lines))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other process change a cassette of this folder meanwhile: trials of one case may be on several workers."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; an error has its name."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
