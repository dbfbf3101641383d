"""Questions are read from four kinds of file, and invalid ones are refused with file, line and field."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.questions.datasets import index
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.question import Grader, QuestionOracle
from tests.questions import CANARY, browsecomp, lines, record, table

File = Callable[..., Path]
"""A function that writes a file."""


@pytest.fixture
def file(tmp_path: Path) -> File:
    """Return a function that writes a file."""

    def write(content: str | bytes, name: str = "q.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def shown(path: Path) -> str:
    """Return the error for a file, without its folder."""
    with pytest.raises(DatasetError) as refused:
        index([path])
    return str(refused.value).replace(f"{path.parent}/", "")


def test_own_format_is_read(file: File) -> None:
    choice = record("two", grader="choice", choices=["Rome", "Paris"], answer="B", tags=["geo"], split="test")
    topic = record("three", grader="numeric", answer=3.5, tolerance=0.1, metadata={"topic": "Maths", "by": "us"})
    refs = index([file(lines(record("one", aliases=["Lutetia"]), choice) + "\n" + lines(topic))])

    one, two, three = (ref.read() for ref in refs)
    assert [1, 2, 4] == [ref.line for ref in refs]
    assert ("Paris", ("Lutetia",), Grader.EXACT) == (one.answer, one.aliases, one.grader)
    assert (("Rome", "Paris"), ("geo",), "test") == (two.choices, two.tags, two.split)
    assert ("3.5", "0.1", "Maths") == (three.answer, three.tolerance, three.category)
    assert not any(ref.confidential or ref.judged for ref in refs)


def test_browsecomp_is_decrypted_and_always_confidential(file: File) -> None:
    """Its rows have no ids: they are numbered."""
    refs = index([file(browsecomp(("Who?", "Ada"), ('Line one\nline two, "quoted"?', "Bob")), "b.csv")])

    questions = [ref.read() for ref in refs]
    assert ["browsecomp-0001", "browsecomp-0002"] == [ref.id for ref in refs]
    assert [("Who?", "Ada"), ('Line one\nline two, "quoted"?', "Bob")] == [(q.text, q.answer) for q in questions]
    assert all(q.confidential and q.grader is Grader.JUDGE and not q.may_abstain for q in questions)
    assert {"Topic"} == {q.category for q in questions}


def test_simpleqa_may_abstain(file: File) -> None:
    """Its metadata is a Python literal, and its cells have newlines."""
    meta = "{'topic': 'Art', 'urls': ['a', 'b']}"
    rows = table(["metadata", "problem", "answer"], [meta, "Who\npainted\nit?", "Klee"], ["", "When?", "1925"])
    refs = index([file(rows, "s.CSV")])

    first, second = (ref.read() for ref in refs)
    assert [("simpleqa-0001", 2), ("simpleqa-0002", 5)] == [(ref.id, ref.line) for ref in refs]
    assert ("Who\npainted\nit?", "Art", True) == (first.text, first.category, first.may_abstain)
    assert ("When?", "1925", "") == (second.text, second.answer, second.category)


def test_table_of_multiple_choice_is_read(file: File) -> None:
    """As published for MMLU; a question may have fewer choices than there are columns."""
    rows = table(
        ["", "Question", "A", "B", "C", "D", "Answer", "Subject"],
        ["0", "2+2?", "3", "4", "5", "6", "B", "maths"],
        ["1", "True?", "yes", "no", "", "", "a", "logic"],
    )

    first, second = (ref.read() for ref in index([file(rows, "m.csv")]))

    assert (("3", "4", "5", "6"), "B", "maths") == (first.choices, first.answer, first.category)
    assert (("yes", "no"), "A", "choice-0002") == (second.choices, second.answer, second.id)


def test_ids_of_a_table_are_used_if_there_are_any(file: File) -> None:
    rows = table(["id", "metadata", "problem", "answer"], ["mine", "", "Who?", "Klee"])

    assert ["mine"] == [ref.id for ref in index([file(rows, "s.csv")])]


def test_marker_can_make_any_file_confidential(file: File) -> None:
    (ref,) = index([file(lines(record("one")))], confidential=True)

    assert ref.confidential
    assert ref.read().confidential


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "Gustave\nEiffel"},
        {"grader": "judge", "answer": "in Paris,\r\nin 1889"},
        {"answer": "#1 Crush"},
        {"answer": "> 9000"},
        {"grader": "numeric", "answer": ".5"},
        {"grader": "choice", "choices": ["O", "A", "B", "AB"], "answer": "A"},
    ],
    ids=str,
)
def test_accepted_reference_is_recognised_in_a_reply(file: File, fields: dict[str, Any]) -> None:
    """Even if it has several lines, or starts like markdown."""
    (ref,) = index([file(lines(record("one", **fields)))])
    question = ref.read()

    assert Attempt.CORRECT is graded(question, QuestionOracle(question).reply((), ()).text)


def test_fingerprint_changes_with_the_content(file: File) -> None:
    """Not with the order of fields or the position in the file."""
    plain, moved = record("one"), dict(reversed(record("one").items()))
    contents = [lines(plain), "\n" + lines(moved), lines(record("one", answer="Rome"))]
    prints = [index([file(content, f"{n}.jsonl")])[0].fingerprint for n, content in enumerate(contents)]

    assert prints[0] == prints[1] != prints[2]


def test_byte_order_mark_and_windows_line_ends_are_accepted(file: File) -> None:
    """Spreadsheets write them."""
    rows = table(["metadata", "problem", "answer"], ["", "Who?", "Klee"]).encode()
    (ref,) = index([file(b"\xef\xbb\xbf" + rows, "s.csv")])

    assert "Klee" == ref.read().answer


def test_file_that_was_changed_in_the_meantime_is_not_played(file: File) -> None:
    """Lines and tables."""
    for name, before, after in (
        ("q.jsonl", lines(record("one")), lines(record("one", answer="Rome"))),
        ("b.csv", browsecomp(("Who?", "Ada")), browsecomp(("Who?", "Eve"))),
        ("c.csv", browsecomp(("Who?", "Ada")), "problem,answer,canary\n"),
    ):
        (ref,) = index([file(before, name)])
        file(after, name)

        with pytest.raises(DatasetError, match=rf"{name}:\d: the file was changed while it was being played"):
            ref.read()


def test_missing_file_is_reported(file: File) -> None:
    path = file(lines(record("one")))
    (ref,) = index([path])
    path.unlink()

    with pytest.raises(DatasetError, match="No such file or directory, while it was being played"):
        ref.read()
    assert "q.jsonl: No such file or directory; give the path of a JSON Lines or CSV file" == shown(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"grader": "vibes"}, "grader: Invalid enum value 'vibes'; known values: choice, exact, judge, numeric"),
        ({"id": ""}, "id: Expected `str` of length >= 1"),
        (
            {"anwser": "x"},
            (
                "line: Object contains unknown field `anwser`; did you mean answer? "
                "known fields: id, question, answer, grader, choices, aliases, tolerance, "
                "may_abstain, tags, split, metadata"
            ),
        ),
        ({"question": " "}, "question: is empty"),
        ({"answer": " ?! "}, "answer: has neither a letter nor a digit, so no reply could match it"),
        ({"choices": ["a", "b"]}, "choices: do not apply to the grader exact"),
        ({"grader": "choice", "choices": ["a"]}, "choices: must be 2 to 26, found 1"),
        (
            {"grader": "choice", "choices": ["a", "A."], "answer": "A"},
            "choices: must be different and not empty",
        ),
        ({"grader": "choice", "choices": ["x", "y"], "answer": "C"}, "answer: must be a letter from A to B"),
        ({"grader": "choice", "choices": ["x", "y"], "answer": "AB"}, "answer: must be a letter from A to B"),
        (
            {"grader": "choice", "choices": ["x", "y"], "answer": "A", "aliases": ["B"]},
            "aliases: do not apply to the grader choice: one letter is right",
        ),
        ({"grader": "numeric", "answer": "many"}, "answer: must be one number, in digits"),
        ({"grader": "numeric", "answer": "3 or 4"}, "answer: must be one number, in digits"),
        (
            {"grader": "numeric", "answer": "5 or more"},
            "answer: would not be recognised in a reply; write it as a reply would state it",
        ),
        ({"tolerance": 1}, "tolerance: does not apply to the grader exact"),
        ({"grader": "numeric", "answer": 1, "tolerance": -1}, "tolerance: Expected `float` >= 0.0"),
        ({"may_abstain": True}, "may_abstain: only a judge can distinguish not knowing from being wrong"),
        ({"split": "dev"}, "split: Invalid enum value 'dev'; known values: test, train"),
    ],
    ids=str,
)
def test_unanswerable_question_is_refused(file: File, change: dict[str, Any], why: str) -> None:
    assert f"q.jsonl:2: {why}" == shown(file(lines(record("fine"), {**record("one"), **change})))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "s.csv: the file is empty; a table starts with a header row"),
        ("metadata,problem,answer\n", "s.csv: the file has no question; write one JSON object per line, or a table"),
        ("metadata,problem,answer\n,Who?\n", "s.csv:2: row: has 2 cells, but the table has 3 columns"),
        ('metadata,problem,answer\n,"Who?,x\n', "s.csv:2: this is not a table (CSV): unexpected end of data"),
        ("metadata,problem,answer\n, ,x\n", "s.csv:2: problem: is empty"),
        ("problem,answer,canary\nQUJD!,QUJD,c\n", "s.csv:2: problem: can't be decrypted: not base64"),
    ],
    ids=repr,
)
def test_invalid_table_is_refused(file: File, content: str, why: str) -> None:
    assert why == shown(file(content, "s.csv"))


def test_unknown_columns_are_refused(file: File) -> None:
    found = shown(file("frage,antwort\nWer?,Klee\nWann?,1925\n", "s.csv"))

    assert found.startswith("s.csv:1: columns: frage, antwort: unknown table format; supported: BrowseComp (")
    assert 1 == len(found.splitlines())


def test_text_that_is_not_utf_8_is_refused(file: File) -> None:
    assert shown(file(b"metadata,problem,answer\n,W\xff?,x\n", "s.csv")).startswith("s.csv:2: this is not UTF-8: ")
    assert shown(file(b'{"id": "\xff"}\n')).startswith("q.jsonl:1: this line is not JSON: ")


def test_duplicate_ids_are_refused(file: File) -> None:
    path, other = file(lines(record("one"))), file(lines(record("one")), "other.jsonl")

    with pytest.raises(DatasetError, match=r"other.jsonl:1: id: 'one' is already used in .*q.jsonl:1; ids must"):
        index([path, other])


def test_number_of_reported_problems_is_limited(file: File) -> None:
    """Five, and how many more."""
    found = shown(file(lines(*(record(str(number), question="") for number in range(8)))))

    assert (6, "... and 3 more") == (len(found.splitlines()), found.splitlines()[-1])


def test_table_with_another_canary_is_refused(file: File) -> None:
    """The key of each row is in it."""
    rows = browsecomp(("Who on earth is that?", "Adaäöü" * 9)).replace(CANARY, "another one")

    assert "can't be decrypted: not encrypted with this canary" in shown(file(rows, "b.csv"))


def test_bundled_questions_have_every_grader() -> None:
    data = Path(__file__).parents[3] / "evals" / "data"
    questions = [ref.read() for ref in index([data / "questions.jsonl"])]

    assert set(Grader) == {question.grader for question in questions}
    assert 40 <= len(questions)
    assert 8 <= len(index([data / "browse.csv"])) <= 12


def test_bundled_table_is_encrypted() -> None:
    path = Path(__file__).parents[3] / "evals" / "data" / "browse.csv"
    content = path.read_text(encoding="utf-8")

    assert not [ref.id for ref in index([path]) if ref.read().text in content or ref.read().answer in content]
