"""Runs conversations and their recorded SQL for ``conversations.py``.

The SQL is recorded while the oracle plays, including generated ids, because later statements refer to them. Before it
is measured, it is replayed and must return the same rows. So it is as much work for the server as playing.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
from psycopg import sql
from psycopg.abc import Params

from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play, play_reference
from pytest_crmeval.conversations.scorers.named import SCORERS
from pytest_crmeval.conversations.scorers.outcomes import outcomes_of
from pytest_crmeval.domain.conversation import Conversation, Seed
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.options.values import DEFAULT_SCORERS
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.postgres.databases import Address, Connection

BARE, EXACT, PLAY, TRIAL = "bare", "exact", "play", "trial"
CONTENDERS = (BARE, EXACT, PLAY, TRIAL)

Around = Callable[[str], AbstractContextManager[None]]
"""Returns the context in which a part is executed, given its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An executed statement and its result."""

    text: bytes
    values: Params | None = None
    rows: Sequence[tuple[Any, ...]] | None = None
    """None if the statement returns no rows."""
    failed: bool = False

    def execute(self, connection: Connection) -> Sequence[tuple[Any, ...]] | None:
        """Execute it again and fetch its rows."""
        if self.failed:
            with suppress(psycopg.Error):
                connection.execute(self.text, self.values)
            return None
        cursor = connection.execute(self.text, self.values)
        return None if self.rows is None else cursor.fetchall()

    @property
    def is_savepoint(self) -> bool:
        """Whether it creates a savepoint."""
        return self.text.startswith(b"SAVEPOINT")


BEGIN, ROLLBACK = Statement(text=b"BEGIN"), Statement(text=b"ROLLBACK")


class SqlRecorder:
    """Records the SQL of a connection while a conversation is played."""

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        self._calls: list[int] = []
        """The number of statements before each call."""

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Record where calls begin."""
        self._calls += [len(self._statements)] if part == "calls" else []
        yield

    def cursor_class(self) -> type[psycopg.Cursor[Any]]:
        """Return a cursor class that records its statements."""
        statements = self._statements

        class RecordingCursor(psycopg.Cursor[Any]):
            def execute(self, query: Any, params: Params | None = None, **how: Any) -> "RecordingCursor":  # noqa: ANN401
                text = _text(query, self)
                try:
                    super().execute(query, params, **how)
                except psycopg.Error:
                    statements.append(Statement(text=text, values=params, failed=True))
                    raise
                rows = self.fetchall() if self.description else None
                statements.append(Statement(text=text, values=params, rows=rows))
                if rows:
                    self.scroll(0, "absolute")
                return self

        return RecordingCursor

    def exact(self) -> list[Statement]:
        """Return all recorded statements."""
        return [BEGIN, *self._statements, ROLLBACK]

    def bare(self) -> list[Statement]:
        """Return the recorded statements with a savepoint before every call."""
        made = [statement for statement in self._statements if statement.is_savepoint]
        script = [BEGIN]
        for place, statement in enumerate([*self._statements, ROLLBACK]):
            script += made[:1] * self._calls.count(place)
            script += [] if statement.is_savepoint else [statement]
        return script


def _text(query: str | bytes | sql.Composable, cursor: psycopg.Cursor[Any]) -> bytes:
    if isinstance(query, sql.Composable):
        return query.as_bytes(cursor)
    return query if isinstance(query, bytes) else query.encode()


