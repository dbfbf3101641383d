"""Which PostgreSQL a run uses, and the error if there is none."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pytest_crmeval.postgres import embedded
from pytest_crmeval.postgres.databases import Address, RunDatabases
from pytest_crmeval.postgres.embedded import EmbeddedServer, ServerUnavailable, copies_of, find_binaries
from tests.postgres.processes import eventually
from tests.projects import case, report_of

Project = Callable[..., pytest.Pytester]


@pytest.fixture(autouse=True)
def _nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Return a server that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


@pytest.fixture
def silent_port(silent: socket.socket) -> int:
    """Return its port."""
    port: int = silent.getsockname()[1]
    return port


def test_low_limit_of_open_files_is_reported(project: Project) -> None:
    """It is not reported as a missing PostgreSQL."""
    pytester = project([case("one")])
    command = 'ulimit -n 24; exec "$@"'
    result = pytester.run("bash", "-c", command, "bash", sys.executable, "-m", "pytest")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    said = f"{result.stdout}{result.stderr}"
    assert "crmeval: too many open files: the limit is 24 (ulimit -n)" in said
    assert "no usable PostgreSQL" not in said


def test_embedded_server_is_the_default(project: Project) -> None:
    """The header names it and its origin."""
    result = project([case("one")]).runpytest("-n", "1")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["crmeval server: embedded PostgreSQL 1*.* (*)"])


@pytest.mark.parametrize("dsn", ["host=127.0.0.1 port={}", "postgresql://me:secret@127.0.0.1:{}/crm"])
def test_server_that_never_answers_is_abandoned(project: Project, silent_port: int, dsn: str) -> None:
    """With a one-line error."""
    pytester = project()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRMEVAL_DSN", dsn.format(silent_port))
        result = pytester.runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    (line,) = [line for line in result.stderr.lines if line.startswith("ERROR")]
    assert f"ERROR: crmeval: PostgreSQL at 127.0.0.1:{silent_port} can't be reached: " in line
    assert "secret" not in result.stdout.str() + result.stderr.str()
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize(
    ("dsn", "answer"),
    [
        ("host=127.0.0.1 port=1", "PostgreSQL at 127.0.0.1:1 can't be reached: "),
        ("groceries", "PostgreSQL at an invalid address can't be reached: write postgresql://"),
        ("postgres//me:secret@127.0.0.1", "PostgreSQL at an invalid address can't be reached: write"),
        ("host=/nowhere", "PostgreSQL at /nowhere:5432 can't be reached: "),
    ],
)
def test_unreachable_server_is_an_error(
    project: Project, monkeypatch: pytest.MonkeyPatch, dsn: str, answer: str
) -> None:
    """No other server is used instead."""
    monkeypatch.setenv("CRMEVAL_DSN", dsn)

    result = project().runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert f"ERROR: crmeval: {answer}" in result.stderr.str()
    assert "secret" not in result.stderr.str()


def test_role_without_the_right_to_create_databases_is_refused(
    project: Project, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS intern")
        connection.execute("CREATE ROLE intern LOGIN")
    monkeypatch.setenv("CRMEVAL_DSN", make_conninfo(server, user="intern"))

    result = project().runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert (
        "the role 'intern' can't create databases; a superuser can allow it: ALTER ROLE intern CREATEDB"
        in result.stderr.str()
    )


def test_role_that_can_only_create_databases_is_sufficient(
    project: Project, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a conninfo need not name a database."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS maker")
        connection.execute("CREATE ROLE maker LOGIN CREATEDB")
    parts = conninfo_to_dict(server)
    monkeypatch.setenv("CRMEVAL_DSN", f"postgresql://maker@/?host={parts['host']}&port={parts['port']}")

    project().runpytest("-n", "1").assert_outcomes(passed=3)


def test_options_of_pytest_postgresql_name_a_server(project: Project, server: str) -> None:
    """Host, port and user."""
    parts = conninfo_to_dict(server)
    pytester = project(plugin="postgresql")

    pytester.runpytest(
        *(f"--postgresql-host={parts['host']}", f"--postgresql-port={parts['port']}", "--postgresql-user=postgres"),
    ).assert_outcomes(passed=3)

    assert (
        f"PostgreSQL at {parts['host']}:{parts['port']} (external)"
        == report_of(pytester.path)["run"]["parts"][0]["server"]
    )


def test_ini_setting_of_pytest_postgresql_selects_the_server(project: Project, server: str) -> None:
    """``postgresql_port`` selects it; the host is another setting."""
    host = conninfo_to_dict(server)["host"]
    pytester = project(plugin="postgresql", ini=f"postgresql_host = {host}\npostgresql_port = 5432\n")

    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=3)

    assert f"PostgreSQL at {host}:5432 (external)" == report_of(pytester.path)["run"]["parts"][0]["server"]


def test_executable_can_be_named(project: Project, tmp_path: Path) -> None:
    """An invalid one is an error, and no other is used."""
    pytester = project(plugin="postgresql")
    good = find_binaries().folder / "pg_ctl"

    pytester.runpytest(f"--postgresql-exec={good}").assert_outcomes(passed=3)
    result = pytester.runpytest(f"--postgresql-exec={tmp_path}/pg_ctl")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert f"no usable PostgreSQL in {tmp_path}" in result.stderr.str()


def test_database_of_another_user_is_never_dropped(
    project: Project, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers = {"crmeval_production", "crmeval_results_2025", "crmeval_x_main"}
    with psycopg.connect(server, autocommit=True) as connection:
        for name in strangers:
            connection.execute(f"CREATE DATABASE {name}".encode())
    monkeypatch.setenv("CRMEVAL_DSN", make_conninfo(server, dbname="crmeval_production"))

    project([case("one")]).runpytest().assert_outcomes(passed=1)

    with psycopg.connect(server, autocommit=True) as connection:
        names = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
        assert strangers <= names
        for name in strangers:
            connection.execute(f"DROP DATABASE {name}".encode())


ELSEWHERE = {
    "PGSERVICE": "nowhere",
    "PGHOSTADDR": "127.0.0.1",
    "PGOPTIONS": "-c search_path=nowhere",
    "PGTARGETSESSIONATTRS": "standby",
    "PGDATABASE": "nowhere",
    "PGUSER": "stranger",
}


def test_embedded_server_ignores_the_environment_of_the_user(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each PG* variable names another server; they are unchanged afterwards."""
    for name, value in ELSEWHERE.items():
        monkeypatch.setenv(name, value)

    project([case("one")]).runpytest("-n", "1").assert_outcomes(passed=1)

    assert ELSEWHERE == {name: os.environ[name] for name in ELSEWHERE}


