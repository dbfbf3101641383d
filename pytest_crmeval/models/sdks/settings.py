"""What is sent along with every prompt, less what the server has refused."""

import re
import threading
from collections.abc import Mapping
from typing import Any

from pytest_crmeval.domain.json import Json
from pytest_crmeval.models.sdks.errors import Complaint

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
"""Where the fault is, in the words of pydantic; the rest of them may repeat all that was sent."""


class Settings:
    """The parameters of one model at one server. What is refused once is never sent again, and noted."""

    def __init__(
        self,
        model: str,
        values: Mapping[str, Json],
        *,
        swaps: Mapping[str, str] | None = None,
        needed: frozenset[str] = frozenset(),
        notes: tuple[str, ...] = (),
    ) -> None:
        self._model = model
        self._needed = needed
        self._values: dict[str, Json] = {name: value for name, value in values.items() if value is not None}
        self._swaps = swaps or {}
        self._refused: frozenset[str] = frozenset()
        self._notes = notes
        self._lock = threading.Lock()

    @property
    def values(self) -> Mapping[str, Json]:
        """What is sent now."""
        return self._values

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not sent, or by another name, and what was known of the model before."""
        return self._notes

    @property
    def forces_tools(self) -> bool:
        """Whether the model can be made to call a tool."""
        return TOOL_CHOICE not in self._refused

    def concede(self, complaint: Complaint, sent: Mapping[str, Any]) -> bool:
        """Do without the parameter that a server complains about; False if it complains about none that was sent."""
        ours = ({*self._values, *self._refused, TOOL_CHOICE} & sent.keys()) - self._needed
        blamed = sorted(name for name in ours if _blames(complaint, name))
        if not blamed:
            return False
        with self._lock:
            # Another thread may have conceded it while this one was asking.
            if blamed[0] not in self._refused:
                self._leave_out(blamed[0])
        return True

    def _leave_out(self, name: str) -> None:
        self._refused |= {name}
        values = dict(self._values)
        value = values.pop(name, None)
        other = self._swaps.get(name, "")
        if other and other not in self._refused:
            values[other] = value
        done = f"{other} is sent instead" if other in values else "left out"
        self._values = values
        self._notes += (f"{self._model} refuses {name}: {done}",)


def _blames(complaint: Complaint, name: str) -> bool:
    text = f"{complaint.code} {complaint.words}"
    # A prompt that is too long for the model is no fault of the parameter.
    if complaint.status not in _REFUSING or "context" in text:
        return False
    # Who sets too small a limit wants a small one: without it, an answer of any length would be paid for.
    if "tokens" in name and _TOO_SMALL.search(text):
        return False
    if complaint.param:
        return complaint.param.rpartition(".")[2] == name
    words = " ".join(_LOCATED.findall(complaint.words)) or complaint.words
    return bool(_names(words, name) and _COMPLAINS.search(complaint.words))


def _names(words: str, name: str) -> bool:
    """Whether a server speaks of a parameter: at the start, in a line or in quotes of its own, or as ``name=value``.

    Not in a longer text in quotes: that is what somebody said in the dialogue, and the server repeats.
    """
    quoted = {found[2] for found in _QUOTED.finditer(words)}
    own = _QUOTED.sub("…", words)
    return name in quoted or bool(re.search(rf"\A\s*{name}\b|^{name}$|\b{name}=", own, re.MULTILINE))
