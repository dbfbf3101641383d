"""How many conversations a second the oracle plays on PostgreSQL. Run by ``make bench``; takes about two minutes.

The contenders play the same conversations, in turn, each process in a database of its own, as a worker of xdist does:

*bare*   What the conversations need in SQL and nothing more, as plain psycopg executes it: the seed, a savepoint before
         each call, the statements that the call really executes, all rows fetched, a rollback. Recorded once while the
         oracle plays; what is generated then, an id, is given now. It is replayed once, and every row must be the same.
*exact*  The same with the savepoints that we really make, which are fewer: nobody who plays can be faster.
*play*   Seed, turns and rollback, with nothing scored.
*trial*  All that a trial costs: the reference is played and the agent, three snapshots, three scorers, outcomes.

Then once more as a user does it, with pytest, alone and with ``-n 2``. *Played* counts what the report has as seconds:
the agent's own part. *Wall* counts everything that each further conversation costs, that is the difference to the same
run with one conversation: reading, fixtures, both plays, scores, journal, report.

Aims: *play* at least half as fast as *bare*, and at least 150 conversations a second, per process and on a quiet core.
With two processes, and a server that works for both, two cores are not quiet.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from multiprocessing import get_context
from multiprocessing.connection import Connection as Wire
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
from psycopg import sql
from psycopg.abc import Params, Query

from benchmarks.measuring import Spread, embedded_server, heading, pytest_command, take_turns, timed, warm_up
from pytest_crmeval.crm.databases import Address, RunDatabases
from pytest_crmeval.crm.postgres import PostgresCrm
from pytest_crmeval.datasets.conversations import index
from pytest_crmeval.domain.conversation import Conversation, Seed
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import TABLES, State
from pytest_crmeval.options import DEFAULT_SCORERS
from pytest_crmeval.play.conversation import observe, play, refer
from pytest_crmeval.scoring.named import SCORERS
from pytest_crmeval.scoring.oracle import Oracle
from pytest_crmeval.scoring.outcomes import outcomes_of

EVALS = Path(__file__).parents[1] / "evals"
PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "clbench_dev.jsonl"
ENOUGH = 120
"""Conversations that a pass should have at least; a smaller file is repeated."""
ROUNDS = 5
RUNS = 3
CONTENDERS = ("bare", "exact", "play", "trial")
PROCESSES = (1, 2)
HALF = 0.5
QUICK = 150.0
_KEYS = dict(TABLES.values())
_INSERT = re.compile(r'(INSERT INTO "(\w+)" AS t \()(.*? VALUES \()')


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something that a conversation had executed, and what came of it."""

    text: str
    values: Params | None
    rows: Sequence[tuple[Any, ...]] = ()
    fails: bool = False

    def run(self, connection: psycopg.Connection[Any]) -> Sequence[tuple[Any, ...]]:
        """Execute it again, and fetch what there is."""
        with suppress(psycopg.Error) if self.fails else nullcontext():
            cursor = connection.execute(self.text, self.values)
            return cursor.fetchall() if cursor.description else ()
        return ()
