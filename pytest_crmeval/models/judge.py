"""What the judges of all kinds of case share: spec, number of opinions, and a cache of judgements."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote_plus

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.ports.chat_model import ChatModel, ModelError, ModelIdentity, Prompt

SAMPLES = 3
MOST_SAMPLES = 25
TEMPERATURE = 0.5
"""The temperature for several opinions if the spec has none: at 0 they would all be the same."""
SCHEMA = "crmeval.judgement/1"
Opinion = Callable[[ChatModel, Prompt], Grade]
"""Asks for one opinion; NoGradeError if the answer is not a grade, also at the second attempt."""


class JudgeSpecError(ValueError):
    """An invalid spec of a judge."""


def parse_judge(spec: str) -> tuple[str, int]:
    """Return the spec of the model, and the number of opinions; JudgeSpecError if that is invalid.

    The rest of the spec is not checked here.
    """
    path, _, query = spec.partition("?")
    parts = [part for part in query.split("&") if part]
    names = [unquote_plus(part.partition("=")[0]) for part in parts]
    given = [unquote_plus(part.partition("=")[2]) for part, name in zip(parts, names, strict=True) if name == "samples"]
    kept = [part for part, name in zip(parts, names, strict=True) if name != "samples"]
    samples = _samples(path, given)
    if samples > 1 and "temperature" not in names:
        kept.append(f"temperature={TEMPERATURE}")
    return "?".join(filter(None, (path, "&".join(kept)))), samples


def _samples(path: str, given: list[str]) -> int:
    if not given:
        return SAMPLES
    if len(given) > 1:
        raise JudgeSpecError(f"{path}: samples is given twice")
    (text,) = given
    whole = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_SAMPLES))
    if not whole or not 1 <= int(text) <= MOST_SAMPLES:
        raise JudgeSpecError(f"{path}: samples={text}: must be a whole number from 1 to {MOST_SAMPLES}")
    return int(text)


class CorruptError(Exception):
    """A file of the cache that is not a judgement; the message has its name."""


class Judgements(Protocol):
    """A store of earlier judgements."""

    def find(self, key: str, samples: int, /) -> Judgement | None:
        """Return an earlier judgement; CorruptError if it can't be read."""
        ...

    def keep(self, key: str, judge: ModelIdentity, grades: Sequence[Grade], /) -> None:
        """Store a judgement; OSError if it can't be written."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayedJudgements:
    """The judgement in a transcript, if it came from the cache when the transcript was written."""

    stored: Callable[[], Mapping[str, Any] | None]
    """Returns the judgement of the trial that is being replayed."""

    def find(self, key: str, _samples: int) -> Judgement | None:
        """Return it if the judge and its input are the same; None if it did not come from the cache: it is recorded."""
        record = self.stored() or {}
        if not record.get("cached") or record.get("key") != key:
            return None
        try:
            return Judgement.from_dict({**record, "bill": None, "notes": ()})
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptError(f"the transcript has no valid judgement: {error}") from error

    def keep(self, key: str, judge: ModelIdentity, grades: Sequence[Grade]) -> None:
        """Store nothing: the judgement is in the transcript already."""


@dataclass(frozen=True, slots=True)
class JudgementCache:
    """A folder with one file per judgement, which several processes may use at the same time."""

    folder: Path
    clean: Callable[[str], str] = str
    """Redacts what is written."""

    def find(self, key: str, samples: int) -> Judgement | None:
        """Return an earlier judgement; CorruptError if its file can't be read."""
        path = self._path(key)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["schema"] != SCHEMA or record["key"] != key or len(record["grades"]) != samples:
                raise ValueError("it belongs to another request")  # noqa: TRY301 (handled with the others)
            grades = tuple(Grade.from_dict(grade) for grade in record["grades"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptError(f"{path} is not a judgement, so the judge was called again: {error}") from error
        return Judgement(grades=tuple(grades), cached=True, key=key)

    def keep(self, key: str, judge: ModelIdentity, grades: Sequence[Grade]) -> None:
        """Write a judgement atomically; OSError if it can't be written."""
        record = {"schema": SCHEMA, "key": key, "judge": str(judge), "grades": [grade.to_dict() for grade in grades]}
        path = self._path(key)
        draft = path.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_text(self.clean(json.dumps(record, ensure_ascii=False, indent=1)) + "\n", encoding="utf-8")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


def encoded(value: Json) -> str:
    """Return JSON on one line, with ``<`` escaped, so that it can't contain a tag."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair can't be sent


def key_of(judge: ModelIdentity, samples: int, prompt: Prompt) -> str:
    """Return the key of a judgement: a digest of the judge, the number of opinions, and the prompt."""
    asked = {
        "judge": [judge.provider, judge.model, dict(judge.settings)],
        "samples": samples,
        "system": prompt.system,
        "messages": [message.text for message in prompt.messages],
        "tools": [[tool.name, tool.description, tool.parameters] for tool in prompt.tools],
    }
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class NoGradeError(Exception):
    """The judge's answer is not a grade; the message has the reason."""


class Panel:
    """Asks a model for several opinions.

    ``unreadable`` is the opinion that counts if an answer is unreadable twice.
    """

    def __init__(
        self,
        model: ChatModel,
        samples: int,
        cache: Judgements | None,
        opinion: Opinion,
        *,
        unreadable: Grade,
    ) -> None:
        self._model = model
        self._samples = samples
        self._cache = cache
        self._opinion = opinion
        self._unreadable = unreadable
        # As the user specified it: a setting that the model refuses later must not change the key of the cache.
        self._identity = model.identity

    def __call__(self, prompt: Prompt) -> Judgement:
        """Return the judgement; its cost is on the meter of the caller.

        Errors are part of the judgement: the trial is then not graded, which is not a failure. A ModelError is raised
        only if it is final, so that no further trial can be graded.
        """
        if self._cache is None:
            return self._ask(prompt)
        key = key_of(self._identity, self._samples, prompt)
        try:
            found = self._cache.find(key, self._samples)
        except CorruptError as error:
            judgement = self._ask(prompt)
            return replace(self._stored(key, judgement, self._cache), notes=(str(error), *judgement.notes))
        return found or self._stored(key, self._ask(prompt), self._cache)

    def _stored(self, key: str, judgement: Judgement, cache: Judgements) -> Judgement:
        """Cache complete judgements only; a missing or unreadable opinion is requested again next time."""
        if not judgement.is_graded or self._unreadable in judgement.grades:
            return judgement
        try:
            cache.keep(key, self._identity, judgement.grades)
        except OSError as error:
            return replace(judgement, notes=(f"could not store the judgement for later runs: {error}",))
        return judgement

    def _ask(self, prompt: Prompt) -> Judgement:
        """Ask for all opinions; stop at the first that can't be had, because without it there is no majority."""
        grades: list[Grade] = []
        notes: list[str] = []
        while len(grades) < self._samples:
            try:
                grades.append(self._opinion(self._model, prompt))
            except NoGradeError as error:
                grades.append(self._unreadable)
                notes.append(f"{self._unreadable.reason}: {error}")
            except ModelError as error:
                if error.is_final:
                    raise
                return Judgement(grades=tuple(grades), trouble=str(error), notes=tuple(notes))
        return Judgement(grades=tuple(grades), notes=tuple(notes))
