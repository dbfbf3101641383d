"""Words for what is meant."""

import re
from collections import Counter

import pytest

from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.scenarios import SCENARIOS
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.wordings import VOICES, Speech, Wording, banks, capitalized, mistyped

DEAL = Referent(object="the fleet deal", own="the fleet deal's", subject="the fleet deal")
IT = Referent(object="it", own="its", subject="it", known=True)
MANNERS = {
    *("today", "opening", "aside", "setback", "closing", "joining", "out_of_scope"),
    *("hard_acted", "hard_silent", "hard_small_talk"),
}
"""Banks that are not about a request, or whose requests have their own words."""


def test_a_sentence_says_every_value() -> None:
    """Whichever wording is chosen."""
    said = {
        Speech().say(SeededRandom(throw), "set_deal_amount", {"deal": DEAL, "amount": "84k"}, "terse")
        for throw in range(50)
    }

    assert len(said) > 3
    assert all("84k" in text and "fleet deal" in text.lower() for text in said)


def test_wordings_without_the_subject_are_used_if_it_is_known() -> None:
    """Some wordings leave it out, and they are used only then."""
    said = {
        Speech().say(SeededRandom(throw), "set_deal_amount", {"deal": IT, "amount": "84k"}, "terse")
        for throw in range(99)
    }

    assert any(not re.search(r"\bits?\b", text, re.IGNORECASE) for text in said)


def test_value_without_a_wording_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"set_deal_amount says .*'colour'"):
        Speech().say(SeededRandom(1), "set_deal_amount", {"deal": DEAL, "amount": "1", "colour": "red"}, "plain")


def test_wordings_are_used_evenly() -> None:
    speech, bank = Speech(), banks()["set_deal_amount"]
    for throw in range(20 * len(bank)):
        deal = DEAL if throw % 3 else IT
        speech.say(SeededRandom(throw), "set_deal_amount", {"deal": deal, "amount": "84k"}, VOICES[throw % len(VOICES)])

    assert set(bank) == set(speech.said)


def test_alternatives_in_angle_brackets_are_used_in_turn() -> None:
    """Without a draw, so that everything else that is said stays the same."""
    speech = Speech()
    slots: dict[str, str | Referent] = {"client": DEAL, "note": "call back"}
    said = [speech.say(SeededRandom(throw), "note_on_client", slots, "chatty") for throw in range(200)]
    heard = [sum(words in text for text in said) for words in ("on a napkin", "scrap of paper", "back of my ticket")]

    assert min(heard) > 0
    assert max(heard) - min(heard) <= 1


def test_every_bank_has_several_voices() -> None:
    for name in sorted({*banks()} - MANNERS):
        texts = [wording.text for wording in banks()[name]]

        # The chatty users of hard conversations say the plain wordings, beside small talk.
        voices = {*VOICES} - ({"chatty"} if name.startswith("hard_") else set())
        assert voices == {wording.voice for wording in banks()[name]}, name
        assert len(texts) == len(set(texts)), name


def test_no_wording_is_malformed() -> None:
    """Braces and brackets are closed; no column is called by its name; no year is said that is not so."""
    for name in sorted(banks()):
        for wording in banks()[name]:
            rest = re.sub(r"\{\w+(\.(own|subject|object))?\}", "X", wording.text)

            assert not re.search(r"[{}]|\w_\w|\b\d{4}\b|  ", rest), wording.text
            assert rest.count("[") == rest.count("]"), wording.text
            assert wording.voice in VOICES, name


def test_no_two_scenarios_have_the_same_name() -> None:
    """They would share their words."""
    assert [] == [name for name, number in Counter(scenario.name for scenario in SCENARIOS).items() if number > 1]


def test_a_sentence_begins_with_a_capital() -> None:
    """An address does not."""
    assert "The fleet deal" == capitalized("the fleet deal")
    assert "a.b@c.example it is" == capitalized("a.b@c.example it is")


def test_typing_error_leaves_the_values_unchanged() -> None:
    """Names and values stay as they are; something else does not."""
    text = 'please change the remark to "renewal wanted" for harbor light, thanks'
    slips = {mistyped(SeededRandom(throw), text, ["renewal wanted", "harbor light"]) for throw in range(40)}

    assert text not in slips
    assert all('"renewal wanted" for harbor light' in slip or "harbor light" in slip for slip in slips)
    assert all('"renewal wanted"' in slip for slip in slips)


def test_utterance_does_not_start_with_a_pronoun_and_a_colon() -> None:
    said = {
        Speech().say(SeededRandom(throw), "set_deal_amount", {"deal": IT, "amount": "84k"}, "terse")
        for throw in range(99)
    }

    assert [] == [text for text in said if text.startswith("It:")]


def test_a_new_sentence_begins_with_a_capital() -> None:
    texts = {
        Speech().say(SeededRandom(throw), "correct_value", {"thing": "the amount", "old": "84k", "new": "85k"}, "plain")
        for throw in range(99)
    }

    assert [] == [text for text in texts if re.search(r"[.!?] the amount", text)]


@pytest.mark.parametrize(
    ("pronoun", "expected"), [("it", "Set its amount to 84k."), ("them", "Set their amount to 84k.")]
)
def test_possessive_of_a_pronoun_is_used(pronoun: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = {"set": (Wording("Set the amount of {deal} to {amount}.", "plain"),)}
    monkeypatch.setattr("pytest_crmeval.conversations.generator.wordings.banks", lambda: bank)
    referent = Referent(object=pronoun, own="its", subject="it", known=True)

    assert expected == Speech().say(SeededRandom(1), "set", {"deal": referent, "amount": "84k"}, "plain")
