"""Dialogues in packs: small enough to be put into the page, or files beside it that a page on a disk can load.

A browser lets a page that was opened from a disk read no file, but run a script that lies beside it.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from zlib import compress

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.wire import encoded_quickly

FULL = 200_000
"""Bytes of dialogue after which another pack is begun: opened at once, and hundreds of them for the largest runs."""
INLINE = 700_000
"""Bytes that all packs may take inside the page; more than that lies beside it."""
FOLDER = "page"
LEVEL = 4
"""Of compression: nearly as small as can be, and three times as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packs:
    """All dialogues of a run, in the order of its trials."""

    starts: Sequence[int] = ()
    """The number of the first trial in each pack."""
    contents: Sequence[str] = ()
    """Each a list of dialogues: JSON, deflated, base64. Empty if the packs lie beside the page."""


def packed(dialogues: Iterable[JsonObject], page: Path) -> Packs:
    """Return dialogues in packs; of a large run they are written beside the page as they are made, to save memory.

    They replace the packs of an earlier page when all of them are written.
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
    for lines in _gathered(dialogues):
        starts.append(number)
        contents.append(b64encode(compress(b"[" + b",".join(lines) + b"]", LEVEL)).decode())
        number += len(lines)
        size += len(contents[-1])
        if size > INLINE:
            _lay_beside(folder, len(starts) - len(contents), contents)
            contents.clear()
    return Packs(starts=starts, contents=contents)


def _lay_beside(folder: Path, first: int, contents: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents, start=first):
        (folder / f"{number}.js").write_text(f"crmevalPack({number}, {json.dumps(content)});\n", encoding="utf-8")


def folder_of(page: Path) -> Path:
    """Return where the packs of a page are: in the folder of its run."""
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
