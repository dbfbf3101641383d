"""Evaluate gates on a report, and on its comparison with a baseline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.domain.file_outcome import PASS_AT_1
from pytest_crmeval.domain.interval import LEVEL
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.journal.shard import listed
from pytest_crmeval.report.compare import is_same, matched, pairs_of
from pytest_crmeval.report.comparison import SIGNIFICANT
from pytest_crmeval.report.figures import figures_of
from pytest_crmeval.report.gate import ADDED_UP, COMPARISONS, COUNTS, EACH, MONEY, NOT_WORSE, Gate, is_paired
from pytest_crmeval.report.numbers import value_beside_bound, value_of
from pytest_crmeval.report.paired import Difference, Pair, difference_of, false_alarm, fewest_differing, holm
from pytest_crmeval.report.report import SERVICE, Report, SubjectSummary, pooled, summary_of
from pytest_crmeval.report.ruling import Ruling
from pytest_crmeval.report.sample_size import margin_of, to_be_sure, to_find, to_settle
from pytest_crmeval.report.tables import equation

_OF_TRIALS = frozenset({"pass_rate", "strict_success"})
_NO_BASELINE = "no baseline: name one with --baseline (pytest: --crmeval-baseline) or crmeval_baseline"


def judge(gates: Sequence[Gate], report: Report, baseline: Report | None = None) -> list[Ruling]:
    """Evaluate gates on a report; a gate on several subjects has a ruling for each. An incomplete run can't pass."""
    scopes = [(gate, scope) for gate in gates for scope in _scopes(gate, report, baseline)]
    evaluations = [_GateEvaluation(gate, scope, report, baseline) for gate, scope in scopes]
    # Significance is corrected for the number of gates that test it; controls don't count.
    rulings = [each.ruling() for each in evaluations]
    tested = [ruling.p for ruling in rulings if ruling.p is not None and ruling.subject not in CONTROLS]
    corrected = iter(holm(tested))
    found = []
    for evaluation, ruling in zip(evaluations, rulings, strict=True):
        if ruling.p is None:
            found.append(ruling)
        elif ruling.subject in CONTROLS:
            found.append(evaluation.decided(ruling, ruling.p, 1))
        else:
            found.append(evaluation.decided(ruling, next(corrected), len(tested)))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """The trials that a ruling is about: of one subject, or of all subjects of a suite."""

    suite: str
    subject: str
    """Empty: all together."""
    summaries: Sequence[SubjectSummary]
    strangers: Sequence[str] = ()
    """Subjects that are not compared, because the baseline does not have them."""

    def trials(self, report: Report) -> list[Trial]:
        """Return the trials of a report in this scope."""
        names = {summary.subject for summary in self.summaries}
        found = (trial for trial in report.trials if trial.planned.suite == self.suite)
        return [trial for trial in found if trial.planned.subject in names]


def _scopes(gate: Gate, report: Report, baseline: Report | None) -> list[_Scope]:
    """Return the scopes of a gate: its subject, or each subject; without one, each that is not a control.

    Counts and costs without a subject are added up. Controls are evaluated only if named, or if the suite has no
    other subject.
    """
    present = [summary for summary in report.standings if summary.suite == gate.suite]
    if gate.subject == EACH and present:
        return [_Scope(suite=gate.suite, subject=each.subject, summaries=[each]) for each in present]
    if gate.subject:
        chosen = [each for each in present if each.subject == gate.subject]
        return [_Scope(suite=gate.suite, subject=gate.subject.removeprefix(EACH), summaries=chosen)]
    evaluated = [each for each in present if not each.is_control] or present
    known = {each.subject for each in (baseline.standings if baseline else ()) if each.suite == gate.suite}
    paired = [each for each in evaluated if each.subject in known] if gate.baseline else evaluated
    strangers = [each.subject for each in evaluated if each not in paired] if paired else []
    if gate.metric in ADDED_UP or len(present) < 2:  # noqa: PLR2004 (one is all)
        return [_Scope(suite=gate.suite, subject="", summaries=paired or evaluated, strangers=strangers)]
    return [
        _Scope(suite=gate.suite, subject=each.subject, summaries=[each], strangers=strangers)
        for each in paired or evaluated
    ]


