"""Where a solution file is, and whose."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.fingerprints import quick
from pytest_crmeval.domain.solution import Checkpoint, SolutionFile

PER_TURN = 16 * 2**10
"""Bytes that count as one, where cases are weighed against each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionRef:
    """A solution file that was found: light, and not read yet."""

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
        try:
            now = quick(self.path)
        except OSError as error:
            raise DatasetError(f"{self.path}: {error.strerror}, while it was being judged") from error
        if now != self.fingerprint:
            raise DatasetError(f"{self.path}: the file was changed while it was being judged")
        return SolutionFile(id=self.id, fingerprint=self.fingerprint, path=self.path, checkpoint=self.checkpoint)


def ref_of(path: Path, id_: str, checkpoint: Checkpoint) -> SolutionRef:
    """Return where a file is, with its fingerprint of now."""
    try:
        if path.is_fifo():  # nobody may ever write into it
            raise DatasetError(f"{path}: this is a pipe; a solution file is read more than once")
        size, fingerprint = path.stat().st_size, quick(path)
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; make it readable, or leave it out") from error
    turns = max(1, size // PER_TURN)
    return SolutionRef(path=path, id=id_, fingerprint=fingerprint, checkpoint=checkpoint, turns=turns)
