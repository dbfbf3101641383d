"""Conversations in JSON Lines, one case per line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.messages import ToolCall

SHOWN = 5
"""How many problems of a file are told at once."""

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class DatasetError(Exception):
    """A file that can't be played; the message names file, line and field, and what to do."""


class ExpectedResponse(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What the published format says about the reply."""

    text: str = ""
    evaluation: str = "structured"
    answers: list[str] = []
    requires_judge: bool = False


class TurnRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One turn as written in a file."""

    turn_id: int
    user_utterance: str
    expected_tool: str
    expected_args: dict[str, Any] = {}
    references_previous_turns: list[int] = []
    expect_success: bool = True
    expected_error_substring: str | None = None
    failure_category: str | None = None
    expected_response: ExpectedResponse | None = None


Rows = dict[UUID, dict[str, Any]]


class SeedData(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="pascal"):
    """Rows by entity and id."""

    client: Rows = {}
    company: Rows = {}
    contact: Rows = {}
    opportunity: Rows = {}
    quote: Rows = {}
    contract: Rows = {}
    document: Rows = {}
    note: Rows = {}


class InitialEntities(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What the CRM holds at the start."""

    seed_data: SeedData = msgspec.field(default_factory=SeedData)


class ConversationRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One line of a file."""

    conversation_id: _Id
    turns: Annotated[list[TurnRecord], msgspec.Meta(min_length=1)]
    workflow_category: str = "Unknown"
    complexity_level: Literal["simple", "medium", "complex"] = "simple"
    initial_entities: InitialEntities = msgspec.field(default_factory=InitialEntities)
    final_expected_state: dict[str, Any] = {}
    success_criteria: Literal["all_turns", "final_state", "both"] = "all_turns"
    contains_failure: bool = False
    failure_turn: int | None = None
    verification_mode: str = "database"
    chain_id: str | None = None
    segment_number: int | None = None
    segment_boundaries: list[int] | None = None
    expected_outcome: str | None = None
    cumulative_context: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(ConversationRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRef:
    """Where a case is: light enough to parametrize tens of thousands of tests with."""

    path: Path
    line: int
    offset: int
    id: str
    fingerprint: str

    def read(self) -> Conversation:
        """Return the case itself."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                record = _decode(file.readline(), self.path, self.line)
        except OSError as error:
            raise DatasetError(f"{self.path}: {error.strerror}, while it was being played") from error
        except DatasetError as error:
            raise self._changed() from error
        if _fingerprint(record) != self.fingerprint:
            raise self._changed()
        return _conversation(record, self.fingerprint)

    def _changed(self) -> DatasetError:
        return DatasetError(f"{self.path}:{self.line}: the file was changed while it was being played")


def index(paths: Sequence[Path]) -> list[CaseRef]:
    """Validate every line of the files and return where the cases are."""
    found: dict[str, CaseRef] = {}
    problems: list[str] = []
    for path in paths:
        before = len(found)
        for ref in _refs(path, problems):
            first = found.setdefault(ref.id, ref)
            if first is not ref:
                problems.append(
                    f"{path}:{ref.line}: conversation_id: {ref.id!r} is taken by {first.path}:{first.line}; "
                    "ids must be unique"
                )
        if len(found) == before and not problems:
            raise DatasetError(f"{path}: the file has no conversation; write one JSON object per line")
    if problems:
        more = [f"... and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise DatasetError("\n".join(problems[:SHOWN] + more))
    return list(found.values())


def _refs(path: Path, problems: list[str]) -> Iterator[CaseRef]:
    offset = 0
    for number, line in enumerate(_lines(path), start=1):
        start, offset = offset, offset + len(line)
        if not line.strip():
            continue
        try:
            record = _decode(line, path, number)
        except DatasetError as error:
            problems.append(str(error))
            continue
        yield CaseRef(
            path=path,
            line=number,
            offset=start,
            id=record.conversation_id,
            fingerprint=_fingerprint(record),
        )


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error


def _decode(line: bytes, path: Path, number: int) -> ConversationRecord:
    try:
        record = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        field = place.removeprefix("`key` in ").strip("`$.")
        raise DatasetError(f"{path}:{number}: {field or 'line'}: {what}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{path}:{number}: this line is not JSON: {error}") from error
    ids = [turn.turn_id for turn in record.turns]
    if ids != list(range(1, len(ids) + 1)):
        raise DatasetError(f"{path}:{number}: turns: turn_id must count 1, 2, 3 …, found {ids}")
    return record


def _fingerprint(record: ConversationRecord) -> str:
    plain = msgspec.to_builtins(record, str_keys=True)
    return sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:16]


def _conversation(record: ConversationRecord, fingerprint: str) -> Conversation:
    seed = msgspec.to_builtins(record.initial_entities.seed_data, str_keys=True)
    return Conversation(
        id=record.conversation_id,
        fingerprint=fingerprint,
        turns=tuple(_turn(turn) for turn in record.turns),
        seed=seed,
        complexity=record.complexity_level,
        category=record.workflow_category,
    )


def _turn(record: TurnRecord) -> Turn:
    call = ToolCall(tool=record.expected_tool, arguments=record.expected_args)
    return Turn(
        utterance=record.user_utterance,
        expectation=Expectation(call=call, succeeds=record.expect_success),
    )
