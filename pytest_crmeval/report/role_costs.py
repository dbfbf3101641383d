"""Estimated usage of the models of a learner: the student that plays, and the roles around it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.loads import CHARACTERS_PER_TOKEN, SECONDS_PER_CALL, CaseSize, UsageEstimate

STUDENT = "student"
REVIEWS_PER_TURN = 1.0
ARBITRATED = 0.2
"""Share of conversations whose opinions disagree."""
REVIEW = Usage(input=1_000, output=120, calls=1)
"""Without the tools, which a teacher reads with each review."""
OPINION = Usage(input=1_500, output=100, calls=1)
REVISION = Usage(input=3_000, output=400, calls=1)
_USUAL: Mapping[str, Usage] = {"teacher": REVIEW, "reward": OPINION, "arbiter": OPINION, "learner": REVISION}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerRoles:
    """The models of a learner by role, and how often they are called."""

    specs: Mapping[str, str]
    """Role -> the spec of its model; the student comes first."""
    samples: int
    """Opinions per conversation."""
    learns: bool
    """Whether its conversations, except held-out ones, are played one after the other."""
    is_frozen: bool = False

    def calls(self, role: str, size: CaseSize) -> float:
        """Return how often a role other than the student is called for a case; held-out cases need only the student."""
        if size.held_out and (self.learns or self.is_frozen):
            return 0.0
        if role == "teacher":
            return REVIEWS_PER_TURN * size.turns
        return {"reward": float(self.samples), "arbiter": ARBITRATED, "learner": 1.0}[role] if self.learns else 0.0

    def guessed(self, role: str, size: CaseSize, overhead: int) -> UsageEstimate:
        """Return a guess for a role other than the student in a case."""
        usual = UsageEstimate.of(_USUAL[role])
        if role == "teacher":
            usual = replace(usual, input=usual.input + overhead / CHARACTERS_PER_TOKEN)
        return usual.times(self.calls(role, size))


def assumed_roles() -> str:
    """Return the assumptions of guesses for teacher, reward and learner."""
    tokens = ", ".join(
        f"{bills.number(usage.input)} tokens in and {usage.output} out per {what}"
        for what, usage in (
            ("review (plus the tools)", REVIEW),
            ("opinion on a conversation", OPINION),
            ("revision of the playbook", REVISION),
        )
    )
    return (
        f"assumed: {REVIEWS_PER_TURN:g} review per turn, an arbiter in {ARBITRATED:.0%} of conversations, {tokens}, "
        f"{SECONDS_PER_CALL:g} s per call"
    )
