"""Indexes of large files: made chunk by chunk, shared by the workers of a run, and kept for the next run.

A chunk is known by its content, so an index is never out of date. Each worker begins at another chunk, and takes those
that others have done: nobody waits.
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
"""Bytes; smaller files are read faster than an index of them is kept."""
SIZE = 4 * 2**20
"""Bytes of a chunk, about."""
DAYS = 30
"""How long an index is kept that no run has used."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A case of a chunk; line and offset count from the chunk's beginning."""

    line: int
    offset: int
    id: str
    fingerprint: str
    turns: int
    tags: tuple[str, ...]
    split: str


class Index(msgspec.Struct, frozen=True, array_like=True):
    """What is in a chunk."""

    lines: int
    entries: list[Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCache:
    """A folder with one file per chunk."""

    folder: Path
    version: bytes
    """What the index depends on beside the content: another version has other keys."""
    share: float = 0.0
    """Where to begin, between 0 and 1: another place for each worker."""

    def indexes(self, path: Path, made: Callable[[bytes], Index | None]) -> list[tuple[int, Index]] | None:
        """Return offset and index of each chunk of a file; None if ``made``, which makes an index, returns None.

        OSError if the file can't be read.
        """
        spans = list(_spans(path))
        first = int(self.share * len(spans))
        found: dict[int, Index] = {}
        with path.open("rb") as file:
            for number in (*range(first, len(spans)), *range(first)):
                start, end = spans[number]
                file.seek(start)
                index = self._index(file.read(end - start), made)
                if index is None:
                    return None
                found[number] = index
        self._forget()
        return [(spans[number][0], found[number]) for number in range(len(spans))]

    def _index(self, content: bytes, made: Callable[[bytes], Index | None]) -> Index | None:
        path = self.folder / hashlib.sha256(self.version + content).hexdigest()
        try:
            known = _DECODER.decode(path.read_bytes())
            os.utime(path)
        except (OSError, msgspec.DecodeError):
            known = None
        if known is not None:
            return known
        index = made(content)
        if index is not None:
            self._keep(path, msgspec.msgpack.encode(index))
        return index

    def _keep(self, path: Path, content: bytes) -> None:
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):  # the index is whole without its cache
            self.folder.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
            draft.replace(path)

    def _forget(self) -> None:
        oldest = time.time() - DAYS * 86400
        for path in self.folder.glob("*"):
            with suppress(OSError):  # another worker has removed it
                if path.stat().st_mtime < oldest:
                    path.unlink()


_DECODER = msgspec.msgpack.Decoder(Index)


def version_of(modules: Sequence[str]) -> bytes:
    """Return a digest of the source of modules, which an index depends on."""
    digest = hashlib.sha256(msgspec.__version__.encode())
    for module in modules:
        digest.update(Path(module).read_bytes())
    return digest.digest()


def _spans(path: Path) -> Iterator[tuple[int, int]]:
    """Yield begin and end of chunks that end where lines do."""
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
