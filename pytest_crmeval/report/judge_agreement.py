"""Whether a judge and the scorers say the same: a bad judge must be seen."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, total

_COUNTS = ("both_pass", "both_fail", "only_judge", "only_scorers", "not_graded", "cached")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often judge and scorers agree; a figure that can't be known is None, which is not zero."""

    both_pass: int = 0
    both_fail: int = 0
    only_judge: int = 0
    """Trials that the judge lets pass and the scorers don't."""
    only_scorers: int = 0
    """Trials that the scorers let pass and the judge doesn't."""
    not_graded: int = 0
    cached: int = 0
    """Graded ones for which nobody was asked: the same had been judged before, in an earlier run or in this one."""
    spread: float | None = None
    """How far the opinions on one trial are apart, on average."""
    bill: Bill | None = None
    """What the judge took, apart from what the subjects took; None if nobody was asked."""

    @property
    def graded(self) -> int:
        """All trials that both have spoken about."""
        return self.both_pass + self.both_fail + self.only_judge + self.only_scorers

    @property
    def agreement(self) -> float | None:
        """Share of the graded on which both say the same."""
        return (self.both_pass + self.both_fail) / self.graded if self.graded else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: 1 if both always say the same, 0 if no more often than by chance, less if less often.

        None where chance alone would have them agree on everything: all are passed by both, or all failed by both.
        """
        everything = self.graded**2
        by_chance = (self.both_pass + self.only_judge) * (self.both_pass + self.only_scorers) + (
            self.both_fail + self.only_judge
        ) * (self.both_fail + self.only_scorers)
        if by_chance == everything:
            return None
        return (self.graded * (self.both_pass + self.both_fail) - by_chance) / (everything - by_chance)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what can't be known is absent."""
        found: dict[str, Json] = {
            "graded": self.graded,
            **{name: getattr(self, name) for name in _COUNTS},
            "agreement": self.agreement,
            "kappa": self.kappa,
            "spread": self.spread,
            "bill": self.bill.to_dict() if self.bill else None,
        }
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the agreement that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        spread = record.get("spread")
        return cls(
            spread=None if spread is None else float(spread),
            bill=Bill.from_dict(record["bill"]) if "bill" in record else None,
            **{name: _count(record[name]) for name in _COUNTS},
        )


def agreement_of(trials: Iterable[Trial]) -> Agreement | None:
    """Compare the judge with the scorers; None if no trial was judged."""
    judged = [(trial, trial.judgement) for trial in trials if trial.judgement is not None]
    if not judged:
        return None
    graded = [
        (trial, judgement, judgement.score)
        for trial, judgement in judged
        if judgement.score is not None and trial.verdict in {Verdict.PASSED, Verdict.FAILED}
    ]
    return Agreement(
        **_confusion([(trial.scores, score) for trial, _, score in graded]),
        not_graded=sum(_is_not_graded(trial, judgement) for trial, judgement in judged),
        cached=sum(judgement.cached for _, judgement, _ in graded),
        spread=_mean([judgement.spread for _, judgement, _ in graded]),
        bill=total(judgement.bill for _, judgement in judged),
    )


def _confusion(graded: Iterable[tuple[Sequence[Score], Score]]) -> dict[str, int]:
    """Count who lets pass what; the scorers do if all of them do."""
    names = {
        (True, True): "both_pass",
        (False, False): "both_fail",
        (True, False): "only_judge",
        (False, True): "only_scorers",
    }
    return Counter(names[judge.passed, all(score.passed for score in scores)] for scores, judge in graded)


def _is_not_graded(trial: Trial, judgement: Judgement) -> bool:
    """Whether only the grade is missing: what was never played has nothing to be graded."""
    return judgement.score is None and trial.verdict is not Verdict.INVALID


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a count, found {value!r}")
    return value
