"""Gates as the page shows them."""

from collections.abc import Callable
from dataclasses import dataclass

from pytest_crmeval.render.page.words import NOTHING, dollars, rate, seconds, signed
from pytest_crmeval.report.ruling import Ruling

_UNITS = {".latency_": seconds, ".cost": dollars}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """What a gate found."""

    found: Ruling

    @property
    def text(self) -> str:
        """The rule, with the subject if it applies to each subject."""
        gate, subject = self.found.gate, self.found.subject
        return f"{gate} ({subject})" if subject and f"[{subject}]" not in gate else gate

    @property
    def mood(self) -> str:
        """Its colour."""
        return "good" if self.found.holds else "bad"

    @property
    def sign(self) -> str:
        """The same without colour."""
        return "✓" if self.found.holds else "✗"

    @property
    def ruling(self) -> str:
        """The same in a word."""
        return "holds" if self.found.holds else "breached"

    @property
    def is_rate(self) -> bool:
        """Whether the value can be drawn between 0 and 1."""
        found = self.found
        numbers = [number for number in (found.value, found.low, found.high, found.bound) if number is not None]
        is_another = self._is_change or self._unit
        return found.low is not None and not is_another and all(0 <= number <= 1 for number in numbers)

    @property
    def _unit(self) -> Callable[[float | None], str] | None:
        """How durations and money are shown; None for other metrics."""
        return next((unit for name, unit in _UNITS.items() if name in self.found.gate), None)

    @property
    def _is_change(self) -> bool:
        """Whether the value is a difference from the baseline."""
        return self.found.p is not None

    @property
    def value(self) -> str:
        """What was found."""
        if self._is_change and self.found.value is not None:
            return signed(self.found.value)
        if unit := self._unit:
            return unit(self.found.value)
        return rate(self.found.value) if self.is_rate else _number(self.found.value)

    @property
    def interval(self) -> str:
        """The 95 % interval of the value."""
        low, high = self.found.low, self.found.high
        if low is None or high is None:
            return ""
        if self._is_change:
            return f"{signed(low)} to {signed(high)}"
        if unit := self._unit:
            return f"{unit(low)} to {unit(high)}"
        return f"{_number(low)}{NOTHING}{_number(high)}"

    @property
    def margin(self) -> str:
        """The distance from the bound; a dash for a difference."""
        margin = self.found.margin
        if margin is None or self._is_change:
            return NOTHING
        if unit := self._unit:
            return f"{signed(margin)[0]}{unit(abs(margin))}"
        return signed(margin) if self.found.low is not None else _number(margin, sign="+")

    @property
    def why(self) -> str:
        """The explanation, and how many more cases would settle an inconclusive gate."""
        found = self.found
        if not found.needed or "more case" in found.explanation:
            return found.explanation
        return f"{found.explanation}; inconclusive: about {found.needed:,} more case{'s' * (found.needed != 1)} needed"


def _number(value: float | None, sign: str = "") -> str:
    """Return a number of any metric."""
    if value is None:
        return NOTHING
    digits = 0 if value == int(value) else 3
    return f"{value:{sign},.{digits}f}".replace("-", "\N{MINUS SIGN}")
