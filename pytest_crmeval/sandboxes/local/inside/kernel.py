"""The few calls of Linux that Python has no function for."""

import ctypes
import os

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000
MNT_DETACH = 0x2

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES = 64
_CAPABILITY_VERSION_3 = 0x2008_0522
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
# The same number on every architecture, as all calls since 5.1.
_NR_MOUNT_SETATTR = 442

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    )


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount ``source`` on ``target``."""
    encoded = (os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags))
    _checked(_libc.mount(*encoded, options.encode() or None), f"mount {target}")


def restrict_mount(target: str, flags: int, *, recursive: bool = True) -> None:
    """Take rights away from a mount and, by default, from all that is mounted below it."""
    attributes = _MountAttributes(set=flags)
    depth = _AT_RECURSIVE if recursive else 0
    syscall(_NR_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), depth, ctypes.byref(attributes), 32)


def unmount(target: str) -> None:
    """Remove a mount, now or as soon as it is no longer used."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_into(folder: str) -> None:
    """Make ``folder`` the root, and let nothing remain of the old one."""
    os.chdir(folder)
    _checked(_libc.pivot_root(b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def set_host_name(name: str) -> None:
    """Name this machine, in its namespace."""
    _checked(_libc.sethostname(name.encode(), len(name)), "sethostname")


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_dumpable(*, dumpable: bool) -> None:
    """Say whether processes of the same user may look into this one."""
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def gain_nothing() -> None:
    """Let no later ``exec`` give this process or its children any right."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Drop all capabilities of root, or of the first process of a user namespace."""
    for number in range(_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # beyond the last one, or without the right: nothing to drop
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "capset")


def syscall(number: int, *arguments: object) -> int:
    """Make any call, by its number."""
    return _checked(int(_libc.syscall(ctypes.c_long(number), *map(_word, arguments))), f"syscall {number}")


def _word(argument: object) -> object:
    """Return an argument as wide as a register: an int alone would be passed as half of one."""
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) < 0:
        _checked(-1, f"prctl {option}")


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