class InstrumentedCrm:
    """A CRM whose operations run inside a given context."""

    def __init__(self, crm: Crm, around: Around) -> None:
        self._crm = crm
        self._around = around

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools of the CRM."""
        return self._crm.tools

    @contextmanager
    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> Iterator[None]:
        """Seed the CRM and roll back at the end."""
        seeded = self._crm.seeded(seed, now, salt, page_size)
        with self._around("seed"):
            seeded.__enter__()
        yield
        with self._around("rollback"):
            seeded.__exit__(None, None, None)

    def call(self, call: ToolCall) -> ToolResult:
        """Make a call."""
        with self._around("calls"):
            return self._crm.call(call)

    def snapshot(self) -> State:
        """Take a snapshot."""
        with self._around("snapshots"):
            return self._crm.snapshot()


class Stopwatch:
    """Adds up the time of each part, and how much of it was spent waiting for the server."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.waited: dict[str, float] = {}
        self._inside = [""]

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Count the time for ``part``, and not for the part around it."""
        outer = self._inside[-1]
        self._inside.append(part)
        start = time.perf_counter()
        yield
        took = time.perf_counter() - start
        self._inside.pop()
        self.seconds[part] = self.seconds.get(part, 0.0) + took
        self.seconds[outer] = self.seconds.get(outer, 0.0) - took

    def timed_wait(self, wait: Callable[..., Any]) -> Callable[..., Any]:
        """Return psycopg's ``wait``, which sends and receives, with its time recorded."""

        def watched(*given: Any, **named: Any) -> Any:  # noqa: ANN401 (as psycopg has it)
            start, part = time.perf_counter(), self._inside[-1]
            try:
                return wait(*given, **named)
            finally:
                self.waited[part] = self.waited.get(part, 0.0) + time.perf_counter() - start

        return watched


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The time of one pass through all conversations."""

    cases: int
    seconds: float
    cpu_seconds: float
    """Of this process and its PostgreSQL backend: one of the two always waits for the other."""

    @property
    def rate(self) -> float:
        """Conversations per second."""
        return self.cases / self.seconds

    @property
    def quiet_rate(self) -> float:
        """Conversations per second on an idle core."""
        return self.cases / self.cpu_seconds


class ConversationRunner:
    """Runs conversations, or their recorded SQL, in one database."""

    def __init__(self, address: Address, conversations: Sequence[Conversation]) -> None:
        self._plain, self._connection = address.connect(), address.connect()
        self._crm = PostgresCrm(self._connection)
        self._conversations = conversations
        recorders = [self._recorded(conversation) for conversation in conversations]
        self._scripts = {
            BARE: [recorder.bare() for recorder in recorders],
            EXACT: [recorder.exact() for recorder in recorders],
        }
        self._check()

    def run(self, contender: str) -> Pass:
        """Run all conversations once."""
        connection = self._plain if contender in self._scripts else self._connection
        cpu, start = _cpu(connection), time.perf_counter()
        if contender in self._scripts:
            for script in self._scripts[contender]:
                for statement in script:
                    statement.execute(connection)
        else:
            go = partial(_play if contender == PLAY else trial, crm=self._crm)
            for conversation in self._conversations:
                go(conversation)
        seconds = time.perf_counter() - start
        return Pass(cases=len(self._conversations), seconds=seconds, cpu_seconds=_cpu(connection) - cpu)

    def statements(self, contender: str) -> float:
        """Return the mean number of statements per conversation."""
        return sum(map(len, self._scripts[contender])) / len(self._conversations)

    def timed_trials(self) -> tuple[Stopwatch, int]:
        """Play and score all conversations; return the times, and how many passed."""
        watch = Stopwatch()
        crm = InstrumentedCrm(self._crm, watch)
        with mock.patch.object(self._connection, "wait", watch.timed_wait(self._connection.wait)):
            passed = [trial(conversation, crm, watch) for conversation in self._conversations]
        return watch, sum(passed)

    def close(self) -> None:
        """Close the connections."""
        self._plain.close()
        self._connection.close()

    def _recorded(self, conversation: Conversation) -> SqlRecorder:
        recorder = SqlRecorder()
        with mock.patch.object(self._connection, "cursor_factory", recorder.cursor_class()):
            _play(conversation, InstrumentedCrm(self._crm, recorder))
        return recorder

    def _check(self) -> None:
        """Check that the recorded SQL returns the same rows."""
        for statement in (one for scripts in self._scripts.values() for script in scripts for one in script):
            rows = statement.execute(self._plain)
            if _in_any_order(rows) != _in_any_order(statement.rows):
                raise SystemExit(
                    f"{statement.text!r}\nreturned {statement.rows} when recorded, but {rows} when replayed"
                )


def _in_any_order(rows: Sequence[tuple[Any, ...]] | None) -> Sequence[tuple[Any, ...]] | None:
    """Return rows in a fixed order, because GROUP BY does not define one."""
    return None if rows is None else sorted(rows, key=repr)


def _cpu(connection: Connection) -> float:
    """Return the CPU seconds of this process and, on Linux, of its PostgreSQL backend."""
    usage = Path(f"/proc/{connection.info.backend_pid}/schedstat")
    return time.process_time() + (int(usage.read_text().split()[0]) / 1e9 if usage.exists() else 0.0)


def _play(conversation: Conversation, crm: Crm) -> None:
    with crm.seeded(conversation.seed, conversation.now):
        play(conversation, Oracle(conversation), crm)


def _nothing(_part: str) -> AbstractContextManager[None]:
    return nullcontext()


def trial(conversation: Conversation, crm: Crm, around: Around = _nothing) -> bool:
    """Play and score a conversation as the ``evaluate`` fixture does; return whether it passed."""
    with around("turns and oracle"):
        reference = play_reference(conversation, Oracle(conversation), crm)
        evidence = observe(conversation, Oracle(conversation), crm, reference)
    passed = []
    for name in DEFAULT_SCORERS:
        with around(f"score: {name}"):
            passed.append(SCORERS[name](conversation, evidence).passed)
    with around("outcomes"):
        tuple(outcomes_of(conversation, evidence))
    return all(passed)
