"""Text that is not to be read in passing: XOR with a key from a canary, as BrowseComp has it.

It keeps questions out of search engines and training data. It is no secret: the canary stands beside it.
"""

from base64 import b64decode, b64encode
from hashlib import sha256


def encrypted(text: str, canary: str) -> str:
    """Return a text as base64 that nobody reads by accident."""
    return b64encode(_mixed(text.encode(), canary)).decode()


def decrypted(text: str, canary: str) -> str:
    """Return what ``encrypted`` was given; ValueError if it is no base64, or was made with another canary."""
    try:
        content = b64decode(text, validate=True)
    except ValueError:
        raise ValueError("it is no base64") from None
    try:
        return _mixed(content, canary).decode()
    except UnicodeDecodeError:
        raise ValueError("it was not encrypted with this canary") from None


def _mixed(content: bytes, canary: str) -> bytes:
    """Return ``content`` XOR the repeated SHA-256 of the canary."""
    key = sha256(canary.encode()).digest()
    stream = (key * (len(content) // len(key) + 1))[: len(content)]
    mixed = int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")
    return mixed.to_bytes(len(content), "big")
