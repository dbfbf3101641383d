"""Which solution files there are, and which checkpoint has written them."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.journal.checkpoints import is_checkpoint_name, step_of
from pytest_crmeval.journal.solutions.outcomes import Checkpoint
from pytest_crmeval.solutions.files.sources import ENDING, files, matches, natural
from pytest_crmeval.solutions.fingerprints import quick
from pytest_crmeval.solutions.solution import SolutionFile

PER_TURN = 16 * 2**10
"""Bytes that count as one turn, where the length of cases is compared."""
SHOWN = 12
EMPTY = "empty"
"""Stands for the files of a checkpoint that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionRef:
    """A solution file that was found, but not read yet."""

    path: Path
    folder: Path
    """The folder of its checkpoint."""
    id: str
    """Path of the file below the checkpoint's folder, without the suffix."""
    fingerprint: str
    """Of its content; for a big file, see ``fingerprints.quick``."""
    checkpoint: Checkpoint
    turns: int = 1
    """Its approximate length: one for each 16 kB."""
    broken: str = ""
    """Why it can't be read; empty if it can. The other files are judged nevertheless."""
    tags: Sequence[str] = ()
    line: ClassVar[int] = 1
    offset: ClassVar[int] = 0
    split: ClassVar[str] = ""
    judged: ClassVar[bool] = False
    confidential: ClassVar[bool] = False

    def read(self) -> SolutionFile:
        """Return the case itself; DatasetError if the file is gone, or was changed."""
        case = SolutionFile(
            id=self.id, fingerprint=self.fingerprint, path=self.path, checkpoint=self.checkpoint, broken=self.broken
        )
        if self.broken:
            return case
        try:
            now = quick(self.path)
        except OSError as error:
            raise DatasetError(f"{self.path}: {error.strerror}, while it was being read") from error
        if now != self.fingerprint:
            raise DatasetError(f"{self.path}: the file was changed while it was being read")
        return case


def ref_of(path: Path, folder: Path, checkpoint: Checkpoint) -> SolutionRef:
    """Return where a file is, with its present fingerprint; or why it can't be read."""
    id_ = EMPTY if path == folder else path.relative_to(folder).with_suffix("").as_posix()
    turns, fingerprint = 1, ""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
            broken = f"there is no {ENDING} file in this folder"
        elif not stat.S_ISREG(mode):  # reading it could take for ever
            broken = "this is a pipe, a device or a socket; a solution file is read more than once"
        else:
            turns, fingerprint, broken = max(1, path.stat().st_size // PER_TURN), quick(path), ""
    except OSError as error:
        broken = f"{error.strerror}; make it readable, or remove it"
    fingerprint = fingerprint or sha256(broken.encode()).hexdigest()[:16]
    return SolutionRef(
        path=path,
        folder=folder,
        id=id_,
        fingerprint=fingerprint,
        checkpoint=checkpoint,
        turns=turns,
        broken=broken,
    )


def find(sources: Sequence[Path | str], pattern: str = "") -> list[SolutionRef]:
    """Return the solution files below the sources, each once, by step, then in natural order.

    A source is a folder, a glob, a JSON Lines file, or a file that lists some of these, one per line. ``pattern``,
    with braces (``checkpoint-{49,98}``), selects checkpoints; empty: all. DatasetError if there is nothing.
    """
    if not sources:
        raise DatasetError("there are no solution files: give a folder, a glob, or a list")
    found: dict[str, tuple[Path, Path]] = {}
    for source in sources:
        for path, root in files(source):
            readable = os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH112, PTH113 (no error if it can't be seen)
            # Links to the same missing file are not the same solutions: each checkpoint shows its own.
            found.setdefault(os.path.realpath(path) if readable else str(path), (_absolute(path), _absolute(root)))
    folders = {path: _folder(path, root) for path, root in found.values()}
    checkpoints = _checkpoints(folders.values())
    wanted = {
        folder
        for folder, checkpoint in checkpoints.items()
        if not pattern or matches(folder.name, pattern) or matches(checkpoint.name, pattern)
    }
    if not wanted:
        names = sorted((checkpoint.name for checkpoint in checkpoints.values()), key=natural)
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        raise DatasetError(f"no checkpoint matches {pattern!r}; there are {', '.join(names[:SHOWN])}{more}")
    refs = [ref_of(path, folder, checkpoints[folder]) for path, folder in folders.items() if folder in wanted]
    return sorted(refs, key=_order)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (it forgets `..`, and leaves links alone)


def _folder(path: Path, root: Path) -> Path:
    """Return the folder of a file's checkpoint: by its name, else the one below the source, else the file's own.

    ``checkpoint-49/global_step49`` belongs to checkpoint-49. An empty folder of a checkpoint is its own.
    """
    named = [parent for parent in (path, *path.parents) if is_checkpoint_name(parent.name) and parent.suffix != ENDING]
    if named:
        return next((folder for folder in named if folder.name.startswith("checkpoint")), named[0])
    between = path.relative_to(root).parts[:-1]
    return root / between[0] if between else path.parent


def _checkpoints(folders: Iterable[Path]) -> Mapping[Path, Checkpoint]:
    """Return the checkpoints; folders of the same name are distinguished by their parent folders."""
    distinct = set(folders)
    names: dict[Path, str] = {}
    depth = 0
    while len(names) < len(distinct):
        depth += 1
        tails = Counter(folder.parts[-depth:] for folder in distinct)
        alone = {folder for folder in distinct if tails[folder.parts[-depth:]] == 1}
        names = {folder: Path(*folder.parts[-depth:]).as_posix() for folder in alone} | names
    return {folder: Checkpoint(name=name, step=step_of(folder.name)) for folder, name in names.items()}


def _order(ref: SolutionRef) -> tuple[bool, int, object, object]:
    step = ref.checkpoint.step
    return step is None, step or 0, natural(ref.checkpoint.name), natural(ref.id)
