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
    """Empty: all subjects of the suite together."""
    value: float | None = None
    low: float | None = None
    """The 95 % interval of the value."""
    high: float | None = None
    bound: float | None = None
    """What the value was compared with; for a rule on a baseline, the resulting number."""
    margin: float | None = None
    """How far the value is on the right side of the bound; below zero on the wrong one."""
    needed: int | None = None
    """How many more cases would settle it at the same rate; 0 if it is settled, None if unknown."""
    p: float | None = None
    """For a rule on being worse: the p-value, Holm-corrected."""
    of_plugin: bool = False
    """Whether a gate of a plugin found it, which only a run can evaluate again. Set by us."""
