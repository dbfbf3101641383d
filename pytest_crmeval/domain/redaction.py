"""Redacts keys and passwords from everything that is stored or shown."""

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Self
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.key_shapes import LETTERS, RUN, has_long_run, shapes_in

REDACTED = "[redacted]"
SHORTEST = 6
"""Minimum length of a secret; shorter ones are parts of ordinary words."""

_KEY = re.compile(
    r"""(?P<kept>)(?P<token>sk-(?:(?<![\w-]sk-)|(?<=\\[nrt]sk-)|(?<=%[0-9A-Fa-f]{2}sk-))  # neither risk- nor task-
    (?:(?:ant|proj|svcacct)-[\w*-]{6,}|[\w*-]{16,}))""",
    re.ASCII | re.VERBOSE,
)
_CREDENTIALS = re.compile(r"(?P<kept>(?i:bearer|basic)(?:\s+|%20|\+))(?P<token>[\w.~+/=-]{8,})", re.ASCII)
_AUTHORIZATION = re.compile(
    r"""(?P<kept>authorization(?:\\*["'])?\s*[:=,]\s*(?:b?(?P<quote>\\*["']))?
        (?P<scheme>(?:bearer|basic|token|digest)\s+)?)
    (?P<token>(?!\[redacted)[^\s"'\\,;)}\]]+)(?P<closed>(?=\\*["']))?""",
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)
_API_KEY = re.compile(
    r"""(?P<kept>api(?:
        [-_]?key(?:\\*["']\s*[:=,]\s*|\s*[:=]\s*)b?\\*["']  # anything in quotes
        |[-_]?key=  # a parameter, an assignment in a shell
        |-key(?::\s*|\s+)  # a header, an option
        |_?key:\s*(?=[^\s"'\\,;]*\d)))  # nothing that could be a word
    (?P<token>(?!(?:None|null|true|false|self|os|not|is|missing)\b)[\w+/~-][^\s"'\\,;&)}\]]{2,})""",
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)
_ADDRESS = re.compile(r"""(?P<kept>://[^\s/?#:@"'\\<>]*:)(?P<token>[^\s/?#"'\\<>]+)(?=@[\w.\[-])""", re.ASCII)
_HEADER_NAME = re.compile(r"(?:.*[-_])?authorization", re.IGNORECASE)
_HEADER = re.compile(r"(?:bearer|basic|token|digest)\s+\S+", re.IGNORECASE)
_API_KEY_FIELD = re.compile(r"(?:.*[-_])?api[-_]?key", re.IGNORECASE)

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(
    r"""(?![A-Za-z]{30})(?=[A-Za-z]{4}|[A-Za-z]+$)(?:[a-z]+|[A-Z]+)?(?:[A-Z][a-z]+)*[A-Z]{0,5}[0-9]{0,4}  # camelCase2
    |[0-9]+""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"[A-Za-z0-9]{1,4}|[A-Za-z]{1,12}[0-9]{1,6}(?:[a-z]{1,5}[0-9]{0,3})?|[0-9]{1,8}[A-Za-z]{1,3}[0-9]{0,2}"
)
_LONGEST_WORD, _LONGEST_NUMBER = 12, 11
_SHORTEST_API_KEY, _SHORTEST_TOKEN, _SHORTEST_RANDOM = 8, 12, 20

_API_KEY_NAME = re.compile(r"(?:.*_)?API_?KEY(?:S|_.*)?", re.IGNORECASE)
_PASSWORD_NAME = re.compile(r".*(?:PASSWORD|PASSWD|PASSPHRASE).*", re.IGNORECASE)
_TOKEN_NAME = re.compile(r".*(?:SECRET|CREDENTIAL|(?:TOKEN|KEY)S?(?![A-Z])).*", re.IGNORECASE)
"""AWS_ACCESS_KEY_ID, MY_TOKEN_2, GOOGLE_CREDENTIALS, but not TOKENIZERS_PARALLELISM."""
_ADDRESS_NAME = re.compile(r"(?:.*_)?(?:URL|URI|DSN)", re.IGNORECASE)
_HEADERS_NAME = re.compile(r"(?:.*_)?CUSTOM_HEADERS", re.IGNORECASE)
_SECRET_HEADER = re.compile(r".*(?:authorization|cookie|key|token|secret|password)", re.IGNORECASE)
_SCHEME = re.compile(r"\s*(?:bearer|basic|token|digest)\s+", re.IGNORECASE)
_CONNINFO = re.compile(r"password\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))")
_NAMES_SOMETHING = re.compile(
    r"""[^\s:]+\.[a-z]{2,5}  # a file, a host, an e-mail address
    |(?:~?/|\.\.?/|[A-Za-z]:[\\/])\.?[A-Za-z]{2,}[\\/.].*  # a path
    |ft:\S+  # a model that was tuned""",
    re.VERBOSE,
)


