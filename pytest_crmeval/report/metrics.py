"""Metrics of a subject: of conversations by turn, of questions by answer, and by label."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.interval import Interval, clustered
from pytest_crmeval.domain.records import Record
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome

SCORED = frozenset({Verdict.PASSED, Verdict.FAILED})
KINDS = ("complexity", "category", "tag", "split", "tool")
"""Kinds of labels in a breakdown."""
NO_TOOL = "(none)"
"""The label of turns without an expected call."""
_COMPLEXITIES = ("simple", "medium", "complex")


class Metrics(Record, frozen=True, kw_only=True):
    """Metrics of the scored trials of one subject; None means that nothing was scored, which is not zero."""

    strict_success: float | None = None
    """Share of trials that passed as a whole: the pass rate."""
    turn_success: float | None = None
    """Share of turns that were right, calls and reply; all turns count alike, in long cases and in short ones."""
    tool_success: float | None = None
    """Share of turns with the right calls."""
    reply_success: float | None = None
    """Share of turns with the right reply."""
    first_failed_turn: Mapping[int, int] | None = None
    """Number of a turn -> trials that failed first in it."""
    steps_per_turn: float | None = None
    """Mean number of model replies per turn."""
    errors: int | None = None
    """Calls that the CRM refused although the turn did not expect it."""
    recovered_errors: int | None = None
    """Those that the agent corrected within the turn."""
    correct: float | None = None
    """Share of questions with a correct answer: the pass rate."""
    incorrect: float | None = None
    not_attempted: float | None = None
    """Share of questions without an answer."""
    accuracy_given_attempted: float | None = None
    """Share of correct answers among the attempted ones."""
    f1: float | None = None
    """Harmonic mean of that and of the share of right answers among the questions."""
    confidences: int | None = None
    """Attempted answers that state a confidence."""
    calibration_error: float | None = None
    """Expected calibration error of the stated confidences."""


class Group(Record, frozen=True, kw_only=True):
    """Results of the cases with one label; or of the turns of one tool, for which no cases are counted."""

    cases: int | None = None
    """Scored cases, without errored and invalid ones; fewer than the passed and failed trials if cases repeat."""
    passed: int | None = None
    failed: int | None = None
    pass_rate: float | None = None
    turns: int | None = None
    turn_success: float | None = None
    tool_success: float | None = None
    reply_success: float | None = None
    pass_rate_interval: Interval | None = None
    """The 95 % interval of the pass rate; cases that share a chain count as one."""
    turn_success_interval: Interval | None = None
    """The 95 % interval; turns of one case are not independent, and count accordingly."""


Breakdown = Mapping[str, Mapping[str, Group]]
"""One of KINDS -> label -> results; kinds without labels are absent."""


def metrics_of(trials: Iterable[Trial]) -> Metrics:
    """Summarise the scored trials, except solution files, whose checkpoints have their own figures."""
    scored = [trial for trial in trials if trial.verdict in SCORED and trial.solutions is None]
    strict = _share([trial.passed for trial in scored])
    turns = [turn for trial in scored for turn in trial.turns]
    if not turns:
        return Metrics(strict_success=strict, **_answered([trial.answer for trial in scored if trial.answer]))
    failed = (trial for trial in scored if trial.verdict is Verdict.FAILED)
    wrong = ([number for number, turn in enumerate(trial.turns, start=1) if not turn.passed] for trial in failed)
    return Metrics(
        strict_success=strict,
        first_failed_turn=dict(sorted(Counter(numbers[0] for numbers in wrong if numbers).items())),
        steps_per_turn=sum(turn.steps for turn in turns) / len(turns),
        errors=sum(turn.errors for turn in turns),
        recovered_errors=sum(turn.recovered for turn in turns),
        **_successes(turns),
    )


def _answered(answers: Sequence[AnswerOutcome]) -> dict[str, Any]:
    """Return the metrics of answers; nothing if there were none."""
    if not answers:
        return {}
    counts = Counter(answer.attempt for answer in answers)
    attempted = len(answers) - counts[Attempt.NOT_ATTEMPTED]
    right = counts[Attempt.CORRECT]
    stated = [
        (answer.confidence, answer.attempt is Attempt.CORRECT)
        for answer in answers
        if answer.confidence is not None and answer.attempt is not Attempt.NOT_ATTEMPTED
    ]
    return {
        **{str(attempt): counts[attempt] / len(answers) for attempt in Attempt},
        "accuracy_given_attempted": right / attempted if attempted else None,
        "f1": f1_of(right, attempted, len(answers)),
        "confidences": len(stated),
        "calibration_error": calibration_error(stated),
    }


def breakdown_of(trials: Iterable[Trial]) -> Breakdown:
    """Return the results of scored trials by label."""
    scored = [trial for trial in trials if trial.verdict in SCORED]
    units = [trial.unit for trial in scored]
    sizes = Counter(units)
    counted = [_Counted.of(trial, unit if sizes[unit] > 1 else "") for trial, unit in zip(scored, units, strict=True)]
    groups: dict[str, list[tuple[str, TurnOutcome]]] = {}
    for trial, unit in zip(scored, units, strict=True):
        for turn in trial.turns:
            groups.setdefault(turn.tool or NO_TOOL, []).append((unit, turn))
    found = (
        _labelled(counted, lambda labels: [labels.complexity]),
        _labelled(counted, lambda labels: [labels.category]),
        _labelled(counted, lambda labels: labels.tags),
        _labelled(counted, lambda labels: [labels.split]),
        {
            tool: Group(
                turns=len(found),
                turn_success_interval=clustered(_summed((unit, (turn.passed, 1)) for unit, turn in found)),
                **_successes([turn for _, turn in found]),
            )
            for tool, found in sorted(groups.items())
        },
    )
    return {kind: groups for kind, groups in zip(KINDS, found, strict=True) if groups}


class _Counted(NamedTuple):
    """The counts of a trial, computed once because the trial is in several groups."""

    unit: str
    """Empty if no other trial is of its unit."""
    case: str
    labels: Labels
    passed: tuple[bool, int]
    """Whether the trial passed, of 1."""
    turns_passed: tuple[int, int]
    """How many turns passed, of how many."""
    turns_called: int
    turns_replied: int

    @classmethod
    def of(cls, trial: Trial, unit: str) -> Self:
        turns = trial.turns
        return cls(
            unit=unit,
            case=trial.planned.case,
            labels=trial.labels,
            passed=(trial.passed, 1),
            turns_passed=(sum([turn.called and turn.replied for turn in turns]), len(turns)),
            turns_called=sum([turn.called for turn in turns]),
            turns_replied=sum([turn.replied for turn in turns]),
        )


def reading_order(label: str) -> tuple[int, int, str]:
    """Return the sort key of labels: simple before complex, ratings (800-1199) by number, the rest by name."""
    place = _COMPLEXITIES.index(label) if label in _COMPLEXITIES else len(_COMPLEXITIES)
    first = label.partition("-")[0]
    return place, int(first) if first.isascii() and first.isdigit() else 0, label


def _labelled(trials: Iterable[_Counted], labels_of: Callable[[Labels], Iterable[str]]) -> dict[str, Group]:
    """Return the results by label; a case with several labels counts once under each."""
    groups: dict[str, list[_Counted]] = {}
    for trial in trials:
        for label in {*labels_of(trial.labels)}:
            if label:
                groups.setdefault(label, []).append(trial)
    return {label: _group(groups[label]) for label in sorted(groups, key=reading_order)}


def _group(trials: Sequence[_Counted]) -> Group:
    passed = sum([trial.passed[0] for trial in trials])
    turns = sum([trial.turns_passed[1] for trial in trials])
    alone = [trial for trial in trials if not trial.unit]
    others = [trial for trial in trials if trial.unit]
    whole = [*[trial.passed for trial in alone], *_summed((trial.unit, trial.passed) for trial in others)]
    held = [*[trial.turns_passed for trial in alone], *_summed((trial.unit, trial.turns_passed) for trial in others)]
    return Group(
        cases=len({trial.case for trial in trials}),
        passed=passed,
        failed=len(trials) - passed,
        pass_rate=passed / len(trials) if trials else None,
        pass_rate_interval=clustered(whole),
        turns=turns or None,
        turn_success=sum([trial.turns_passed[0] for trial in trials]) / turns if turns else None,
        tool_success=sum([trial.turns_called for trial in trials]) / turns if turns else None,
        reply_success=sum([trial.turns_replied for trial in trials]) / turns if turns else None,
        turn_success_interval=clustered(held),
    )


def _summed(observed: Iterable[tuple[str, tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return the hits and the size of each independent unit; those of its observations are added up."""
    parts: dict[str, tuple[int, int]] = {}
    for unit, part in observed:
        before = parts.get(unit)
        parts[unit] = (before[0] + part[0], before[1] + part[1]) if before else part
    return list(parts.values())


