"""The statements that the rules of `reply` leave open."""

import pytest

from pytest_crmeval.conversations.scorers.undecided import Undecided, undecided_statements
from pytest_crmeval.domain.cutting import use_redactor
from pytest_crmeval.domain.redaction import Redactor
from tests.plays import FIND_FLEET, FLEET, asks, case_of, found, trial, uid

DEAL = case_of(asks("Find the fleet tracking deal.", FIND_FLEET))


def undecided(text: str) -> list[Undecided]:
    """Return what is left open of a reply to a search."""
    return undecided_statements(DEAL, trial(DEAL, [(FIND_FLEET, found([FLEET]))], [FIND_FLEET], text))


def test_a_statement_without_a_value_is_left_open_with_the_rows_of_the_turn() -> None:
    """What was compared with a row, and questions, are not."""
    text = "Fleet tracking rollout is in Proposal. It looks rather promising to everyone. Shall I move it on?"

    (statement,) = undecided(text)

    assert (1, "It looks rather promising to everyone.") == (statement.turn, statement.quote)
    (row,) = (row for row in statement.rows if "stage='Proposal'" in row)
    assert row.startswith("opportunity: ")
    assert uid("fleet") not in row
    assert ("opportunity_search: 1 rows",) == statement.calls
    assert statement.question == "It states no value that can be compared. Is it true?"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("It is our only deal there.", "It says how many or which records it holds for."),
        ("It has 9 other names.", "It says how many or which records it holds for."),
        ("It was updated.", "It names no record."),
    ],
)
def test_the_question_says_what_could_not_be_decided(text: str, question: str) -> None:
    """How many there are, or what was done."""
    found_open = undecided(f"Fleet tracking rollout is in Proposal. {text}")

    assert [question] == [each.question[: len(question)] for each in found_open]


def test_quote_is_one_line_without_secrets() -> None:
    """It becomes part of a reason, and is sent to a model."""
    use_redactor(Redactor(["hunter2-hunter2"]))
    try:
        (statement,) = undecided(
            "Fleet tracking rollout is in Proposal. It looks\u2028rather good hunter2-hunter2 to us."
        )
    finally:
        use_redactor(Redactor([]))

    assert "It looks rather good [redacted] to us." == statement.quote


def test_a_reply_that_the_rules_fail_leaves_nothing_open() -> None:
    """A judge can't change what is decided."""
    assert [] == undecided("Fleet tracking rollout is at 99,000. It looks rather promising to everyone.")
