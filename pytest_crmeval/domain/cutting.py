"""The only place where text is shortened: secrets are redacted first, because half a key is still a secret."""

import os
import re

from pytest_crmeval.domain.redaction import REDACTED, Redactor, secrets_in

_LONGEST_SECRET = 4_096
"""Maximum length in characters, enough for a private key in a variable."""


class _Process:
    """The redactor of this process."""

    redactor: Redactor | None = None


def use_redactor(redactor: Redactor) -> None:
    """Use ``redactor`` for every text that is shortened in this process from now on."""
    _Process.redactor = redactor


def redacted(text: str) -> str:
    """Return ``text`` with secrets redacted."""
    if _Process.redactor is None:
        use_redactor(Redactor(secrets_in(os.environ)))
    return _Process.redactor.text(text) if _Process.redactor else text


def cut(text: str, longest: int, ending: str = "…") -> str:
    """Return ``text``, or its first ``longest`` characters and ``ending``; no part of a secret remains."""
    if len(text) <= longest:
        return text
    clean = redacted(text)
    return clean if len(clean) <= longest else f"{clean[:longest]}{ending}"


def beginning(text: str, longest: int) -> str:
    """Return ``text``, or its first ``longest`` characters and its length; the rest of a huge text is never read."""
    start = text[: longest + _LONGEST_SECRET]
    clean = redacted(start)
    if len(start) == len(text) and len(clean) <= longest:
        return clean
    return f"{clean[:longest]}… ({len(text):,} characters)"


def cut_end(text: str, longest: int, beginning: str = "…") -> str:
    """Return ``text``, or ``beginning`` and its last ``longest`` characters."""
    if len(text) <= longest:
        return text
    clean = redacted(text)
    return clean if len(clean) <= longest else f"{beginning}{clean[-longest:]}"


def cut_bytes(raw: bytes, longest: int, ending: str = "…") -> str:
    """Return the output of a program as text, or its first ``longest`` characters and ``ending``.

    Output may have many megabytes, so usually only its beginning is decoded. All of it is decoded if redaction has
    shortened the beginning so much that its end, where a secret may be cut in half, would be shown.
    """
    start = raw[: 4 * (longest + _LONGEST_SECRET)]
    clean = redacted(start.decode("utf-8", "replace"))
    if len(start) < len(raw) and len(clean) < longest + _LONGEST_SECRET:
        clean = redacted(raw.decode("utf-8", "replace"))
    return clean if len(clean) <= longest else f"{clean[:longest]}{ending}"


def cut_middle(text: str, longest: int, between: str = "…") -> str:
    """Return ``text``, or ``longest`` characters from its start and end with ``between`` in the middle."""
    if len(text) <= longest:
        return text
    clean, half = redacted(text), longest // 2
    return clean if len(clean) <= longest else f"{clean[:half]}{between}{clean[-half:]}"


def redacted_quotes(reason: str, text: str) -> str:
    """Return a ``reason`` that quotes ``text``; if that has a secret, only quotes without any part of it remain."""
    clean = redacted(text)
    if clean == text:
        return reason
    return re.sub('"([^"]*)"', lambda quote: quote[0] if quote[1] in clean else f'"{REDACTED}"', reason)


LONGEST = 20_000


def printable(text: str) -> str:
    """Return ``text`` without lone surrogates, and shortened if it is very long, so that it can be transmitted."""
    safe = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
    return cut(safe, LONGEST, f"… ({len(safe)} characters)")