def _successes(turns: Sequence[TurnOutcome]) -> dict[str, Any]:
    return {
        "turn_success": _share([turn.passed for turn in turns]),
        "tool_success": _share([turn.called for turn in turns]),
        "reply_success": _share([turn.replied for turn in turns]),
    }


def _share(held: Sequence[bool]) -> float | None:
    return sum(held) / len(held) if held else None


BINS = 10
"""Number of equal bins of stated confidence: 0 to 10 %, 10 to 20 % and so on; 100 % is in the last."""


def calibration_error(stated: Iterable[tuple[float, bool]]) -> float | None:
    """Return the expected calibration error of (confidence, was right); None if no confidence was stated.

    It is the distance between the mean confidence and the share of right answers of each bin, weighted by its size:
    0 for a subject that is right as often as it says, 1 for one that is sure and wrong.
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in stated:
        bins.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, right))
    whole = sum(map(len, bins.values()))
    if not whole:
        return None
    gaps = (abs(sum(confidence - right for confidence, right in found)) for found in bins.values())
    return round(sum(gaps) / whole, 6)


def f1_of(correct: int, attempted: int, asked: int) -> float | None:
    """Return F1: the harmonic mean of the shares of right answers among all and among the attempted questions."""
    return round(2 * correct / (attempted + asked), 6) if asked else None
