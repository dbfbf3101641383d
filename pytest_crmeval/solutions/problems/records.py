"""One problem as it stands in a file: our own format, and the columns of open-r1/codeforces."""

from typing import Annotated, Any, Literal

import msgspec

MIB = 2**20
SECONDS = 2.0
"""The time limit of a problem that has none."""
MEGABYTES = 256.0
"""The memory limit of a problem that has none."""
TOLERANCE = 1e-6
"""How far a fraction may be off in the rows of Codeforces, which say nothing about it."""
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Limit = Annotated[float, msgspec.Meta(ge=0)]
"""Zero stands for none."""
_Name = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$", max_length=100)]


class TestRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One test."""

    __test__ = False  # pytest is not to collect it

    input: str
    output: Annotated[str, msgspec.Meta(description="What a right program prints; a checker may accept others.")] = ""


class CheckerRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A program that judges outputs."""

    style: Annotated[
        Literal["stdout", "testlib", "kattis"],
        msgspec.Meta(description="How it is called, and how it answers: docs/problems.md."),
    ]
    source: Annotated[str, msgspec.Meta(min_length=1)]
    language: Literal["python", "cpp"] = "python"


class ProblemRecord(msgspec.Struct, forbid_unknown_fields=True):
    """Our own format; what it does not know is refused, because a misspelt field would be lost."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
    tests: list[TestRecord]
    time_limit: Annotated[_Positive, msgspec.Meta(description="Seconds of CPU time.")] = SECONDS
    memory_limit: Annotated[_Positive, msgspec.Meta(description="Megabytes of 1,048,576 bytes.")] = MEGABYTES
    comparison: Literal["tokens", "exact"] = "tokens"
    any_case: Annotated[bool, msgspec.Meta(description="Whether yes and no may be written in any case.")] = True
    tolerance: (
        Annotated[float, msgspec.Meta(ge=0, description="How far a fraction may be off, absolutely or relatively.")]
        | None
    ) = None
    checker: CheckerRecord | None = None
    input_file: Annotated[_Name, msgspec.Meta(description="What a program reads; empty: stdin.")] = ""
    output_file: Annotated[_Name, msgspec.Meta(description="What a program writes; empty: stdout.")] = ""
    interactive: Annotated[bool, msgspec.Meta(description="Whether it needs a partner: nobody is judged by it.")] = (
        False
    )
    examples: list[TestRecord] = []
    aliases: Annotated[list[str], msgspec.Meta(description="Other ids that solutions may name it by.")] = []
    contest: Annotated[str, msgspec.Meta(description="Names the file of generated tests.")] = ""
    rating: int | None = None
    tags: list[str] = []
    title: str = ""
    statement: str = ""
    metadata: dict[str, Any] = {}


class CodeforcesTest(msgspec.Struct):
    """One test of a row."""

    input: str = ""
    output: str = ""


class CodeforcesRow(msgspec.Struct):
    """A row of open-r1/codeforces, as far as a verdict depends on it; the rest is passed over."""

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

    @property
    def name(self) -> str:
        """Its id, or the one that contest and index make; empty if there is none."""
        known = self.contest_id is not None and self.index is not None
        return (self.id or "").strip() or (f"{self.contest_id}/{self.index}" if known else "")


COLUMNS = CodeforcesRow.__struct_fields__
