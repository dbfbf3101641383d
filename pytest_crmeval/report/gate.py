"""Rules that a report must meet before a merge: their syntax, and which of them apply to a run."""

import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Self

from pytest_crmeval.agents import ORACLE
from pytest_crmeval.report.report import SERVICE, Report
from pytest_crmeval.report.scope import is_unasked, is_unchosen, left_out_of, may_be_unasked

COUNTS = ("planned", "passed", "failed", "errored", "invalid", "not_run")
MONEY = ("cost", "cost_usd", "cost_per_pass", "tokens_per_pass")
"""Metrics that are sums or ratios of sums, not estimates."""
ADDED_UP = frozenset({*COUNTS, "cost", "cost_usd"})
"""Metrics that a gate without a subject adds up over the subjects of a suite."""
SHARES = (
    "pass_rate",
    "strict_success",
    "turn_success",
    "tool_success",
    "reply_success",
    "correct",
    "incorrect",
    "not_attempted",
    "accuracy_given_attempted",
    "f1",
    "calibration_error",
    "solved_of_all",
)
TIMES = ("latency_first_token", "latency_mean", "latency_p50", "latency_p90", "latency_p95", "latency_p99")
METRICS = (
    *SHARES,
    *COUNTS,
    *MONEY,
    *sorted({*SERVICE} - {*TIMES}),
    "cost_per_trial",
    "tokens_per_trial",
    "steps_per_turn",
    *TIMES,
)
OPEN = ("pass@K", "pass^K", "score:NAME")
"""Metrics with a parameter."""
EACH = "*"
NOT_WORSE = "not worse"
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
}
SUITE = re.compile(r"[A-Za-z0-9_-]+")
_METRIC = re.compile(rf"(?:pass[@^][1-9][0-9]*|score:[\w.-]+|(?:{'|'.join(METRICS)}))(?![\w@^:])")
_PAIRED = re.compile(r"pass_rate|strict_success|(?:turn|tool|reply)_success|score:.+")
_NOT_WORSE = re.compile(r"\s+not\s+worse\s+than\s+baseline(?!\w)")
_COMPARISON = re.compile(r"\s*(>=|<=|==|>|<)\s*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BASELINE = re.compile(r"baseline(?!\w)")
_OFFSET = re.compile(r"\s*([+-])\s*")
_UNIT = re.compile(r"(ms|s|min)(?!\w)")
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0}
_WITH = re.compile(r"\s+with\s+")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")
_CONFIDENCE = re.compile(r"\s+confidence(?!\w)")
_WORD = re.compile(r"[\w@^:]+")
_END = re.compile(r"\s*$")


class GateSyntaxError(ValueError):
    """A gate with invalid syntax; the message points at the error."""


class _Reader:
    """Reads a gate from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def may(self, pattern: re.Pattern[str]) -> str | None:
        """Return the next token if it matches, else None."""
        match = pattern.match(self._text, self._position)
        if match is None:
            return None
        self._position = match.end()
        return match[match.re.groups]  # the last group, if there are any

    def peek(self, pattern: re.Pattern[str]) -> str:
        """Return the next token if it matches, without consuming it; else empty."""
        match = pattern.match(self._text, self._position)
        return match[0] if match else ""

    def must(self, wanted: str, pattern: re.Pattern[str]) -> str:
        """Return the next token; GateSyntaxError if it does not match."""
        found = self.may(pattern)
        if found is None:
            raise self.error(wanted)
        return found

    def error(self, wanted: str, back: int = 0) -> GateSyntaxError:
        """Return an error that points at the current position, or ``back`` characters before it."""
        place = self._position - back
        return GateSyntaxError(f"expected {wanted} here:\n  {self._text}\n  {' ' * place}^")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A rule on a metric of a suite, for one of its subjects or for each: ``crm[gpt-4.1].pass_rate >= 0.60``."""

    text: str
    suite: str
    metric: str
    comparison: str
    """One of COMPARISONS, or NOT_WORSE."""
    bound: float = 0.0
    """A number; for a rule on the baseline, the number that is added to it."""
    subject: str = ""
    """A name, EACH for every subject, empty for every subject that is not a control."""
    baseline: bool = False
    """Whether the bound is relative to the baseline."""
    confidence: float | None = None
    """The required confidence that the rule holds; None: only the value counts."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a gate."""
        reader = _Reader(text)
        suite = reader.must("a suite", SUITE)
        subject = ""
        if reader.may(_OPENING) is not None:
            subject = reader.must("a subject, or * for each", _NAME)
            reader.must("a closing bracket", _CLOSING)
        reader.must("a dot", _DOT)
        metric = _metric(reader)
        if is_paired(metric) and reader.may(_NOT_WORSE) is not None:
            reader.must("the end", _END)
            return cls(text=text, suite=suite, subject=subject, metric=metric, comparison=NOT_WORSE, baseline=True)
        known = ", ".join(COMPARISONS)
        expected = (
            f"a comparison ({known}; {NOT_WORSE} than baseline is for metrics of single cases, such as pass_rate)"
        )
        if is_paired(metric):
            expected = f"a comparison ({known}), or not worse than baseline,"
        comparison = reader.must(expected, _COMPARISON)
        baseline = reader.may(_BASELINE) is not None
        if baseline:
            sign = reader.may(_OFFSET)
            bound = float(f"{sign}{reader.must('a number', _UNSIGNED)}") if sign else 0.0
        else:
            bound = _number(reader, metric)
        confidence = None if baseline or comparison == "==" or metric in _CERTAIN else _confidence(reader)
        is_bare = metric in TIMES and not baseline
        reader.must("a unit (ms, s, min) right after the number, or the end" if is_bare else "the end", _END)
        return cls(
            text=text,
            suite=suite,
            subject=subject,
            metric=metric,
            comparison=comparison,
            bound=bound,
            baseline=baseline,
            confidence=confidence,
        )


