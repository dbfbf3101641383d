"""Text that should not be read by accident."""

from base64 import b64encode
from hashlib import sha256

import pytest

from pytest_crmeval.journal.cipher import decrypted, encrypted

TEXTS = ["", "a", "short", "Żółć — ü ☃" * 9, "x" * 10_000, "\x00leading nothing"]


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_encrypted_text_can_be_decrypted(text: str) -> None:
    """Byte for byte, whatever its length."""
    assert text == decrypted(encrypted(text, "canary"), "canary")


def test_cipher_is_the_published_one() -> None:
    """Base64 of the text XOR the SHA-256 of the canary, repeated to the text's length."""
    text, key = b"How many roads must a man walk down, and where to?", sha256(b"canary").digest()
    mixed = bytes(byte ^ key[place % len(key)] for place, byte in enumerate(text))

    assert text.decode() == decrypted(b64encode(mixed).decode(), "canary")


@pytest.mark.parametrize("text", ["no base64!", encrypted("äöü" * 20, "another canary")])
def test_text_with_another_encryption_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decrypted(text, "canary")
