"""Questions in tables (CSV) of several formats, recognised by their columns."""

import ast
import codecs
import csv
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import BinaryIO

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.journal.cipher import decrypted
from pytest_crmeval.questions.datasets.records import Found, QuestionError, checked, fingerprint
from pytest_crmeval.questions.question import Grader, Question

Row = Mapping[str, str]
"""Column, in lower case -> cell."""
Kind = Callable[[Row, int], Question]
"""Makes a question of a row and its number."""
_LETTERS = tuple(ascii_uppercase[:10].lower())


def found(path: Path) -> Iterator[Found]:
    """Yield every question of a table; FieldError if the file is not a table."""
    with path.open("rb") as file:
        rows = _Rows(file)
        head = _head(rows)
        kind = _kind(head)
        for row, (line, offset, cells) in enumerate(_filled(rows), start=1):
            yield Found(line, offset, row, partial(_question, kind, head, cells, row))


def read(path: Path, offset: int, row: int) -> Found:
    """Return one question again."""
    with path.open("rb") as file:
        head = _head(_Rows(file))
        kind = _kind(head)
        file.seek(offset)
        for line, _, cells in _filled(_Rows(file)):
            return Found(line, offset, row, partial(_question, kind, head, cells, row))
    raise QuestionError("", "the row no longer exists")


class _Rows:
    """The rows of a table with their positions; a cell may span several lines."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._offset = self._line = 0
        self._reader = csv.reader(self._lines(), strict=True)

    def __iter__(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield line, offset and cells; FieldError where the file can't be read as a table."""
        while True:
            line, offset = self._line + 1, self._offset
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise QuestionError("", f"this is not a table (CSV): {error}", line) from error
            except UnicodeDecodeError as error:
                raise QuestionError("", f"this is not UTF-8: {error}", self._line) from error
            yield line, offset, cells

    def _lines(self) -> Iterator[str]:
        for line in self._file:
            self._line += 1
            content = line.removeprefix(codecs.BOM_UTF8) if self._line == 1 else line
            self._offset += len(line)
            yield content.decode()


def _head(rows: _Rows) -> list[str]:
    """Return the columns in lower case."""
    for _, _, cells in rows:
        return [cell.strip().lower() for cell in cells]
    raise QuestionError("", "the file is empty; a table starts with a header row")


def _filled(rows: _Rows) -> Iterator[tuple[int, int, list[str]]]:
    return (row for row in rows if any(row[2]))


def _question(kind: Kind, head: list[str], cells: list[str], row: int) -> Question:
    if len(cells) != len(head):
        raise QuestionError("row", f"has {len(cells)} cells, but the table has {len(head)} columns")
    return kind(dict(zip(head, cells, strict=True)), row)


def _kind(head: list[str]) -> Kind:
    """Return how a table with these columns is read; FieldError if the format is unknown."""
    for columns, kind in _KINDS.items():
        if columns <= set(head):
            return kind
    raise QuestionError(
        "columns",
        f"{cut(', '.join(head), 200)}: unknown table format; supported: BrowseComp (problem, answer, problem_topic, "
        "canary), SimpleQA (metadata, problem, answer), multiple choice (question, A, B, C, D, answer)",
        1,
    )


def _browsecomp(row: Row, number: int) -> Question:
    text, answer = (_plain(row, field) for field in ("problem", "answer"))
    question = Question(
        id=row.get("id") or f"browsecomp-{number:04d}",
        fingerprint=fingerprint("browsecomp", row["problem"], row["answer"], row["canary"]),
        text=text,
        answer=answer,
        grader=Grader.JUDGE,
        category=row.get("problem_topic", ""),
        confidential=True,
    )
    return checked(question, asked="problem")


def _plain(row: Row, field: str) -> str:
    try:
        return decrypted(row[field], row["canary"])
    except ValueError as error:
        raise QuestionError(field, f"can't be decrypted: {error}") from error


def _simpleqa(row: Row, number: int) -> Question:
    question = Question(
        id=row.get("id") or f"simpleqa-{number:04d}",
        fingerprint=fingerprint("simpleqa", row["problem"], row["answer"], row["metadata"]),
        text=row["problem"],
        answer=row["answer"],
        grader=Grader.JUDGE,
        may_abstain=True,
        category=_topic(row["metadata"]),
    )
    return checked(question, asked="problem")


def _topic(metadata: str) -> str:
    """Return the topic in a Python literal; empty if it has none."""
    try:
        known = ast.literal_eval(metadata) if metadata else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    topic = known.get("topic", "") if isinstance(known, dict) else ""
    return topic if isinstance(topic, str) else ""


def _multiple_choice(row: Row, number: int) -> Question:
    choices = [row.get(letter, "").strip() for letter in _LETTERS]
    while choices and not choices[-1]:  # a question may have fewer than the table has columns
        choices.pop()
    question = Question(
        id=row.get("id") or f"choice-{number:04d}",
        fingerprint=fingerprint("choice", row["question"], choices, row["answer"]),
        text=row["question"],
        answer=row["answer"].strip().upper(),
        grader=Grader.CHOICE,
        choices=tuple(choices),
        category=row.get("subject", ""),
    )
    return checked(question)


_KINDS: Mapping[frozenset[str], Kind] = {
    frozenset({"problem", "answer", "canary"}): _browsecomp,
    frozenset({"problem", "answer", "metadata"}): _simpleqa,
    frozenset({"question", "a", "b", "answer"}): _multiple_choice,
}
"""The first whose columns are there."""
