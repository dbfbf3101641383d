"""Indexes of large files, kept for other workers and for the next run."""

import json
from pathlib import Path

import pytest

from pytest_crmeval.conversations.dataset import files as conversations
from pytest_crmeval.conversations.dataset import index_cache as cache_module
from pytest_crmeval.conversations.dataset.files import index, index_cache
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.domain.dataset_error import DatasetError
from tests.projects import case


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of several chunks, with blank lines and no newline at its end."""
    monkeypatch.setattr(cache_module, "SIZE", 2000)
    monkeypatch.setattr(conversations, "LARGE", 1)
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(f"{json.dumps(case(f'case-{number}'))}\n" for number in range(20)), encoding="utf-8")
    return path


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry for each line that is decoded."""
    lines: list[int] = []
    decode = conversations.decode

    def counting(line: bytes, path: Path, number: int) -> ConversationRecord:
        lines.append(number)
        return decode(line, path, number)

    monkeypatch.setattr(conversations, "decode", counting)
    return lines


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_cached_index_equals_the_index_of_the_file(path: Path, tmp_path: Path, share: float) -> None:
    """This holds for every start chunk, with a cold and a warm cache."""
    cache = index_cache(tmp_path / "cache", share)
    expected = index([path])

    assert expected == index([path], cache)
    assert len(list((tmp_path / "cache").iterdir())) > 2
    assert expected == index([path], cache)
    assert [ref.read().id for ref in expected] == [ref.read().id for ref in index([path], cache)]


def test_each_line_is_decoded_once_for_all_workers(path: Path, tmp_path: Path, decoded: list[int]) -> None:
    """A second worker and the next run reuse the index."""
    index([path], index_cache(tmp_path / "cache"))
    assert len(decoded) == 20

    index([path], index_cache(tmp_path / "cache", 0.5))
    assert len(decoded) == 20


def test_changed_line_has_its_chunk_decoded_again(path: Path, tmp_path: Path, decoded: list[int]) -> None:
    """The cache key is the content of the chunk: size and time of the file do not matter."""
    before = index([path], index_cache(tmp_path / "cache"))
    path.write_text(path.read_text(encoding="utf-8").replace("case-19", "case-XX"), encoding="utf-8")
    decoded.clear()

    after = index([path], index_cache(tmp_path / "cache"))

    assert [ref.id for ref in before[:-1]] == [ref.id for ref in after[:-1]]
    assert after[-1].id == "case-XX"
    assert 0 < len(decoded) < 20


def test_problem_in_a_large_file_names_its_line(path: Path, tmp_path: Path) -> None:
    """The line number counts from the start of the file, not of the chunk."""
    with path.open("a", encoding="utf-8") as file:
        file.write("\n{}")

    with pytest.raises(DatasetError, match=r"cases.jsonl:41: "):
        index([path], index_cache(tmp_path / "cache"))


def test_damaged_cache_is_rebuilt(path: Path, tmp_path: Path) -> None:
    """A folder that can't be written is ignored."""
    cache = tmp_path / "cache"
    expected = index([path], index_cache(cache))
    for file in cache.iterdir():
        file.write_bytes(b"\xc1")

    assert expected == index([path], index_cache(cache))
    assert expected == index([path], index_cache(path / "no folder"))
