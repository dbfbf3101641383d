"""The agreement of a judge with the scorers, which reveals a bad judge."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import force_setattr

from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, total


class Agreement(Record, frozen=True, kw_only=True):
    """How often judge and scorers agree; a figure that can't be computed is None, which is not zero."""

    both_pass: int = always(0)
    both_fail: int = always(0)
    only_judge: int = always(0)
    """Trials that the judge lets pass and the scorers don't."""
    only_scorers: int = always(0)
    """Trials that the scorers let pass and the judge doesn't."""
    not_graded: int = always(0)
    cached: int = always(0)
    """Graded trials whose grade was cached from an earlier identical judgement, so that no model was called."""
    spread: float | None = None
    """How far the opinions on one trial are apart, on average."""
    bill: Bill | None = None
    """Usage and cost of the judge, not included in those of the subjects; None if no model was called."""

    graded: int = always(0)
    """Trials that both graded; computed."""
    agreement: float | None = None
    """Share of the graded on which both agree; computed."""
    kappa: float | None = None
    """Cohen's kappa: 1 if both always agree, 0 if no more often than by chance; computed.

    None where chance alone would have them agree on everything: all are passed by both, or all failed by both.
    """

    def __post_init__(self) -> None:
        """Compute what follows from the counts."""
        same = self.both_pass + self.both_fail
        graded = same + self.only_judge + self.only_scorers
        by_chance = (self.both_pass + self.only_judge) * (self.both_pass + self.only_scorers) + (
            self.both_fail + self.only_judge
        ) * (self.both_fail + self.only_scorers)
        force_setattr(self, "graded", graded)
        force_setattr(self, "agreement", same / graded if graded else None)
        kappa = None if by_chance == graded**2 else (graded * same - by_chance) / (graded**2 - by_chance)
        force_setattr(self, "kappa", kappa)


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
