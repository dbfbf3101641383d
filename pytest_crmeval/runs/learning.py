"""What was learnt in a run, from its trials."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_crmeval.domain.curve import learning_of
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.playbook import Playbook, learnt
from pytest_crmeval.domain.report import Standing
from pytest_crmeval.domain.trial import Trial

INHERITED = "inherited"
"""Under this name a part of a run keeps the playbooks that it began with."""


def playbooks_of(trials: Iterable[Trial], inherited: Mapping[str, Playbook]) -> Mapping[str, Playbook]:
    """Return what was learnt under each key."""
    lessons: dict[str, list[Lesson]] = {}
    for trial in trials:
        if (lesson := trial.lesson) and lesson.learns:
            lessons.setdefault(lesson.key, []).append(lesson)
    return {key: learnt(found, start=suited(inherited, key)) for key, found in lessons.items()}


def with_learning(
    standings: Sequence[Standing], trials: Mapping[tuple[str, str], Sequence[Trial]], order: Mapping[str, int]
) -> Sequence[Standing]:
    """Return how subjects stand with what has come of learning, held against the student alone, if he has played.

    ``order`` is the place of each case in the plan.
    """
    return [_with_learning(standing, trials, order) for standing in standings]


def _with_learning(
    standing: Standing, trials: Mapping[tuple[str, str], Sequence[Trial]], order: Mapping[str, int]
) -> Standing:
    own = trials.get((standing.suite, standing.subject), ())
    alone = {
        subject: found
        for (suite, subject), found in trials.items()
        if suite == standing.suite and subject != standing.subject
    }
    learns = any(trial.learning for trial in own)
    return replace(standing, learning=learning_of(own, alone, order)) if learns else standing


def inherited_in(parts: Sequence[JsonObject]) -> Mapping[str, Playbook]:
    """Return the playbooks that a run began with; KeyError, TypeError or ValueError if they can't be read."""
    for part in parts:
        kept = part.get(INHERITED)
        if isinstance(kept, Mapping):
            return {
                key: Playbook.from_dict(playbook) for key, playbook in kept.items() if isinstance(playbook, Mapping)
            }
    return {}


def suited(inherited: Mapping[str, Playbook], key: str) -> Playbook | None:
    """Return what another run has learnt for a key: under the same, or under the only one of its suite.

    Conversations of that run are not counted in this one.
    """
    suite = key.partition("/")[0]
    of_suite = [name for name in inherited if name.partition("/")[0] == suite]
    name = key if key in inherited else of_suite[0] if len(of_suite) == 1 else ""
    return replace(inherited[name], played=0) if name else None
