"""Obscures text against accidental reading: XOR with a key from a canary, as in BrowseComp.

It keeps questions out of search engines and training data. It is not secret: the canary is stored next to it.
"""

from base64 import b64decode, b64encode
from hashlib import sha256


def encrypted(text: str, canary: str) -> str:
    """Return the encrypted text as base64."""
    return b64encode(_mixed(text.encode(), canary)).decode()


def decrypted(text: str, canary: str) -> str:
    """Return the text that ``encrypted`` was given; ValueError if it is not base64 or has another canary."""
    try:
        content = b64decode(text, validate=True)
    except ValueError:
        raise ValueError("not base64") from None
    try:
        return _mixed(content, canary).decode()
    except UnicodeDecodeError:
        raise ValueError("not encrypted with this canary") from None


def _mixed(content: bytes, canary: str) -> bytes:
    """Return ``content`` XOR the repeated SHA-256 of the canary."""
    key = sha256(canary.encode()).digest()
    stream = (key * (len(content) // len(key) + 1))[: len(content)]
    mixed = int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")
    return mixed.to_bytes(len(content), "big")