@pytest.mark.parametrize("folder", ["a blank, ü", "long" * 20])
def test_embedded_server_works_with_an_unusual_tmpdir(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    """The path of a socket must be short and plain; if there is no room in memory, another place is used."""
    (tmp_path / folder).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / folder))
    monkeypatch.setattr(embedded, "_suits", lambda place: str(place) != "/dev/shm" and real_suits(place))  # noqa: S108
    server = EmbeddedServer(find_binaries())
    try:
        server.wait()
        with psycopg.connect(server.conninfo) as connection:
            assert (1,) == connection.execute("SELECT 1").fetchone()
    finally:
        server.stop()


real_suits = embedded._suits  # noqa: SLF001 (to leave out one place)


def test_server_is_stopped_although_a_forked_child_holds_its_pipe() -> None:
    """A test, or multiprocessing, may fork; the child survives."""
    server = EmbeddedServer(find_binaries())
    server.wait()
    child = os.fork()
    if child == 0:
        os.execv(shutil.which("sleep") or "/bin/sleep", ["sleep", "30"])  # noqa: S606 (inherits what may be inherited)
    try:
        server.stop()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    assert not Path(str(conninfo_to_dict(server.conninfo)["host"])).exists()


def test_undecodable_address_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are not UTF-8 come from the environment as half surrogates."""
    monkeypatch.setenv("CRMEVAL_DSN", "host=/tmp/\udcff user=a")

    result = project().runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "ERROR: crmeval: PostgreSQL at an invalid address can't be reached" in result.stderr.str()


def test_database_of_another_user_is_not_dropped_because_of_its_name(server: str) -> None:
    """A run that would need its name is refused."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE crmeval_stranger_main")
    run = RunDatabases(Address(server), "stranger")
    alive = run.open()
    try:
        with pytest.raises(psycopg.errors.DuplicateDatabase):
            run.create("main")
    finally:
        run.close(alive)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE crmeval_stranger_main")
        left = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'crmeval_stranger%'").fetchall()
    assert [] == left


