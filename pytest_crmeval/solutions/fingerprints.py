"""Fingerprints of files, also of files that are too big for every worker to read."""

from hashlib import file_digest, sha256
from pathlib import Path

WHOLE = 8 * 2**20
"""Maximum size in bytes of a file that is read completely."""
_BLOCKS = 16
_BLOCK = 64 * 2**10


def quick(path: Path) -> str:
    """Return a fingerprint in a few milliseconds, whatever the size.

    A file up to 8 MiB is read completely. Every worker collects every file, so for a bigger one only samples of the
    content, its size and its modification time are used: a copy may have another fingerprint, and is then judged
    again. A change between the samples that keeps the size and resets the modification time goes unnoticed here;
    ``whole`` detects it.
    """
    size = path.stat().st_size
    if size <= WHOLE:
        return sha256(path.read_bytes()).hexdigest()[:16]
    found = sha256(f"{size} {path.stat().st_mtime_ns}".encode())
    with path.open("rb") as file:
        for number in range(_BLOCKS):
            file.seek((size - _BLOCK) * number // (_BLOCKS - 1))
            found.update(file.read(_BLOCK))
    return found.hexdigest()[:16]


def whole(path: Path) -> str:
    """Return a fingerprint of the whole content."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:16]
