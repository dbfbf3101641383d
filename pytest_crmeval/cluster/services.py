"""The services of the run for a player on another machine: its own server, and the controller for everything else."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from pytest_crmeval.channel import ControllerGoneError, FileProgress, Quit, Refuse, WorkerChannel
from pytest_crmeval.player.context import Server, SetupError
from pytest_crmeval.player.remote import Playbooks, RemoteControl, RemoteServer

if TYPE_CHECKING:  # psycopg takes 0.3 s
    from pytest_crmeval.postgres.databases import RunDatabases
    from pytest_crmeval.postgres.embedded import EmbeddedServer


class NodeServices:
    """The shared services of a run, as a player on another machine has them."""

    sandbox_level = ""
    programs = None

    def __init__(self, run: str, channel: WorkerChannel, close: Callable[[], object]) -> None:
        self.channel = channel
        self.control = RemoteControl(channel)
        self.playbooks = Playbooks(channel)
        self.server: Server = RemoteServer(channel, run)
        self._run = run
        self._close = close
        self._embedded: EmbeddedServer | None = None

    def open_server(self, shared: str) -> None:
        """Start the PostgreSQL of this node, unless the one that all share is reachable; SetupError if that fails."""
        import psycopg

        from pytest_crmeval.postgres.databases import Address
        from pytest_crmeval.postgres.embedded import EmbeddedServer, ServerUnavailable, find_binaries

        try:
            if shared:
                Address(shared).connect().close()
                return
            self._embedded = EmbeddedServer(find_binaries())
            self._embedded.wait()
            self.server = NodeServer(self._embedded, self._run, self.leave)
        except (ServerUnavailable, psycopg.Error) as error:
            raise SetupError(str(error).strip().splitlines()[0]) from error

    def leave(self, why: str) -> None:
        """End this player: the controller gives its cases to others."""
        with suppress(ControllerGoneError):  # another slot has noticed it first
            self.channel.tell(Quit(why))
        self._close()

    def finishing(self) -> AbstractContextManager[None]:
        """Delay nothing: no test runs here."""
        return nullcontext()

    def refuse(self, why: str) -> None:
        """Make the controller end the run."""
        self.channel.tell(Refuse(why))

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Send the progress of a solution file to the controller."""
        self.channel.tell(FileProgress(key, judged, lines, solved))

    def close(self) -> None:
        """Stop the PostgreSQL of this node."""
        if self._embedded:
            self._embedded.stop()


class NodeServer:
    """The embedded PostgreSQL of one node."""

    def __init__(self, embedded: "EmbeddedServer", run: str, leave: Callable[[str], None]) -> None:
        self._embedded = embedded
        self._run = run
        self._leave = leave

    def databases(self) -> "RunDatabases":
        """Return the databases of the run on this server."""
        from pytest_crmeval.postgres.databases import Address, RunDatabases

        return RunDatabases(Address(self._embedded.conninfo, embedded=True), self._run)

    def wait_until_back(self) -> str:
        """Return empty if the server is running; if it has ended, it won't come back, and this player ends."""
        if not self._embedded.has_ended:
            return ""
        self._leave("the PostgreSQL of this node has ended")
        return "the PostgreSQL of the node has ended"
