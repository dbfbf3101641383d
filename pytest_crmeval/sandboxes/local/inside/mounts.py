"""A root of our own: the system read-only, a little room to write in, and nothing else of the machine."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crmeval.sandboxes.local.inside import kernel

BOX, SHARED_MEMORY = "/box", "/dev/shm"  # noqa: S108 (a private one, of the sandbox)
_TEMPORARY = ("/tmp", "/temporary")  # noqa: S108 (the same)
"""The second one is for machines whose interpreter is below /tmp: programs must see it there."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_LINKS = {
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
    "dev/fd": "/proc/self/fd",
}
_PLACES = ("/mnt", "/media", "/srv", "/opt", "/tmp", "/var")  # noqa: S108 (only to mount something over it)
_ROOM = "size=256m,nr_inodes=8192,mode=755"
_PRIVATE = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """What is shown of the machine, and whose the room to write in is."""

    paths: Sequence[str]
    uid: int
    gid: int


def enter(view: MachineView) -> Sequence[str]:
    """Make the view the root of this process, and return the folders that can be written.

    The process needs a mount namespace and the rights in it.
    """
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    base = _place(view.paths)
    kernel.mount("tmpfs", base, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,nr_inodes=4096,mode=755")
    for path in view.paths:
        _show(path, base)
    _make_devices(base)
    temporary = next(place for place in _TEMPORARY if not any(Path(path).is_relative_to(place) for path in view.paths))
    folders = (BOX, temporary, SHARED_MEMORY)
    _make_room(base, folders, view)
    _mount_processes(base)
    kernel.restrict_mount(base, kernel.MS_RDONLY, recursive=False)
    kernel.pivot_into(base)
    return folders


def _place(paths: Sequence[str]) -> str:
    """Return a folder to build the new root on that hides nothing which is to be shown."""
    for place in _PLACES:
        if Path(place).is_dir() and not any(Path(path).is_relative_to(place) for path in paths):
            return place
    raise OSError(f"none of {', '.join(_PLACES)} is there to build a root on")


def _show(path: str, base: str) -> None:
    target = Path(base + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if Path(path).is_symlink():
        target.symlink_to(Path(path).readlink())
        return
    _bind(path, target)
    kernel.restrict_mount(str(target), kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV)


def _bind(path: str, target: Path) -> None:
    if stat.S_ISDIR(Path(path).stat().st_mode):
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    kernel.mount(path, str(target), "", kernel.MS_BIND | kernel.MS_REC)


def _make_devices(base: str) -> None:
    Path(base, "dev").mkdir()
    for device in DEVICES:
        _bind(device, Path(base + device))
        kernel.restrict_mount(base + device, kernel.MS_NOSUID | kernel.MS_NOEXEC)
    for name, target in _LINKS.items():
        Path(base, name).symlink_to(target)


def _make_room(base: str, places: Sequence[str], view: MachineView) -> None:
    """One bounded file system for all that can be written."""
    room = Path(base, "room")
    room.mkdir()
    kernel.mount("tmpfs", str(room), "tmpfs", _PRIVATE, _ROOM)
    for place in places:
        folder = room / Path(place).name
        folder.mkdir(mode=0o700)
        os.chown(folder, view.uid, view.gid)
        _bind(str(folder), Path(base + place))
    kernel.unmount(str(room))
    room.rmdir()


def _mount_processes(base: str) -> None:
    """Show the processes of this namespace, for /dev/stdin; a container that masks its own /proc forbids it."""
    target = Path(base, "proc")
    target.mkdir()
    try:
        kernel.mount("proc", str(target), "proc", _PRIVATE | kernel.MS_RDONLY, "subset=pid")
    except PermissionError:
        return
