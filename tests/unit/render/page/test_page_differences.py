"""The differences of a CRM's rows as tables."""

from collections.abc import Sequence

from pytest_crmeval.domain.explanation import Fault
from pytest_crmeval.render.page.differences import PAIRED, Cell, apart
from pytest_crmeval.render.page.words import NOTHING


def tables(*lines: str) -> list[tuple[str, Sequence[Cell]]]:
    """Return the title and the cells of each row."""
    rows, _ = apart([Fault(score="state", text=line) for line in lines])
    return [(row.title, row.cells) for row in rows]


def test_columns_of_a_row_are_together() -> None:
    """Also if its name looks like a column; texts are shown without quotes, unless two values would look alike."""
    assert [
        ("quote a: b (q-1)", [("amount", "5.0", "6.0"), ("status", "Sent", NOTHING)]),
        ("client c-1", [("name", "'5'", "5")]),
    ] == tables(
        "quotes a: b (q-1): amount expected 5.0, actual 6.0",
        "quotes a: b (q-1): status expected 'Sent', actual None",
        "clients c-1: name expected '5', actual 5",
    )


def test_row_that_was_created_with_other_values_is_one_row() -> None:
    """What has little in common stays apart."""
    assert [
        ("note created with other values", [("content", 'Call, "wait"', 'Call, "wait"'), ("author", "Ada", NOTHING)]),
        ("client missing", [("name", "Ada", None)]),
        ("2 × note unexpected", [("content", None, "Hello"), ("author", None, "Ben")]),
    ] == tables(
        "notes: missing: content='Call, \"wait\"', author='Ada'",
        "clients: missing: name='Ada'",
        "notes: 2 unexpected: content='Hello', author='Ben'",
        "notes: unexpected: content='Call, \"wait\"'",
    )


def test_hundreds_of_rows_are_not_compared_with_each_other() -> None:
    extra = [f"notes: unexpected: content='{number}', author='Ada'" for number in range(PAIRED + 1)]

    assert PAIRED + 2 == len(tables("notes: missing: content='x', author='Ada'", *extra))


def test_faults_without_rows_are_shown_as_text() -> None:
    """Those of a turn, of scorers that are not ours, and rows that can't be read."""
    faults = [
        Fault(score="state", text="notes: missing: content='a'", turn=9),
        Fault(score="own", text="mood: expected 'good', actual 'bad'"),
        Fault(score="own", text="notes: missing: 3 of them"),
        Fault(score="state", text="clients Ada (c-1): was deleted"),
    ]

    assert ([], faults) == apart(faults)
