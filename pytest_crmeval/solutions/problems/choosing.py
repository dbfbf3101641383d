"""Which tests of a problem are run: its examples, its official tests, and generated ones."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.solutions.problem import Examples, ProblemTest, Sizes, TestChoice, TestKind
from pytest_crmeval.solutions.problems.draft import Draft
from pytest_crmeval.solutions.problems.published.codeforces import plain
from pytest_crmeval.solutions.problems.rows import PARQUET, opened

_CONTEST = re.compile(r"(?:.*[^0-9])?0*([0-9]+)")
_NUMBERS = ("test_case_i", "test_i")
_FEW = 32
"""Rows that are in memory at once."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A generated test in a file, without its texts."""

    number: int
    input_bytes: int
    output_bytes: int
    path: Path
    row: int

    @property
    def bytes(self) -> int:
        """The size of input and output."""
        return self.input_bytes + self.output_bytes


def _chosen(tests: Sequence[_Found], problem: str, choice: TestChoice) -> list[_Found]:
    """Return the generated tests of a problem that are run, in order.

    A share of the tests is drawn by the seed, independent of the order of files. Tests that do not fit into
    ``max_bytes`` together with those before are left out.
    """
    if choice.share < 1:
        count = max(1, round(choice.share * len(tests))) if choice.share > 0 else 0
        seed = f"{choice.seed}\0{problem}\0"
        tests = sorted(tests, key=lambda test: sha256(f"{seed}{test.number}".encode()).digest())[:count]
    ordered = sorted(tests, key=lambda test: test.number)
    if choice.sizes is not Sizes.NONE:
        ordered.sort(key=lambda test: test.bytes, reverse=choice.sizes is Sizes.LARGE_FIRST)
    fitting, total = [], 0
    for test in ordered[: choice.max_generated]:
        if choice.max_bytes is None or total + test.bytes <= choice.max_bytes:
            total += test.bytes
            fitting.append(test)
    return fitting


def _too_large(input_bytes: int, choice: TestChoice) -> str:
    """Return why a test is skipped; empty if it is run."""
    limit = choice.skip_larger
    if limit is None or input_bytes <= limit:
        return ""
    return f"its input has {input_bytes:,} bytes, and those over {limit:,} are skipped"


def examples_wanted(
    examples: Sequence[ProblemTest], others: Sequence[ProblemTest], choice: TestChoice
) -> list[ProblemTest]:
    """Return the examples that are run before the other tests, without those that are also among the others."""
    if choice.examples is Examples.NEVER or (others and choice.examples is Examples.INSTEAD):
        return []
    there = {_content(test) for test in others}
    return [test for test in examples if _content(test) not in there]


def _content(test: ProblemTest) -> tuple[str, str]:
    return test.input.strip(), test.output.strip()


def skipped_if_large(test: ProblemTest, choice: TestChoice) -> ProblemTest:
    """Return a test; without its texts and with the reason if it is skipped."""
    limit = choice.skip_larger
    if limit is None or 4 * len(test.input) <= limit:  # a character takes at most four bytes
        return test
    reason = _too_large(len(test.input.encode()), choice)
    return replace(test, input="", output="", skipped=reason) if reason else test


class Generated:
    """A folder with a parquet file of generated tests per contest; only the chosen tests are kept in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise DatasetError(f"{folder}: this folder of generated tests does not exist")

    @cached_property
    def files(self) -> Mapping[str, Sequence[Path]]:
        """Contest, without leading zeros -> its files."""
        found: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(self.folder.rglob(f"*{PARQUET}")):
            if name := _CONTEST.fullmatch(path.stem):
                found[name[1]].append(path)
        return found

    def tests(self, draft: Draft, choice: TestChoice) -> list[ProblemTest]:
        """Return the chosen tests of a problem in order."""
        id_ = draft.problem.id
        paths = self._paths(draft)
        wanted = _chosen([test for path in paths for test in _measured(path, id_)], id_, choice)
        kept = [test for test in wanted if not _too_large(test.input_bytes, choice)]
        texts = {path: dict(_texts(path, {test.row for test in kept if test.path == path})) for path in paths}
        return [
            ProblemTest(input="", output="", kind=TestKind.GENERATED, skipped=reason)
            if (reason := _too_large(test.input_bytes, choice))
            else plain(*texts[test.path][test.row], TestKind.GENERATED)
            for test in wanted
        ]

    def count(self, draft: Draft) -> int:
        """Return the number of generated tests of a problem, chosen or not."""
        return sum(1 for path in self._paths(draft) for _ in _measured(path, draft.problem.id))

    def _paths(self, draft: Draft) -> Sequence[Path]:
        return self.files.get(draft.contest.lstrip("0") or "0", ())


def _measured(path: Path, id_: str) -> Iterator[_Found]:
    """Yield the tests of a problem in a file with their sizes."""
    from pyarrow import compute

    names = opened(path).schema_arrow.names
    number = next((name for name in _NUMBERS if name in names), None)
    if number is None or not {"problem_id", "input", "output"} <= set(names):
        raise DatasetError(
            f"{path}: generated tests have the columns problem_id, input, output and {' or '.join(_NUMBERS)}; "
            f"found {', '.join(names)}"
        )
    for start, batch in _batches(path, ["problem_id", "input", "output", number]):
        ours = compute.equal(batch["problem_id"], id_).to_pylist()
        sizes = zip(*(compute.binary_length(batch[name]).to_pylist() for name in ("input", "output")), strict=True)
        for row, (mine, test, (given, expected)) in enumerate(
            zip(ours, batch[number].to_pylist(), sizes, strict=True), start=start
        ):
            if mine:
                yield _Found(int(test or 0), given or 0, expected or 0, path, row)


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
