"""Conversations in JSON Lines, one case per line."""

import codecs
from collections.abc import Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import msgspec

from pytest_crmeval.conversations.dataset import records
from pytest_crmeval.conversations.dataset.defects import defects
from pytest_crmeval.conversations.dataset.index_cache import LARGE, ChunkIndex, IndexCache, IndexEntry, version_of
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord, UserRecord
from pytest_crmeval.domain.conversation import NOW, Conversation, Segment, SimulatedUser, Turn
from pytest_crmeval.domain.dataset_error import SHOWN, DatasetError, located
from pytest_crmeval.domain.expectation import Expectation, PublishedReply
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports import crm_calls
from pytest_crmeval.ports.crm_calls import writes

_DECODER = msgspec.json.Decoder(ConversationRecord)


class CaseRef(msgspec.Struct, frozen=True, kw_only=True):
    """The location of a case; a struct, because tens of thousands of tests are parametrized with it."""

    path: Path
    line: int
    offset: int
    id: str
    fingerprint: str
    turns: int = 0
    tags: Sequence[str] = ()
    split: str = ""
    simulated: bool = False
    folder: ClassVar[str] = ""
    judged: ClassVar[bool] = False
    confidential: ClassVar[bool] = False

    def read(self) -> Conversation:
        """Read the case from its file."""
        changed = DatasetError(f"{self.path}:{self.line}: the file was changed while it was being played")
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                record = decode(file.readline(), self.path, self.line)
        except OSError as error:
            raise DatasetError(f"{self.path}: {error.strerror}, while it was being played") from error
        except DatasetError as error:
            raise changed from error
        if _fingerprint(record) != self.fingerprint:
            raise changed
        return _conversation(record, self.fingerprint)


