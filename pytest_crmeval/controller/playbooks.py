"""The playbooks of learners, kept by the controller: the result of all recorded conversations."""

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

import pytest

from pytest_crmeval.agents.atlas.specs import AtlasSpec, is_atlas
from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.journal.places import NoRunError
from pytest_crmeval.journal.reader import JournalError
from pytest_crmeval.options.values import Options
from pytest_crmeval.report.files import ReportError
from pytest_crmeval.report.learning import (
    INHERITED,
    MET,
    inherited_in,
    inherited_playbook,
    met_by,
    met_in,
    playbooks_of,
)
from pytest_crmeval.report.sources import SourceError, source_of


class RunPlaybooks:
    """The playbooks of one run; a lesson counts only when its trial is in the journal."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._inherited: Mapping[str, Playbook] = {}
        self._met: frozenset[str] = frozenset()
        """The cases that the inherited playbooks were learnt from."""
        self._found: dict[str, Playbook] = {}
        self._guard = Lock()

    def begin(self, parts: Sequence[JsonObject], trials: Iterable[Trial], planned: Iterable[PlannedCase]) -> None:
        """Load what was learnt before this part of the run; UsageError if --crmeval-learning-from has no playbook.

        A resumed run keeps the playbooks that it started with. A lesson from a case that has changed since does not
        count, because the trial is dropped as well.
        """
        cases = {case.key: case for case in planned}
        learners = {case.spec: case for case in cases.values() if is_atlas(case.spec)}.values()
        kept = [trial for trial in trials if trial.planned.same_as(cases.get(trial.planned.key, trial.planned))]
        with self._guard:
            self._met = met_in(parts)
            self._inherited = inherited_in(parts) if parts else self._taken_over(bool(learners))
            self._found = dict(playbooks_of(kept, self._inherited))
        for case in learners:
            key, frozen = f"{case.suite}/{case.subject}", AtlasSpec.parse(case.spec).learning == "frozen"
            known = key in self._found or inherited_playbook(self._inherited, key) is not None
            if self._inherited and not known:
                raise pytest.UsageError(
                    f"crmeval: --crmeval-learning-from: the run has no playbook for {key}; it has: "
                    f"{', '.join(sorted(self._inherited))}"
                )
            if frozen and not known:
                raise pytest.UsageError(
                    f"crmeval: {case.subject} has no playbook to freeze; name a run with --crmeval-learning-from"
                )

    @property
    def part(self) -> JsonObject:
        """The record of the inherited playbooks for this part of the run; empty if there are none."""
        if not self._inherited:
            return {}
        kept = {key: playbook.to_dict() for key, playbook in self._inherited.items()}
        return {"learning_from": self._options.learning_from, INHERITED: kept, MET: sorted(self._met)}

    def take(self, trial: Trial) -> None:
        """Learn from a recorded trial."""
        lesson = trial.lesson
        if lesson is not None and lesson.learns:
            with self._guard:
                self._found[lesson.key] = self._at(lesson.key).after(lesson)

    def find(self, key: str) -> Playbook:
        """Return the playbook of a key."""
        with self._guard:
            return self._at(key)

    def _at(self, key: str) -> Playbook:
        return self._found.get(key) or inherited_playbook(self._inherited, key) or Playbook()

    def _taken_over(self, wanted: bool) -> Mapping[str, Playbook]:  # noqa: FBT001 (of one's own)
        name = self._options.learning_from
        if not name or not wanted:
            return {}
        try:
            past = source_of(name, self._options.reports).past
        except (NoRunError, SourceError, JournalError, ReportError) as error:
            raise pytest.UsageError(f"crmeval: --crmeval-learning-from {error}") from None
        found = playbooks_of(past.trials.values(), inherited_in(past.parts))
        self._met = met_by(past.trials.values(), past.parts)
        if not found:
            raise pytest.UsageError(f"crmeval: --crmeval-learning-from {name}: no agent learned in this run")
        return found
