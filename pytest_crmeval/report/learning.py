"""What was learned in a run, from its trials."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_crmeval.agents.playbook import Playbook, learnt
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.report.learning_curve import learning_of
from pytest_crmeval.report.report import SubjectSummary

_TERMS = frozenset({"mode", "learning", "order"})
"""Parameters of how a playbook is used, which don't identify the learner."""
INHERITED, MET = "inherited", "met"
"""Fields of a part of a run: the playbooks that it started with, and the cases that they were learned from."""
Groups = Mapping[tuple[str, str], Sequence[Trial]]
"""Trials by suite and subject."""


def playbooks_of(trials: Iterable[Trial], inherited: Mapping[str, Playbook]) -> Mapping[str, Playbook]:
    """Return the playbook of each learner."""
    lessons: dict[str, list[Lesson]] = {}
    for trial in trials:
        if (lesson := trial.lesson) and lesson.learns:
            lessons.setdefault(lesson.key, []).append(lesson)
    return {key: learnt(found, start=inherited_playbook(inherited, key)) for key, found in lessons.items()}


def with_learning(
    summaries: Sequence[SubjectSummary], trials: Groups, order: Mapping[str, int], met: Collection[str]
) -> Sequence[SubjectSummary]:
    """Return summaries with the results of learning, compared with the student alone if it has played.

    ``order`` is the place of each case in the plan; ``met`` are cases that were learned from in another run.
    """
    found = []
    for summary in summaries:
        own = trials.get((summary.suite, summary.subject), ())
        if any(trial.learning for trial in own):
            suite = {name: each for (suite, name), each in trials.items() if suite == summary.suite}
            others = {name: each for name, each in suite.items() if name != summary.subject}
            found.append(replace(summary, learning=learning_of(own, others, order, met)))
        else:
            found.append(summary)
    return found


def met_by(trials: Iterable[Trial], parts: Sequence[JsonObject]) -> frozenset[str]:
    """Return the fingerprints of all cases that the playbooks of a run were learned from, in it and before it."""
    learnt_from = (trial.planned.fingerprint for trial in trials if trial.lesson and trial.lesson.learns)
    return frozenset(learnt_from) | met_in(parts)


def met_in(parts: Json) -> frozenset[str]:
    """Return the fingerprints of the cases that a run's playbooks were learned from before it started."""
    found = [part.get(MET) for part in parts if isinstance(part, Mapping)] if isinstance(parts, Sequence) else []
    return frozenset(str(each) for known in found if isinstance(known, Sequence) for each in known)


def inherited_in(parts: Sequence[JsonObject]) -> Mapping[str, Playbook]:
    """Return the playbooks that a run started with; KeyError, TypeError or ValueError if they can't be read."""
    for part in parts:
        kept = part.get(INHERITED)
        if isinstance(kept, Mapping):
            return {
                key: Playbook.from_dict(playbook) for key, playbook in kept.items() if isinstance(playbook, Mapping)
            }
    return {}


def inherited_playbook(inherited: Mapping[str, Playbook], key: str) -> Playbook | None:
    """Return the playbook of another run for a key: the same key, one that differs only in terms, or the only one.

    The conversations of that run are not counted in this one.
    """
    suite = key.partition("/")[0]
    of_suite = [name for name in inherited if name.partition("/")[0] == suite]
    alike = [name for name in of_suite if _cast_of(name) == _cast_of(key)]
    found = next((names[0] for names in ([key] if key in inherited else [], alike, of_suite) if len(names) == 1), "")
    return replace(inherited[found], played=0) if found else None


def _cast_of(key: str) -> tuple[str, Sequence[str]]:
    """Return the learner of a key, without the terms of use."""
    name, _, terms = key.partition("?")
    return name, sorted(term for term in terms.split("&") if term and term.partition("=")[0] not in _TERMS)
