"""A record made into a problem, before its tests are chosen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from pytest_crmeval.domain.problem import Checker, CheckerStyle, Compare, Comparison, Problem, ProblemTest, TestKind
from pytest_crmeval.domain.program import Language, Program
from pytest_crmeval.solutions.problems.records import (
    MEGABYTES,
    MIB,
    SECONDS,
    TOLERANCE,
    CheckerRecord,
    CodeforcesRow,
    CodeforcesTest,
    ProblemRecord,
    TestRecord,
)

INTERACTIVE = "it is interactive"
_TESTLIB = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]testlib\.h[">].*$', re.MULTILINE)


class FieldError(Exception):
    """A problem that nobody can be judged by; the message names the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A problem with all that it has; its tests are the official ones."""

    problem: Problem
    aliases: Sequence[str] = ()
    examples: Sequence[ProblemTest] = field(default=(), repr=False)
    contest: str = ""
    generated: int = 0
    """How many generated tests there are to be, as the row says."""
    only_one: bool = False
    """Whether another problem of the file with the same id is a mistake; published tables repeat theirs."""


class _Dialect(msgspec.Struct):
    """What tells the formats apart."""

    tests: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    official_tests: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_DIALECT = msgspec.json.Decoder(_Dialect)
_OURS = msgspec.json.Decoder(ProblemRecord)
_ROW = msgspec.json.Decoder(CodeforcesRow)


def draft_of(line: bytes, testlib: str = "") -> Draft:
    """Return the problem of a line; FieldError if it is none. ``testlib`` is what ``testlib.h`` holds."""
    try:
        if _DIALECT.decode(line).official_tests is not msgspec.UNSET:
            return _row(_ROW.decode(line))
        return _ours(_OURS.decode(line), testlib)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        raise FieldError(f"{place.removeprefix('`key` in ').strip('`$.') or 'line'}: {what}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FieldError(f"this line is not JSON: {error}") from error


def _ours(record: ProblemRecord, testlib: str) -> Draft:
    if not record.tests and not record.interactive:
        raise FieldError("tests: there is none; without tests nobody can be judged")
    if record.checker is not None and record.tolerance is not None:
        raise FieldError("tolerance: is of no use where a checker decides")
    problem = Problem(
        id=record.id,
        fingerprint="",
        tests=_tests(record.tests, TestKind.OFFICIAL),
        time_limit=record.time_limit,
        memory_limit=round(record.memory_limit * MIB),
        input_file=record.input_file,
        output_file=record.output_file,
        comparison=Comparison(mode=Compare(record.comparison), any_case=record.any_case, tolerance=record.tolerance),
        checker=_checker(record.checker, testlib) if record.checker else None,
        unsupported=INTERACTIVE if record.interactive else "",
        rating=record.rating,
        tags=tuple(record.tags),
    )
    examples = _tests(record.examples, TestKind.EXAMPLE)
    return Draft(problem=problem, aliases=record.aliases, examples=examples, contest=record.contest, only_one=True)


def _tests(records: Sequence[TestRecord], kind: TestKind) -> tuple[ProblemTest, ...]:
    return tuple(ProblemTest(input=one.input, output=one.output, kind=kind) for one in records)


def _checker(record: CheckerRecord, testlib: str) -> Checker:
    source = _TESTLIB.sub(lambda _: testlib, record.source) if testlib else record.source
    return Checker(style=CheckerStyle(record.style), program=Program(language=Language(record.language), source=source))


def _row(row: CodeforcesRow) -> Draft:
    if not row.name:
        raise FieldError("id: there is neither id, nor contest_id and index")
    mode = row.input_mode or "stdio"
    in_files = mode == "file"
    problem = Problem(
        id=row.name,
        fingerprint="",
        tests=_plain(row.official_tests or (), TestKind.OFFICIAL),
        time_limit=row.time_limit or SECONDS,
        memory_limit=round((row.memory_limit or MEGABYTES) * MIB),
        input_file="input.txt" if in_files else "",
        output_file="output.txt" if in_files else "",
        comparison=Comparison(tolerance=TOLERANCE),
        checker=_generated_checker(row.generated_checker),
        unsupported=_unsupported(row, mode),
        rating=None if row.rating is None else round(row.rating),
        tags=tuple(row.tags or ()),
    )
    return Draft(
        problem=problem,
        aliases=row.aliases or (),
        examples=_plain(row.examples or (), TestKind.EXAMPLE),
        contest=str(row.contest_id or row.name.partition("/")[0]),
        generated=row.generated_tests or 0,
    )


def _plain(records: Sequence[CodeforcesTest], kind: TestKind) -> tuple[ProblemTest, ...]:
    return tuple(plain(one.input, one.output, kind) for one in records)


def plain(input_: str, output: str, kind: TestKind) -> ProblemTest:
    """Return a test of Codeforces, some of which have the line ends of another system, and some have both."""
    return ProblemTest(input=input_.replace("\r\n", "\n"), output=output.replace("\r\n", "\n"), kind=kind)


def _generated_checker(source: str | None) -> Checker | None:
    if not source:
        return None
    return Checker(style=CheckerStyle.STDOUT, program=Program(language=Language.PYTHON, source=source))


def _unsupported(row: CodeforcesRow, mode: str) -> str:
    if (row.interaction_format or "").strip() or mode == "interactive":
        return INTERACTIVE
    return "" if mode in {"stdio", "file"} else f"nobody knows its input_mode {mode!r}"
