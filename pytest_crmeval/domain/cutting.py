"""The one place where text is shortened: secrets are taken out first, because half a key is still a secret."""

import os

from pytest_crmeval.domain.redaction import Redactor, secrets_in

_LONGEST_SECRET = 4_096
"""Characters: a private key in a variable has that many."""


class _Process:
    """What this process knows of secrets."""

    redactor: Redactor | None = None


def use(redactor: Redactor) -> None:
    """Have ``redactor`` clean every text that is shortened from now on in this process."""
    _Process.redactor = redactor


def redacted(text: str) -> str:
    """Return ``text`` without secrets; itself if there are none."""
    if _Process.redactor is None:
        use(Redactor(secrets_in(os.environ)))
    return _Process.redactor.text(text) if _Process.redactor else text


def cut(text: str, longest: int, ending: str = "…") -> str:
    """Return ``text``, or its first ``longest`` characters and ``ending``; nothing of a secret is left at the cut."""
    if len(text) <= longest:
        return text
    clean = redacted(text)
    return clean if len(clean) <= longest else f"{clean[:longest]}{ending}"


def cut_end(text: str, longest: int, beginning: str = "…") -> str:
    """Return ``text``, or ``beginning`` and its last ``longest`` characters."""
    if len(text) <= longest:
        return text
    clean = redacted(text)
    return clean if len(clean) <= longest else f"{beginning}{clean[-longest:]}"


def cut_bytes(raw: bytes, longest: int, ending: str = "…") -> str:
    """Return the output of a program as text, or its first ``longest`` characters and ``ending``.

    Output may have many megabytes. As a rule only its beginning is decoded; all of it, if so much was redacted there
    that the end of that beginning, where half a secret may stand, would be shown.
    """
    start = raw[: 4 * (longest + _LONGEST_SECRET)]
    clean = redacted(start.decode("utf-8", "replace"))
    if len(start) < len(raw) and len(clean) < longest + _LONGEST_SECRET:
        clean = redacted(raw.decode("utf-8", "replace"))
    return clean if len(clean) <= longest else f"{clean[:longest]}{ending}"


def cut_middle(text: str, longest: int, between: str = "…") -> str:
    """Return ``text``, or its beginning and end of ``longest`` characters in all, with ``between`` in the middle."""
    if len(text) <= longest:
        return text
    clean, half = redacted(text), longest // 2
    return clean if len(clean) <= longest else f"{clean[:half]}{between}{clean[-half:]}"


LONGEST = 20_000


def printable(text: str) -> str:
    """Return ``text`` as a wire can carry it: without lone surrogates, and shortened if it is very long."""
    safe = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
    return cut(safe, LONGEST, f"… ({len(safe)} characters)")