def _is_key(match: re.Match[str]) -> bool:
    """Whether it is a key, and not an article number such as ``sk-blue-widget-2026``."""
    token = match["token"]
    known = token.startswith(("sk-ant-", "sk-proj-", "sk-svcacct-")) or "**" in token
    mixed = [piece for piece in _PIECE.findall(token) if not piece.isalpha() and not piece.isdecimal()]
    return known or any(
        len(piece) >= _SHORTEST_RANDOM or (len(piece) >= _SHORTEST_TOKEN and not _is_plain(piece)) for piece in mixed
    )


def _is_header(match: re.Match[str]) -> bool:
    """Whether it is a header: with a scheme, anything in quotes; in a sentence, neither a word nor a number."""
    token = match["token"].rstrip(".")
    if match["scheme"] and not (match["quote"] and match["closed"] is not None):
        return _is_basic(token) or not _is_plain(token)
    return bool(match["scheme"]) or _is_random(token)


def _is_anything(_: re.Match[str]) -> bool:
    return True


Form = tuple[Sequence[bytes], re.Pattern[str], Callable[[re.Match[str]], bool]]
# A form is searched for only where one of its hints occurs: bytes are found much faster than patterns.
_API_KEY_HINTS = (b"api-key", b"api_key", b"apikey")
_UNMISTAKABLE: Sequence[Form] = (
    ((b"sk-",), _KEY, _is_key),
    ((b"://",), _ADDRESS, _is_anything),
    ((b"authorization",), _AUTHORIZATION, lambda match: _is_random(match["token"])),
    ((b"bearer", b"basic"), _CREDENTIALS, lambda match: _is_random(match["token"]) or _is_basic(match["token"])),
    (_API_KEY_HINTS, _API_KEY, lambda match: _looks_like_key(match["token"])),
)
_FORMS: Sequence[Form] = (
    *_UNMISTAKABLE,
    ((b"authorization",), _AUTHORIZATION, _is_header),
    (_API_KEY_HINTS, _API_KEY, _is_anything),
)
_HINTS = tuple({hint: None for hints, _, _ in _FORMS for hint in hints})
_WRITTEN = json.JSONEncoder(ensure_ascii=False, default=str)


class Redactor:
    """Redacts known secrets, however they are encoded, and everything that looks like a key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST}
        spelled = {form for secret in known for form in _spellings(secret)}
        self._spelled = sorted(spelled, key=lambda form: (-len(form), form))
        cores = sorted({core for secret in known for core in _base64_cores(secret)})
        self._wrapped = [core for core in cores if len(core) < RUN or not set(core) <= set(LETTERS)]
        self._runs = [core for core in cores if core not in self._wrapped]
        self._forms = _FORMS

    def careful(self) -> Self:
        """Return a redactor that keeps everything that may not be a key, for recordings that are replayed."""
        careful = copy(self)
        careful._forms = _UNMISTAKABLE  # noqa: SLF001 (its own)
        return careful

    def text(self, text: str) -> str:
        """Return ``text`` without secrets; itself if there are none."""
        raw = text.encode("utf-8", "surrogatepass")
        with_run = has_long_run(raw)
        for form in self._spelled:
            if form in text:
                text = text.replace(form, REDACTED)
        for core in (*self._wrapped, *self._runs) if with_run else self._wrapped:
            if core in text:
                text = re.sub(rf"[A-Za-z0-9+/_-]*{re.escape(core)}[A-Za-z0-9+/_-]*={{0,2}}", REDACTED, text)
        for shape in shapes_in(raw, with_run=with_run):
            text = _without(text, shape, _is_anything)
        lowered = raw.lower()
        if not any(map(lowered.__contains__, _HINTS)):  # as with nearly every text
            return text
        for hints, pattern, is_meant in self._forms:
            if any(hint in lowered for hint in hints):
                text = _without(text, pattern, is_meant)
        return text

    def json(self, value: Json) -> Json:
        """Return ``value`` without secrets, keys of objects included; itself if there are none."""
        try:
            return value if self._is_clean(value) else self._walked(value)
        except RecursionError:
            return REDACTED  # too deep to search

    def fields(self, record: Mapping[str, Json], kept: Collection[str]) -> JsonObject:
        """Return an object without secrets in its fields; the ``kept`` fields stay unchanged.

        The object is searched as a whole first, which is nearly always enough; itself if there are none.
        """
        try:
            if self._is_clean(record):
                return record
        except RecursionError:  # perhaps only one of the fields is nested too deeply
            pass
        return {name: value if name in kept else self.json(value) for name, value in record.items()}

    def _is_clean(self, value: Json) -> bool:
        """Whether a value has no secret; RecursionError if it is nested too deeply."""
        written = _WRITTEN.encode(value)
        return self.text(written) == written

    def _walked(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(key): REDACTED if self._is_secret_field(key, item) else self._walked(item)
                for key, item in value.items()
            }
        return [self._walked(item) for item in value] if isinstance(value, (list, tuple)) else value

    def _is_secret_field(self, name: str, value: Json) -> bool:
        """Whether a field is named like a key; a careful redactor also wants its value to look like one."""
        if not value or not isinstance(value, str):
            return False
        careful = self._forms is _UNMISTAKABLE
        if _HEADER_NAME.fullmatch(name):
            return _is_random(value) or (not careful and bool(_HEADER.fullmatch(value)))
        return bool(_API_KEY_FIELD.fullmatch(name)) and (not careful or _looks_like_key(value))


def _without(text: str, pattern: re.Pattern[str], is_meant: Callable[[re.Match[str]], bool]) -> str:
    """Return ``text`` with the matches of a form redacted; itself if there are none."""
    clean = pattern.sub(lambda match: match["kept"] + REDACTED if is_meant(match) else match[0], text)
    return text if clean == text else clean


def _spellings(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it is written in addresses, in JSON and in Python."""
    safe = secret.encode("utf-8", "surrogatepass")
    yield from (secret, quote(safe, safe=""), quote(safe), quote_plus(safe))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1])


