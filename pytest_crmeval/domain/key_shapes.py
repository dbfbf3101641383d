"""Keys that are recognised by their format alone, independent of variable names."""

import re
import string
from collections.abc import Sequence

# An escape may precede a key (``\nAKIA...`` in JSON, ``%0AAKIA...`` in a URL), so few formats require a boundary.
_RANDOM = re.compile(
    r"""(?P<kept>)(?P<token>
    (?:(?<![A-Z0-9])|(?<=%[0-9A-F]{2}))A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])  # Amazon, permanent and temporary
    |gh[pousr]_[A-Za-z0-9]{20,}  # GitHub
    |github_pat_\w{20,}
    |hf_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{20,}  # Hugging Face; hf_transformersconfiguration is a name
    |gsk_[A-Za-z0-9]{20,}  # Groq
    |eyJ[\w-]{10,}\.[\w-]{4,}\.[\w-]*(?:\.[\w-]+)*  # a JSON Web Token, signed or encrypted
    )""",
    re.ASCII | re.VERBOSE,
)
_NAMED = re.compile(
    r"""(?P<kept>)(?P<token>
    AIza[\w-]{30,}  # Google
    |xox[a-z](?:\.xox[a-z])?-(?=[A-Za-z-]*[0-9])[A-Za-z0-9-]{10,}  # Slack; xoxo-with-love-from-us has no digit
    |glpat-[\w.-]{16,}[\w-]  # GitLab
    )""",
    re.ASCII | re.VERBOSE,
)
_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----"
_BETWEEN = r"""(?:[\s>|"',]|\\+[nrt]|[E+-](?=\s))*"""  # also in a quote, in a traceback and in a diff
_PRIVATE_KEY = re.compile(
    rf"""(?P<kept>)(?P<token>-----BEGIN\ {_LABEL}(?:
    (?:[^-]|-(?!----))*-----END\ {_LABEL}
    |(?:{_BETWEEN}[A-Za-z0-9+/=]{{16,}})*(?:{_BETWEEN}[A-Za-z0-9+/=]{{1,15}}\s*\Z)?  # its end is missing
    ))""",
    re.ASCII | re.VERBOSE,
)
_SHAPES = (_PRIVATE_KEY, _NAMED, _RANDOM)
_RANDOM_SIGNS: Sequence[bytes] = tuple(b"eyJ AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ gsk_".split())
LETTERS = string.ascii_letters + string.digits + "+/"
RUN = 18
"""Minimum run of letters and digits in a random key. Few words and no UUIDs have such a run."""
_LONG_RUN = b"a" * RUN
_AS_RUNS = bytes(ord("a") if code in LETTERS.encode() else ord(" ") for code in range(256))


def has_long_run(raw: bytes) -> bool:
    """Whether a text, as UTF-8, has a run of base64 characters that may be a random key."""
    return _LONG_RUN in raw.translate(_AS_RUNS)


def shapes_in(raw: bytes, *, with_run: bool) -> Sequence[re.Pattern[str]]:
    """Return the patterns that may match a text, given as UTF-8: searching bytes first is much faster."""
    named = b"glpat-" in raw or b"AIza" in raw or b"xox" in raw or b"PRIVATE KEY" in raw
    random = with_run and any(sign in raw for sign in _RANDOM_SIGNS)
    return _SHAPES if named or random else ()