def index(paths: Sequence[Path], cache: IndexCache | None = None) -> list[CaseRef]:
    """Validate every line of the files and return the locations of the cases.

    Lines of large files that are in the ``cache`` are not validated again.
    """
    found: dict[str, CaseRef] = {}
    problems: list[str] = []
    for path in paths:
        before = len(found)
        for ref in _cached(path, cache) or _refs(path, problems):
            first = found.setdefault(ref.id, ref)
            if first is not ref:
                problems.append(
                    f"{path}:{ref.line}: conversation_id: {ref.id!r} is already used in {first.path}:{first.line}; "
                    "ids must be unique"
                )
        if len(found) == before and not problems:
            raise DatasetError(f"{path}: the file has no conversation; write one JSON object per line")
    if problems:
        more = [f"... and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise DatasetError("\n".join(problems[:SHOWN] + more))
    return list(found.values())


def index_cache(folder: Path, share: float = 0.0) -> IndexCache:
    """Return the cache in a folder, for a worker that starts at ``share`` of each file."""
    version = version_of([__file__, records.__file__, crm_calls.__file__])
    return IndexCache(folder=folder, version=version, share=share)


def _cached(path: Path, cache: IndexCache | None) -> list[CaseRef] | None:
    """Return the cases of a large file from its cached index; None if the file is small or has an error to report."""
    try:
        if cache is None or path.stat().st_size < LARGE:
            return None
        indexes = cache.indexes(path, _indexed)
    except OSError:
        return None
    found, before, shared = [], 0, dict[tuple[str, ...], tuple[str, ...]]()
    for start, chunk in indexes or ():
        found += [
            CaseRef(
                path=path,
                line=before + entry.line,
                offset=start + entry.offset,
                id=entry.id,
                fingerprint=entry.fingerprint,
                turns=entry.turns,
                tags=shared.setdefault(entry.tags, entry.tags),
                split=entry.split,
                simulated=entry.simulated,
            )
            for entry in chunk.entries
        ]
        before += chunk.lines
    return found or None


def _indexed(content: bytes) -> ChunkIndex | None:
    """Return the index of a chunk; None if one of its lines is invalid."""
    entries, offset, number, unnamed = [], 0, 0, Path()
    for number, line in enumerate(BytesIO(content), start=1):
        start, offset = offset, offset + len(line)
        if line.isspace():
            continue
        try:
            record = decode(line, unnamed, number)
        except DatasetError:
            return None
        case = (record.conversation_id, _fingerprint(record), len(record.turns), tuple(record.tags), record.split or "")
        entries.append(IndexEntry(number, start, *case, record.user is not None))
    return ChunkIndex(number, entries)


def _refs(path: Path, problems: list[str]) -> Iterator[CaseRef]:
    offset = 0
    for number, line in enumerate(lines(path), start=1):
        start, offset = offset, offset + len(line)
        if line.isspace():
            continue
        try:
            record = decode(line, path, number)
        except DatasetError as error:
            problems.append(str(error))
            continue
        yield CaseRef(
            path=path,
            line=number,
            offset=start,
            id=record.conversation_id,
            fingerprint=_fingerprint(record),
            turns=len(record.turns),
            tags=tuple(record.tags),
            split=record.split or "",
            simulated=record.user is not None,
        )


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file; DatasetError if it can't be read."""
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error


def decode(line: bytes, path: Path, number: int) -> ConversationRecord:
    """Return one line of a file as a record; DatasetError names the line and field that are wrong."""
    try:
        record = _DECODER.decode(line.removeprefix(codecs.BOM_UTF8))
    except msgspec.ValidationError as error:
        field, what = located(error, ConversationRecord)
        raise DatasetError(f"{path}:{number}: {field}: {what}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{path}:{number}: this line is not JSON: {error}") from error
    ids = [turn.turn_id for turn in record.turns]
    if ids != list(range(1, len(ids) + 1)):
        raise DatasetError(f"{path}:{number}: turns: turn_id must be 1, 2, 3 … in order, found {ids}")
    if problem := next(filter(None, map(_contradiction, record.turns)), ""):
        raise DatasetError(f"{path}:{number}: turns: {problem}")
    ends = record.segment_boundaries
    if ends and (list(ends) != sorted(set(ends)) or ends[-1] != len(ids)):
        problem = f"must be ascending and end with the last turn, {len(ids)}; found {ends}"
        raise DatasetError(f"{path}:{number}: segment_boundaries: {problem}")
    if wrong := [trouble.turn for trouble in record.trouble if trouble.turn not in ids]:
        raise DatasetError(f"{path}:{number}: trouble: there is no turn {wrong[0]}")
    if (record.contains_failure or record.failure_turn is not None) and record.failure_turn not in ids:
        raise DatasetError(f"{path}:{number}: failure_turn: must be one of the turns {ids}")
    if record.user:
        _speak_for(record, path, number)
    return record


def _speak_for(record: ConversationRecord, path: Path, number: int) -> None:
    """Let each turn say all that the simulated user knows, which is what an agent can know of it."""
    assert record.user is not None  # noqa: S101 (a simulated case)
    if record.trouble:
        problem = "the user is simulated, so trouble is not supported; remove one of them"
        raise DatasetError(f"{path}:{number}: user: {problem}")
    for turn in record.turns:
        given = [name for name in ("user_utterance", "if_written", "if_not_asked") if getattr(turn, name)]
        if given:
            problem = f"turn {turn.turn_id} has {given[0]}, but the user is simulated; remove one of them"
            raise DatasetError(f"{path}:{number}: user: {problem}")
        turn.user_utterance = record.user.words


def conversation_from(line: bytes, path: Path, number: int) -> Conversation:
    """Return the conversation of one line; DatasetError names the field that is wrong."""
    record = decode(line, path, number)
    return _conversation(record, _fingerprint(record))


def _contradiction(turn: TurnRecord) -> str:
    """Return why the fields of a turn contradict each other; empty if they don't."""
    if turn.expected_tool and not turn.reply_asks and not turn.further_calls:
        return ""  # most turns
    called = [each.expected_tool for each in turn.further_calls]
    done = [turn.expected_tool, *called] if turn.expect_success else called
    if not all(called):
        problem = "further_calls: expected_tool must not be empty"
    elif turn.expected_tool:
        written = next(filter(writes, done), "") if turn.reply_asks else ""
        problem = f"reply_asks: {written} must not succeed in this turn: an agent that has to ask first can't write yet"
        problem = problem if written else ""
    elif turn.expect_success and not turn.reply_asks:
        problem = 'expected_tool: if empty, add "expect_success": false (to decline) or "reply_asks": true (to ask)'
    elif turn.expected_args or turn.further_calls:
        problem = (
            f"{'expected_args' if turn.expected_args else 'further_calls'}: must be empty if expected_tool is empty"
        )
    elif turn.expected_error_substring:
        problem = "expected_error_substring: nothing is called, so the CRM can't refuse it; omit it"
    else:
        problem = ""
    return problem and f"turn {turn.turn_id}: {problem}"


def _fingerprint(record: ConversationRecord) -> str:
    return sha256(msgspec.json.encode(record, order="sorted")).hexdigest()[:16]


def _conversation(record: ConversationRecord, fingerprint: str) -> Conversation:
    return Conversation(
        id=record.conversation_id,
        fingerprint=fingerprint,
        turns=tuple(_turn(turn) for turn in record.turns),
        seed=msgspec.to_builtins(record.initial_entities.seed_data),
        complexity=record.complexity_level,
        category=record.workflow_category,
        tags=tuple(record.tags),
        split=record.split or "",
        now=record.now or NOW,
        segments=_segments(record) if record.chain_id else (),
        chain=record.chain_id or "",
        expected_state=msgspec.to_builtins(record.expected_state) if record.expected_state else {},
        user=_user(record.user) if record.user else None,
        policy=record.policy,
        page_size=record.page_size,
        trouble=tuple(record.trouble),
        defects=tuple(map(str, defects(record))),
    )


def _user(record: UserRecord) -> SimulatedUser:
    return SimulatedUser(goal=record.goal, facts=tuple(record.facts), style=record.style)


def _turn(record: TurnRecord) -> Turn:
    response = record.expected_response
    return Turn(
        utterance=record.user_utterance,
        if_written=record.if_written,
        if_not_asked=record.if_not_asked,
        expectation=Expectation(
            call=ToolCall(tool=record.expected_tool, arguments=record.expected_args),
            further=tuple(record.calls[1:]),
            succeeds=record.expect_success,
            refusal=record.expected_error_substring or "",
            facts=None if record.reply_facts is None else tuple(record.reply_facts),
            asks=record.reply_asks,
            mistakes={
                name: [ToolCall(tool=call.expected_tool, arguments=call.expected_args) for call in calls]
                for name, calls in record.mistakes.items()
            },
            answer=PublishedReply(
                text=response.text.strip(),
                others=tuple(answer.strip() for answer in response.answers if answer.strip()),
                judged=response.requires_judge or response.evaluation.lower() == "judge",
            )
            if response
            else None,
        ),
    )


def _segments(record: ConversationRecord) -> tuple[Segment, ...]:
    summaries = record.cumulative_context.segment_summaries
    given = [one.segment_id if one.segment_number is None else one.segment_number for one in summaries]
    first = 0 if 0 in given else 1  # some count from 0
    outcomes = {
        place if number is None else number: summary.expected_outcome == "success"
        for place, (number, summary) in enumerate(zip(given, summaries, strict=True), start=first)
    }
    return tuple(
        Segment(last_turn=last, succeeds=outcomes.get(number, True))
        for number, last in enumerate(record.segment_boundaries or (), start=first)
    )
