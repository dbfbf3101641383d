"""Solution files are found wherever they are, once each, in the order in which a model was trained."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.journal.solutions.outcomes import Checkpoint
from pytest_crmeval.solutions.files import SolutionRef, digest, find
from pytest_crmeval.solutions.files.sources import expanded
from pytest_crmeval.solutions.fingerprints import WHOLE, quick, whole
from pytest_crmeval.solutions.solution import SolutionFile

Tree = Callable[..., Path]
"""Makes files."""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Return a function that makes files below a folder, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def make(*names: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'{{"id": "a", "code": "{name}"}}\n', encoding="utf-8")
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-49", 49),
        ("checkpoint_49", 49),
        ("step_49", 49),
        ("step-49-merged", 49),
        ("global_step49", 49),
        ("global_step_00049", 49),
        ("checkpoint-final", None),
        ("stepson", None),
        ("checkpoint-49b", None),
    ],
)
def test_the_step_is_read_from_the_name_of_the_folder(tree: Tree, name: str, step: int | None) -> None:
    (ref,) = find([tree(f"runs/{name}/s.jsonl") / "runs"])

    assert Checkpoint(name=name, step=step) == ref.checkpoint


def test_a_step_inside_a_checkpoint_is_not_another_checkpoint(tree: Tree) -> None:
    """DeepSpeed writes checkpoint-49/global_step49."""
    refs = find([tree("runs/checkpoint-49/global_step49/s.jsonl", "runs/step_100/s.jsonl", "runs/step_20/s.jsonl")])

    assert [("step_20", "s"), ("checkpoint-49", "global_step49/s"), ("step_100", "s")] == shown(refs)


def shown(refs: list[SolutionRef]) -> list[tuple[str, str]]:
    """Return checkpoints and files."""
    return [(ref.checkpoint.name, ref.id) for ref in refs]


def test_by_step_and_then_in_natural_order(tree: Tree) -> None:
    root = tree(
        "checkpoint-98/b.jsonl",
        "checkpoint-98/a10.jsonl",
        "checkpoint-98/a9.jsonl",
        "checkpoint-1000/a.jsonl",
        "checkpoint-9_tuned/a.jsonl",
        "checkpoint-final/a.jsonl",
        "base/a.jsonl",
    )

    refs = find([root])

    assert [
        ("checkpoint-9_tuned", "a"),
        ("checkpoint-98", "a9"),
        ("checkpoint-98", "a10"),
        ("checkpoint-98", "b"),
        ("checkpoint-1000", "a"),
        ("base", "a"),
        ("checkpoint-final", "a"),
    ] == shown(refs)
    assert [9, 98, 98, 98, 1000, None, None] == [ref.checkpoint.step for ref in refs]


def test_each_file_once_however_it_is_found(tree: Tree) -> None:
    """Above and below, by two sources, by a link, by a link that leads in a circle."""
    root = tree("checkpoint-1/a.jsonl", "checkpoint-1/deep/er/b.jsonl", "c.jsonl")
    (root / "latest").symlink_to("checkpoint-1")
    (root / "checkpoint-1" / "up").symlink_to("..")

    refs = find([root, root / "checkpoint-1", "**/*.jsonl", "c.jsonl"])

    assert [("checkpoint-1", "a"), ("checkpoint-1", "deep/er/b"), (root.name, "c")] == shown(refs)


def test_files_that_are_not_solution_files_are_skipped(tree: Tree) -> None:
    """Other endings, and what is hidden."""
    root = tree("checkpoint-1/a.JSONL", "checkpoint-1/b.json", "checkpoint-1/.c.jsonl", ".ipynb_checkpoints/d.jsonl")

    assert [("checkpoint-1", "a")] == shown(find([root]))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (".", [("checkpoint-1", "x/a"), ("checkpoint-2", "a"), ("base", "sub/a")]),
        ("runs", [("checkpoint-1", "x/a"), ("checkpoint-2", "a"), ("base", "sub/a")]),
        ("runs/checkpoint-1/x", [("checkpoint-1", "x/a")]),
        ("runs/base/sub", [("sub", "a")]),
        ("runs/base/sub/a.jsonl", [("sub", "a")]),
        ("runs/*/sub/*.jsonl", [("base", "sub/a")]),
        ("runs/checkpoint-{1,2}", [("checkpoint-1", "x/a"), ("checkpoint-2", "a")]),
        ("r*/checkpoint-?", [("checkpoint-1", "x/a"), ("checkpoint-2", "a")]),
    ],
)
def test_file_belongs_to_its_checkpoint_folder(tree: Tree, source: str, expected: list[tuple[str, str]]) -> None:
    """Of the checkpoint folder it is in, else of the folder below the source, else of its own."""
    tree("runs/checkpoint-1/x/a.jsonl", "runs/checkpoint-2/a.jsonl", "runs/base/sub/a.jsonl")
    if source == ".":
        expected = [*expected[:2], ("runs", "base/sub/a")]

    assert expected == shown(find([source]))


def test_two_folders_of_one_name_are_two_checkpoints(tree: Tree) -> None:
    """The folders above tell them apart: their results must not be mixed."""
    tree("one/x/checkpoint-5/a.jsonl", "two/x/checkpoint-5/a.jsonl", "two/x/checkpoint-7/a.jsonl")

    expected = [("one/x/checkpoint-5", 5), ("two/x/checkpoint-5", 5), ("checkpoint-7", 7)]
    assert expected == [(ref.checkpoint.name, ref.checkpoint.step) for ref in find(["."])]


def test_a_list_names_folders_globs_and_files(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree("a/checkpoint-1/s.jsonl", "a/checkpoint-2/s.jsonl", "here/checkpoint-3/s.jsonl")
    (root / "a" / "list.txt").write_text("# mine\n\ncheckpoint-{1,9}\r\n  checkpoint-2/s.jsonl\nhere\n")
    monkeypatch.chdir(root)

    assert ["checkpoint-1", "checkpoint-2", "checkpoint-3"] == [name for name, _ in shown(find(["a/list.txt"]))]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", [49, 98, 490]),
        ("checkpoint-{49,98}", [49, 98]),
        ("checkpoint-49*", [49, 490]),
        ("checkpoint-{4{9,8},9?}", [49, 98]),
        ("*-98", [98]),
    ],
)
def test_pattern_selects_checkpoints(tree: Tree, pattern: str, expected: list[int]) -> None:
    root = tree("checkpoint-49/a.jsonl", "checkpoint-98/a.jsonl", "checkpoint-490/a.jsonl")

    assert expected == [ref.checkpoint.step for ref in find([root], pattern)]


def test_braces_are_expanded() -> None:
    """Nested, empty, none at all, or not meant so."""
    assert ["ab", "ac"] == expanded("a{b,c}")
    assert ["a", "ab", "abc"] == expanded("a{,b{,c}}")
    assert ["{a}", "b"] == [*expanded("{a}"), *expanded("b")]


@pytest.mark.parametrize(
    ("source", "pattern", "message"),
    [
        ("nowhere", "", "nowhere: not found; give a folder, a glob, a .jsonl file, or a file that lists some"),
        ("empty", "", "empty: there is no .jsonl file; solutions are JSON Lines, one object per line"),
        ("no*", "", "no*: there is no .jsonl file; solutions are JSON Lines, one object per line"),
        ("runs", "checkpoint-3", "no checkpoint matches 'checkpoint-3'; there are checkpoint-1, checkpoint-2"),
        ("list.txt", "", "list.txt:2: nowhere: not found"),
        ("lists.txt", "", "lists.txt:1: list.txt is not a .jsonl file; a list can't name another list"),
        ("blob.bin", "", "blob.bin: this is not a list of folders and files"),
    ],
)
def test_sources_without_files_are_refused(tree: Tree, source: str, pattern: str, message: str) -> None:
    root = tree("runs/checkpoint-1/a.jsonl", "runs/checkpoint-2/a.jsonl", "empty/a.txt")
    (root / "list.txt").write_text("runs\nnowhere\n")
    (root / "lists.txt").write_text("list.txt\n")
    (root / "blob.bin").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(DatasetError) as refused:
        find([source], pattern)

    assert str(refused.value).startswith(message)


def test_unreadable_file_does_not_stop_the_others(tree: Tree) -> None:
    """A pipe or a device would be read for ever; an empty checkpoint is there as well."""
    root = tree("runs/checkpoint-1/a.jsonl", "runs/checkpoint-2/readme.txt", "runs/global_step3/inner/s.jsonl")
    os.mkfifo(root / "runs/checkpoint-1/fifo.jsonl")
    (root / "runs/checkpoint-1/gone.jsonl").symlink_to("nowhere")
    (root / "runs/checkpoint-1/loop.jsonl").symlink_to("loop.jsonl")
    (root / "runs/checkpoint-1/null.jsonl").symlink_to("/dev/zero")

    found = {f"{ref.checkpoint.name} {ref.id}": ref.read().broken for ref in find(["runs"])}

    pipe = "this is a pipe, a device or a socket; a solution file is read more than once"
    assert {
        "checkpoint-1 a": "",
        "checkpoint-1 fifo": pipe,
        "checkpoint-1 gone": "No such file or directory; make it readable, or remove it",
        "checkpoint-1 loop": "Too many levels of symbolic links; make it readable, or remove it",
        "checkpoint-1 null": pipe,
        "checkpoint-2 empty": "there is no .jsonl file in this folder",
        "global_step3 inner/s": "",
    } == found


def test_a_folder_that_can_not_be_read_stops_no_other(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not bind root, so the system call is replaced."""
    root = tree("runs/checkpoint-1/a.jsonl", "runs/checkpoint-2/b.jsonl")
    scandir = os.scandir

    def refuse(path: str) -> Any:  # noqa: ANN401 (as os.scandir)
        if Path(path).name == "checkpoint-2":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)

    found = {ref.checkpoint.name: ref.broken for ref in find([root / "runs"])}

    assert {"checkpoint-1": "", "checkpoint-2": "Permission denied; make it readable, or remove it"} == found


