"""E-mail addresses and domains, made from names."""

import re
import unicodedata

from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

_PLAIN = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "\u0131": "i", "ð": "d", "þ": "th"}
)


def plain(text: str) -> str:
    """Return a text in lower case without accents; everything but letters and digits becomes a hyphen."""
    bare = unicodedata.normalize("NFKD", text.lower().translate(_PLAIN)).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", bare.replace("'", "")).strip("-")


def domain(company: str) -> str:
    """Return the domain of a company; none of these exist."""
    return f"{plain(company)}.example"


def domain_of(address: str) -> str:
    """Return the domain of an e-mail address."""
    return address.partition("@")[2]


def mailbox(chance: SeededRandom, first: str, last: str, where: str) -> str:
    """Return the address of a person at a domain."""
    one, other = plain(first), plain(last)
    return f"{chance.one_of((f'{one}.{other}', f'{one[:1]}.{other}', f'{other}.{one}', f'{one}-{other}'))}@{where}"
