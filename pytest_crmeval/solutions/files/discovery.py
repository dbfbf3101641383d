"""Which solution files there are, and which checkpoint has written them."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_crmeval.domain.checkpoints import step_of
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.solution import Checkpoint
from pytest_crmeval.solutions.files.patterns import matches, natural
from pytest_crmeval.solutions.files.refs import SolutionRef, ref_of
from pytest_crmeval.solutions.files.sources import files

SHOWN = 12


def find(sources: Sequence[Path | str], pattern: str = "") -> list[SolutionRef]:
    """Return the solution files below the sources, each once, by step, then in natural order.

    A source is a folder, a glob, a JSON Lines file, or a file that lists some of these, one per line. ``pattern``,
    with braces (``checkpoint-{49,98}``), tells which checkpoints are wanted; empty: all. DatasetError if there is
    nothing.
    """
    folders = _folders(sources)
    checkpoints = _checkpoints(folders.values())
    wanted = {folder for folder, one in checkpoints.items() if not pattern or _is_wanted(folder, one, pattern)}
    if not wanted:
        raise _nothing(pattern, checkpoints.values())
    refs = [
        ref_of(path, path.relative_to(folder).with_suffix("").as_posix(), checkpoints[folder])
        for path, folder in folders.items()
        if folder in wanted
    ]
    return sorted(refs, key=_order)


def _folders(sources: Sequence[Path | str]) -> Mapping[Path, Path]:
    """Return the files, each once, and the folders of their checkpoints."""
    if not sources:
        raise DatasetError("there are no solution files: give a folder, a glob, or a list")
    found: dict[Path, tuple[Path, Path]] = {}
    for source in sources:
        for path, root in files(source):
            found.setdefault(path.resolve(), (_absolute(path), _absolute(root)))
    return {path: _folder(path, root) for path, root in found.values()}


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (it forgets `..`, and leaves links alone)


def _folder(path: Path, root: Path) -> Path:
    """Return the folder of a file's checkpoint: by its name, else the one below the source, else the file's own."""
    named = next((parent for parent in path.parents if parent.name.startswith("checkpoint-")), None)
    if named is not None:
        return named
    between = path.relative_to(root).parts[:-1]
    return root / between[0] if between else path.parent


def _checkpoints(folders: Iterable[Path]) -> Mapping[Path, Checkpoint]:
    """Return the checkpoints; where several folders are called the same, the folders above tell them apart."""
    distinct = set(folders)
    names: dict[Path, str] = {}
    depth = 0
    while len(names) < len(distinct):
        depth += 1
        tails = Counter(folder.parts[-depth:] for folder in distinct)
        alone = {folder for folder in distinct if tails[folder.parts[-depth:]] == 1}
        names = {folder: Path(*folder.parts[-depth:]).as_posix() for folder in alone} | names
    return {folder: Checkpoint(name=name, step=step_of(folder.name)) for folder, name in names.items()}


def _is_wanted(folder: Path, checkpoint: Checkpoint, pattern: str) -> bool:
    return matches(folder.name, pattern) or matches(checkpoint.name, pattern)


def _nothing(pattern: str, checkpoints: Iterable[Checkpoint]) -> DatasetError:
    names = sorted((one.name for one in checkpoints), key=natural)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return DatasetError(f"no checkpoint matches {pattern!r}; there are {', '.join(names[:SHOWN])}{more}")


def _order(ref: SolutionRef) -> tuple[bool, int, object, object]:
    step = ref.checkpoint.step
    return step is None, step or 0, natural(ref.checkpoint.name), natural(ref.id)