def test_missing_source_is_refused() -> None:
    """There is no folder that we would take for granted."""
    with pytest.raises(DatasetError, match="there are no solution files"):
        find([])


def test_a_file_is_a_case(tree: Tree) -> None:
    """With all that a case is known by before it is read."""
    (ref,) = find([tree("checkpoint-7/m.v1.jsonl")])

    case = ref.read()

    checkpoint = Checkpoint(name="checkpoint-7", step=7)
    assert SolutionFile(id="m.v1", fingerprint=ref.fingerprint, path=ref.path, checkpoint=checkpoint) == case
    assert (1, 0, "", False, False) == (ref.line, ref.offset, ref.split, ref.judged, ref.confidential)


def test_a_file_that_changes_is_noticed(tree: Tree) -> None:
    (ref,) = find([tree("checkpoint-7/m.jsonl")])
    ref.path.write_text("{}\n")

    with pytest.raises(DatasetError, match="the file was changed"):
        ref.read()
    ref.path.unlink()
    with pytest.raises(DatasetError, match="No such file or directory, while it was being read"):
        ref.read()


def test_a_copy_of_a_small_file_has_the_same_fingerprint(tmp_path: Path) -> None:
    """It goes by content; so does the digest, whatever the size."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"x" * 1000)
    other.write_bytes(b"x" * 1000)

    assert quick(one) == quick(other)
    assert digest(one) == whole(other)


def test_a_big_file_is_not_read_whole_and_a_change_between_samples_is_seen_by_its_time(tmp_path: Path) -> None:
    """A hole of a terabyte has a fingerprint at once; a change between the samples changes the time."""
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.truncate(2**40)
    before = quick(path)
    assert before == quick(path)

    with path.open("r+b") as file:
        file.seek(2**35 + 12345)
        file.write(b"x")

    assert before != quick(path)
    assert WHOLE < 2**40