class _GateEvaluation:
    """Evaluates one gate in one scope."""

    def __init__(self, gate: Gate, scope: _Scope, report: Report, baseline: Report | None) -> None:
        self._gate = gate
        self._scope = scope
        self._report = report
        self._baseline = baseline

    def ruling(self) -> Ruling:
        """Return the ruling; its p-value is not yet corrected."""
        if why := self._objection():
            return self._ruling(why)
        if self._gate.comparison == NOT_WORSE:
            return self._not_worse()
        if self._gate.baseline:
            return self._beside_baseline()
        figure = self._figure(LEVEL)
        if figure is None:
            return self._ruling(self._missing())
        return self._sure(figure) if self._gate.confidence else self._compared(figure, self._gate.bound)

    @cached_property
    def _trials(self) -> list[Trial]:
        return self._scope.trials(self._report)

    @cached_property
    def _summary(self) -> SubjectSummary:
        """The summary of all subjects in the scope."""
        return pooled(self._scope.suite, self._scope.summaries)

    def _objection(self) -> str:
        """Return why the gate can't be evaluated; empty if it can."""
        if self._report.suite(self._gate.suite) is None:
            return f"the run has no suite {self._gate.suite!r}"
        if not self._scope.summaries:
            there = [each.subject for each in self._report.standings if each.suite == self._gate.suite]
            return f"{self._gate.suite} has no subject {self._gate.subject!r} in this run, only {', '.join(there)}"
        if self._report.missing:
            return f"the run is incomplete: shard {listed(self._report.missing)} is missing"
        if self._summary.not_run:
            return f"{self._summary.not_run} of {self._summary.planned} cases were not run"
        if self._gate.baseline and self._baseline is None:
            return _NO_BASELINE
        is_itself = self._gate.baseline and self._baseline is not None and is_same(self._report, self._baseline)
        return "the baseline is this run itself" if is_itself else ""

    def _figure(self, level: float, *, exact: bool = False) -> Figure | None:
        """Return the figure of the metric, with an interval of this level; None if there are no observations."""
        return _figure_of(self._gate.metric, self._summary, self._trials, level, exact=exact)

    def _missing(self) -> str:
        """Return why there is no value."""
        metric = self._gate.metric
        if self._summary.checkpoint and metric in _OF_TRIALS:
            return f"a checkpoint has no {metric}; use {PASS_AT_1} or solved_of_all"
        if metric in _OF_TRIALS:
            return "no trial was scored"
        if metric.startswith("cost") and self._summary.cost is None:
            return "the price of a model is unknown; add it with ?price="
        if metric in {"cost_per_pass", "tokens_per_pass"}:
            return "no trial passed"
        return f"{self._gate.suite} has no {metric}"

    def _compared(self, figure: Figure, bound: float, text: str = "") -> Ruling:
        """Compare a value with a bound."""
        gate = self._gate
        return replace(
            self._ruling(text or f"{gate.metric} is {value_beside_bound(gate.metric, figure.value, bound)}"),
            holds=COMPARISONS[gate.comparison](figure.value, bound),
            value=figure.value,
            low=figure.low,
            high=figure.high,
            bound=bound,
            margin=margin_of(gate.comparison, figure.value, bound),
            needed=to_settle(gate, figure, bound),
        )

    def _sure(self, figure: Figure) -> Ruling:
        """Compare the one-sided confidence bound of a value with the bound of the gate."""
        gate, sure = self._gate, self._gate.confidence or LEVEL
        level = 2 * sure - 1  # each end of this interval is a one-sided bound with that confidence
        at_level = self._figure(level, exact=True)
        below = gate.comparison.startswith(">")
        end = (at_level.low if below else at_level.high) if at_level else None
        value = value_of(gate.metric, figure.value)
        if end is None:
            return self._ruling(f"{gate.metric} is {value}, with too few trials for a confidence bound")
        side = "at least" if below else "at most"
        limit = value_beside_bound(gate.metric, end, gate.bound)
        text = f"{gate.metric} is {value}, and {side} {limit} with {100 * sure:.4g} % confidence"
        holds = COMPARISONS[gate.comparison](end, gate.bound)
        return replace(
            self._compared(figure, gate.bound, text),
            holds=holds,
            margin=margin_of(gate.comparison, end, gate.bound),
            needed=0 if holds else to_be_sure(gate, figure, end, level),
        )

    def _paired(self) -> tuple[list[Trial], list[Trial]]:
        """Return the trials before and after of the cases that both runs scored with the same content."""
        assert self._baseline is not None  # noqa: S101 (else there was an objection)
        before: list[Trial] = []
        after: list[Trial] = []
        for summary in self._scope.summaries:
            scope = _Scope(suite=self._scope.suite, subject=summary.subject, summaries=[summary])
            for match in matched(scope.trials(self._baseline), scope.trials(self._report)):
                if match.is_scored and match.is_same:
                    before += match.before
                    after += match.after
        return before, after

    def _beside_baseline(self) -> Ruling:
        """Compare a value with that of the baseline, both over the cases that they share."""
        gate = self._gate
        before, after = (self._taken(trials) for trials in self._paired())
        if before is None or after is None:
            return self._ruling(self._unpaired())
        bound = before.value + gate.bound
        if isclose(bound, after.value, abs_tol=1e-9):  # 0.8 - 0.1 is a little more than 0.7
            bound = after.value
        after = self._as_changed(after)
        cases = f"{after.units or after.n or 0} cases" if after.n else "the cases"
        now, was = value_beside_bound(gate.metric, after.value, bound), value_of(gate.metric, before.value)
        text = f"{gate.metric} is {now} and was {was}, over {cases} that both runs have"
        return self._compared(after, bound, f"{text}{self._strangers()}{self._caution()}")

    def _caution(self) -> str:
        """Return how often the gate would be breached by chance; empty if that is rare, or can't be computed."""
        if not (is_paired(self._gate.metric) and self.pairs and self._gate.comparison in {">=", ">"}):
            return ""
        chance = false_alarm(self.pairs, self._gate.bound)
        if chance <= SIGNIFICANT:
            return ""
        return (
            f"; an unchanged agent breaches this gate in {100 * chance:.0f} % of runs with {len(self.pairs)} cases, "
            "so prefer 'not worse than baseline'"
        )

    def _as_changed(self, after: Figure) -> Figure:
        """Return a value with the interval of its change, which is narrower because cases are paired."""
        if not (is_paired(self._gate.metric) and self.pairs):
            return after
        change = self._change.figure
        low, high = ((end or 0.0) - change.value + after.value for end in (change.low, change.high))
        return replace(change, value=after.value, interval=(max(0.0, low), min(1.0, high)))

    def _taken(self, trials: Sequence[Trial]) -> Figure | None:
        if not trials:
            return None
        return _figure_of(self._gate.metric, summary_of(self._scope.suite, "", trials, 0), trials, LEVEL)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The cases that both runs scored with the same content, with their values before and after."""
        return pairs_of(matched(*self._paired()), self._gate.metric)

    def _not_worse(self) -> Ruling:
        """Test whether the paired difference is below zero; significance is decided together with other gates.

        Too few cases can't be significant: such a gate can't be evaluated, and does not hold.
        """
        if not self.pairs:
            return self._ruling(self._unpaired())
        if (units := len({pair.unit for pair in self.pairs})) < (least := fewest_differing(sides=1)):
            return self._ruling(f"both runs share {units} case{'s' * (units != 1)}; at least {least} are needed")
        found = self._change
        return replace(
            self._ruling(""),
            holds=True,
            value=found.figure.value,
            low=found.figure.low,
            high=found.figure.high,
            bound=0.0,
            margin=found.figure.value,
            p=found.p,
        )

    def decided(self, ruling: Ruling, chance: float, tests: int) -> Ruling:
        """Return the final ruling of a test for being worse; ``chance`` is its p-value, corrected for all ``tests``."""
        worse = chance < SIGNIFICANT
        by = f", Holm over {tests} gates" if tests > 1 else ""
        was = sum(pair.before for pair in self.pairs) / len(self.pairs)
        cases, now = len(self.pairs), was + self._change.figure.value
        return replace(
            ruling,
            p=chance,
            holds=not worse,
            needed=0 if worse else to_find(self.pairs, 2 * SIGNIFICANT / tests),
            explanation=f"{self._gate.metric} went from {was:.3f} to {now:.3f} over {cases} case{'s' * (cases != 1)} "
            f"that both runs have{self._strangers()}: "
            f"{'' if worse else 'not '}significantly worse (p {equation(chance)}{by}); "
            f"minimum detectable loss at 80 % power: {self._change.detectable:.3f}",
        )

    @cached_property
    def _change(self) -> Difference:
        return difference_of(self.pairs, only_worse=True)

    def _strangers(self) -> str:
        """Return the subjects that are not compared, because the baseline does not have them; empty if it has all."""
        return f", without {', '.join(self._scope.strangers)}, not in the baseline" if self._scope.strangers else ""

    @property
    def _known(self) -> list[str]:
        """The subjects of the baseline in the suite."""
        found = self._baseline.standings if self._baseline else ()
        return [each.subject for each in found if each.suite == self._scope.suite]

    def _unpaired(self) -> str:
        """Return why no case can be compared with the baseline."""
        if not self._known:
            return f"the baseline has no suite {self._scope.suite!r}"
        if not {each.subject for each in self._scope.summaries} & set(self._known):
            return f"the baseline has none of these subjects in {self._scope.suite}, only {', '.join(self._known)}"
        return f"no case has a {self._gate.metric} in this run and, with the same content, in the baseline"

    def _ruling(self, explanation: str) -> Ruling:
        scope = self._scope
        return Ruling(
            gate=self._gate.text, holds=False, explanation=explanation, suite=scope.suite, subject=scope.subject
        )


def _figure_of(
    metric: str, summary: SubjectSummary, trials: Sequence[Trial], level: float, *, exact: bool = False
) -> Figure | None:
    """Return a metric of a summary and its trials; counts need no trials."""
    name = {"cost_usd": "cost", "strict_success": "pass_rate"}.get(metric, metric)
    if name in {*COUNTS, *MONEY, *SERVICE}:
        value = getattr(summary, name)
        return None if value is None else Figure(value=value)
    return figures_of(trials, level, name, exact=exact).get(name)
