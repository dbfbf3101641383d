"""What the judge of a run did, and how far it can be trusted."""

from collections.abc import Iterable

from pytest_crmeval.domain.judgement import LabelAgreement, restriction
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, total


class JudgeFigures(Record, frozen=True, kw_only=True):
    """What the judge did about one subject."""

    graded: int = always(0)
    not_graded: int = always(0)
    """Trials whose opinions are missing, because the judge did not answer."""
    cached: int = always(0)
    """Graded trials whose opinions were cached from an earlier identical request, so that no model was called."""
    statements: int = 0
    """Statements of replies that the scorer `reply` could not decide; 0 for questions."""
    false: int = 0
    """Statements that the judge finds false."""
    failed: int = 0
    """Trials whose `reply` fails because of the judge."""
    agreement: LabelAgreement | None = None
    """How far the judge of conversations agrees with the labelled statements; None if that was not measured."""
    restriction: str = ""
    """Why the judge of conversations may not change a verdict; empty if it may."""
    bill: Bill | None = None
    """Usage and cost of the judge, not included in those of the subjects; None if no model was called."""


def judge_figures(trials: Iterable[Trial]) -> JudgeFigures | None:
    """Return what the judge did; None if it was asked about no trial."""
    judged = [(trial, trial.judgement) for trial in trials if trial.judgement is not None]
    if not judged:
        return None
    graded = [judgement for _, judgement in judged if judgement.is_graded]
    of_replies = [judgement for judgement in graded if judgement.statements]
    # Parts of a run may have had different measurements: then none of them holds for the whole.
    agreements = [judgement.agreement for judgement in of_replies]
    agreement = agreements[0] if agreements and agreements.count(agreements[0]) == len(agreements) else None
    false = [judgement.false_statements for judgement in of_replies]
    return JudgeFigures(
        graded=len(graded),
        not_graded=sum(not each.is_graded and trial.verdict is not Verdict.INVALID for trial, each in judged),
        cached=sum(judgement.cached for judgement in graded),
        statements=sum(len(judgement.statements) for judgement in of_replies),
        false=sum(map(len, false)),
        failed=sum(bool(found) and each.may_decide for found, each in zip(false, of_replies, strict=True)),
        agreement=agreement,
        restriction=restriction(agreement) if of_replies else "",
        bill=total(judgement.bill for _, judgement in judged),
    )
