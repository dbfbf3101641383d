"""One conversation of a learner in the database."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from pytest_crmeval.agents.learner import ReviewedProposal
from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.learning import Lesson, Reward
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.wire import encoded, written_call

Event = tuple[str, str, Json]
"""A change of a playbook: its kind, the entry, and details."""


class SessionLog:
    """Writes each event of one conversation when it happens."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        run: str,
        planned: PlannedCase,
        key: str,
        redact: Callable[[Json], Json],
    ) -> None:
        self._connection = connection
        self._run = run
        self._planned = planned
        self._key = key
        self._redact = redact
        self._id = uuid4()

    def begun(self, lesson: Lesson) -> None:
        """Record the start; an unfinished earlier attempt at the same case is marked as abandoned."""
        planned, place = self._planned, [self._run, self._key]
        self._execute(
            "UPDATE crmeval.sessions SET status = 'abandoned', ended = clock_timestamp() "
            "WHERE run = %s AND learning_key = %s AND case_id = %s AND status = 'running'",
            [*place, planned.case],
        )
        self._execute(
            "INSERT INTO crmeval.sessions (id, run, learning_key, suite, subject, case_id, position, held_out, "
            "learning, mode, entries) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                self._id,
                *place,
                *(planned.suite, planned.subject, planned.case),
                *(lesson.position, lesson.held_out, lesson.learning, lesson.mode, lesson.entries),
            ],
        )

    def attempted(self, attempt: ReviewedProposal) -> None:
        """Record a proposal and its review."""
        self._execute(
            "INSERT INTO crmeval.attempts (session_id, turn, attempt, calls, review, instead) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            [
                *(self._id, attempt.turn, attempt.number),
                *(self._calls(attempt.calls), str(attempt.review), self._calls(attempt.instead)),
            ],
        )
        if attempt.guidance:
            self._execute(
                "INSERT INTO crmeval.guidance (session_id, turn, note) VALUES (%s, %s, %s)",
                [self._id, attempt.turn, str(_storable(self._redact(attempt.guidance)))],
            )

    def rewarded(self, reward: Reward) -> None:
        """Record the reward."""
        record = reward.to_dict()
        self._execute(
            "INSERT INTO crmeval.rewards (session_id, score, spread, samples, arbiter) VALUES (%s, %s, %s, %s, %s)",
            [self._id, reward.score, reward.spread, self._json(record["samples"]), self._json(record.get("arbiter"))],
        )

    def finished(self, lesson: Lesson, playbook: Playbook) -> None:
        """Record the lesson and the new playbook, in one transaction."""
        place = [self._run, self._key, lesson.position]
        with self._connection.transaction():
            for event, entry, content in events(lesson):
                self._execute(
                    "INSERT INTO crmeval.playbook (session_id, run, learning_key, position, event, entry_id, content) "
                    "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                    [self._id, *place, event, entry, self._json(content)],
                )
            if lesson.learns:
                self._execute(
                    "INSERT INTO crmeval.registry (run, learning_key, position, playbook) VALUES (%s, %s, %s, %s) "
                    "ON CONFLICT (run, learning_key) DO UPDATE SET position = EXCLUDED.position, "
                    "playbook = EXCLUDED.playbook, updated = clock_timestamp()",
                    [*place, self._json(playbook.to_dict())],
                )
            self._end("finished", lesson.to_dict())

    def broken(self) -> None:
        """Record that it was interrupted."""
        self._end("broken", None)

    def _end(self, status: str, lesson: JsonObject | None) -> None:
        self._execute(
            "UPDATE crmeval.sessions SET status = %s, lesson = %s, ended = clock_timestamp() "
            "WHERE id = %s AND status = 'running'",
            [status, self._json(lesson), self._id],
        )

    def _execute(self, statement: str, values: Sequence[object]) -> None:
        self._connection.execute(statement.encode(), values)

    def _calls(self, calls: Sequence[ToolCall]) -> Jsonb:
        return self._json([written_call(call) for call in calls])

    def _json(self, value: Json) -> Jsonb:
        return Jsonb(_storable(self._redact(value)), dumps=encoded)


def events(lesson: Lesson) -> Iterator[Event]:
    """Yield the changes of a playbook by a lesson."""
    for entry in lesson.added:
        yield "added", entry.id, entry.to_dict()
    for name, why in lesson.dropped.items():
        yield "dropped", name, why
    for why in lesson.refused:
        yield "refused", "", why
    for name in ("student_notes", "teacher_notes"):
        text = getattr(lesson, name)
        if text is not None:
            yield "noted", name, text


def _storable(value: Json) -> Json:
    """Return what PostgreSQL accepts: without NUL and halves of surrogate pairs, which a model may have written."""
    if isinstance(value, str):
        return printable(value.replace("\0", "\\0"))
    if isinstance(value, dict):
        return {str(_storable(key)): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, (list, tuple)) else value


class CarefulLog:
    """Writes one conversation until the database fails; the conversation goes on, and the journal has the lesson."""

    def __init__(self, opened: Callable[[], SessionLog]) -> None:
        self._opened = opened
        self._log: SessionLog | None = None
        self.trouble = ""
        """Why something could not be written; empty if everything was."""

    def begun(self, lesson: Lesson) -> None:
        """Record the start."""
        self._write(lambda log: log.begun(lesson))

    def attempted(self, attempt: ReviewedProposal) -> None:
        """Record a proposal and its review."""
        self._write(lambda log: log.attempted(attempt))

    def rewarded(self, reward: Reward) -> None:
        """Record the reward."""
        self._write(lambda log: log.rewarded(reward))

    def finished(self, lesson: Lesson, playbook: Playbook) -> None:
        """Record the lesson and the new playbook."""
        self._write(lambda log: log.finished(lesson, playbook))

    def broken(self) -> None:
        """Record that it was interrupted."""
        self._write(SessionLog.broken)

    def _write(self, write: Callable[[SessionLog], None]) -> None:
        """Write, unless an earlier write failed: a row without those before it would mislead."""
        if self.trouble:
            return
        try:
            self._log = self._log or self._opened()
            write(self._log)
        except psycopg.Error as error:
            self.trouble = f"telemetry is incomplete: {str(error).strip().partition(chr(10))[0]}"
