"""A session's log that spoils nothing: what can't be written down is told, and the conversation goes on."""

from collections.abc import Callable

import psycopg

from pytest_crmeval.agents.atlas.telemetry.sessions import SessionLog
from pytest_crmeval.domain.learning import Lesson, Reward
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.ports.learner import Attempt


class CarefulLog:
    """Writes down one conversation until the database fails; what was learnt is in the journal all the same."""

    def __init__(self, opened: Callable[[], SessionLog]) -> None:
        self._opened = opened
        self._log: SessionLog | None = None
        self.trouble = ""
        """Why not all is written down; empty if all is well."""

    def begun(self, lesson: Lesson) -> None:
        """Note that it begins."""
        self._write(lambda log: log.begun(lesson))

    def attempted(self, attempt: Attempt) -> None:
        """Note a proposal and its review."""
        self._write(lambda log: log.attempted(attempt))

    def rewarded(self, reward: Reward) -> None:
        """Note what it was worth."""
        self._write(lambda log: log.rewarded(reward))

    def finished(self, lesson: Lesson, playbook: Playbook) -> None:
        """Note what was learnt, and where learning stands now."""
        self._write(lambda log: log.finished(lesson, playbook))

    def broken(self) -> None:
        """Note that it has broken off."""
        self._write(SessionLog.broken)

    def _write(self, write: Callable[[SessionLog], None]) -> None:
        """Write, unless something is missing already: a row without those before it would mislead."""
        if self.trouble:
            return
        try:
            self._log = self._log or self._opened()
            write(self._log)
        except psycopg.Error as error:
            self.trouble = f"telemetry is incomplete: {str(error).strip().partition(chr(10))[0]}"
