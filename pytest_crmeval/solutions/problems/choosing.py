"""Which tests are run: a share of them, the first so many, as many bytes as are wanted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from pytest_crmeval.domain.problem import Examples, ProblemTest, Sizes, TestChoice


@dataclass(frozen=True, slots=True)
class Sized:
    """A test of which we know how big it is."""

    number: int
    input_bytes: int
    output_bytes: int

    @property
    def bytes(self) -> int:
        """Of both."""
        return self.input_bytes + self.output_bytes


S = TypeVar("S", bound=Sized)


def chosen(tests: Sequence[S], problem: str, choice: TestChoice) -> list[S]:
    """Return the generated tests of a problem that are to be run, in the order in which they are."""
    drawn = _drawn(tests, problem, choice)
    ordered = sorted(drawn, key=lambda test: test.number)
    if choice.sizes is not Sizes.NONE:
        ordered.sort(key=lambda test: test.bytes, reverse=choice.sizes is Sizes.LARGE_FIRST)
    return list(_fitting(ordered[: choice.max_generated], choice.max_bytes))


def _drawn(tests: Sequence[S], problem: str, choice: TestChoice) -> Sequence[S]:
    """Return a share of the tests, at least one: those that the seed prefers, whatever else there is."""
    if choice.share >= 1:
        return tests
    count = max(1, round(choice.share * len(tests))) if choice.share > 0 else 0
    return sorted(tests, key=lambda test: _lot(choice.seed, problem, test.number))[:count]


def _lot(seed: int, problem: str, number: int) -> bytes:
    return sha256(f"{seed}\0{problem}\0{number}".encode()).digest()


def _fitting(tests: Sequence[S], max_bytes: int | None) -> Iterator[S]:
    """Yield the tests that fit in so many bytes together; one that does not is left out, and the next is tried."""
    total = 0
    for test in tests:
        if max_bytes is None or total + test.bytes <= max_bytes:
            total += test.bytes
            yield test


def too_large(input_bytes: int, choice: TestChoice) -> str:
    """Return why a test is skipped; nothing if it is run."""
    limit = choice.skip_larger
    if limit is None or input_bytes <= limit:
        return ""
    return f"its input has {input_bytes:,} bytes, and those over {limit:,} are skipped"


def examples_wanted(
    examples: Sequence[ProblemTest], others: Sequence[ProblemTest], choice: TestChoice
) -> list[ProblemTest]:
    """Return the examples that are to be run before the other tests; one that is among those is not run twice."""
    if choice.examples is Examples.NEVER or (others and choice.examples is Examples.INSTEAD):
        return []
    there = {_content(test) for test in others}
    return [test for test in examples if _content(test) not in there]


def _content(test: ProblemTest) -> tuple[str, str]:
    return test.input.strip(), test.output.strip()


def skipped_if_large(test: ProblemTest, choice: TestChoice) -> ProblemTest:
    """Return a test, or what is left of it: that it is skipped, and why."""
    limit = choice.skip_larger
    if limit is None or 4 * len(test.input) <= limit:  # no letter takes more than four bytes
        return test
    reason = too_large(len(test.input.encode()), choice)
    return replace(test, input="", output="", skipped=reason) if reason else test
