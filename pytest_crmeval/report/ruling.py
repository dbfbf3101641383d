"""What a gate found in a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject

_FIGURES = ("value", "low", "high", "bound", "margin", "needed", "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a gate found in a report; a gate of your own needs the first three."""

    gate: str
    """The rule, as it was written."""
    holds: bool
    explanation: str
    """The value, or, for a breach, why the gate did not hold."""
    suite: str = ""
    subject: str = ""
    """Empty: all subjects of the suite together."""
    value: float | None = None
    low: float | None = None
    """The 95 % interval of the value."""
    high: float | None = None
    bound: float | None = None
    """What the value was held against; of a rule on a baseline, the number that it came to."""
    margin: float | None = None
    """How far the value is on the right side of the bound; below zero on the wrong one."""
    needed: int | None = None
    """How many more cases would settle it, were the rate to stay as it is; 0 if it is settled, None if nobody knows."""
    p: float | None = None
    """Of a rule on being worse: how likely such a difference is by chance, Holm-corrected."""
    of_plugin: bool = False
    """Whether a plugin has found it: only a run can ask it again. Set by us."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what is not known is absent."""
        found = {name: getattr(self, name) for name in _FIGURES}
        return {
            "gate": self.gate,
            "holds": self.holds,
            "explanation": self.explanation,
            **{name: text for name in ("suite", "subject") if (text := getattr(self, name))},
            **{name: value for name, value in found.items() if value is not None},
            **({"of_plugin": True} if self.of_plugin else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the ruling that ``to_dict`` wrote; KeyError or TypeError if it did not."""
        return cls(
            gate=record["gate"],
            holds=bool(record["holds"]),
            explanation=record["explanation"],
            suite=record.get("suite", ""),
            subject=record.get("subject", ""),
            of_plugin=bool(record.get("of_plugin")),
            **{name: record.get(name) for name in _FIGURES},
        )
