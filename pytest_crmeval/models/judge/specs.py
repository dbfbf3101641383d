"""From what the command line says to a judge: ``openai:gpt-4.1?samples=3``."""

from urllib.parse import unquote_plus

SAMPLES = 3
MOST_SAMPLES = 25
TEMPERATURE = 0.5
"""How several opinions are asked for, if the spec does not say: at 0 all of them would be the same one."""


class JudgeSpecError(ValueError):
    """A judge that can't be asked so; the message says what is wrong."""


def parse_judge(spec: str) -> tuple[str, int]:
    """Return the spec of the model, and how many opinions it is asked for; JudgeSpecError if that is no number of them.

    The rest of the spec is left as it is: whoever makes the model reads it.
    """
    path, _, query = spec.partition("?")
    given = [part for part in query.split("&") if part]
    samples = _samples(path, [_value(part) for part in given if _name(part) == "samples"])
    kept = [part for part in given if _name(part) != "samples"]
    if samples > 1 and "temperature" not in map(_name, kept):
        kept.append(f"temperature={TEMPERATURE}")
    return "?".join(filter(None, (path, "&".join(kept)))), samples


def _samples(path: str, given: list[str]) -> int:
    if not given:
        return SAMPLES
    if len(given) > 1:
        raise JudgeSpecError(f"{path}: samples is given twice")
    (text,) = given
    whole = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_SAMPLES))
    if not whole or not 1 <= int(text) <= MOST_SAMPLES:
        raise JudgeSpecError(f"{path}: samples={text}: give a whole number from 1 to {MOST_SAMPLES}")
    return int(text)


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


def _value(part: str) -> str:
    return unquote_plus(part.partition("=")[2])
