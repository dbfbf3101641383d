"""Labelled replies in JSON Lines: one conversation per line, with its calls and with true and false replies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pytest_crmeval.conversations.calibration.labelled import LabelledPlay, LabelledTurn
from pytest_crmeval.conversations.dataset.files import conversation_from
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.messages import ToolCall


class _CallRecord(Struct, frozen=True, kw_only=True):
    tool: str
    arguments: dict[str, Any] = {}


class _TurnRecord(Struct, frozen=True, kw_only=True):
    user: str
    calls: Sequence[Sequence[_CallRecord]] = ()
    true: Sequence[str] = ()
    false: Sequence[str] = ()


class _PlayRecord(Struct, frozen=True, kw_only=True):
    conversation: msgspec.Raw
    turns: Sequence[_TurnRecord]


SEALED = "sealed"
"""Prefix of the sealed sets, which are not read while rules are changed; all other sets are open."""
_DECODER = msgspec.json.Decoder(_PlayRecord)


def committed_sets() -> list[Path]:
    """Return the committed sets: beside this module in a wheel, in ``tests/data`` in a checkout of the repository."""
    installed = Path(__file__).parent / "replies"
    folder = installed if installed.exists() else Path(__file__).parents[3] / "tests" / "data" / "replies"
    return sorted(folder.glob("*.jsonl"))


def read_labelled(path: Path) -> list[LabelledPlay]:
    """Return the plays of a file; DatasetError names the invalid line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error
    return [_play(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def _play(line: bytes, path: Path, number: int) -> LabelledPlay:
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{path}:{number}: not a labelled play: {error}") from error
    case = conversation_from(bytes(record.conversation), path, number)
    if len(case.turns) != len(record.turns):
        raise DatasetError(f"{path}:{number}: turns: expected {len(case.turns)} of them, found {len(record.turns)}")
    return LabelledPlay(case=case, turns=tuple(map(_turn, record.turns)))


def _turn(record: _TurnRecord) -> LabelledTurn:
    steps = [[ToolCall(tool=call.tool, arguments=call.arguments) for call in step] for step in record.calls]
    return LabelledTurn(steps=steps, true=record.true, false=record.false)
