"""What was learnt in a run, from its trials."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_crmeval.agents.playbook import Playbook, learnt
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.report.learning_curve import learning_of
from pytest_crmeval.report.report import SubjectSummary

_TERMS = frozenset({"mode", "learning", "order"})
"""How a playbook is used, not whose it is."""
INHERITED, MET = "inherited", "met"
"""Under these names a part of a run keeps the playbooks that it began with, and what they were learnt from."""
Groups = Mapping[tuple[str, str], Sequence[Trial]]
"""Trials by suite and subject."""


def playbooks_of(trials: Iterable[Trial], inherited: Mapping[str, Playbook]) -> Mapping[str, Playbook]:
    """Return what was learnt under each key."""
    lessons: dict[str, list[Lesson]] = {}
    for trial in trials:
        if (lesson := trial.lesson) and lesson.learns:
            lessons.setdefault(lesson.key, []).append(lesson)
    return {key: learnt(found, start=suited(inherited, key)) for key, found in lessons.items()}


def with_learning(
    summaries: Sequence[SubjectSummary], trials: Groups, order: Mapping[str, int], met: Collection[str]
) -> Sequence[SubjectSummary]:
    """Return how subjects stand with what has come of learning, held against the student alone, if he has played.

    ``order`` is the place of each case in the plan; ``met`` are those that were learnt from before, in another run.
    """
    return [_with_learning(summary, trials, order, met) for summary in summaries]


def _with_learning(
    summary: SubjectSummary, trials: Groups, order: Mapping[str, int], met: Collection[str]
) -> SubjectSummary:
    own = trials.get((summary.suite, summary.subject), ())
    alone = {
        subject: found
        for (suite, subject), found in trials.items()
        if suite == summary.suite and subject != summary.subject
    }
    learns = any(trial.learning for trial in own)
    return replace(summary, learning=learning_of(own, alone, order, met)) if learns else summary


def met_by(trials: Iterable[Trial], parts: Sequence[JsonObject]) -> frozenset[str]:
    """Return the fingerprints of all cases that the playbooks of a run, or those it began with, were learnt from."""
    learnt_from = (trial.planned.fingerprint for trial in trials if trial.lesson and trial.lesson.learns)
    return frozenset(learnt_from) | met_in(parts)


def met_in(parts: Json) -> frozenset[str]:
    """Return the fingerprints of the cases that a run's playbooks were learnt from before it began."""
    found = [part.get(MET) for part in parts if isinstance(part, Mapping)] if isinstance(parts, Sequence) else []
    return frozenset(str(each) for known in found if isinstance(known, Sequence) for each in known)


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
    """Return what another run has learnt for a key: under the same, or under one that differs in its terms only.

    Or under the only one of its suite. Conversations of that run are not counted in this one.
    """
    suite = key.partition("/")[0]
    of_suite = [name for name in inherited if name.partition("/")[0] == suite]
    alike = [name for name in of_suite if _cast_of(name) == _cast_of(key)]
    found = next((names[0] for names in ([key] if key in inherited else [], alike, of_suite) if len(names) == 1), "")
    return replace(inherited[found], played=0) if found else None


def _cast_of(key: str) -> tuple[str, Sequence[str]]:
    """Return who it is about, whatever he does with what he has learnt."""
    name, _, terms = key.partition("?")
    return name, sorted(term for term in terms.split("&") if term and term.partition("=")[0] not in _TERMS)
