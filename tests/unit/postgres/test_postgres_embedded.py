"""Which PostgreSQL is used on machines that have several, one, or none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crmeval.postgres import embedded
from pytest_crmeval.postgres.embedded import OLDEST, Binaries, ServerUnavailable, find_binaries

Install = Callable[[str, str], Binaries]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Return a function that installs a PostgreSQL which can only show its version."""

    def make(name: str, said: str) -> Binaries:
        folder = tmp_path / name / "bin"
        folder.mkdir(parents=True)
        for program in ("postgres", "initdb", "pg_ctl"):
            (folder / program).write_text(f"#!/bin/sh\n{said}\n", encoding="utf-8")
            (folder / program).chmod(0o755)
        return Binaries(folder, "system")

    return make


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that decides what is on this machine."""

    def has(*installed: Binaries, wheel: Binaries | None = None) -> None:
        monkeypatch.setattr(embedded, "_wheel", lambda: wheel)
        monkeypatch.setattr(embedded, "_installed", lambda: iter(installed))

    return has


def version(number: str) -> str:
    """Return a shell command that prints what ``postgres --version`` prints."""
    return f"echo 'postgres (PostgreSQL) {number}'"


@pytest.mark.parametrize(
    ("said", "parsed"),
    [
        (version("18.6"), (18, 6)),
        (version("14.20 (Debian 14.20-1.pgdg120+1)"), (14, 20)),
        (version("19beta2"), (19, 0)),
        (version("17"), (17, 0)),
        ("echo nonsense", (0,)),
        (f"{version('18.6')}; exit 1", (0,)),
        ("kill -9 $$", (0,)),
    ],
)
def test_version_is_that_of_the_program(install: Install, said: str, parsed: tuple[int, ...]) -> None:
    """A program that can't be run has none."""
    assert parsed == install("some", said).version


def test_missing_program_has_no_version(tmp_path: Path) -> None:
    assert (0,) == Binaries(tmp_path, "system").version


def test_terminal_shows_version_and_origin(install: Install) -> None:
    assert "PostgreSQL 18.6 (system)" == str(install("some", version("18.6")))


def test_newest_installed_version_is_used(install: Install, machine: Callable[..., None]) -> None:
    """18 is newer than 9, and 17.10 is newer than 17.9."""
    old, new, newest = (install(number, version(number)) for number in ("9.6", "17.9", "17.10"))
    machine(old, newest, new)

    assert newest == find_binaries()


@pytest.mark.parametrize(
    ("installed", "wheel", "used"),
    [
        ("18.1", "18.6", "installed"),
        ("19.0", "18.6", "installed"),
        ("17.10", "18.6", "wheel"),
        ("9.6", "18.6", "wheel"),
    ],
)
def test_wheel_is_used_if_it_is_newer(
    install: Install, machine: Callable[..., None], installed: str, wheel: str, used: str
) -> None:
    """The system's own is preferred if its major version is at least as new."""
    found = {"installed": install("installed", version(installed)), "wheel": install("wheel", version(wheel))}
    machine(found["installed"], wheel=found["wheel"])

    assert found[used] == find_binaries()


def test_wheel_is_used_if_there_is_nothing_else(install: Install, machine: Callable[..., None]) -> None:
    """The normal case on a fresh machine."""
    wheel = install("wheel", version("18.6"))
    machine(wheel=wheel)

    assert wheel == find_binaries()


def test_wheel_is_used_if_the_installed_version_is_broken(install: Install, machine: Callable[..., None]) -> None:
    """A removed package often leaves files behind."""
    broken, wheel = install("broken", "exit 127"), install("wheel", version("18.6"))
    machine(broken, wheel=wheel)

    assert wheel == find_binaries()


def test_wheel_that_cannot_be_run_is_not_used(install: Install, machine: Callable[..., None]) -> None:
    """It was built for another C library; the system's own is older, but runs."""
    installed, wheel = install("installed", version("15.3")), install("wheel", "exit 127")
    machine(installed, wheel=wheel)

    assert installed == find_binaries()


NOTHING_USABLE = (
    f"there is no usable PostgreSQL here: install one ({OLDEST} or newer), name its pg_ctl with --postgresql-exec, "
    "or set CRMEVAL_DSN to a server that you have"
)


def test_missing_postgresql_is_reported_with_what_to_do(machine: Callable[..., None]) -> None:
    """The error shows three ways out."""
    machine()

    with pytest.raises(ServerUnavailable) as caught:
        find_binaries()

    assert NOTHING_USABLE == str(caught.value)


@pytest.mark.parametrize("said", [version("13.22"), "exit 127"])
def test_old_or_broken_version_is_not_used(install: Install, machine: Callable[..., None], said: str) -> None:
    """Neither the system's nor the wheel's; this is checked before it fails to start."""
    machine(install("installed", said), wheel=install("wheel", said))

    with pytest.raises(ServerUnavailable) as caught:
        find_binaries()

    assert NOTHING_USABLE == str(caught.value)


def test_named_version_is_used(install: Install, machine: Callable[..., None]) -> None:
    """Even if there are newer ones."""
    named = install("named", version("14.1"))
    machine(install("installed", version("19.0")), wheel=install("wheel", version("18.6")))

    found = find_binaries(str(named.folder / "pg_ctl"))

    assert (named.folder, "--postgresql-exec") == (found.folder, found.origin)


def test_named_version_can_be_a_link(install: Install, tmp_path: Path) -> None:
    """The other programs are next to its target."""
    named = install("named", version("16.2"))
    link = tmp_path / "pg_ctl"
    link.symlink_to(named.folder / "pg_ctl")

    assert named.folder == find_binaries(str(link)).folder


@pytest.mark.parametrize("said", [version("13.22"), "exit 127"])
def test_named_version_must_be_usable(install: Install, machine: Callable[..., None], said: str) -> None:
    """No other version is used silently."""
    named = install("named", said)
    machine(wheel=install("wheel", version("18.6")))

    with pytest.raises(ServerUnavailable, match=f"no usable PostgreSQL in {named.folder}"):
        find_binaries(str(named.folder / "pg_ctl"))


def test_version_on_the_path_is_found(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is newer than any on this machine."""
    newest = install("newest", version("99.1"))
    monkeypatch.setenv("PATH", str(newest.folder), prepend=":")

    assert (newest.folder, (99, 1)) == (find_binaries().folder, find_binaries().version)


def test_client_without_a_server_is_ignored(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    client = install("client", version("99.1"))
    (client.folder / "initdb").unlink()
    monkeypatch.setenv("PATH", str(client.folder), prepend=":")

    assert client.folder not in [found.folder for found in embedded._installed()]  # noqa: SLF001 (what is on PATH)
