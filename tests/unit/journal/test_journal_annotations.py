"""Opinions of people about verdicts, in the folder of a run."""

from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.annotations import NAME, Annotation, Opinion, add, annotation_of, annotations_in
from tests.fakes import planned, trial


def opinion(found: Trial, said: Opinion = Opinion.AGREE, *, note: str = "", person: str = "ada") -> Annotation:
    """Return the opinion of a person."""
    return annotation_of(found, said, note, person)


def said(run: Path) -> Sequence[tuple[str, str, str]]:
    """Return all opinions that count: case, person and opinion."""
    return [(each.case, each.person, str(each.opinion)) for found in annotations_in(run).values() for each in found]


def test_the_latest_opinion_of_each_person_counts(tmp_path: Path) -> None:
    """An empty one withdraws it; a note alone is an annotation."""
    one, two = trial("one"), trial("two")
    for each in (
        opinion(one),
        opinion(one, Opinion.DISAGREE, person="bob"),
        opinion(one, Opinion.DISAGREE),
        opinion(two, Opinion.NONE, note="odd"),
        opinion(two, person="bob"),
        opinion(two, Opinion.NONE, person="bob"),
    ):
        add(tmp_path / "run", each)

    assert [("one", "bob", "disagree"), ("one", "ada", "disagree"), ("two", "ada", "none")] == said(tmp_path / "run")


def test_damaged_lines_are_skipped_and_not_continued(tmp_path: Path) -> None:
    add(tmp_path, opinion(trial("one")))
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"key": "cut sh')
    add(tmp_path, opinion(trial("two")))

    assert ["one", "two"] == [case for case, _, _ in said(tmp_path)]
    assert {} == annotations_in(tmp_path / "other")


def test_an_opinion_is_about_one_verdict() -> None:
    """If the trial is played again and ends otherwise, it no longer counts."""
    found = opinion(trial(planned("one")))

    assert found.is_about(trial(planned("one")))
    assert not found.is_about(trial(planned("one"), Verdict.FAILED))
    assert not found.is_about(trial(planned("two")))


def _write(folder: Path, person: str) -> None:
    for number in range(20):
        add(folder, opinion(trial(f"case-{number}"), person=person, note="x" * 5000))


def test_several_processes_write_whole_lines(tmp_path: Path) -> None:
    context = get_context("fork")
    writers = [context.Process(target=_write, args=[tmp_path, person]) for person in ("ada", "bob")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert 40 == len(said(tmp_path))
