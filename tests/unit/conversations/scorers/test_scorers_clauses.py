"""The sentences and clauses of a text."""

from pytest_crmeval.conversations.scorers.clauses import clauses_of, sentences_of


def test_clauses_and_sentences() -> None:
    """Lines end sentences, too; a decimal point ends nothing."""
    text = "It costs 1.5 k, but I paid.\n- Yes; really \u2014 and gladly"

    assert ["It costs 1.5 k", "I paid.", "- Yes;", "really", "gladly"] == clauses_of(text.replace("and ", ""))
    assert ["It costs 1.5 k, but I paid.", "- Yes;", "really \u2014 and gladly"] == sentences_of(text)
