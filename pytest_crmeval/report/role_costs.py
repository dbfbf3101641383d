"""What each of the models that make up a learner will take: a student who plays, and those around him."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.loads import CHARACTERS_PER_TOKEN, SECONDS_PER_CALL, CaseSize, UsageEstimate

STUDENT = "student"
REVIEWS_PER_TURN = 1.0
ARBITRATED = 0.2
"""Share of conversations whose opinions don't agree."""
REVIEW = Usage(input=1_000, output=120, calls=1)
"""Beside the tools, which a teacher is shown with each."""
OPINION = Usage(input=1_500, output=100, calls=1)
REVISION = Usage(input=3_000, output=400, calls=1)
_USUAL: Mapping[str, Usage] = {"teacher": REVIEW, "reward": OPINION, "arbiter": OPINION, "learner": REVISION}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerRoles:
    """Who plays which role, and how often he is asked."""

    specs: Mapping[str, str]
    """Role -> the spec of its model; the student comes first."""
    samples: int
    """Opinions on a conversation."""
    learns: bool
    """Whether its conversations are played one after the other, those that are held out apart."""
    is_frozen: bool = False

    def calls(self, role: str, size: CaseSize) -> float:
        """Return how often a role, the student apart, is asked about a case; what is held out he plays alone."""
        if size.held_out and (self.learns or self.is_frozen):
            return 0.0
        if role == "teacher":
            return REVIEWS_PER_TURN * size.turns
        return {"reward": float(self.samples), "arbiter": ARBITRATED, "learner": 1.0}[role] if self.learns else 0.0

    def guessed(self, role: str, size: CaseSize, overhead: int) -> UsageEstimate:
        """Return what a role, the student apart, may take for a case."""
        usual = UsageEstimate.of(_USUAL[role])
        if role == "teacher":
            usual = replace(usual, input=usual.input + overhead / CHARACTERS_PER_TOKEN)
        return usual.times(self.calls(role, size))


def assumed_roles() -> str:
    """Say what the guess of a teacher, a reward and a learner is made from."""
    taken = ", ".join(
        f"{bills.number(usage.input)} tokens in and {usage.output} out for {what}"
        for what, usage in (
            ("a review (and the tools)", REVIEW),
            ("an opinion on a conversation", OPINION),
            ("a revision of the playbook", REVISION),
        )
    )
    return (
        f"guessed: {REVIEWS_PER_TURN:g} review for a turn, an arbiter for {ARBITRATED:.0%} of conversations, {taken}, "
        f"{SECONDS_PER_CALL:g} s for a call"
    )
