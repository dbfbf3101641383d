"""Exchanges with a model as lines of a cassette, and the keys that they are found by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, get_args

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.messages import Message, Tool
from pytest_crmeval.domain.prompt import Asking, Completion, Ending, ModelIdentity, Prompt
from pytest_crmeval.domain.redaction import REDACTED, Redactor
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.domain.wire import encoded, read_message, read_reply, text_of, written, written_reply

_KNOWN_PROMPTS: dict[tuple[str, int], tuple[Sequence[Tool], str]] = {}
_MOST_PROMPTS = 64
_WEATHER = frozenset({"calls", "retries"})
"""What is the same in every answer, or says nothing about it."""


class Dialogue:
    """The messages of one request after the other; those that were there before are not looked at again."""

    def __init__(self) -> None:
        self._heard: Sequence[Message] = ()

    def hear(self, messages: Sequence[Message]) -> tuple[bool, list[Json]]:
        """Take the messages of a request; return whether they continue the last ones, and those that do, written."""
        continued = bool(self._heard) and self._continues(messages)
        fresh = messages[len(self._heard) :] if continued else messages
        self._heard = tuple(messages)
        return continued, [written(message) for message in fresh]

    def _continues(self, messages: Sequence[Message]) -> bool:
        before = len(self._heard)
        return len(messages) >= before and tuple(messages[:before]) == self._heard


class Digest:
    """A digest of all messages of a request, as they are written down, with those of the requests that it continues."""

    def __init__(self) -> None:
        self._digest = sha256()

    def take(self, lines: Iterable[Json], *, continued: bool) -> str:
        """Return the digest of a request that adds ``lines`` to the last one, or has nothing else."""
        self._digest = self._digest if continued else sha256()
        for line in lines:
            self._digest.update(encoded(line, canonical=True) + b"\n")
        return self._digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One exchange as it was read: the answer, and the line that it comes from."""

    key: str
    completion: Completion
    line: Mapping[str, Any]
    redacted: bool
    """Whether something of it is not there: nobody knows what the answer would have led to."""


class Recording:
    """Reads the lines of one trial, in their order: a line has only what was added to the one before."""

    def __init__(self, trial: int, *, marked: bool = True) -> None:
        self._trial = trial
        self._marked = marked
        """Whether lines say themselves that something was taken out; transcripts are redacted once more, as a whole."""
        self._digest = Digest()

    def read(self, line: Any) -> Recorded:  # noqa: ANN401 (JSON from a file)
        """Return the exchange of the next line; KeyError, TypeError, ValueError or AttributeError if it is none."""
        completion = _completion(line)
        messages = line.get("added", line.get("messages", ()))
        for message in messages:
            read_message(message)
        texts = [text_of(line[name]) for name in ("provider", "model", "prompt")]
        identity = ModelIdentity(provider=texts[0], model=texts[1], settings=line["settings"])
        digest = self._digest.take(messages, continued="added" in line)
        key = _key(identity, texts[2], text_of(line.get("must_call", "")), digest, self._trial)
        return Recorded(key=key, completion=completion, line=line, redacted=self._is_redacted(line))

    def _is_redacted(self, line: Mapping[str, Any]) -> bool:
        if self._marked and "key" not in line:  # lines with a key are older than the mark
            return bool(line.get("redacted", False))
        return REDACTED.encode() in encoded(line)


def lines_of(askings: Iterable[Asking], _trial: int = 1, redactor: Redactor | None = None) -> list[JsonObject]:
    """Return every exchange of a trial as JSON: what was added to the request before, and what came back.

    Only known secrets and what can be nothing but a key are taken out, and the line says so: another answer than the
    one that was given would be played to another verdict.
    """
    redactor = (redactor or Redactor()).careful()
    dialogue = Dialogue()
    return [_line(asking, dialogue, redactor) for asking in askings]


def key_of(identity: ModelIdentity, prompt: Prompt, digest: str, trial: int) -> str:
    """Return what an exchange is found by: who is asked, how, all of what, and which trial it is."""
    return _key(identity, prompt_id(prompt), prompt.must_call, digest, trial)


def prompt_id(prompt: Prompt) -> str:
    """Return a digest of what is the same in every request of an agent: system prompt and tools.

    They are long and the same objects again and again, so that they are looked at once.
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


def _completion(line: Any) -> Completion:  # noqa: ANN401 (JSON from a file)
    if line["ending"] not in get_args(Ending):
        raise ValueError(f"unknown ending {cut(repr(line['ending']), 80)}")
    usage = Usage.from_dict({**line["usage"], "calls": 1, "retries": 0})
    return Completion(reply=read_reply(line["reply"]), usage=usage, ending=line["ending"])


def _line(asking: Asking, dialogue: Dialogue, redactor: Redactor) -> JsonObject:
    identity, prompt, completion = asking.identity, asking.prompt, asking.completion
    continued, messages = dialogue.hear(prompt.messages)
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
        "usage": {name: count for name, count in completion.usage.to_dict().items() if count and name not in _WEATHER},
    }
