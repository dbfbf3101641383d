"""How far people agree with the scorers, from their annotations of trials."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.interval import Interval, clustered
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.annotations import Annotations, Opinion
from pytest_crmeval.report.metrics import SCORED


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement:
    """The opinions of people about the verdicts of one suite, each opinion counted once."""

    suite: str
    trials: int
    people: int
    agreed_passed: int
    agreed_failed: int
    false_passes: int
    """Trials that passed, although a person says that they should have failed."""
    false_failures: int
    interval: Interval
    """The 95 % interval of the share that agrees; the opinions about one case are clustered."""

    @property
    def opinions(self) -> int:
        """All opinions."""
        return self.agreed_passed + self.agreed_failed + self.false_passes + self.false_failures

    @property
    def agreed(self) -> int:
        """Opinions that agree with the verdict."""
        return self.agreed_passed + self.agreed_failed

    @property
    def share(self) -> float:
        """Share of opinions that agree."""
        return self.agreed / self.opinions

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa between scorers and people; None if both gave the same verdict to every trial."""
        passed, failed = self.agreed_passed + self.false_passes, self.agreed_failed + self.false_failures
        meant, not_meant = self.agreed_passed + self.false_failures, self.agreed_failed + self.false_passes
        by_chance = (passed * meant + failed * not_meant) / self.opinions**2
        return None if by_chance == 1 else (self.share - by_chance) / (1 - by_chance)

    def __str__(self) -> str:
        """Return the agreement in words."""
        low, high = self.interval
        kappa = "undefined, because every verdict is the same" if self.kappa is None else f"{self.kappa:.2f}"
        wrong = f"{_counted(self.false_passes, 'false pass', 'es')}, {_counted(self.false_failures, 'false failure')}"
        return (
            f"people agree with {self.agreed} of {_counted(self.opinions, 'verdict')} "
            f"({self.share:.3f}, {low:.3f} to {high:.3f}), kappa {kappa}; {wrong}; "
            f"{_counted(self.people, 'person', meaning='people')}, {_counted(self.trials, 'trial')}"
        )


def agreements_of(trials: Sequence[Trial], annotations: Annotations) -> Sequence[PeopleAgreement]:
    """Return the agreement for each suite with opinions about present verdicts; solution files have none."""
    found: dict[str, list[tuple[Trial, str, Opinion]]] = {}
    for trial in trials:
        for each in annotations.get(trial.planned.key, ()) if trial.verdict in SCORED else ():
            if each.opinion is not Opinion.NONE and each.is_about(trial):
                found.setdefault(trial.planned.suite, []).append((trial, each.person, each.opinion))
    return [_agreement(suite, found[suite]) for suite in sorted(found)]


def _agreement(suite: str, given: Sequence[tuple[Trial, str, Opinion]]) -> PeopleAgreement:
    counts = Counter((trial.verdict, opinion) for trial, _, opinion in given)
    agreed = Counter(trial.unit for trial, _, opinion in given if opinion is Opinion.AGREE)
    sizes = Counter(trial.unit for trial, _, _ in given)
    return PeopleAgreement(
        suite=suite,
        trials=len({trial.planned.key for trial, _, _ in given}),
        people=len({person for _, person, _ in given}),
        agreed_passed=counts[Verdict.PASSED, Opinion.AGREE],
        agreed_failed=counts[Verdict.FAILED, Opinion.AGREE],
        false_passes=counts[Verdict.PASSED, Opinion.DISAGREE],
        false_failures=counts[Verdict.FAILED, Opinion.DISAGREE],
        interval=clustered([(agreed[unit], size) for unit, size in sizes.items()]) or (0.0, 1.0),
    )


def _counted(number: int, name: str, plural: str = "s", *, meaning: str = "") -> str:
    return f"{number:,} {name if number == 1 else meaning or name + plural}"
