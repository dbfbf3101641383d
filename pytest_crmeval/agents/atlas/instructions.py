"""What a student is told beside what every agent is told."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.agents.atlas.asking import dialogue
from pytest_crmeval.domain.learning import Entry
from pytest_crmeval.domain.messages import Reply, agent_says
from pytest_crmeval.domain.playbook import Playbook


def instructed(system: str, playbook: Playbook, utterance: str, before: Reply | None, said: Sequence[str]) -> str:
    """Return the standing orders with what was learnt, what the user's words call to mind, and what a teacher said.

    A student with an empty playbook and no teacher is told exactly what every other agent is told.
    """
    parts = [*_learnt(playbook, utterance), *_guided(before, said)]
    return "\n\n".join([system, *parts])


def _learnt(playbook: Playbook, utterance: str) -> Iterator[str]:
    if playbook.student_notes:
        yield f"What you have learnt so far\n{playbook.student_notes}"
    if fired := playbook.fired_by(utterance):
        yield "\n".join(["What you have learnt about requests like this one", *map(_line, fired)])


def _line(entry: Entry) -> str:
    scope = f" Holds for: {entry.scope}." if entry.scope else ""
    return f"- {entry.action} So that: {entry.effect}.{scope}"


def _guided(before: Reply | None, said: Sequence[str]) -> Iterator[str]:
    """Yield what a teacher has said of the calls that the student wanted to make, which were not made."""
    if before is not None and said:
        proposed = dialogue([agent_says(before)])
        guidance = "\n".join(f"- {text}" for text in said)
        yield (
            f"Your teacher has looked at the calls that you were about to make. They were not made:\n{proposed}\n"
            f"What he says, the latest last:\n{guidance}\nMake the right calls now, or answer the user."
        )
