"""One problem in our own format, and the problem of a line in any format."""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from pytest_crmeval.domain.dataset_error import located
from pytest_crmeval.ports.sandbox import Program
from pytest_crmeval.sandboxes.languages import language_named
from pytest_crmeval.solutions.problem import (
    Checker,
    CheckerStyle,
    Compare,
    FunctionCall,
    OutputComparison,
    Problem,
    ProblemTest,
    TestKind,
)
from pytest_crmeval.solutions.problems.draft import (
    INTERACTIVE,
    MEGABYTES,
    MIB,
    SECONDS,
    Draft,
    FieldError,
    NotJsonError,
)
from pytest_crmeval.solutions.problems.published import published_row
from pytest_crmeval.solutions.problems.published.functions import code_test
from pytest_crmeval.solutions.problems.published.input_output import call_test

_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Name = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$", max_length=100)]
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?P<name>[^">\n]+)[">].*$', re.MULTILINE)


class TestRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One test."""

    __test__ = False  # pytest must not collect it

    input: str
    output: Annotated[str, msgspec.Meta(description="The expected output; a checker may accept others.")] = ""


class CheckerRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A program that checks outputs."""

    style: Annotated[
        Literal["stdout", "testlib", "kattis"],
        msgspec.Meta(description="How the checker is called and how it reports its verdict: docs/problems.md."),
    ]
    source: Annotated[str, msgspec.Meta(description="If it is missing, the problem is reported as unsupported.")] = ""
    language: Annotated[str, msgspec.Meta(description="As solutions name it: python, cpp, GNU C++17.")] = "python"
    files: Annotated[
        dict[str, str], msgspec.Meta(description='Headers that a C++ checker includes by name: {"validate.h": "..."}')
    ] = {}


class ProblemRecord(msgspec.Struct, forbid_unknown_fields=True):
    """Our own format; unknown fields are refused, because a misspelt field would be lost."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
    tests: list[TestRecord]
    time_limit: Annotated[_Positive, msgspec.Meta(description="Seconds of CPU time.")] = SECONDS
    memory_limit: Annotated[_Positive, msgspec.Meta(description="Megabytes of 1,048,576 bytes.")] = MEGABYTES
    comparison: Literal["tokens", "words", "exact"] = "tokens"
    any_case: Annotated[bool, msgspec.Meta(description="Whether yes and no may be written in any case.")] = True
    tolerance: (
        Annotated[float, msgspec.Meta(ge=0, description="How far a number may be off, absolutely or relatively.")]
        | None
    ) = None
    checker: CheckerRecord | None = None
    input_file: Annotated[_Name, msgspec.Meta(description="What a program reads; empty: stdin.")] = ""
    output_file: Annotated[_Name, msgspec.Meta(description="What a program writes; empty: stdout.")] = ""
    entry_point: Annotated[
        str, msgspec.Meta(description="The function that tests call with input, a JSON list, to get output, JSON.")
    ] = ""
    prompt: Annotated[str, msgspec.Meta(description="The beginning of the program, which completions continue.")] = ""
    test_code: Annotated[
        str, msgspec.Meta(description="Asserts in Python; check(candidate) is called with the function.")
    ] = ""
    interactive: Annotated[
        bool, msgspec.Meta(description="Whether it is interactive; such a problem is not graded.")
    ] = False
    examples: list[TestRecord] = []
    aliases: Annotated[list[str], msgspec.Meta(description="Other ids that solutions may name it by.")] = []
    contest: Annotated[str, msgspec.Meta(description="Names the file of generated tests.")] = ""
    rating: int | None = None
    tags: list[str] = []
    title: str = ""
    statement: str = ""
    metadata: dict[str, Any] = {}


_OURS = msgspec.json.Decoder(ProblemRecord)


def draft_of(line: bytes, number: int = 1, testlib: str = "", *, brief: bool = False) -> Draft:
    """Return the problem of a line; FieldError if it is invalid.

    ``number`` counts the lines from 1, ``testlib`` is the content of ``testlib.h``. ``brief``: the problem may lack its
    tests, which can take long to unpack.
    """
    try:
        row = published_row(line)
        return _ours(_OURS.decode(line), testlib) if row is None else row.draft(number, brief=brief)
    except msgspec.ValidationError as error:
        raise FieldError(": ".join(located(error, ProblemRecord))) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJsonError(f"this line is not JSON: {error}") from error


def _ours(record: ProblemRecord, testlib: str) -> Draft:
    if not record.tests and not record.test_code and not record.interactive:
        raise FieldError("tests: a problem needs at least one test")
    if record.checker is not None and (record.entry_point or record.test_code):
        raise FieldError("checker: has no effect, because tests call a function")
    if record.checker is not None and record.tolerance is not None:
        raise FieldError("tolerance: has no effect, because a checker decides")
    checker, unsupported = None, INTERACTIVE if record.interactive else ""
    if (given := record.checker) and given.source.strip():
        headers = {**({"testlib.h": testlib} if testlib else {}), **given.files}
        if (language := language_named(given.language)) is None:
            raise FieldError(f"checker.language: unknown language {given.language!r}; write python or cpp")
        source = _with_headers(given.source, headers)
        program = Program(language=language[0], version=language[1], source=source)
        checker = Checker(style=CheckerStyle(given.style), program=program)
    elif given:
        unsupported = unsupported or f"its checker (style {given.style}) has no source: add checker.source"
    function = None
    if record.entry_point or record.test_code:
        function = FunctionCall(entry_point=record.entry_point, prompt=record.prompt)
    problem = Problem(
        id=record.id,
        fingerprint="",
        tests=_called(record) if function else _tests(record.tests, TestKind.OFFICIAL),
        time_limit=record.time_limit,
        memory_limit=round(record.memory_limit * MIB),
        input_file=record.input_file,
        output_file=record.output_file,
        comparison=OutputComparison(
            mode=Compare(record.comparison), any_case=record.any_case, tolerance=record.tolerance
        ),
        checker=checker,
        function=function,
        unsupported=unsupported,
        rating=record.rating,
        tags=tuple(record.tags),
    )
    examples = () if function else _tests(record.examples, TestKind.EXAMPLE)
    return Draft(problem=problem, aliases=record.aliases, examples=examples, contest=record.contest, only_one=True)


def _called(record: ProblemRecord) -> tuple[ProblemTest, ...]:
    """Return tests that call a function: with JSON values, or by code."""
    tests = []
    for number, test in enumerate(record.tests):
        try:
            tests.append(call_test(json.loads(test.input), [json.loads(test.output)]))
        except ValueError as error:
            raise FieldError(
                f"tests[{number}]: not JSON: {error}; a function gets a list of arguments, and returns a value"
            ) from error
    return (*tests, *([code_test(record.test_code)] if record.test_code else ()))


def _with_headers(source: str, headers: dict[str, str]) -> str:
    """Return a source with the headers in place of their includes, each once: a sandbox compiles a single file."""
    left = dict(headers)

    def header(include: re.Match[str]) -> str:
        if include["name"] not in headers:
            return include[0]
        return _INCLUDE.sub(header, left.pop(include["name"], ""))

    return _INCLUDE.sub(header, source)


def _tests(records: Sequence[TestRecord], kind: TestKind) -> tuple[ProblemTest, ...]:
    return tuple(ProblemTest(input=one.input, output=one.output, kind=kind) for one in records)
