"""Indexes of large files: built chunk by chunk, shared by the workers of a run, and cached for the next run.

The cache key is the content of the chunk, so an index is never out of date. Each worker starts at a different chunk and
reuses the indexes that others have built; no worker waits for another.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

LARGE = 8 * 2**20
"""Minimum size in bytes: for smaller files a cached index saves no time."""
SIZE = 4 * 2**20
"""Approximate size of a chunk in bytes."""
DAYS = 30
"""Days for which an unused index is kept."""


class IndexEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A case of a chunk; line and offset are relative to the start of the chunk."""

    line: int
    offset: int
    id: str
    fingerprint: str
    turns: int
    tags: tuple[str, ...]
    split: str
    simulated: bool


class ChunkIndex(msgspec.Struct, frozen=True, array_like=True):
    """The cases of a chunk."""

    lines: int
    entries: list[IndexEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCache:
    """A folder with one file per chunk."""

    folder: Path
    version: bytes
    """Part of the cache key besides the content: it changes when the code that builds the index changes."""
    share: float = 0.0
    """The starting point in the file, between 0 and 1; different for each worker."""

    def indexes(self, path: Path, made: Callable[[bytes], ChunkIndex | None]) -> list[tuple[int, ChunkIndex]] | None:
        """Return the offset and index of each chunk of a file; None if ``made``, which builds an index, returns None.

        OSError if the file can't be read.
        """
        spans = list(_spans(path))
        first = int(self.share * len(spans))
        found: dict[int, ChunkIndex] = {}
        with path.open("rb") as file:
            for number in (*range(first, len(spans)), *range(first)):
                start, end = spans[number]
                file.seek(start)
                index = self._index(file.read(end - start), made)
                if index is None:
                    return None
                found[number] = index
        oldest = time.time() - DAYS * 86400
        for unused in self.folder.glob("*"):
            with suppress(OSError):  # another worker has removed it
                if unused.stat().st_mtime < oldest:
                    unused.unlink()
        return [(spans[number][0], found[number]) for number in range(len(spans))]

    def _index(self, content: bytes, made: Callable[[bytes], ChunkIndex | None]) -> ChunkIndex | None:
        key = hashlib.sha256(self.version)
        key.update(content)
        path = self.folder / key.hexdigest()
        with suppress(OSError, msgspec.DecodeError):  # not cached yet
            known = _DECODER.decode(path.read_bytes())
            os.utime(path)
            return known
        index = made(content)
        if index is not None:
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            with suppress(OSError):  # the cache is optional
                self.folder.mkdir(parents=True, exist_ok=True)
                draft.write_bytes(msgspec.msgpack.encode(index))
                draft.replace(path)
        return index


_DECODER = msgspec.msgpack.Decoder(ChunkIndex)


def version_of(modules: Sequence[str]) -> bytes:
    """Return a digest of the source code of the modules that an index depends on."""
    digest = hashlib.sha256(msgspec.__version__.encode())
    for module in modules:
        digest.update(Path(module).read_bytes())
    return digest.digest()


def _spans(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each chunk; chunks end at line ends."""
    with path.open("rb") as file:
        start = 0
        while True:
            file.seek(start + SIZE)
            file.readline()
            end = min(file.tell(), os.fstat(file.fileno()).st_size)
            if end <= start:
                return
            yield start, end
            start = end
