"""Amounts as people say them."""

from pytest_crmeval.conversations.generator.figures import CURRENCIES, amount, count, exact, money, near, percent
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.scorers.mentions import read


def test_every_format_of_an_amount_is_read_as_that_amount() -> None:
    """€84,000, 84k and 84000 are the same."""
    for value in [84_000, 1_250, 980.5, 2_400_000, 47_311]:
        for currency in CURRENCIES:
            said = {money(SeededRandom(throw), value, currency) for throw in range(60)}

            assert len(said) >= 3, (currency, value)
            assert [] == [text for text in said if not read(f"set it to {text}, please").says(value)], (currency, value)


def test_amounts_are_those_that_the_crm_takes() -> None:
    """More than nothing, no more than the limit, at most two digits for cents; and one near another is another one."""
    for throw in range(50):
        value = amount(SeededRandom(throw))
        other = near(SeededRandom(throw), value)

        assert 0 < value <= 10_000_000, throw
        assert value == round(value, 2), throw
        assert 0 < other != value, throw


def test_amounts_are_written_without_rounding_errors() -> None:
    """And others to the cent, without the dust of floats."""
    assert "84000" == repr(exact(84000.0))
    assert "92.4" == repr(exact(84 * 1.1))


def test_percentages_and_counts_can_be_read_back() -> None:
    assert all(read(percent(SeededRandom(throw), 35)).says(35) for throw in range(10))
    assert {"three", "3"} == {count(SeededRandom(throw), 3) for throw in range(40)}
