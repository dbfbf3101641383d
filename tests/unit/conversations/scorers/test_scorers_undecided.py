"""The statements that the rules of `reply` leave open."""

from pytest_crmeval.conversations.scorers.undecided import Undecided, undecided_statements
from tests.plays import FIND_FLEET, FLEET, asks, case_of, found, trial

DEAL = case_of(asks("Find the fleet tracking deal.", FIND_FLEET))


def undecided(text: str) -> list[Undecided]:
    """Return what is left open of a reply to a search."""
    return undecided_statements(DEAL, trial(DEAL, [(FIND_FLEET, found([FLEET]))], [FIND_FLEET], text))


def test_a_statement_without_a_value_is_left_open_with_the_rows_of_the_turn() -> None:
    """What was compared with a row, and questions, are not."""
    text = "Fleet tracking rollout is in Proposal. It looks rather promising to everyone. Shall I move it on?"

    (statement,) = undecided(text)

    assert (1, "It looks rather promising to everyone.") == (statement.turn, statement.quote)
    assert statement.rows.startswith("opportunity: ")
    assert "stage='Proposal'" in statement.rows
    assert statement.question == "It states no value that can be compared. Is it true?"


def test_a_reply_that_the_rules_fail_leaves_nothing_open() -> None:
    """A judge can't change what is decided."""
    assert [] == undecided("Fleet tracking rollout is at 99,000. It looks rather promising to everyone.")
