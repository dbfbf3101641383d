"""Files of conversations, looked through for what is wrong or odd, before anybody plays them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pytest_crmeval.conversations.dataset.defects import defects
from pytest_crmeval.conversations.dataset.entities import TOOLS
from pytest_crmeval.conversations.dataset.files import decode
from pytest_crmeval.conversations.dataset.findings import Finding, Kind, cut, shown
from pytest_crmeval.conversations.dataset.knowledge import ID
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.lint.irregularities import UNTRUE, irregularities
from pytest_crmeval.domain.calls import canonical, writes
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import REFERENCE

Check = Callable[[ToolCall], str]
"""Says what is wrong with a call, whatever the CRM holds; empty if nothing is."""
Progress = Callable[[int], None]
SOME_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a conversation is written."""

    file: str
    line: int
    case: str = ""


@dataclass(slots=True, kw_only=True)
class Count:
    """How often a kind of irregularity was found."""

    turns: set[tuple[str, int, int]] = field(default_factory=set)
    lines: set[tuple[str, int]] = field(default_factory=set)
    examples: list[tuple[Place, Finding]] = field(default_factory=list)


class Lint:
    """What is found in some files."""

    def __init__(self, check: Check | None = None, examples: int = 3) -> None:
        """Find nothing yet; ``check`` knows which calls a CRM takes."""
        self.files: list[str] = []
        self.conversations = 0
        self.turns = 0
        self.counts = {kind: Count() for kind in Kind}
        self.diversity = Diversity()
        self.reproducible = 0
        self._check = check
        self._examples = examples
        self._ids: dict[str, Place] = {}
        self._labels: dict[str, dict[str, list[tuple[Place, int]]]] = defaultdict(lambda: defaultdict(list))

    @property
    def invalid(self) -> int:
        """How many conversations nobody can pass, or even read."""
        return len({line for kind, count in self.counts.items() if kind.invalid for line in count.lines})

    def look_through(self, paths: Sequence[Path], progress: Progress = lambda _: None) -> "Lint":
        """Look through files; what can't be opened, or has no conversation, is a DatasetError."""
        for path in paths:
            self.files.append(str(path))
            before = self.conversations
            for number, line in _lines(path):
                self.conversations += 1
                self._look_at(line, path, number)
                progress(self.conversations)
            if self.conversations == before:
                raise DatasetError(f"{path}: the file has no conversation; write one JSON object per line")
        self._compare()
        return self

    def _look_at(self, line: bytes, path: Path, number: int) -> None:
        try:
            record = decode(line, path, number)
        except DatasetError as error:
            text = str(error).removeprefix(f"{path}:{number}: ")
            self._add(Place(file=str(path), line=number), Finding(kind=Kind.UNREADABLE_LINE, text=text))
            return
        place = Place(file=str(path), line=number, case=record.conversation_id)
        findings = [
            *self._twins(place),
            *defects(record),
            *self._refused(record),
            *irregularities(record, lists_references=b'"references_previous_turns"' in line),
        ]
        for finding in findings:
            self._add(place, finding)
        self._remember(place, record, {finding.turn for finding in findings if finding.kind in UNTRUE})

    def _add(self, place: Place, finding: Finding) -> None:
        count = self.counts[finding.kind]
        count.lines.add((place.file, place.line))
        if finding.turn:
            count.turns.add((place.file, place.line, finding.turn))
        if len(count.examples) < self._examples:
            count.examples.append((place, finding))

    def _twins(self, place: Place) -> Iterator[Finding]:
        first = self._ids.setdefault(place.case, place)
        if first is not place:
            yield Finding(kind=Kind.DUPLICATE_ID, text=f"{place.case!r} is taken by {first.file}:{first.line}")

    def _refused(self, record: ConversationRecord) -> Iterator[Finding]:
        for turn in record.turns:
            for place, call in enumerate(turn.calls):
                if call.tool not in TOOLS:
                    yield Finding(kind=Kind.UNKNOWN_TOOL, turn=turn.turn_id, text=shown(call.tool))
                elif (turn.expect_success or place) and (complaint := self._complaint(call)):
                    text = f"{call.tool}: {complaint}"
                    yield Finding(kind=Kind.REFUSED_ARGUMENTS, turn=turn.turn_id, text=text)

    def _complaint(self, call: ToolCall) -> str:
        seen = _with_ids(call)
        return self._check(seen) if self._check and seen else ""

    def _remember(self, place: Place, record: ConversationRecord, untrue: set[int]) -> None:
        self.turns += len(record.turns)
        self.diversity.take(record)
        for turn in record.turns:
            self.reproducible += turn.expected_response is not None and turn.turn_id not in untrue
            label = masked(_label(turn), references=True)
            self._labels[masked(turn.user_utterance)][label].append((place, turn.turn_id))

    def _compare(self) -> None:
        """Find words that mean one thing here and another there."""
        for utterance, labels in self._labels.items():
            if len(labels) > 1:
                text = f"{shown(utterance)} has {len(labels)} labels, here "
                for label, places in labels.items():
                    for place, turn in places:
                        self._add(place, Finding(kind=Kind.SAME_UTTERANCE, turn=turn, text=text + cut(label)))


