"""The parameters that are sent with every prompt, without those that the server has refused."""

import re
import threading
from collections.abc import Mapping
from typing import Any

from pytest_crmeval.domain.json import Json
from pytest_crmeval.models.sdks.errors import ErrorResponse

TOOL_CHOICE = "tool_choice"
_COMPLAINS = re.compile(
    r"unsupported|support|deprecated|unexpected|unknown|unrecognized|permitted|forbidden|allowed|removed|extra"
    r"|invalid|only|can ?not|may not|must|instead",
    re.IGNORECASE,
)
_TOO_SMALL = re.compile(r"below_min|below (?:the )?minimum|expected (?:a value )?>=", re.IGNORECASE)
_REFUSING = frozenset({400, 422})
_QUOTED = re.compile(r"""(?<!\w)(['"`])(.*?)\1(?!\w)""", re.DOTALL)
_LOCATED = re.compile(r"""['"]loc['"]: ?[\[(]([^\])]*)[\])]""")
"""The location of an error in messages of pydantic; the rest of such a message may repeat the whole request."""


class Settings:
    """The parameters of one model on one server. A refused parameter is never sent again, and noted."""

    def __init__(  # noqa: PLR0913 (what is sent, and what may be left out)
        self,
        model: str,
        values: Mapping[str, Json],
        *,
        swaps: Mapping[str, str] | None = None,
        needed: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
        nested: frozenset[str] = frozenset(),
    ) -> None:
        self._model = model
        self._needed = needed
        self._values: dict[str, Json] = {name: value for name, value in values.items() if value is not None}
        self._swaps = swaps or {}
        self._refused = refused
        """Parameters that are known to be refused, or have been."""
        self._nested = nested
        """Fields of messages that may be refused."""
        known = sorted(refused & self._values.keys())
        self._values = {name: value for name, value in self._values.items() if name not in refused}
        self._notes: tuple[str, ...] = tuple(f"{model} rejects {name}: omitted" for name in known)
        self._lock = threading.Lock()

    @property
    def values(self) -> Mapping[str, Json]:
        """The parameters that are sent now."""
        return self._values

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on parameters that are left out or renamed."""
        return self._notes

    def accepts(self, name: str) -> bool:
        """Whether a field of messages has not been refused."""
        return name not in self._refused

    @property
    def forces_tools(self) -> bool:
        """Whether the model can be made to call a tool."""
        return TOOL_CHOICE not in self._refused

    def do_without(self, refusal: ErrorResponse, sent: Mapping[str, Any]) -> bool:
        """Leave out the parameter that a server refuses; False if it does not refuse one that was sent."""
        fields = {name for said in sent.get("messages", ()) for name in self._nested & said.keys()}
        ours = ({*self._values, *self._refused, TOOL_CHOICE} & sent.keys() | fields) - self._needed
        blamed = sorted(name for name in ours if _blames(refusal, name))
        if not blamed:
            return False
        with self._lock:
            name = blamed[0]
            if name in self._refused:  # another thread has left it out already
                return True
            self._refused |= {name}
            values = dict(self._values)
            value = values.pop(name, None)
            other = self._swaps.get(name, "")
            if other and other not in self._refused:
                values[other] = value
            done = f"{other} is sent instead" if other in values else "omitted"
            self._values = values
            self._notes += (f"{self._model} rejects {name}: {done}",)
        return True


def _blames(refusal: ErrorResponse, name: str) -> bool:
    text = f"{refusal.code} {refusal.words}"
    # A prompt that is too long for the model is not the fault of a parameter.
    if refusal.status not in _REFUSING or "context" in text:
        return False
    # A limit that is too small is an error of the user: without it, an answer of any length would be paid for.
    if "tokens" in name and _TOO_SMALL.search(text):
        return False
    if refusal.param:
        return refusal.param.rpartition(".")[2] == name
    words = " ".join(_LOCATED.findall(refusal.words)) or refusal.words
    return bool(_names(words, name) and _COMPLAINS.search(refusal.words))


def _names(words: str, name: str) -> bool:
    """Whether a server names a parameter: at the start, on its own line or in its own quotes, or as ``name=value``.

    A longer text in quotes does not count: the server may quote the dialogue.
    """
    quoted = {found[2] for found in _QUOTED.finditer(words)}
    own = _QUOTED.sub("…", words)
    return name in quoted or bool(re.search(rf"\A\s*{name}\b|^{name}$|\b{name}=", own, re.MULTILINE))
