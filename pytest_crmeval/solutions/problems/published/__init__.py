"""Problems in the columns in which benchmarks are published."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import msgspec

from pytest_crmeval.solutions.problems.draft import Draft
from pytest_crmeval.solutions.problems.published.code_contests import CodeContestsRow
from pytest_crmeval.solutions.problems.published.codeforces import CodeforcesRow
from pytest_crmeval.solutions.problems.published.functions import EvalPlusRow, HumanEvalRow, MbppRow
from pytest_crmeval.solutions.problems.published.input_output import InputOutputRow
from pytest_crmeval.solutions.problems.published.live_code_bench import LiveCodeBenchRow


class PublishedRow(Protocol):
    """A row of a published table: a Struct whose fields are the columns that a verdict depends on."""

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem; ``number`` counts the rows from 1. ``brief``: its tests are not needed.

        FieldError if it is invalid.
        """
        ...


FORMATS: Mapping[tuple[str, ...], type[PublishedRow]] = {
    ("official_tests",): CodeforcesRow,
    ("base_input", "entry_point"): EvalPlusRow,
    ("entry_point", "test", "task_id"): HumanEvalRow,
    ("test_list", "task_id"): MbppRow,
    ("question_id", "public_test_cases"): LiveCodeBenchRow,
    ("input_output",): InputOutputRow,
    ("public_tests", "private_tests"): CodeContestsRow,
}
"""The columns by which a format is recognised; the first one that fits counts."""
COLUMNS: Sequence[str] = list(
    dict.fromkeys(name for row in FORMATS.values() for name in row.__struct_fields__)  # type: ignore[attr-defined]
)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def format_of(columns: Sequence[str]) -> type[PublishedRow] | None:
    """Return the format that has these columns; None if it is none of these."""
    known = set(columns)
    return next((row for names, row in FORMATS.items() if known.issuperset(names)), None)


def published_row(line: bytes) -> PublishedRow | None:
    """Return a line as a row of a published table; None if it is none. msgspec's errors if it is invalid."""
    try:
        names = list(_OBJECT.decode(line))
        found = format_of(names)
        if found is None:
            return None
        if found is EvalPlusRow:  # its inputs have integers of any size, which only Python reads
            return msgspec.convert(json.loads(line), found)
        row: PublishedRow = msgspec.json.decode(line, type=cast("type[Any]", found))
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        # Only Python accepts NaN and infinities, which some tests have among their inputs.
        try:
            columns = json.loads(line)
        except ValueError:
            columns = None
        found = format_of(list(columns)) if isinstance(columns, dict) else None
        if found is None:
            raise error from None
        return msgspec.convert(columns, found)
    return row
