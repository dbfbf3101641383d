"""Players wait for an unreachable server, up to a limit."""

from threading import Thread

from pytest_crmeval.controller.outage import OutageWatch
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.shared_control import SharedControl

GIVEN_UP = "PostgreSQL was unreachable for 60 s (crmeval_server_wait)"


class Server:
    """A server that answers after a number of probes, each of which takes twenty seconds."""

    def __init__(self, after: int, *, ended: bool = False) -> None:
        self.probes = 0
        self.has_ended = ended
        self.shown: list[str] = []
        self.outage: OutageWatch | None = None
        self._after = after

    def answers(self) -> bool:
        """Count the probe, and record what is shown in the meantime."""
        self.probes += 1
        self.shown.append(str(self.outage))
        return self.probes > self._after

    def clock(self) -> float:
        """Return the time."""
        return 20.0 * self.probes


def outage_of(server: Server, control: SharedControl | None = None) -> OutageWatch:
    """Return the object that waits for the server."""
    server.outage = OutageWatch(server, control or SharedControl(), 60, server.clock)
    return server.outage


def test_player_continues_when_the_server_is_back() -> None:
    """The outage is shown while it lasts."""
    server = Server(after=3)
    outage = outage_of(server)

    assert "" == outage.wait()
    away = "waiting for PostgreSQL (unreachable for {} s, limit 60 s)"
    assert ["", *map(away.format, (20, 40, 60))] == server.shown
    assert "" == str(outage)


def test_server_that_stays_unreachable_stops_the_run_once() -> None:
    """Later players don't wait again."""
    server, control = Server(after=100), SharedControl()
    outage = outage_of(server, control)

    assert GIVEN_UP == outage.wait()
    probes = server.probes
    assert GIVEN_UP == outage.wait()
    assert probes == server.probes
    assert {EVERYBODY: GIVEN_UP} == control.stopped


def test_all_players_get_the_reason_if_the_server_does_not_come_back() -> None:
    """One of them probes."""
    outage, heard = outage_of(Server(after=100)), list[str]()
    players = [Thread(target=lambda: heard.append(outage.wait())) for _ in range(4)]
    for player in players:
        player.start()
    for player in players:
        player.join()

    assert 4 * [GIVEN_UP] == heard


def test_embedded_server_that_has_ended_is_not_waited_for() -> None:
    """It won't come back."""
    server = Server(after=100, ended=True)

    assert "the embedded PostgreSQL has stopped, so the databases of the run are lost" == outage_of(server).wait()
    assert 1 == server.probes


def test_players_stop_waiting_when_the_run_is_stopped() -> None:
    control = SharedControl()
    control.stop(EVERYBODY, "Ctrl-C")

    assert "Ctrl-C" == outage_of(Server(after=100), control).wait()
