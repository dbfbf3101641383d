"""The columns of open-r1/codeforces."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from pytest_crmeval.ports.sandbox import Language, Program
from pytest_crmeval.solutions.problem import (
    Checker,
    CheckerStyle,
    Compare,
    OutputComparison,
    Problem,
    ProblemTest,
    TestKind,
)
from pytest_crmeval.solutions.problems.draft import INTERACTIVE, MEGABYTES, MIB, SECONDS, Draft, FieldError

_Limit = Annotated[float, msgspec.Meta(ge=0)]
"""Zero: the default."""


class CodeforcesTest(msgspec.Struct):
    """One test of a row."""

    input: str = ""
    output: str = ""


class CodeforcesRow(msgspec.Struct):
    """The columns of open-r1/codeforces that a verdict depends on."""

    id: str | None = None
    aliases: list[str] | None = None
    contest_id: str | int | None = None
    index: str | int | None = None
    time_limit: _Limit | None = None
    memory_limit: _Limit | None = None
    interaction_format: str | None = None
    examples: list[CodeforcesTest] | None = None
    rating: float | None = None
    tags: list[str] | None = None
    official_tests: list[CodeforcesTest] | None = None
    input_mode: str | None = None
    generated_checker: str | None = None
    generated_tests: int | None = None
    official_tests_complete: bool | None = None

    @property
    def name(self) -> str:
        """Its id, or contest and index; empty if there is neither."""
        known = self.contest_id is not None and self.index is not None
        return (self.id or "").strip() or (f"{self.contest_id}/{self.index}" if known else "")

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem; FieldError if it has no id."""
        del number, brief
        if not self.name:
            raise FieldError("id: there is neither id, nor contest_id and index")
        return Draft(
            problem=self._problem(),
            aliases=self.aliases or (),
            examples=_plain(self.examples or (), TestKind.EXAMPLE),
            contest=str(self.contest_id or self.name.partition("/")[0]),
            generated=max(0, self.generated_tests or 0),
            complete=bool(self.official_tests_complete),
        )

    def _problem(self) -> Problem:
        mode, source = self.input_mode or "stdio", self.generated_checker
        in_files = mode == "file"
        unsupported = "" if mode in {"stdio", "file"} else f"unknown input_mode {mode!r}"
        if (self.interaction_format or "").strip() or mode == "interactive":
            unsupported = INTERACTIVE
        program = Program(language=Language.PYTHON, source=source) if source else None
        return Problem(
            id=self.name,
            fingerprint="",
            tests=_plain(self.official_tests or (), TestKind.OFFICIAL),
            time_limit=self.time_limit or SECONDS,
            memory_limit=round((self.memory_limit or MEGABYTES) * MIB),
            input_file="input.txt" if in_files else "",
            output_file="output.txt" if in_files else "",
            comparison=OutputComparison(mode=Compare.WORDS),
            checker=Checker(style=CheckerStyle.STDOUT, program=program) if program else None,
            unsupported=unsupported,
            rating=None if self.rating is None else round(self.rating),
            tags=tuple(self.tags or ()),
        )


def _plain(records: Sequence[CodeforcesTest], kind: TestKind) -> tuple[ProblemTest, ...]:
    return tuple(plain(one.input, one.output, kind) for one in records)


def plain(input_: str, output: str, kind: TestKind) -> ProblemTest:
    """Return a test of Codeforces, some of which have the line ends of Windows."""
    return ProblemTest(input=input_.replace("\r\n", "\n"), output=output.replace("\r\n", "\n"), kind=kind)
