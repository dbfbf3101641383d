"""Folders are emptied, whatever a program has left in them."""

import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path


def empty(folder: str) -> None:
    """Remove all that is in ``folder``. Folders in folders are pulled up: no tree is too deep."""
    names = count()
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _dissolve(entry.path, folder, names)
            else:
                Path(entry.path).unlink()


def inodes_left(folder: str) -> int:
    """Return how many files there is still room for: in a file system of our own, the same number after every run."""
    return os.statvfs(folder).f_ffree


def _dissolve(path: str, top: str, names: Iterable[int]) -> None:
    """Remove a folder; folders in it are moved to the top, under unused names."""
    Path(path).chmod(0o700)
    for entry in list(os.scandir(path)):
        if entry.is_dir(follow_symlinks=False):
            Path(entry.path).chmod(0o700)
            Path(entry.path).rename(_free(top, names))
        else:
            Path(entry.path).unlink()
    Path(path).rmdir()


def _free(top: str, names: Iterable[int]) -> Path:
    places = (Path(top, f".{number}") for number in names)
    return next(place for place in places if not os.path.lexists(place))


def count_and_bytes(folders: Iterable[str]) -> tuple[int, int]:
    """Return how many files there are in flat folders, and their bytes."""
    sizes = [entry.stat(follow_symlinks=False).st_size for folder in folders for entry in os.scandir(folder)]
    return len(sizes), sum(sizes)
