"""Folders, globs and lists: the solution files that a source stands for."""

import glob
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.journal.checkpoints import is_checkpoint_name

_DIGITS = re.compile(r"(\d+)")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
ENDING = ".jsonl"
_MAGIC = re.compile(r"[*?\[{]")
Place = tuple[Path, Path]
"""A file, and the folder that was searched. A checkpoint without files, or a folder that can't be read, is a file."""


def expanded(pattern: str) -> list[str]:
    """Return the expansions of a pattern with braces: ``ab`` and ``ac`` for ``a{b,c}``; braces may be nested."""
    inner = _BRACES.search(pattern)
    if inner is None:
        return [pattern]
    before, after = pattern[: inner.start()], pattern[inner.end() :]
    found = [each for word in inner[1].split(",") for each in expanded(f"{before}{word}{after}")]
    return list(dict.fromkeys(found))


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with braces and wildcards."""
    return any(fnmatchcase(name, each) for each in expanded(pattern))


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key of names in which 9 comes before 10."""
    parts = _DIGITS.split(name.lower())
    return tuple((text, int(number or -1)) for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True))


def files(source: Path | str) -> list[Place]:
    """Return the files of a source; DatasetError if there is none."""
    found = list(_files(Path(source)))
    if all(path.is_dir() for path, _ in found):
        raise DatasetError(f"{source}: there is no {ENDING} file; solutions are JSON Lines, one object per line")
    return found


def _files(source: Path) -> Iterator[Place]:
    if source.is_dir():
        return ((file, source) for file in _below(source))
    if _is_solutions(source) and os.path.lexists(source):
        return iter([(source, source.parent)])
    if source.is_file():
        return _listed(source)
    if _MAGIC.search(str(source)):
        return _globbed(source)
    raise DatasetError(f"{source}: not found; give a folder, a glob, a {ENDING} file, or a file that lists some")


def _is_solutions(path: Path) -> bool:
    return path.suffix.lower() == ENDING


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, then folders that can't be read, and checkpoints without files.

    Links are followed, but no folder is visited twice. Hidden names are skipped.
    """
    seen: set[str] = set()
    unreadable: list[OSError] = []
    empty: set[Path] = set()
    for place, folders, names in os.walk(folder, onerror=unreadable.append, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if is_checkpoint_name(Path(place).name):
            empty.add(Path(place))
        inner = sorted((name for name in folders if not name.startswith(".")), key=natural)
        links = [name for name in inner if Path(place, name).is_symlink()]
        folders[:] = [*(name for name in inner if name not in links), *links]  # a file is known by its real folder
        visible = sorted((name for name in names if not name.startswith(".")), key=natural)
        if found := [Path(place, name) for name in visible if _is_solutions(Path(name))]:
            empty -= {Path(place), *Path(place).parents}
            yield from found
    blocked = [Path(error.filename) for error in unreadable]
    yield from blocked
    # A checkpoint without files may have an inner folder that looks like one: global_step49.
    left = empty - {parent for path in blocked for parent in (path, *path.parents)}
    yield from sorted((each for each in left if not left & set(each.parents)), key=lambda each: natural(str(each)))


def _globbed(pattern: Path) -> Iterator[Place]:
    for each in expanded(str(pattern)):
        root = _fixed(Path(each))
        for path in _matching(Path(each)):
            if path.is_dir():
                yield from ((file, root) for file in _below(path))
            elif _is_solutions(path):
                yield path, root


def _matching(pattern: Path) -> list[Path]:
    """Return the paths that match a glob; ``**`` does not follow links, because they may form a cycle."""
    root = _fixed(pattern)
    found = root.glob(str(pattern.relative_to(root))) if root.is_dir() else ()
    visible = (path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))
    return sorted(visible, key=lambda path: natural(str(path)))


def _fixed(pattern: Path) -> Path:
    """Return the folder before the first part with a wildcard."""
    parts = pattern.parts
    magic = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return Path(*parts[:magic])


def _listed(listing: Path) -> Iterator[Place]:
    """Yield the files of a list; a relative path is relative to the list's folder, or else to the current one."""
    try:
        text = listing.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{listing}: this is not a list of folders and files: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        beside = listing.parent / name
        source = (
            beside if beside.exists() or any(_matching(Path(each)) for each in expanded(str(beside))) else Path(name)
        )
        if source.is_file() and not _is_solutions(source):
            raise DatasetError(f"{listing}:{number}: {name} is not a {ENDING} file; a list can't name another list")
        try:
            found = files(source)
        except DatasetError as error:
            raise DatasetError(f"{listing}:{number}: {error}") from error
        yield from found
