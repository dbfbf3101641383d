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
    """Return ``name`` as a file name on every system: itself if it can be, else what can be read of it and a digest.

    Two names have two slugs, also where upper and lower case are the same: the sign before a digest is in no name that
    is left alone.
    """
    if _SAFE.fullmatch(name) and len(name) <= LONGEST and not _RESERVED.fullmatch(name):
        return name
    return _marked(name)


def place(suite: str, subject: str, case: str) -> PurePath:
    """Return where a case of a subject is kept in a folder, without an ending.

    What comes after the case's name (``.judge``, ``.2``) is in no case's own name.
    """
    return PurePath(*names(suite, subject, case))


def names(suite: str, subject: str, case: str) -> tuple[str, str, str]:
    """Return the folders and the name that make up ``place``."""
    return slug(suite), slug(subject), _marked(case) if _ENDING.fullmatch(case) else slug(case)


def own_name(case: str, key: str) -> str:
    """Return what the files of a case are called where another test of its suite plays it, too."""
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{case}~{digest}"


def _marked(name: str) -> str:
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = _UNSAFE.sub("-", name)[:LONGEST].strip("-.")
    return f"{readable or 'unnamed'}~{digest}"
