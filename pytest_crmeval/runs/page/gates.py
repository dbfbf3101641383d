"""Gates as the page shows them."""

from dataclasses import dataclass

from pytest_crmeval.domain.ruling import Ruling
from pytest_crmeval.runs.page.words import NOTHING, rate, signed

_NO_RATES = (".latency", ".cost", ".seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """What a gate found."""

    found: Ruling

    @property
    def text(self) -> str:
        """The rule; of one that is held against each subject, with the subject."""
        gate, subject = self.found.gate, self.found.subject
        return f"{gate} ({subject})" if subject and subject not in gate else gate

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
        """Whether it can be drawn between 0 and 1."""
        found = self.found
        numbers = [number for number in (found.value, found.low, found.high, found.bound) if number is not None]
        is_another = any(name in found.gate for name in _NO_RATES)
        return found.low is not None and not is_another and all(0 <= number <= 1 for number in numbers)

    @property
    def value(self) -> str:
        """What was found."""
        return rate(self.found.value) if self.is_rate else _number(self.found.value)

    @property
    def interval(self) -> str:
        """How far that can be believed."""
        low, high = self.found.low, self.found.high
        return "" if low is None or high is None else f"{_number(low)}{' to ' if low < 0 else NOTHING}{_number(high)}"

    @property
    def margin(self) -> str:
        """How far it is on the right side."""
        margin = self.found.margin
        return NOTHING if margin is None else signed(margin)

    @property
    def why(self) -> str:
        """What it says of itself, and what would settle it."""
        found = self.found
        is_told = not found.needed or "more case" in found.explanation
        return found.explanation if is_told else f"{found.explanation}; {found.needed:,} more cases would settle it"


def _number(value: float | None) -> str:
    """Return a number, whatever it counts."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3f}"
