"""Amounts, percentages and counts as people say them."""

from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

CURRENCIES: dict[str, tuple[str, str]] = {
    "EUR": ("€", "euros"),
    "USD": ("$", "dollars"),
    "GBP": ("£", "pounds"),
    "CHF": ("CHF ", "francs"),
}
"""Code -> sign and word."""
_THOUSAND = 1000
_STEPS = ((20_000, 250), (100_000, 500), (1_000_000, 2_500))
"""Amount -> how amounts below it are rounded."""
MOST = 10_000_000
"""The largest amount that the CRM accepts."""
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def amount(chance: SeededRandom, low: int = 3_000, high: int = 900_000) -> float:
    """Return a realistic amount: many are small, few are large, most are round."""
    share = chance.below(10_000) / 10_000
    raw = float(low * (high / low) ** share)
    if chance.chance(0.06):
        return round(raw) + chance.one_of((0.5, 0.25, 0.8, 0.95))
    step = 1 if chance.chance(0.08) else next((step for limit, step in _STEPS if raw < limit), 10_000)
    return max(step, round(raw / step) * step)


def near(chance: SeededRandom, value: float) -> float:
    """Return another amount of the same size."""
    step = 1 if value < _THOUSAND else 10 ** (len(str(int(value))) - 2)
    change = chance.between(2, 9) * step // (1 if chance.chance(0.5) else 2)
    grows = chance.chance(0.6) and value + change <= MOST
    return max(step, int(value) + (change if grows else -change))


def money(chance: SeededRandom, value: float, currency: str) -> str:
    """Return an amount as it is said: €84,000, 84k, 84000, 84,000 euros, EUR 84,000."""
    sign, word = CURRENCIES[currency]
    plain = f"{value:,.2f}" if value != int(value) else f"{int(value):,}"
    forms = [
        f"{sign}{plain}",
        f"{sign}{plain}",
        plain,
        plain.replace(",", ""),
        f"{plain} {word}",
        f"{currency} {plain}",
    ]
    if value == int(value) and int(value) % _THOUSAND == 0:
        forms += [f"{int(value) // _THOUSAND}k", f"{sign}{int(value) // _THOUSAND}k"]
    return chance.one_of(forms)


def percent(chance: SeededRandom, value: int) -> str:
    """Return a percentage as it is said."""
    return chance.one_of((f"{value}%", f"{value} %", f"{value} percent", f"{value} per cent"))


def count(chance: SeededRandom, value: int) -> str:
    """Return a small number in words or digits."""
    return _COUNTS[value] if value < len(_COUNTS) and chance.chance(0.7) else str(value)


def exact(value: float) -> float:
    """Return a number as JSON has it: an integer if it is whole, else with cents."""
    return int(value) if value == int(value) else round(value, 2)