class Diversity:
    """How different the conversations are from each other; ids don't make a difference."""

    def __init__(self) -> None:
        """Know none yet."""
        self.reads = 0
        self.never_writing = 0
        self._turns = 0
        self._utterances: set[str] = set()
        self._templates: set[str] = set()
        self._shapes: set[tuple[str, ...]] = set()
        self._sequences: set[tuple[str, ...]] = set()

    def take(self, record: ConversationRecord) -> None:
        """Take a conversation into account."""
        calls = [turn.calls for turn in record.turns]
        tools = tuple(" ".join(call.tool for call in made) for made in calls)
        utterances = [masked(turn.user_utterance) for turn in record.turns]
        labels = [masked(_label(turn)) for turn in record.turns]
        templates = tuple("\n".join(parts) for parts in zip(utterances, labels, strict=True))
        written = [any(writes(call.tool) for call in made) for made in calls]
        self.reads += sum(bool(made) and not wrote for made, wrote in zip(calls, written, strict=True))
        self.never_writing += not any(written)
        self._turns += len(tools)
        self._utterances |= set(utterances)
        self._templates |= set(templates)
        self._shapes.add(templates)
        self._sequences.add(tools)

    @property
    def read_share(self) -> float:
        """How much of what is asked for changes nothing."""
        return self.reads / self._turns if self._turns else 0.0

    def to_dict(self) -> dict[str, Json]:
        """Return the figures."""
        return {
            "utterances": len(self._utterances),
            "templates": len(self._templates),
            "conversation_shapes": len(self._shapes),
            "tool_sequences": len(self._sequences),
            "reads": self.reads,
            "read_share": round(self.read_share, 4),
            "conversations_that_never_write": self.never_writing,
        }


def masked(text: str, *, references: bool = False) -> str:
    """Return a text whose ids are all the same; with ``references``, these are ids as well."""
    plain = REFERENCE.sub("<id>", text) if references else text
    return ID.sub("<id>", plain)


def _label(turn: TurnRecord) -> str:
    """Return what a turn expects, as text."""
    calls = map(canonical, turn.calls)
    return ", ".join(f"{call.tool} {msgspec.json.encode(call.arguments, order='sorted').decode()}" for call in calls)


def _with_ids(call: ToolCall) -> ToolCall | None:
    """Return the call as a CRM may see it, some id in place of each reference; None if a reference is to no id."""
    text = msgspec.json.encode(call.arguments).decode()
    if not all(match[2].endswith("_id") for match in REFERENCE.finditer(text)):
        return None
    return ToolCall(tool=call.tool, arguments=msgspec.json.decode(REFERENCE.sub(SOME_ID, text)))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error
