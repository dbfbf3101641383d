"""Checks conversation files for invalid and irregular cases before they are played."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pytest_crmeval.conversations.dataset.crm_schema import TOOLS
from pytest_crmeval.conversations.dataset.defects import defects
from pytest_crmeval.conversations.dataset.files import decode, lines
from pytest_crmeval.conversations.dataset.findings import LONGEST, Finding, FindingKind, shown
from pytest_crmeval.conversations.dataset.knowledge import ID
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.lint.irregularities import UNTRUE, irregularities
from pytest_crmeval.conversations.references import REFERENCE
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import canonical, writes

Check = Callable[[ToolCall], str]
"""Returns what is wrong with a call regardless of the rows in the CRM; empty if it is valid."""
Progress = Callable[[int], None]
SOME_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """The location of a conversation."""

    file: str
    line: int
    case: str = ""


@dataclass(slots=True, kw_only=True)
class FindingCount:
    """How often a kind of problem was found."""

    turns: set[tuple[str, int, int]] = field(default_factory=set)
    lines: set[tuple[str, int]] = field(default_factory=set)
    examples: list[tuple[Location, Finding]] = field(default_factory=list)


class Lint:
    """The problems found in some files."""

    def __init__(self, check: Check | None = None, examples: int = 3) -> None:
        """Start with no file; ``check`` decides which calls a CRM accepts."""
        self.files: list[str] = []
        self.conversations = 0
        self.turns = 0
        self.counts = {kind: FindingCount() for kind in FindingKind}
        self.diversity = Diversity()
        self.reproducible = 0
        self._check = check
        self._examples = examples
        self._ids: dict[str, Location] = {}
        self._labels: dict[str, dict[str, list[tuple[Location, int]]]] = defaultdict(lambda: defaultdict(list))

    @property
    def invalid(self) -> int:
        """The number of conversations that can't be passed or read."""
        return len({line for kind, count in self.counts.items() if kind.invalid for line in count.lines})

    def check_files(self, paths: Sequence[Path], progress: Progress = lambda _: None) -> "Lint":
        """Check files; DatasetError if one can't be opened or has no conversation."""
        for path in paths:
            self.files.append(str(path))
            before = self.conversations
            for number, line in enumerate(lines(path), start=1):
                if line.strip():
                    self.conversations += 1
                    self._check_line(line, path, number)
                    progress(self.conversations)
            if self.conversations == before:
                raise DatasetError(f"{path}: the file has no conversation; write one JSON object per line")
        for utterance, labels in self._labels.items():
            if len(labels) > 1:
                text = f"{shown(utterance)} has {len(labels)} different expected calls, here "
                for label, places in labels.items():
                    kind, here = FindingKind.SAME_UTTERANCE, text + cut(label, LONGEST)
                    for place, turn in places:
                        self._add(place, Finding(kind=kind, turn=turn, text=here))
        return self

    def _check_line(self, line: bytes, path: Path, number: int) -> None:
        try:
            record = decode(line, path, number)
        except DatasetError as error:
            text = str(error).removeprefix(f"{path}:{number}: ")
            self._add(Location(file=str(path), line=number), Finding(kind=FindingKind.UNREADABLE_LINE, text=text))
            return
        place = Location(file=str(path), line=number, case=record.conversation_id)
        first = self._ids.setdefault(place.case, place)
        if first is not place:
            text = f"{place.case!r} is already used in {first.file}:{first.line}"
            self._add(place, Finding(kind=FindingKind.DUPLICATE_ID, text=text))
        findings = [
            *defects(record),
            *self._bad_calls(record),
        ]
        if record.user is None:  # else the words are those of a goal
            findings += irregularities(record, lists_references=b'"references_previous_turns"' in line)
        for finding in findings:
            self._add(place, finding)
        untrue = {finding.turn for finding in findings if finding.kind in UNTRUE}
        self.turns += len(record.turns)
        self.diversity.add(record)
        for turn in record.turns if record.user is None else ():
            self.reproducible += turn.expected_response is not None and turn.turn_id not in untrue
            label = masked(_label(turn), references=True)
            self._labels[masked(turn.user_utterance)][label].append((place, turn.turn_id))

    def _add(self, place: Location, finding: Finding) -> None:
        count = self.counts[finding.kind]
        count.lines.add((place.file, place.line))
        if finding.turn:
            count.turns.add((place.file, place.line, finding.turn))
        if len(count.examples) < self._examples:
            count.examples.append((place, finding))

    def _bad_calls(self, record: ConversationRecord) -> Iterator[Finding]:
        for turn in record.turns:
            for place, call in enumerate(turn.calls):
                if call.tool not in TOOLS:
                    yield Finding(kind=FindingKind.UNKNOWN_TOOL, turn=turn.turn_id, text=shown(call.tool))
                    continue
                resolved = _with_ids(call) if turn.expect_success or place else None
                if self._check and resolved and (problem := self._check(resolved)):
                    text = f"{call.tool}: {problem}"
                    yield Finding(kind=FindingKind.REFUSED_ARGUMENTS, turn=turn.turn_id, text=text)


class Diversity:
    """How different the conversations are from each other, ignoring ids."""

    def __init__(self) -> None:
        """Start with no conversation."""
        self.reads = 0
        self.never_writing = 0
        self._turns = 0
        self._utterances: set[str] = set()
        self._templates: set[str] = set()
        self._shapes: set[tuple[str, ...]] = set()
        self._sequences: set[tuple[str, ...]] = set()

    def add(self, record: ConversationRecord) -> None:
        """Count a conversation."""
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
        """The share of turns that only read."""
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
    """Return a text with a mask in place of ids and, with ``references``, of references."""
    return ID.sub("<id>", REFERENCE.sub("<id>", text) if references else text)


def _label(turn: TurnRecord) -> str:
    """Return the calls that a turn expects, as text."""
    calls = map(canonical, turn.calls)
    return ", ".join(f"{call.tool} {msgspec.json.encode(call.arguments, order='sorted').decode()}" for call in calls)


def _with_ids(call: ToolCall) -> ToolCall | None:
    """Return the call with some id in place of each reference; None if one refers to something else than an id."""
    text = msgspec.json.encode(call.arguments).decode()
    if not all(match[2].endswith("_id") for match in REFERENCE.finditer(text)):
        return None
    return ToolCall(tool=call.tool, arguments=msgspec.json.decode(REFERENCE.sub(SOME_ID, text)))
