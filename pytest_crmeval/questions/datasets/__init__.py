"""Question files: our own JSON Lines, and the tables of BrowseComp, SimpleQA and multiple choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

from pytest_crmeval.domain.dataset_error import SHOWN, DatasetError
from pytest_crmeval.questions.datasets import lines, tables
from pytest_crmeval.questions.datasets.records import Found, QuestionError
from pytest_crmeval.questions.question import Grader, Question

TABLE = ".csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRef:
    """The location of a question; small, because tens of thousands of tests are parametrized with it."""

    path: Path
    line: int
    offset: int
    row: int
    """Which question of the file it is."""
    id: str
    fingerprint: str
    judged: bool = False
    """Whether answers need a judge."""
    folder: ClassVar[str] = ""
    simulated: ClassVar[bool] = False
    confidential: bool = False
    tags: Sequence[str] = ()
    split: str = ""
    turns: int = 1

    def read(self) -> Question:
        """Read the question from its file."""
        changed = DatasetError(f"{self.path}:{self.line}: the file was changed while it was being played")
        try:
            question = _reader(self.path).read(self.path, self.offset, self.row).question()
        except OSError as error:
            raise DatasetError(f"{self.path}: {error.strerror}, while it was being played") from error
        except QuestionError as error:
            raise changed from error
        if question.fingerprint != self.fingerprint:
            raise changed
        return replace(question, confidential=self.confidential)


def index(paths: Sequence[Path], *, confidential: bool = False) -> list[QuestionRef]:
    """Validate every question of the files and return where they are; an encrypted question is always confidential."""
    refs: dict[str, QuestionRef] = {}
    problems: list[str] = []
    for path in paths:
        before = len(refs)
        for ref in _refs(path, problems, confidential=confidential):
            first = refs.setdefault(ref.id, ref)
            if first is not ref:
                place = f"{first.path}:{first.line}"
                problems.append(f"{path}:{ref.line}: id: {ref.id!r} is already used in {place}; ids must be unique")
        if len(refs) == before and not problems:
            raise DatasetError(f"{path}: the file has no question; write one JSON object per line, or a table")
    if problems:
        more = [f"... and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise DatasetError("\n".join(problems[:SHOWN] + more))
    return list(refs.values())


def _refs(path: Path, problems: list[str], *, confidential: bool) -> Iterator[QuestionRef]:
    for found in _found(path, problems):
        try:
            question = found.question()
        except QuestionError as error:
            problems.append(f"{path}:{found.line}: {error}")
            continue
        yield QuestionRef(
            path=path,
            line=found.line,
            offset=found.offset,
            row=found.row,
            id=question.id,
            fingerprint=question.fingerprint,
            judged=question.grader is Grader.JUDGE,
            confidential=confidential or question.confidential,
            tags=question.tags,
            split=question.split,
        )


def _found(path: Path, problems: list[str]) -> Iterator[Found]:
    """Yield the questions of a file; a table that can't be read further is a problem and ends there."""
    try:
        yield from _reader(path).found(path)
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines or CSV file") from error
    except QuestionError as error:
        problems.append(f"{path}:{error.line}: {error}" if error.line else f"{path}: {error}")


class _Reader(Protocol):
    """How files of one kind are read."""

    def found(self, path: Path) -> Iterator[Found]:
        """Yield every question of a file; FieldError if it can't be read any further."""
        ...

    def read(self, path: Path, offset: int, row: int) -> Found:
        """Return one of them again; FieldError if it is not there."""
        ...


def _reader(path: Path) -> _Reader:
    return tables if path.suffix.lower() == TABLE else lines
