"""Folders, globs and lists: the solution files that a source stands for."""

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.solutions.files.patterns import expanded, natural

ENDING = ".jsonl"
_MAGIC = re.compile(r"[*?\[{]")
Place = tuple[Path, Path]
"""A file, and the folder in which it was looked for."""


def files(source: Path | str) -> list[Place]:
    """Return the files of a source; DatasetError if there is none."""
    found = list(_files(Path(source)))
    if not found:
        raise DatasetError(f"{source}: there is no {ENDING} file; solutions are JSON Lines, one object per line")
    return found


def _files(source: Path) -> Iterator[Place]:
    if source.is_dir():
        return ((file, source) for file in _below(source))
    if source.is_file():
        return iter([(source, source.parent)]) if _is_solutions(source) else _listed(source)
    if _MAGIC.search(str(source)):
        return _globbed(source)
    raise DatasetError(f"{source}: there is nothing; give a folder, a glob, a {ENDING} file, or a file that lists some")


def _is_solutions(path: Path) -> bool:
    return path.suffix.lower() == ENDING


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; links are followed, but nowhere twice; what is hidden stays so."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, onerror=_refused, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = _visited(Path(place), folders)
        yield from (Path(place, name) for name in sorted(names, key=natural) if _wanted(name))


def _visited(place: Path, folders: list[str]) -> list[str]:
    """Return which folders are looked into. Links come last: a file is known by the folder in which it really is."""
    visible = sorted((name for name in folders if not name.startswith(".")), key=natural)
    return sorted(visible, key=lambda name: (place / name).is_symlink())


def _wanted(name: str) -> bool:
    return not name.startswith(".") and _is_solutions(Path(name))


def _refused(error: OSError) -> None:
    raise DatasetError(f"{error.filename}: {error.strerror}; make it readable, or leave it out") from error


def _globbed(pattern: Path) -> Iterator[Place]:
    for each in expanded(str(pattern)):
        root = _fixed(Path(each))
        for path in _matching(Path(each)):
            if path.is_dir():
                yield from ((file, root) for file in _below(path))
            elif _is_solutions(path):
                yield path, root


def _matching(pattern: Path) -> list[Path]:
    """Return what a glob stands for; links are not followed by ``**``: two of them may lead in circles for ever."""
    root = _fixed(pattern)
    found = root.glob(str(pattern.relative_to(root))) if root.is_dir() else ()
    return sorted((path for path in found if not _hidden(path, root)), key=lambda path: natural(str(path)))


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _fixed(pattern: Path) -> Path:
    """Return the folder before the first part that stands for several."""
    parts = pattern.parts
    magic = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return Path(*parts[:magic])


def _listed(listing: Path) -> Iterator[Place]:
    """Yield what a list names; a relative path is one from the list's folder, or else from the current one."""
    try:
        text = listing.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{listing}: this is no list of folders and files: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        beside = listing.parent / name
        source = (
            beside if beside.exists() or any(_matching(Path(each)) for each in expanded(str(beside))) else Path(name)
        )
        if source.is_file() and not _is_solutions(source):
            raise DatasetError(f"{listing}:{number}: {name} is no {ENDING} file; a list names no other list")
        yield from _named(listing, number, source)


def _named(listing: Path, number: int, source: Path) -> list[Place]:
    try:
        return files(source)
    except DatasetError as error:
        raise DatasetError(f"{listing}:{number}: {error}") from error