def test_incomplete_database_of_a_killed_run_is_dropped(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute('CREATE DATABASE "crmeval_half_new-0123abcd" IS_TEMPLATE true')
    run = RunDatabases(Address(server), "half")

    run.close(run.open())

    with psycopg.connect(server) as connection:
        left = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'crmeval_half%'").fetchall()
    assert [] == left


def test_environment_is_complete_while_the_server_starts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other modules are collected at the same time, and may read it."""
    monkeypatch.setenv("PGHOST", "db.example")
    pytester = project([case("one")])
    pytester.makepyfile(
        test_later="""
        import os, time

        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            assert dict(os.environ)["PGHOST"] == "db.example"
            time.sleep(0.001)

        def test_nothing(): pass
        """
    )

    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=2)


def test_many_silent_hosts_take_no_longer_than_one(silent: socket.socket, silent_port: int) -> None:
    """The time limit is for the server, not for each of its addresses: the last address is never tried."""
    hosts = make_conninfo(host=",".join(["127.0.0.1"] * 4), port=",".join([str(silent_port)] * 4))

    with pytest.raises(ServerUnavailable, match="can't be reached: no answer within 3 s"):
        RunDatabases(Address(hosts), "silent").open()

    assert 1 <= connections_waiting(silent) < 4


def connections_waiting(listener: socket.socket) -> int:
    """Return the number of connections that wait to be accepted."""
    listener.setblocking(False)  # noqa: FBT003 (the only argument)
    accepted: list[socket.socket] = []
    try:
        while True:
            accepted.append(listener.accept()[0])
    except BlockingIOError:
        return len(accepted)
    finally:
        # Only now: when a connection closes, a client that still waits for an answer tries its next address.
        for connection in accepted:
            connection.close()


def test_ascii_locale_is_refused(server: str) -> None:
    """Searches that ignore case would find less than elsewhere."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS plain")
        connection.execute("CREATE DATABASE plain TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")

    with pytest.raises(ServerUnavailable, match="its locale only supports ASCII letters"):
        RunDatabases(Address(make_conninfo(server, dbname="plain")), "plain").open()


