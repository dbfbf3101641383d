"""Rules that a report must obey before a merge."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from pytest_crmeval.domain.asked import is_unasked, left_out_of, may_be_unasked
from pytest_crmeval.domain.report import Report, Standing
from pytest_crmeval.domain.ruling import Ruling
from pytest_crmeval.domain.shard import listed

METRICS = ("pass_rate", "passed", "failed", "errored", "invalid", "not_run", "cost", "cost_per_pass")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
}
SUITE = re.compile(r"[A-Za-z0-9_-]+")
_PARTS = (
    ("a suite", SUITE),
    ("a dot", re.compile(r"\.")),
    (f"a metric ({', '.join(METRICS)})", re.compile(rf"(?:{'|'.join(METRICS)})(?!\w)")),
    (f"a comparison ({', '.join(_COMPARE)})", re.compile(r"\s*(>=|<=|==|>|<)\s*")),
    ("a number", re.compile(r"-?\d+(\.\d+)?")),
    ("the end", re.compile(r"\s*$")),
)


class GateSyntaxError(ValueError):
    """A gate that can't be read; the message points at the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A rule on a metric of a suite, all its subjects together: ``crm.pass_rate >= 0.60``."""

    text: str
    suite: str
    metric: str
    comparison: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a gate, strictly."""
        words, position = [], 0
        for wanted, pattern in _PARTS:
            match = pattern.match(text, position)
            if match is None:
                raise GateSyntaxError(f"expected {wanted} here:\n  {text}\n  {' ' * position}^")
            words.append(match[0].strip())
            position = match.end()
        suite, _, metric, comparison, bound, _ = words
        return cls(text=text, suite=suite, metric=metric, comparison=comparison, bound=float(bound))

    def judge(self, report: Report) -> Ruling:
        """Hold the gate against ``report``; a run that is not complete can't pass."""
        standing = report.suite(self.suite)
        if standing is None:
            return self._ruling(f"the run has no suite {self.suite!r}")
        if report.missing:
            return self._ruling(f"the run is not whole: it lacks shard {listed(report.missing)}")
        if standing.not_run:
            return self._ruling(f"{standing.not_run} of {standing.planned} cases were not run")
        value = getattr(standing, self.metric)
        if value is None:
            return self._ruling(self._missing(standing))
        return self._ruling(f"{self.metric} is {value:.6g}", holds=_COMPARE[self.comparison](value, self.bound))

    def _missing(self, standing: Standing) -> str:
        """Return why there is no value."""
        if self.metric == "pass_rate":
            return "no trial was scored"
        if standing.cost is None:
            return "the price of a model is unknown: give it with ?price="
        return "no trial passed"

    def _ruling(self, explanation: str, *, holds: bool = False) -> Ruling:
        return Ruling(gate=self.text, holds=holds, explanation=explanation)


def concerned(gates: Sequence[Gate], report: Report) -> tuple[Sequence[Gate], Sequence[Gate]]:
    """Return the gates that a run has to pass, and those that say nothing about it.

    Who asks for suites by name is not judged by gates of the others, nor by those of a suite of which all was left
    out; who asks for some of the tests neither, as long as any gate is left. Who asks for everything is: a misspelt
    suite is a breach.
    """
    absent = [gate for gate in gates if report.suite(gate.suite) is None]
    unasked = is_unasked if len(absent) == len(gates) else may_be_unasked
    left_out = left_out_of(report.run)
    idle = [gate for gate in absent if gate.suite in left_out or unasked(report.run, gate.suite)]
    return [gate for gate in gates if gate not in idle], idle
