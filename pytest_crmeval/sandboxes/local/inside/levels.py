"""The isolation of a fork server: as strong as requested, or an error with the reason."""

import os
import resource
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_crmeval.sandboxes.local.inside import cleaning, kernel, landlock, mounts
from pytest_crmeval.sandboxes.local.inside.calls import this_machine
from pytest_crmeval.sandboxes.local.inside.messages import (
    BINARY,
    COMPILER,
    LANDLOCK,
    NAMESPACES,
    PYTHON,
    RLIMITS,
    RUNTIME,
    SECCOMP,
)
from pytest_crmeval.sandboxes.local.inside.seccomp import Filter
from pytest_crmeval.sandboxes.local.inside.template import TEMPLATE

_NEW = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
FOLDERS = ("box", "tmp")
_FIRST_UID, _UIDS = 60_001, 5_000
_PROCESSES = 64
_LIST_BYTES = 1 << 16
_PINNED_BYTES = 4 << 20
"""What the template may pin; programs may pin nothing."""
_PROCESSES_OF_OTHERS = 1_024
"""Added to what a user has already, if its processes and those of a program are counted together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationRequest:
    """The requested isolation of a fork server."""

    level: str
    view: Sequence[str]
    """What programs may read of the machine."""
    parted: Sequence[str]
    """Folders that are not in it as a whole: only names may be read there."""
    library: str
    """Where the interpreter keeps its modules."""
    temporary: str
    packages: Sequence[str]
    """Folders that programs may import from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterFolders:
    """What the supervisor has made ready for its fork server."""

    folder: str
    """Where there is something to be removed in the end; nothing in namespaces, which end by themselves."""
    unused_id: int
    """The user id of the fork server, if it would be root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """The environment of an isolated fork server."""

    box: str
    """Where programs run."""
    folders: Sequence[str]
    """All folders that a program can write in: the box, the one for temporary files, and others."""
    filters: Mapping[str, Filter]
    alone: bool
    """Whether it has a pid namespace: all processes but fork server and template are the program's."""
    counted: bool
    """Whether what is written must be counted, because nothing else bounds it."""
    inodes_left: int | None = None
    """How many files there is room for while all folders are empty, if no other process can write there."""
    library: int | None = None
    """The library, held open: another user may not come to it by its path."""
    children: int | None = None
    """The list of its child processes, held open: /proc may be out of reach. Orphans of a program are among them."""

    def processes(self) -> set[int]:
        """Return the processes of the pid namespace, else the children of the fork server; empty if unknown."""
        if self.alone:  # /proc is empty where it could not be mounted
            return {int(name) for name in os.listdir("/proc") if name.isdecimal()}  # noqa: PTH208 (names)
        return set() if self.children is None else {*map(int, os.pread(self.children, _LIST_BYTES, 0).split())}


def leave(isolation_request: IsolationRequest) -> OuterFolders:
    """Do what the supervisor must do before the fork server is forked; the supervisor removes the folder in the end."""
    unused_id = _FIRST_UID + os.getpid() % _UIDS
    if isolation_request.level == NAMESPACES:
        _new_namespaces()
        return OuterFolders(folder="", unused_id=unused_id)
    import tempfile  # with much that no program needs

    folder = tempfile.mkdtemp(prefix="crmeval-cell-", dir=isolation_request.temporary)
    for name in FOLDERS:
        Path(folder, name).mkdir(mode=0o700)
    return OuterFolders(folder=folder, unused_id=unused_id)


def enter(isolation_request: IsolationRequest, outer: OuterFolders) -> Isolation:
    """Isolate this process, for good; OSError if it can't be."""
    kernel.set_dumpable(dumpable=False)
    # An unused user instead of root: limits on the number of processes do not bind root.
    uid, gid = (outer.unused_id, outer.unused_id) if os.getuid() == 0 else (os.getuid(), os.getgid())
    return (
        _enter_namespaces(isolation_request, uid, gid)
        if isolation_request.level == NAMESPACES
        else _enter_here(isolation_request, outer, uid, gid)
    )


