"""Dialogues in packs, inside the page or beside it."""

import json
import re
from base64 import b64decode
from pathlib import Path
from random import Random
from typing import Any
from zlib import decompress

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.render.page.packs import FULL, INLINE, Packs, folder_of, packed


def unpacked(content: str) -> Any:  # noqa: ANN401 (JSON)
    """Return what the browser makes of a pack."""
    return json.loads(decompress(b64decode(content)))


def long_dialogues(count: int) -> list[JsonObject]:
    """Return dialogues that fill a third of a pack each, and can't be compressed."""
    random = Random(1)  # noqa: S311 (no secret)
    return [{"reason": random.randbytes(FULL // 6).hex(), "key": str(number)} for number in range(count)]


def test_every_dialogue_is_in_one_pack_in_its_order(tmp_path: Path) -> None:
    """The page finds a trial by the number of the first one of each pack."""
    given = long_dialogues(8)
    packs = packed(given, tmp_path / "mine.html")
    found = [unpacked(content) for content in packs.contents]

    assert given == [dialogue for pack in found for dialogue in pack]
    assert [0, 3, 6] == list(packs.starts)
    assert [3, 3, 2] == [len(pack) for pack in found]


def test_a_run_without_trials_has_no_packs(tmp_path: Path) -> None:
    assert Packs(starts=[], contents=[]) == packed([], tmp_path / "mine.html")
    assert [] == list(tmp_path.iterdir())


def test_values_without_a_json_form_are_encoded(tmp_path: Path) -> None:
    """A browser reads no NaN, and half a surrogate is none of its letters."""
    (content,) = packed([{"value": float("nan"), "text": "\ud800"}], tmp_path / "mine.html").contents

    assert [{"value": {"$float": "nan"}, "text": "\ud800"}] == unpacked(content)


def test_packs_lie_beside_the_page_when_they_do_not_fit(tmp_path: Path) -> None:
    """Each a script that hands over its number and its content, and is nothing else."""
    given = long_dialogues(1 + 6 * INLINE // FULL)
    packs = packed(given, tmp_path / "mine.html")
    files = sorted((tmp_path / "mine" / "page").iterdir(), key=lambda path: int(path.stem))
    found = [re.fullmatch(r'crmevalPack\((\d+), "([A-Za-z0-9+/=]+)"\);\n', path.read_text()) for path in files]

    assert () == tuple(packs.contents)
    assert list(range(len(packs.starts))) == [int(match[1]) for match in found if match]
    assert given == [dialogue for match in found if match for dialogue in unpacked(match[2])]


def test_packs_of_an_earlier_page_are_taken_away(tmp_path: Path) -> None:
    """A resumed run has others, or has them inside."""
    page = tmp_path / "mine.html"
    packed(long_dialogues(1 + 6 * INLINE // FULL), page)
    packed([{"key": "one"}], page)

    assert [] == list(folder_of(page).iterdir())