def _base64_cores(secret: str) -> Iterator[str]:
    """Yield the parts that every base64 text with the secret in it contains, wherever the secret begins."""
    raw = secret.encode("utf-8", "surrogatepass")
    for offset, head in enumerate((0, 2, 3)):
        padded = b"\0" * offset + raw
        tail = (0, 3, 2)[len(padded) % 3]
        for encode in (b64encode, urlsafe_b64encode):
            core = encode(padded).decode()
            yield core[head : len(core) - tail]


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Return the values of variables that are named like secrets, and the passwords in addresses.

    Left out are values that ordinary text contains: short ones, single words, numbers, and in a token, secret or key
    also paths, file names and addresses. Redacting ``postgres`` everywhere would make reports unreadable.
    """
    found = [secret for name, value in environment.items() for secret in _secrets(name, value.strip())]
    return list(dict.fromkeys(found))


def _secrets(name: str, value: str) -> Iterator[str]:
    if _ADDRESS_NAME.fullmatch(name):
        yield from (secret for secret in _passwords(value) if len(secret) >= SHORTEST and _is_password(secret))
    elif _HEADERS_NAME.fullmatch(name):
        yield from filter(None, map(_header_secret, value.splitlines()))
    elif _is_secret(name, value):
        yield value


def _header_secret(line: str) -> str:
    """Return the secret of a header such as ``X-Gateway: a1b2c3d4``, without its scheme; empty if it has none."""
    name, _, value = line.partition(":")
    value = _SCHEME.sub("", value, count=1).strip()
    if _SECRET_HEADER.fullmatch(name.strip()):
        is_secret = _is_password(value)
    else:
        is_secret = not _is_plain(value) and not _NAMES_SOMETHING.fullmatch(value)
    return value if len(value) >= _SHORTEST_API_KEY and is_secret else ""


def _passwords(address: str) -> Iterator[str]:
    """Yield the passwords of an address, or of the ``key=value`` pairs that PostgreSQL accepts as one."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    if parts.password:
        yield from (unquote(parts.password), parts.password)
    yield from (value for name, value in parse_qsl(parts.query) if _is_secret(name, value, shortest=SHORTEST))
    if not parts.scheme:
        yield from (quoted or bare for quoted, bare in _CONNINFO.findall(address))


def _is_secret(name: str, value: str, shortest: int = _SHORTEST_TOKEN) -> bool:
    """Whether a value is named like a secret and does not look like an ordinary value."""
    if _API_KEY_NAME.fullmatch(name):
        return len(value) >= _SHORTEST_API_KEY and _is_password(value)
    if _PASSWORD_NAME.fullmatch(name):
        return len(value) >= SHORTEST and _is_password(value)
    is_named = bool(_TOKEN_NAME.fullmatch(name)) and len(value) >= shortest
    return is_named and _is_password(value) and not _NAMES_SOMETHING.fullmatch(value)


def _is_password(value: str) -> bool:
    """Whether a value is neither a word nor a short number."""
    word = value.isalpha() and len(value) <= _LONGEST_WORD and (value.islower() or value.isupper() or value.istitle())
    number = value.isdecimal() and len(value) <= _LONGEST_NUMBER
    return not word and not number


def _is_plain(value: str) -> bool:
    """Whether a value consists of words and numbers, with a few abbreviations: ``claude-3-opus``, ``PO-2026-0012``."""
    pieces = _PIECE.findall(value)
    others = [piece for piece in pieces if not _WORD.fullmatch(piece)]
    return all(map(_ABBREVIATION.fullmatch, others)) and 2 * len(others) <= len(pieces)


def _looks_like_key(value: str) -> bool:
    """Whether a value is long enough for a key, and does not consist of words and numbers."""
    return len(value) >= _SHORTEST_TOKEN and any(map(str.isdecimal, value)) and not _is_plain(value)


def _is_random(value: str) -> bool:
    """Whether a value is long, and alternates so often between letters and digits that it must be random."""
    long = len(value) >= _SHORTEST_RANDOM and any(map(str.isdecimal, value))
    return long and 4 * len(_CHANGE.findall(value)) >= len(value) and not _UUID.fullmatch(value)


def _is_basic(value: str) -> bool:
    """Whether a value is the base64 of a name, a colon and a password."""
    try:
        pair = b64decode(
            value + "=" * (-len(value) % 4), altchars=b"-_" if {"-", "_"} & set(value) else None, validate=True
        )
        return b":" in pair and pair.decode("ascii").isprintable()
    except ValueError:
        return False
