"""Names of suites, subjects and cases as names of files."""

import re
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePath

LONGEST = 80
_SAFE = re.compile(r"[a-z0-9_](?:[a-z0-9_.+=@-]*[a-z0-9_+=@-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+=@-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_ENDING = re.compile(r".*\.(?:judge|[0-9]+)")


@lru_cache(1024)
def slug(name: str) -> str:
    """Return a file name that is valid on every system: ``name`` if possible, else its readable part and a digest.

    Different names have different slugs, also on systems that ignore case: an unchanged name never contains the sign
    before a digest.
    """
    if _SAFE.fullmatch(name) and len(name) <= LONGEST and not _RESERVED.fullmatch(name):
        return name
    return _marked(name)


def place(suite: str, subject: str, case: str) -> PurePath:
    """Return the path of a case of a subject within a folder, without an extension.

    The suffixes that are added to it (``.judge``, ``.2``) never occur in a case's own name.
    """
    return PurePath(*names(suite, subject, case))


def names(suite: str, subject: str, case: str) -> tuple[str, str, str]:
    """Return the parts of ``place``: two folders and a name."""
    return slug(suite), slug(subject), _marked(case) if _ENDING.fullmatch(case) else slug(case)


def own_name(case: str, key: str) -> str:
    """Return the file name of a case that another test of its suite also plays."""
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{case}~{digest}"


def _marked(name: str) -> str:
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = _UNSAFE.sub("-", name)[:LONGEST].strip("-.")
    return f"{readable or 'unnamed'}~{digest}"
