"""Judgements of earlier runs, by what was judged."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.prompt import ModelIdentity, Prompt

SCHEMA = "crmeval.judgement/1"


class CorruptError(Exception):
    """A file of the cache that holds no judgement; the message says which."""


class Judgements(Protocol):
    """Where a judgement may be found instead of being asked for."""

    def find(self, key: str, samples: int, /) -> Judgement | None:
        """Return what the judge said before; CorruptError if that can't be read."""
        ...

    def keep(self, key: str, judge: ModelIdentity, grades: Sequence[Grade], /) -> None:
        """Write a judgement down for the next time; OSError if that can't be."""
        ...


@dataclass(frozen=True, slots=True)
class ToldJudgements:
    """The judgement that a transcript tells of, if it came from the cache when the transcript was written."""

    told: Callable[[], Mapping[str, Any] | None]
    """Returns the judgement of the trial that is being replayed."""

    def find(self, key: str, _samples: int) -> Judgement | None:
        """Return it if the same judge was shown the same; nothing if it was asked for: then that was recorded."""
        record = self.told() or {}
        if not record.get("cached") or record.get("key") != key:
            return None
        try:
            return Judgement.from_dict({**record, "bill": None, "notes": ()})
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptError(f"the transcript holds no judgement: {error}") from error

    def keep(self, key: str, judge: ModelIdentity, grades: Sequence[Grade]) -> None:
        """Keep nothing: what is replayed is no news."""


@dataclass(frozen=True, slots=True)
class JudgementCache:
    """A folder with one small file per judgement, which several processes may use at once."""

    folder: Path
    clean: Callable[[str], str] = str
    """Takes secrets out of what is written."""

    def find(self, key: str, samples: int) -> Judgement | None:
        """Return what the judge said before; CorruptError if a file is there and can't be read."""
        path = self._path(key)
        try:
            grades = _grades(json.loads(path.read_text(encoding="utf-8")), key, samples)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptError(f"{path} holds no judgement, so the judge was asked again: {error}") from error
        return Judgement(grades=grades, cached=True, key=key)

    def keep(self, key: str, judge: ModelIdentity, grades: Sequence[Grade]) -> None:
        """Write a judgement down, whole or not at all; OSError if that can't be."""
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


def key_of(judge: ModelIdentity, samples: int, prompt: Prompt) -> str:
    """Return what a judgement is found by: who is asked, how often, and everything that he is shown."""
    asked = {
        "judge": [judge.provider, judge.model, dict(judge.settings)],
        "samples": samples,
        "system": prompt.system,
        "messages": [message.text for message in prompt.messages],
        "tools": [[tool.name, tool.description, tool.parameters] for tool in prompt.tools],
    }
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _grades(record: Mapping[str, Any], key: str, samples: int) -> Sequence[Grade]:
    if record["schema"] != SCHEMA or record["key"] != key or len(record["grades"]) != samples:
        raise ValueError("it is another one's")
    return tuple(Grade.from_dict(grade) for grade in record["grades"])
