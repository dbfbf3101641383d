"""Exchanges with a model as lines of a cassette, and their keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, get_args

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.messages import Message, Tool
from pytest_crmeval.domain.redaction import REDACTED, Redactor
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.domain.wire import encoded, read_message, read_reply, text_of, written, written_reply
from pytest_crmeval.ports.chat_model import Completion, ModelCall, ModelIdentity, Prompt, StopReason

_KNOWN_PROMPTS: dict[tuple[str, int], tuple[Sequence[Tool], str]] = {}
_MOST_PROMPTS = 64
_OMITTED = frozenset({"calls", "retries"})
"""Counts that are not part of an answer."""


class Dialogue:
    """The messages of successive requests; each request usually adds to the one before."""

    def __init__(self) -> None:
        self._before: Sequence[Message] = ()

    def extend(self, messages: Sequence[Message]) -> tuple[bool, list[Json]]:
        """Return whether the messages of a request continue those of the last one, and the new ones as JSON."""
        number = len(self._before)
        continued = bool(number) and tuple(messages[:number]) == self._before
        fresh = messages[number:] if continued else messages
        self._before = tuple(messages)
        return continued, [written(message) for message in fresh]


class Digest:
    """A digest of all messages of a request, also of those that it shares with the request before."""

    def __init__(self) -> None:
        self._digest = sha256()

    def extend(self, lines: Iterable[Json], *, continued: bool) -> str:
        """Return the digest of a request that adds ``lines`` to the last one; if not ``continued``, of ``lines``."""
        self._digest = self._digest if continued else sha256()
        for line in lines:
            self._digest.update(encoded(line, canonical=True) + b"\n")
        return self._digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """One recorded exchange: the answer, and the line of the file."""

    key: str
    completion: Completion
    line: Mapping[str, Any]
    redacted: bool
    """Whether a secret was removed from it, so that it can't be replayed faithfully."""


class ExchangeReader:
    """Reads the lines of one trial in order: each has only the messages that were added to the one before."""

    def __init__(self, trial: int, *, marked: bool = True) -> None:
        self._trial = trial
        self._marked = marked
        """Whether redacted lines are marked; those of transcripts are not, which are redacted as a whole."""
        self._digest = Digest()

    def read(self, line: Any) -> RecordedExchange:  # noqa: ANN401 (JSON from a file)
        """Return the exchange of the next line; KeyError, TypeError, ValueError or AttributeError if it is not one."""
        if line["ending"] not in get_args(StopReason):
            raise ValueError(f"unknown ending {cut(repr(line['ending']), 80)}")
        usage = Usage.from_dict({**line["usage"], "calls": 1, "retries": 0})
        completion = Completion(reply=read_reply(line["reply"]), usage=usage, ending=line["ending"])
        messages = line.get("added", line.get("messages", ()))
        for message in messages:
            read_message(message)
        texts = [text_of(line[name]) for name in ("provider", "model", "prompt")]
        identity = ModelIdentity(provider=texts[0], model=texts[1], settings=line["settings"])
        digest = self._digest.extend(messages, continued="added" in line)
        key = _key(identity, texts[2], text_of(line.get("must_call", "")), digest, self._trial)
        if self._marked and "key" not in line:  # lines with a key are older than the mark
            redacted = bool(line.get("redacted", False))
        else:
            redacted = REDACTED.encode() in encoded(line)
        return RecordedExchange(key=key, completion=completion, line=line, redacted=redacted)


def lines_of(calls: Iterable[ModelCall], _trial: int = 1, redactor: Redactor | None = None) -> list[JsonObject]:
    """Return every exchange of a trial as JSON: the messages that were added to the request before, and the reply.

    Only known secrets and certain keys are removed, and the line is marked: a changed answer could lead to another
    verdict when it is replayed.
    """
    redactor = (redactor or Redactor()).careful()
    dialogue = Dialogue()
    return [_line(asking, dialogue, redactor) for asking in calls]


def key_of(identity: ModelIdentity, prompt: Prompt, digest: str, trial: int) -> str:
    """Return the key of an exchange: a digest of model, settings, prompt, messages and trial."""
    return _key(identity, prompt_id(prompt), prompt.must_call, digest, trial)


def prompt_id(prompt: Prompt) -> str:
    """Return a digest of system prompt and tools, which are the same in every request of an agent.

    They are long and usually the same objects, so the digest is cached.
    """
    place = (prompt.system, id(prompt.tools))
    known = _KNOWN_PROMPTS.get(place)
    if known is None or known[0] is not prompt.tools:
        if len(_KNOWN_PROMPTS) >= _MOST_PROMPTS:
            _KNOWN_PROMPTS.clear()
        whole = encoded([prompt.system, tools_of(prompt)], canonical=True)
        known = _KNOWN_PROMPTS[place] = (prompt.tools, sha256(whole).hexdigest()[:16])
    return known[1]


def tools_of(prompt: Prompt) -> list[Json]:
    """Return the tools of a prompt as JSON."""
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in prompt.tools
    ]


def _key(identity: ModelIdentity, prompt: str, must_call: str, digest: str, trial: int) -> str:
    whole: list[Json] = [identity.provider, identity.model, identity.settings, prompt, must_call, digest, trial]
    return sha256(encoded(whole, canonical=True)).hexdigest()


def _line(asking: ModelCall, dialogue: Dialogue, redactor: Redactor) -> JsonObject:
    identity, prompt, completion = asking.identity, asking.prompt, asking.completion
    continued, messages = dialogue.extend(prompt.messages)
    said: JsonObject = {
        "settings": dict(identity.settings),
        "messages": messages,
        "reply": written_reply(completion.reply),
    }
    clean = redactor.fields(said, ())
    return {
        "provider": identity.provider,
        "model": identity.model,
        "settings": clean["settings"],
        "prompt": prompt_id(prompt),
        **({"must_call": prompt.must_call} if prompt.must_call else {}),
        "added" if continued else "messages": clean["messages"],
        "reply": clean["reply"],
        **({"redacted": True} if clean != said else {}),
        "ending": completion.ending,
        "usage": {name: count for name, count in completion.usage.to_dict().items() if count and name not in _OMITTED},
    }
