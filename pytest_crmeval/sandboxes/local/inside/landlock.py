"""Which files a process may open: Landlock, which any user may ask for since Linux 5.13."""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from pytest_crmeval.sandboxes.local.inside import kernel

_NR_CREATE_RULESET, _NR_ADD_RULE, _NR_RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FILE, _MAKE_REG, _TRUNCATE = 1 << 5, 1 << 8, 1 << 14
_FILES_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_KNOWN_BITS = ((1, 13), (2, 14), (3, 15), (5, 16))
"""Since which version how many rights over files are known."""
_NETWORK_SINCE, _NETWORK = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11
"""No abstract sockets and no signals to processes outside."""

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_CHANGE = _READ_FILE | _READ_DIR | _WRITE_FILE | _REMOVE_FILE | _MAKE_REG | _TRUNCATE
"""Plain files, in one flat folder: what is in it can be counted while a program runs, and removed after it."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def rules(readable: Iterable[str], listed: Iterable[str], changeable: Iterable[str], devices: Iterable[str]) -> int:
    """Return, as a descriptor, that these may be reached and nothing else; OSError where the kernel can't."""
    version = kernel.syscall(_NR_CREATE_RULESET, 0, 0, _CREATE_RULESET_VERSION)
    known = (1 << max(bits for since, bits in _KNOWN_BITS if since <= version)) - 1
    ruleset = _create(version, known)
    # What a link leads to is in the list itself, or none of a program's business.
    shown = [path for path in readable if not Path(path).is_symlink()]
    for paths, rights in (
        (shown, _READ),
        (listed, _READ_DIR),
        (changeable, _CHANGE),
        (devices, _READ_FILE | _WRITE_FILE),
    ):
        for path in paths:
            _allow(ruleset, path, rights & known)
    return ruleset


def restrict_self(ruleset: int) -> None:
    """Let the rules hold for this process and its children, for good."""
    kernel.syscall(_NR_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _create(version: int, known: int) -> int:
    wanted = _Ruleset(
        files=known,
        network=_NETWORK if version >= _NETWORK_SINCE else 0,
        scopes=_SCOPES if version >= _SCOPES_SINCE else 0,
    )
    size = 8 * (1 + (version >= _NETWORK_SINCE) + (version >= _SCOPES_SINCE))
    return kernel.syscall(_NR_CREATE_RULESET, ctypes.byref(wanted), size, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _FILES_ONLY
        rule = _PathBeneath(allowed=rights, parent=parent)
        kernel.syscall(_NR_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)
