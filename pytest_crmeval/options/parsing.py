"""Parsers for the values of options. Their ValueError says what is allowed; the caller adds the option and the text."""

from collections.abc import Callable, Sequence


def whole(least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads a whole number within bounds."""
    limits = "" if least is None else f" from {least} to {most}" if most else f" of at least {least}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or (least is not None and number < least) or (most is not None and number > most):
            raise ValueError(f"must be a whole number{limits}")
        return number

    return read


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """Return a function that accepts one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return read


def seconds(text: str) -> float:
    """Read a positive number of seconds."""
    return _decimal(text, float("inf"), "must be a positive number of seconds")


def share(text: str) -> float:
    """Read a share above 0 and at most 1."""
    return _decimal(text, 1.0, "must be a share above 0 and at most 1")


def dollars(text: str) -> float:
    """Read an amount of money."""
    return _decimal(text.removeprefix("$"), float("inf"), "must be a positive amount in US dollars, for example 5.00")


def truth(text: str) -> bool:
    """Read the words for true and false that pytest accepts in the ini file."""
    if text.lower() in {"y", "yes", "t", "true", "on", "1"}:
        return True
    if text.lower() in {"n", "no", "f", "false", "off", "0"}:
        return False
    raise ValueError("must be true or false")


def _decimal(text: str, most: float, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number <= most or number == float("inf"):
        raise ValueError(expected)
    return number