def _new_namespaces() -> None:
    if os.getuid() == 0:
        kernel.unshare(_NEW)
        return
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(_NEW | kernel.CLONE_NEWUSER)
    _map_user("/proc/self", uid, gid)


def _map_user(process: str, uid: int, gid: int) -> None:
    """Map the user to the same id in the new namespace, and no other user."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(process, name).write_text(text, encoding="ascii")


def _enter_namespaces(isolation_request: IsolationRequest, uid: int, gid: int) -> Isolation:
    outside = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    folders = mounts.enter(mounts.MachineView(paths=isolation_request.view, uid=uid, gid=gid))
    kernel.set_host_name("sandbox")
    if os.getuid() == 0:
        _become(uid, gid)
        _own_user_namespace(outside, uid, gid)
    os.close(outside)
    _settle(_PROCESSES)
    return Isolation(
        box=mounts.BOX,
        folders=folders,
        filters=_filters_if_known(),
        alone=True,
        counted=False,
        inodes_left=cleaning.inodes_left(mounts.BOX),
    )


def _own_user_namespace(outside: int, uid: int, gid: int) -> None:
    """Drop the rights of root; without user namespaces, they are already dropped."""
    try:
        kernel.unshare(kernel.CLONE_NEWUSER)
    except OSError:
        return
    kernel.set_dumpable(dumpable=True)
    os.fchdir(outside)
    _map_user(".", uid, gid)
    os.chdir("/")


def _filters_if_known() -> Mapping[str, Filter]:
    """Return the filters, or none on a processor without tables: namespaces hold without them."""
    try:
        return _filters(reads_only=False)
    except OSError:
        return {}


def _filters(*, reads_only: bool) -> Mapping[str, Filter]:
    machine = this_machine()
    template = Filter(machine=machine, compiles=True, any_pid=True)
    return {
        TEMPLATE: template,
        PYTHON: Filter(machine=machine, reads_only=reads_only, inherited=template),
        BINARY: Filter(machine=machine, executes=True, reads_only=reads_only, inherited=template),
        RUNTIME: Filter(machine=machine, executes=True, reads_only=reads_only, inherited=template),
        COMPILER: Filter(machine=machine, compiles=True, inherited=template),
    }


def _enter_here(isolation_request: IsolationRequest, outer: OuterFolders, uid: int, gid: int) -> Isolation:
    """Stay in the namespaces of the machine, with less in reach."""
    folders = [f"{outer.folder}/{name}" for name in FOLDERS]
    filters = {} if isolation_request.level == RLIMITS else _filters(reads_only=isolation_request.level == SECCOMP)
    # Both while root can still come to them.
    library = os.open(isolation_request.library, os.O_PATH | os.O_DIRECTORY)
    rules = (
        landlock.rules(isolation_request.view, isolation_request.parted, folders, mounts.DEVICES)
        if isolation_request.level == LANDLOCK
        else None
    )
    children = _own_children()
    processes = _PROCESSES
    if os.getuid() == 0:
        for folder in (outer.folder, *folders):
            os.chown(folder, uid, gid)
        _become(uid, gid)
    else:
        processes = _processes_of(uid) + _PROCESSES_OF_OTHERS
    _settle(processes)
    if rules is not None:
        landlock.restrict_self(rules)
    return Isolation(
        box=folders[0],
        folders=folders,
        filters=filters,
        alone=False,
        counted=True,
        library=library,
        children=children,
    )


def _own_children() -> int | None:
    """Open the list of the children of this process; None on a kernel that was built without it."""
    try:
        return os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _processes_of(uid: int) -> int:
    """Return how many processes a user has; those that end meanwhile don't count."""
    count = 0
    for entry in os.scandir("/proc"):
        with suppress(FileNotFoundError, ProcessLookupError):
            count += entry.name.isdecimal() and entry.stat().st_uid == uid
    return count


def _settle(processes: int) -> None:
    """Give up what is left of rights, and set the limits that are the same for all programs."""
    kernel.drop_capabilities()
    kernel.gain_nothing()
    kernel.set_dumpable(dumpable=False)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_MEMLOCK, _PINNED_BYTES),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (allowed, allowed))
