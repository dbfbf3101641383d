"""Messages between a player and the controller arrive once and in order, also when calls are repeated."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from pytest_crmeval.channel import EndTrial, Objection, WorkerChannel
from pytest_crmeval.cluster.messages import NextCase
from pytest_crmeval.cluster.pipe import NodePipe, PlayerLostError, PlayerPipe
from tests.channels import Controller, controller


class Direct:
    """A player in this process; each call is made twice, as after a break of the network."""

    def __init__(self, pipe: NodePipe) -> None:
        self._pipe = pipe
        self.is_lost = False

    def call(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401 (of any method)
        """Call the pipe."""
        if self.is_lost:
            raise PlayerLostError("its node has ended")
        getattr(self._pipe, method)(*arguments)
        return getattr(self._pipe, method)(*arguments)


@contextmanager
def connected() -> Iterator[tuple[Controller, WorkerChannel, NodePipe, Direct, SimpleQueue[str]]]:
    """Have a controller with a connected player, and a queue with its name when it has ended."""
    pipe, ended = NodePipe(), SimpleQueue[str]()
    player = Direct(pipe)
    with controller() as run:
        run.connect(PlayerPipe(player, "node1", lambda: ended.put("node1")), "node1")
        yield run, WorkerChannel(pipe), pipe, player, ended
        pipe.close()


def test_each_message_is_handled_once_and_answered_in_order() -> None:
    with connected() as (run, channel, _, _, _):
        run.control.stop("a", "why")
        run.queue.open({"one": 1.0, "two": 1.0, "three": 1.0}, at_once=3)

        assert ["", "why"] == [channel.ask(Objection(agent)) for agent in ("b", "a")]
        assert [b"one", b"two", b"three"] == [channel.ask(NextCase()) for _ in range(3)]


def test_cases_of_a_player_that_leaves_are_played_by_another() -> None:
    with connected() as (run, channel, pipe, _, ended):
        run.queue.open({"one": 1.0}, at_once=1)
        assert b"one" == channel.ask(NextCase())

        pipe.close()

        assert "node1" == ended.get(timeout=60)
        assert "one" == run.loop.call(run.queue.next, "node2")


def test_cases_of_a_player_whose_node_died_are_played_by_another() -> None:
    with connected() as (run, channel, _, player, ended):
        run.queue.open({"one": 1.0}, at_once=1)
        assert b"one" == channel.ask(NextCase())

        player.is_lost = True
        channel.tell(EndTrial("none"))  # the call that waits for it is the last one

        assert "node1" == ended.get(timeout=60)
        assert "one" == run.loop.call(run.queue.next, "node2")
