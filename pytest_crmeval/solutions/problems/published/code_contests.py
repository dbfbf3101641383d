"""The columns of DeepMind's CodeContests."""

import msgspec

from pytest_crmeval.solutions.problem import OutputComparison, Problem, ProblemTest, TestKind
from pytest_crmeval.solutions.problems.draft import MEGABYTES, MIB, SECONDS, Draft, FieldError

TOLERANCE = 1e-5
"""The tolerance of fractions in the evaluators of CodeContests and APPS."""
_STANDARD = {"", "stdin", "stdout", "standard input", "standard output"}


class Tests(msgspec.Struct):
    """Inputs and outputs, in two columns."""

    input: list[str] = []
    output: list[str] = []

    def tests(self, kind: TestKind) -> tuple[ProblemTest, ...]:
        """Return pairs of them; FieldError if they don't match."""
        if len(self.input) != len(self.output):
            raise FieldError(f"tests: {len(self.input)} inputs, but {len(self.output)} outputs")
        pairs = zip(self.input, self.output, strict=True)
        return tuple(ProblemTest(input=given, output=right, kind=kind) for given, right in pairs)


class Duration(msgspec.Struct):
    """A time limit."""

    seconds: int | None = 0
    nanos: int | None = 0


class CodeContestsRow(msgspec.Struct):
    """The columns that a verdict depends on."""

    name: str
    public_tests: Tests | None = None
    private_tests: Tests | None = None
    generated_tests: Tests | None = None
    cf_contest_id: int | None = None
    cf_index: str | int | None = None
    cf_rating: int | None = None
    cf_tags: list[str] | None = None
    time_limit: Duration | float | None = None
    memory_limit_bytes: int | None = None
    input_file: str | None = None
    output_file: str | None = None

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem: private and generated tests decide, the public ones are those of the statement."""
        del number
        none = Tests()
        hidden = (
            *(self.private_tests or none).tests(TestKind.OFFICIAL),
            *(self.generated_tests or none).tests(TestKind.GENERATED),
        )
        limit = self.time_limit
        if isinstance(limit, Duration):
            limit = (limit.seconds or 0) + (limit.nanos or 0) / 1e9
        problem = Problem(
            id=self.name,
            fingerprint="",
            tests=() if brief else hidden,
            time_limit=limit or SECONDS,
            memory_limit=self.memory_limit_bytes or round(MEGABYTES * MIB),
            input_file=_file(self.input_file),
            output_file=_file(self.output_file),
            comparison=OutputComparison(tolerance=TOLERANCE, integers=False),
            rating=self.cf_rating or None,
            tags=tuple(filter(None, self.cf_tags or ())),
        )
        aliases = [f"{self.cf_contest_id}/{self.cf_index}"] if self.cf_contest_id and self.cf_index else []
        return Draft(problem=problem, aliases=aliases, examples=(self.public_tests or none).tests(TestKind.EXAMPLE))


def _file(name: str | None) -> str:
    return "" if (name or "").lower() in _STANDARD else str(name)
