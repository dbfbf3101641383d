"""Generated tests: a folder with a parquet file per contest, of which only what is chosen is kept in memory."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.problem import ProblemTest, TestChoice, TestKind
from pytest_crmeval.solutions.problems.choosing import Sized, chosen, too_large
from pytest_crmeval.solutions.problems.drafts import Draft, plain
from pytest_crmeval.solutions.problems.rows import PARQUET, opened

_CONTEST = re.compile(r"(?:.*[^0-9])?0*([0-9]+)")
_NUMBERS = ("test_case_i", "test_i")
_FEW = 32
"""Rows that are in memory at once."""


@dataclass(frozen=True, slots=True)
class _Row(Sized):
    """A generated test that was found, and not kept."""

    path: Path
    row: int


class Generated:
    """A folder of generated tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise DatasetError(f"{folder}: there is no such folder of generated tests")

    @cached_property
    def files(self) -> Mapping[str, Sequence[Path]]:
        """Contest, without zeros before it -> its files."""
        found: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(self.folder.rglob(f"*{PARQUET}")):
            if name := _CONTEST.fullmatch(path.stem):
                found[name[1]].append(path)
        return found

    def tests(self, draft: Draft, choice: TestChoice) -> list[ProblemTest]:
        """Return the tests of a problem that are chosen, in the order that is wanted."""
        id_ = draft.problem.id
        paths = self._paths(draft)
        found = [row for path in paths for row in _measured(path, id_)]
        wanted = chosen(found, id_, choice)
        texts = {path: dict(_texts(path, _kept(wanted, path, choice))) for path in paths}
        return [_test(row, texts[row.path], choice) for row in wanted]

    def has(self, draft: Draft) -> bool:
        """Tell whether there is any test of a problem, chosen or not."""
        return any(True for path in self._paths(draft) for _ in _measured(path, draft.problem.id))

    def _paths(self, draft: Draft) -> Sequence[Path]:
        return self.files.get(draft.contest.lstrip("0") or "0", ())


def _kept(wanted: Sequence[_Row], path: Path, choice: TestChoice) -> set[int]:
    return {row.row for row in wanted if row.path == path and not too_large(row.input_bytes, choice)}


def _test(row: _Row, texts: Mapping[int, tuple[str, str]], choice: TestChoice) -> ProblemTest:
    if reason := too_large(row.input_bytes, choice):
        return ProblemTest(input="", output="", kind=TestKind.GENERATED, skipped=reason)
    return plain(*texts[row.row], TestKind.GENERATED)


def _measured(path: Path, id_: str) -> Iterator[_Row]:
    """Yield the tests of a problem with their sizes."""
    from pyarrow import compute

    number = _number(path)
    for start, batch in _batches(path, ["problem_id", "input", "output", number]):
        ours = compute.equal(batch["problem_id"], id_).to_pylist()
        sizes = zip(*(compute.binary_length(batch[name]).to_pylist() for name in ("input", "output")), strict=True)
        for row, (mine, test, (given, expected)) in enumerate(
            zip(ours, batch[number].to_pylist(), sizes, strict=True), start=start
        ):
            if mine:
                yield _Row(int(test or 0), given or 0, expected or 0, path, row)


def _number(path: Path) -> str:
    """Return the column that numbers the tests; DatasetError if a column is missing."""
    names = opened(path).schema_arrow.names
    number = next((name for name in _NUMBERS if name in names), None)
    if number is None or not {"problem_id", "input", "output"} <= set(names):
        raise DatasetError(
            f"{path}: generated tests have the columns problem_id, input, output and {' or '.join(_NUMBERS)}; "
            f"found {', '.join(names)}"
        )
    return number


def _texts(path: Path, rows: set[int]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield row, input and output of some tests."""
    if not rows:
        return
    for start, batch in _batches(path, ["input", "output"]):
        for row in sorted(rows & set(range(start, start + len(batch)))):
            place = row - start
            yield row, (batch["input"][place].as_py() or "", batch["output"][place].as_py() or "")


def _batches(path: Path, columns: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield a few rows at a time, with the number of the first."""
    start = 0
    for batch in opened(path).iter_batches(batch_size=_FEW, columns=columns):
        yield start, batch
        start += len(batch)
