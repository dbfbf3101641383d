"""What programs are shown of this machine, and which interpreter runs them."""

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_crmeval.sandboxes.local.toolchains import homes

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives")
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
"""All that programs see; numpy takes minutes to give up threads that its memory limit forbids."""

_NEEDED = ("/usr/bin", "/usr/include", "/usr/lib", "/usr/libexec", str(Path(os.__file__).parent))
"""What is shown even if the project is in it."""


def interpreter() -> str:
    """Return the real interpreter: no shim, no link of a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def isolation_request(level: str, packages: Sequence[str], hidden: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return what a fork server is asked to be; nothing in ``hidden`` is shown, though it may lie among what is."""
    whole = _topmost([*SYSTEM, *_libraries(), *packages, *homes()])
    view = _without(hidden, whole, [*_NEEDED, *packages])
    return {
        "level": level,
        "view": view,
        "parted": [path for path in whole if path not in view],
        "library": os.path.realpath(sys.base_prefix),
        "packages": list(packages),
        "temporary": tempfile.gettempdir(),
    }


def _libraries() -> Iterable[str]:
    """Where the interpreter and its modules are, by every name that it may have for them."""
    for prefix in (sys.base_prefix, sys.base_exec_prefix):
        yield prefix
        yield os.path.realpath(prefix)


def _topmost(paths: Iterable[str]) -> Sequence[str]:
    """Return the paths that exist and are in none of the others."""
    there = sorted({path for path in paths if Path(path).exists()}, key=len)
    return [path for path in there if not any(_inside(path, other) for other in there)]


def _without(hidden: Iterable[str], paths: Sequence[str], needed: Sequence[str]) -> Sequence[str]:
    """Return the same paths in parts, if something in them is to be hidden: a project in /usr/src, for one."""
    parts = paths
    for one in map(os.path.realpath, hidden):
        if not any(one == path or _inside(path, one) for path in (*paths, *needed)):
            parts = [part for path in parts for part in _beside(one, path)]
    return parts


def _beside(hidden: str, path: str) -> Iterable[str]:
    """Return all that is in ``path``, and not in ``hidden``."""
    if path == hidden:
        return
    if Path(path).is_symlink() or not _inside(hidden, path):
        yield path
        return
    for part in sorted(map(str, Path(path).iterdir())):
        yield from _beside(hidden, part)


def _inside(path: str, other: str) -> bool:
    return path != other and Path(path).is_relative_to(other)