def is_share(metric: str) -> bool:
    """Whether a metric is between 0 and 1."""
    return metric in SHARES or metric.startswith(("pass@", "pass^", "score:"))


def is_paired(metric: str) -> bool:
    """Whether single cases have a metric, so that two runs can be tested case by case."""
    return _PAIRED.fullmatch(metric) is not None


_DOT = re.compile(r"\.")
_OPENING, _NAME, _CLOSING = re.compile(r"\["), re.compile(r"[^\[\]]+"), re.compile(r"\]")
_CERTAIN = frozenset({*COUNTS, *MONEY, *SERVICE, "calibration_error"})
"""Metrics without an interval."""


def _metric(reader: _Reader) -> str:
    """Read a metric; the error for a misspelt one suggests a similar name."""
    found = reader.may(_METRIC)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(reader.peek(_WORD), METRICS, n=1, cutoff=0.75)
        known = f"did you mean {near[0]}?" if near else ", ".join((*METRICS, *OPEN))
        raise reader.error(f"a metric ({known})")
    return found


def _number(reader: _Reader, metric: str) -> float:
    written = reader.must("a number (0.5) or baseline", _NUMBER)
    number = float(written)
    if is_share(metric) and not 0.0 <= number <= 1.0:
        raise reader.error("a share between 0 and 1", back=len(written))
    unit = reader.may(_UNIT) if metric in TIMES else None
    return number * _UNITS[unit] if unit else number


_UNSIGNED = re.compile(r"\d+(?:\.\d+)?")
_LEAST, _MOST = 50, 100


def _confidence(reader: _Reader) -> float | None:
    if reader.may(_WITH) is None:
        return None
    written = reader.must("a percentage (95%)", _PERCENT)
    percent = float(written)
    if not _LEAST < percent < _MOST:
        raise reader.error("more than 50% and less than 100%", back=len(f"{written}%"))
    reader.must("the word confidence", _CONFIDENCE)
    return percent / 100


def applicable_gates(
    gates: Sequence[Gate], report: Report, known: Collection[str] = ()
) -> tuple[Sequence[Gate], Sequence[Gate]]:
    """Return the gates that apply to a run, and those that don't, because it does not have their subject.

    - Gates on other suites don't apply to a run of named suites, nor gates on a suite whose cases were all skipped;
      the same holds for a run of some of the tests, as long as another gate is about a suite of the run.
    - A gate on an agent that the run does not have does not apply if the agent is ``known`` by this name, or if the
      suite has only controls; nor does it apply to a run of other named agents, as long as another gate applies.
    - Any other gate on something that the run does not have applies, and is breached: it may be misspelt.
    """
    absent = [gate for gate in gates if is_absent(gate, report)]
    elsewhere = [gate for gate in absent if _is_of_another_run(gate, report, known)]
    unasked = may_be_unasked if elsewhere or len(absent) < len(gates) else is_unasked
    left_out = left_out_of(report.run)
    idle = [gate for gate in absent if gate.suite in left_out or _is_unasked(gate, report, unasked)]
    if len({*idle, *elsewhere}) == len(gates) and any(report.suite(gate.suite) for gate in idle):
        idle = [gate for gate in idle if report.suite(gate.suite) is None]  # a gate on this suite must apply
    idle = [gate for gate in gates if gate in idle or gate in elsewhere]
    return [gate for gate in gates if gate not in idle], idle


def is_absent(gate: Gate, report: Report) -> bool:
    """Whether a report has neither the suite nor the subject of a gate."""
    subjects = {summary.subject for summary in report.standings if summary.suite == gate.suite}
    return not subjects or gate.subject not in {"", EACH, *subjects}


def has_unjudged_oracle(report: Report) -> bool:
    """Whether the oracle failed in a suite without a gate on it: then the harness or a case is wrong."""
    judged = {ruling.suite for ruling in report.rulings if ruling.subject in {"", ORACLE}}
    return any(each.failed and each.subject == ORACLE and each.suite not in judged for each in report.standings)


def _is_of_another_run(gate: Gate, report: Report, known: Collection[str]) -> bool:
    """Whether a gate is about an agent that others evaluate: a known one, or any if this run has only controls."""
    present = [summary for summary in report.standings if summary.suite == gate.suite]
    if not present:
        return gate.subject in known and may_be_unasked(report.run, gate.suite)
    return gate.subject in known or all(summary.is_control for summary in present)


def _is_unasked(gate: Gate, report: Report, unasked: Callable[..., bool]) -> bool:
    """Whether the run was not asked for the suite of a gate, or for its agent."""
    if report.suite(gate.suite) is None:
        return unasked(report.run, gate.suite)
    subjects = {summary.subject for summary in report.standings if summary.suite == gate.suite}
    return is_unchosen(report.run, gate.subject, subjects)
