"""Gates as the page shows them."""

from dataclasses import dataclass

from pytest_crmeval.render.page.words import NOTHING, signed
from pytest_crmeval.report.gate import is_share
from pytest_crmeval.report.numbers import change_of, metric_of, value_of
from pytest_crmeval.report.ruling import Ruling


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
        in_range = all(0 <= number <= 1 for number in numbers)
        has_unit = self._metric and not is_share(self._metric)
        return found.low is not None and in_range and not has_unit and not self._is_change

    @property
    def _metric(self) -> str:
        return metric_of(self.found)

    def _text(self, value: float) -> str:
        return value_of(self._metric, value).replace("-", "\N{MINUS SIGN}")

    @property
    def _is_change(self) -> bool:
        """Whether the value is a difference from the baseline."""
        return self.found.p is not None

    @property
    def value(self) -> str:
        """What was found."""
        if self._is_change and self.found.value is not None:
            return signed(self.found.value)
        return NOTHING if self.found.value is None else self._text(self.found.value)

    @property
    def interval(self) -> str:
        """The 95 % interval of the value."""
        low, high = self.found.low, self.found.high
        if low is None or high is None:
            return ""
        if self._is_change:
            return f"{signed(low)} to {signed(high)}"
        return f"{self._text(low)} to {self._text(high)}"

    @property
    def margin(self) -> str:
        """The distance from the bound; a dash for a difference."""
        margin = self.found.margin
        if margin is None or self._is_change:
            return NOTHING
        return change_of(self._metric, margin).replace("-", "\N{MINUS SIGN}")

    @property
    def why(self) -> str:
        """The explanation, and how many more cases would settle an inconclusive gate."""
        found = self.found
        if not found.needed or "more case" in found.explanation:
            return found.explanation
        return f"{found.explanation}; inconclusive: about {found.needed:,} more case{'s' * (found.needed != 1)} needed"
