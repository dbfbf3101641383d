"""Questions in JSON Lines, one per line: our own format."""

import codecs
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from pytest_crmeval.domain.dataset_error import located
from pytest_crmeval.questions.datasets.records import Found, QuestionError, checked, fingerprint
from pytest_crmeval.questions.question import Grader, Question

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]


class QuestionRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One line of a file; unknown fields are refused, because a misspelt field would be lost."""

    id: _Id
    question: str
    answer: str | int | float
    grader: Literal["exact", "numeric", "choice", "judge"]
    choices: list[str] = []
    aliases: list[str] = []
    tolerance: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    may_abstain: bool = False
    tags: list[str] = []
    split: Literal["train", "test"] | None = None
    metadata: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(QuestionRecord)


def found(path: Path) -> Iterator[Found]:
    """Yield every question of a file."""
    offset = row = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            start, offset = offset, offset + len(line)
            if line.strip():
                row += 1
                yield Found(number, start, row, partial(_question, line))


def read(path: Path, offset: int, row: int) -> Found:
    """Return one question again."""
    with path.open("rb") as file:
        file.seek(offset)
        return Found(0, offset, row, partial(_question, file.readline()))


def _question(line: bytes) -> Question:
    try:
        record = _DECODER.decode(line.removeprefix(codecs.BOM_UTF8))
    except msgspec.ValidationError as error:
        raise QuestionError(*located(error, QuestionRecord)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise QuestionError("", f"this line is not JSON: {error}") from error
    topic = record.metadata.get("topic", "")
    question = Question(
        id=record.id,
        fingerprint=fingerprint(msgspec.json.encode(msgspec.to_builtins(record), order="deterministic")),
        text=record.question,
        answer=str(record.answer).strip(),
        grader=Grader(record.grader),
        choices=tuple(record.choices),
        aliases=tuple(record.aliases),
        tolerance=str(record.tolerance),
        may_abstain=record.may_abstain,
        category=topic if isinstance(topic, str) else "",
        tags=tuple(record.tags),
        split=record.split or "",
    )
    return checked(question)
