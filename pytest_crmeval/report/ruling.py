"""The result of a gate."""

from pytest_crmeval.domain.records import Record


class Ruling(Record, frozen=True, kw_only=True):
    """The result of a gate on a report; a gate of your own needs the first three fields."""

    gate: str
    """The rule, as it was written."""
    holds: bool
    explanation: str
    """The value, or, for a breach, why the gate did not hold."""
    suite: str = ""
    subject: str = ""
    """Empty if all subjects of the suite were evaluated together."""
    value: float | None = None
    low: float | None = None
    """The 95 % interval of the value."""
    high: float | None = None
    bound: float | None = None
    """What the value was compared with; for a rule on a baseline, the resulting number."""
    margin: float | None = None
    """Distance of the value from the bound; negative if the value is on the wrong side."""
    needed: int | None = None
    """How many more cases would settle the result at the same rate; 0 if it is settled, None if unknown."""
    p: float | None = None
    """Holm-corrected p-value of ``not worse than baseline``."""
    of_plugin: bool = False
    """Whether it comes from a plugin's gate, which only a run can evaluate. Set by pytest-crmeval."""
