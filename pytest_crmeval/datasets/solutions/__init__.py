"""Solution files: where they are, and what stands in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pytest_crmeval.domain.program import Language
from pytest_crmeval.domain.solution import Checkpoint, Extraction, Solution, SolutionFile, Ungradable


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionRef:
    """Where a solution file is, and whose."""

    path: Path
    id: str
    """Name of the file without its ending, behind the folders between it and the checkpoint's."""
    fingerprint: str
    """Of its content; of a big file, see ``fingerprints.quick``."""
    checkpoint: Checkpoint
    turns: int = 1
    """How long it is, roughly: one for each 16 kB."""
    tags: Sequence[str] = ()
    line: ClassVar[int] = 1
    offset: ClassVar[int] = 0
    split: ClassVar[str] = ""
    judged: ClassVar[bool] = False
    confidential: ClassVar[bool] = False

    def read(self) -> SolutionFile:
        """Return the case itself; DatasetError if the file is gone, or was changed."""
        raise NotImplementedError


def find(sources: Sequence[Path | str], pattern: str = "") -> list[SolutionRef]:
    """Return the solution files below the sources, each once, by step, then in natural order.

    A source is a folder, a glob, a JSON Lines file, or a file that lists some of these, one per line. ``pattern``,
    with braces (``checkpoint-{49,98}``), tells which checkpoints are wanted; empty: all. DatasetError if there is
    nothing.
    """
    raise NotImplementedError


def read(
    path: Path, *, extraction: Extraction = Extraction.LAST, language: Language = Language.PYTHON
) -> Iterator[Solution | Ungradable]:
    """Yield the lines of a solution file in their order, one at a time; what can't be judged is told, not dropped.

    ``language`` is that of programs which don't say theirs. Problems are not looked up here: see
    ``play.solution.ungradable``. DatasetError if the file can't be read.
    """
    raise NotImplementedError


def digest(path: Path) -> str:
    """Return what changes when anything in the file changes: all of it is read, in one pass."""
    raise NotImplementedError
