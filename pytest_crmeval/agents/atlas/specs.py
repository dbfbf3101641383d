"""The spec of an atlas: ``atlas?student=openai:gpt-4.1-mini&teacher=openai:gpt-4.1``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, Self
from urllib.parse import parse_qsl

NAME = "atlas"
MODES = ("paired", "coach", "solo")
LEARNING = ("on", "off", "frozen")
ROLES = ("student", "teacher", "reward", "arbiter", "learner")
STUDENT, TEACHER = "openai:gpt-4.1-mini", "openai:gpt-4.1"
_BEHIND = {"reward": "student", "arbiter": "teacher", "learner": "teacher"}
"""Role -> the role whose model it uses, if its own is not given."""
_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "student": {},
    "teacher": {"max_output_tokens": "1600"},
    "reward": {"max_output_tokens": "600", "temperature": "0.7"},
    "arbiter": {"max_output_tokens": "800"},
    "learner": {"max_output_tokens": "2400"},
}
"""Default settings of a role's model."""
_MOST = {"samples": 9, "retries": 5, "entries": 60}
_OF_MODEL = frozenset({"base_url", "key", "price", "api", "timeout", "retries"})
"""Parameters that all roles of the same model share."""


class AtlasSpecError(ValueError):
    """An invalid spec; the message says what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasSpec:
    """The models of the roles, and the settings."""

    models: Mapping[str, str] = field(default_factory=dict)
    """Role -> spec of its model, or a name; as it was given."""
    mode: str = "paired"
    learning: str = "on"
    order: str = ""
    """``seed:7``: the conversations in a random order of this seed; empty: the order of the dataset."""
    samples: int = 3
    """Number of opinions of the reward model."""
    retries: int = 2
    """Maximum number of further proposals of a student."""
    threshold: float = 0.15
    """Standard deviation of the samples above which an arbiter is asked."""
    entries: int = 24
    """Maximum number of entries in the playbook."""

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Read a spec; AtlasSpecError if it has an unknown parameter or an invalid value."""
        name, _, query = spec.partition("?")
        if name != NAME:
            raise AtlasSpecError(f"{spec!r} is not atlas")
        found = parse_qsl(query, keep_blank_values=True)
        given = dict(found)
        known = [*ROLES, *(each.name for each in fields(cls) if each.name != "models")]
        if unknown := [name for name in given if name not in known]:
            raise AtlasSpecError(f"atlas: unknown parameter {unknown[0]!r}; parameters: {', '.join(known)}")
        if len(given) < len(found):
            raise AtlasSpecError("atlas: a parameter is given twice")
        models = {role: nested(given.pop(role)) for role in ROLES if role in given}
        values: dict[str, Any] = {name: _READ[name](text) for name, text in given.items()}
        return cls(models=models, **values)

    @property
    def learns(self) -> bool:
        """Whether its conversations must be played one after the other."""
        return self.learning == "on"

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that are used."""
        taught = () if self.mode == "solo" else ("teacher",)
        return ("student", *taught, *(("reward", "arbiter", "learner") if self.learns else ()))

    def model(self, role: str) -> str:
        """Return the spec of a role's model as it was given, or the model and address of the role it falls back to."""
        if role in self.models:
            return self.models[role]
        if role not in _BEHIND:
            return STUDENT if role == "student" else TEACHER
        model, _, query = self.model(_BEHIND[role]).partition("?")
        kept = [part for part in query.split("&") if part.partition("=")[0] in _OF_MODEL]
        return f"{model}?{'&'.join(kept)}" if kept else model

    def rank(self, case: str) -> str:
        """Return the sort key of a case in the stream; independent of the other cases."""
        return sha256(f"{self.order} {case}".encode()).hexdigest() if self.order else ""


def is_atlas(spec: str) -> bool:
    """Whether a spec is one of an atlas."""
    return spec.partition("?")[0] == NAME


def models_in(spec: str) -> list[str]:
    """Return the specs, or names, of all models in the spec of an atlas; any other spec alone."""
    if not is_atlas(spec):
        return [spec]
    given = parse_qsl(spec.partition("?")[2], keep_blank_values=True)
    return [nested(value) for name, value in given if name in ROLES]


def nested(text: str) -> str:
    """Return a spec that is nested in another one, where ``;`` stands for ``?`` and ``&``."""
    if "?" in text:  # percent-encoded instead
        return text
    path, _, query = text.partition(";")
    return f"{path}?{query.replace(';', '&')}" if query else path


def settled(role: str, spec: str) -> str:
    """Return the spec of a role's model with the default settings of the role."""
    given = dict(parse_qsl(spec.partition("?")[2], keep_blank_values=True))
    added = "&".join(f"{name}={value}" for name, value in _SETTINGS[role].items() if name not in given)
    return f"{spec}{'&' if '?' in spec else '?'}{added}" if added else spec


def _one_of(name: str, choices: tuple[str, ...], text: str) -> str:
    if text not in choices:
        raise AtlasSpecError(f"atlas: {name}={text}: must be one of {', '.join(choices)}")
    return text


def _order(text: str) -> str:
    kind, _, seed = text.partition(":")
    if text == "dataset":
        return ""
    if kind != "seed" or not (seed.isascii() and seed.isdecimal()):
        raise AtlasSpecError(f"atlas: order={text}: must be dataset or a seed, for example seed:7")
    return f"seed:{int(seed)}"


def _whole(name: str, text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len("99")) or not least <= int(text) <= _MOST[name]:
        raise AtlasSpecError(f"atlas: {name}={text}: must be a whole number from {least} to {_MOST[name]}")
    return int(text)


def _threshold(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise AtlasSpecError(f"atlas: threshold={text}: must be a number from 0 to 1")
    return number


_READ: Mapping[str, Any] = {
    "mode": lambda text: _one_of("mode", MODES, text),
    "learning": lambda text: _one_of("learning", LEARNING, text),
    "order": _order,
    "samples": lambda text: _whole("samples", text, 1),
    "retries": lambda text: _whole("retries", text, 0),
    "threshold": _threshold,
    "entries": lambda text: _whole("entries", text, 1),
}
