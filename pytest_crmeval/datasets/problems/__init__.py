"""Problems: our own JSON Lines, and the columns of open-r1/codeforces in JSON Lines or parquet."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crmeval.domain.problem import Problem, TestChoice


class Problems:
    """Problems by id; each is read when it is asked for, and none is kept. Several threads may ask."""

    def __len__(self) -> int:
        """Return how many problems there are."""
        raise NotImplementedError

    def __contains__(self, id_: object) -> bool:
        """Tell whether there is a problem of this id, or one that has it as an alias."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, in order of the files."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """What changes when any problem, or the choice of tests, changes."""
        raise NotImplementedError

    def get(self, id_: str) -> Problem | None:
        """Return a problem with the tests that are chosen; None if there is none. DatasetError if it can't be read."""
        raise NotImplementedError


def opened(paths: Sequence[Path], choice: TestChoice | None = None, *, testlib: Path | None = None) -> Problems:
    """Validate the files and return their problems.

    ``testlib`` is the user's ``testlib.h``, for the checkers that include it. DatasetError if a file can't be used.
    """
    raise NotImplementedError