def test_server_that_is_older_than_supported_is_refused(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_crmeval.postgres.databases.OLDEST", 99)

    with pytest.raises(ServerUnavailable, match=r"PostgreSQL at .* is PostgreSQL \d\d; 99 or newer is needed"):
        RunDatabases(Address(server), "old").open()


def test_silent_host_is_noticed_within_a_minute(server: str) -> None:
    """By TCP settings, which the address may override."""
    with Address(make_conninfo(server, keepalives_idle=7)).connect() as connection:
        found = connection.info.get_parameters()

    asked = {name: found[name] for name in ("keepalives_idle", "keepalives_interval", "tcp_user_timeout")}
    assert {"keepalives_idle": "7", "keepalives_interval": "10", "tcp_user_timeout": "60000"} == asked


def test_two_runs_cannot_have_the_same_name(server: str) -> None:
    """The second one is refused while the first is running."""
    first = RunDatabases(Address(server), "twice")
    alive = first.open()
    try:
        with pytest.raises(ServerUnavailable, match="run 'twice' is already using it"):
            RunDatabases(Address(server), "twice").open()
    finally:
        first.close(alive)


def test_each_worker_has_tables_of_its_own(server: str) -> None:
    run = RunDatabases(Address(server), "tables")
    alive = run.open()
    try:
        with run.create("gw0").connect() as first, run.create("gw1").connect() as second:
            first.execute("INSERT INTO clients (name, status) VALUES ('Ada', 'Active')")

            assert (0,) == second.execute("SELECT count(*) FROM clients").fetchone()
    finally:
        run.close(alive)


def copied(folder: Path, place: Path) -> Path:
    """Copy an installation."""
    copies, there = copies_of(folder, place)
    for source, target in copies:
        shutil.copytree(source, target, symlinks=True)
    return there


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
class TestAsRoot:
    """PostgreSQL refuses to run as root."""

    @pytest.mark.skipif(not embedded._can_unshare(), reason="no user namespaces here")  # noqa: SLF001 (the probe itself)
    def test_server_runs_as_root_with_a_user_namespace(self) -> None:
        """The files still belong to root."""
        self.check(0)

    def test_without_a_user_namespace_the_server_runs_as_user_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also if its binaries are in a private folder."""
        monkeypatch.setattr(embedded, "_can_unshare", lambda: False)

        self.check(pwd.getpwnam("nobody").pw_uid)

    def test_binaries_in_a_private_folder_are_copied(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Only root can execute a ``.venv`` in root's home."""
        monkeypatch.setattr(embedded, "_can_unshare", lambda: False)
        private = tmp_path / "private"
        folder = copied(find_binaries().folder, private)
        private.chmod(0o700)

        self.check(pwd.getpwnam("nobody").pw_uid, folder / "pg_ctl")

    def check(self, owner: int, executable: Path | None = None) -> None:
        """Start the server, inspect it, stop it."""
        server = EmbeddedServer(find_binaries(str(executable) if executable else None))
        home = Path(str(conninfo_to_dict(server.conninfo)["host"]))
        try:
            server.wait()
            with psycopg.connect(server.conninfo) as connection:
                assert ("off",) == connection.execute("SHOW fsync").fetchone()
            assert owner == (home / "data").stat().st_uid
        finally:
            server.stop()
        eventually(lambda: not home.exists(), "its folder is gone")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is what everybody else is already")
def test_server_runs_as_an_ordinary_user() -> None:
    nobody = pwd.getpwnam("nobody")
    place = Path("/tmp") / f"crmeval-test-{os.getpid()}"  # noqa: S108 (must be searchable by others: tmp_path is not)
    folder = copied(find_binaries().folder, place)
    shutil.copytree(Path(embedded.__file__).parents[1], place / "pytest_crmeval")
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1]);"
        "from pytest_crmeval.postgres.embedded import Binaries, EmbeddedServer; from pathlib import Path;"
        "server = EmbeddedServer(Binaries(Path(sys.argv[2]), 'copy'));"
        "server.wait(); print(os.geteuid()); server.stop()"
    )
    try:
        result = subprocess.run(
            [shutil.which("python3", path="/usr/bin") or sys.executable, "-I", "-S", "-c", program, place, folder],
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(place)

    assert (0, f"{nobody.pw_uid}\n") == (result.returncode, result.stdout), result.stderr


def test_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the end of its own log; its folder is removed."""
    monkeypatch.setitem(embedded._FAST, "max_wal_size", "enormous")  # noqa: SLF001 (to break it)

    server = EmbeddedServer(find_binaries())

    with pytest.raises(ServerUnavailable, match="did not start: the server ended with status 1") as caught:
        server.wait()
    assert 'invalid value for parameter "max_wal_size": "enormous"' in str(caught.value)
    assert not Path(str(conninfo_to_dict(server.conninfo)["host"])).exists()
