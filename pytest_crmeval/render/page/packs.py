"""Dialogues in packs: inside the page if they are small, else in files beside it that a page on disk can load.

A browser does not let a page that was opened from disk read files, but the page may run scripts that lie beside it.
"""

import json
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from zlib import compress

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.wire import encoded_quickly

FULL = 200_000
"""Bytes after which a new pack is started: it opens instantly, and the largest runs have hundreds of packs."""
INLINE = 700_000
"""Bytes of packs that may be inside the page; larger packs are files beside it."""
FOLDER = "page"
LEVEL = 4
"""Compression level: nearly the smallest size, at three times the speed."""
AHEAD = 4
"""Packs that may wait to be compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packs:
    """All dialogues of a run, in the order of its trials."""

    starts: Sequence[int] = ()
    """The number of the first trial in each pack."""
    contents: Sequence[str] = ()
    """Each a list of dialogues: JSON, deflated, base64. Empty if the packs lie beside the page."""


def packed(dialogues: Iterable[JsonObject], page: Path) -> Packs:
    """Return dialogues in packs; those of a large run are written beside the page one by one, to save memory.

    They replace the packs of an earlier page once all are written.
    """
    folder = folder_of(page)
    draft = folder.with_name(f"{FOLDER}.part")
    rmtree(draft, ignore_errors=True)
    try:
        packs = _packed(dialogues, draft)
        for old in folder.glob("*.js"):
            old.unlink()
        for number in range(0 if packs.contents else len(packs.starts)):
            folder.mkdir(parents=True, exist_ok=True)
            (draft / f"{number}.js").replace(folder / f"{number}.js")
    finally:
        rmtree(draft, ignore_errors=True)
    return packs


def _packed(dialogues: Iterable[JsonObject], folder: Path) -> Packs:
    """Return dialogues in packs; those that don't fit into a page are written into ``folder``."""
    starts: list[int] = []
    contents: list[str] = []
    number = size = 0
    for length, content in _compressed(_gathered(dialogues)):
        starts.append(number)
        contents.append(content)
        number += length
        size += len(content)
        if size > INLINE:
            _lay_beside(folder, len(starts) - len(contents), contents)
            contents.clear()
    return Packs(starts=starts, contents=contents)


def _compressed(packs: Iterable[Sequence[bytes]]) -> Iterator[tuple[int, str]]:
    """Yield the number of dialogues and the content of each pack; a thread compresses while the next ones are read."""
    pending: deque[tuple[int, Future[bytes]]] = deque()
    with ThreadPoolExecutor(1) as thread:
        for lines in packs:
            pending.append((len(lines), thread.submit(compress, b"[" + b",".join(lines) + b"]", LEVEL)))
            if len(pending) > AHEAD:
                length, content = pending.popleft()
                yield length, b64encode(content.result()).decode()
        for length, content in pending:
            yield length, b64encode(content.result()).decode()


def _lay_beside(folder: Path, first: int, contents: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents, start=first):
        (folder / f"{number}.js").write_text(f"crmevalPack({number}, {json.dumps(content)});\n", encoding="utf-8")


def folder_of(page: Path) -> Path:
    """Return the folder of the packs of a page, inside the folder of its run."""
    return page.with_suffix("") / FOLDER


def _gathered(dialogues: Iterable[JsonObject]) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for dialogue in dialogues:
        lines.append(encoded_quickly(dialogue))
        size += len(lines[-1])
        if size >= FULL:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines
