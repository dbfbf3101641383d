"""Programs of solution files are given to players on other machines, and again if a player dies."""

import pytest

from pytest_crmeval.cluster.messages import ProgramJudged
from pytest_crmeval.controller.programs import ProgramQueue
from pytest_crmeval.controller.queue import LATER
from pytest_crmeval.ports.sandbox import SandboxError


def taken(queue: ProgramQueue, worker: str) -> tuple[int, bytes]:
    """Return the next program, which there is."""
    program = queue.next(worker)
    assert program is not LATER
    return program


def test_programs_are_given_out_in_order_and_judged_once() -> None:
    queue = ProgramQueue()
    file = queue.open(lambda _: None)
    first, second = queue.submit(file, b"one"), queue.submit(file, b"two")

    (one, content), (two, _) = taken(queue, "node1"), taken(queue, "node2")
    for number in (two, one, one):
        queue.judged(ProgramJudged(number, outcome=str(number).encode()))

    assert b"one" == content
    assert LATER is queue.next("node1")
    assert [one, two] == [int(each.result().outcome) for each in (first, second)]


def test_program_of_a_lost_node_is_given_to_another_one() -> None:
    """Not to the lost one, which may have asked for more before it died."""
    queue = ProgramQueue()
    queue.submit(queue.open(lambda _: None), b"one")
    taken(queue, "node1")

    queue.gone("node1", "node lost")

    assert LATER is queue.next("node1")
    assert b"one" == taken(queue, "node2")[1]


def test_program_that_two_nodes_are_lost_with_has_no_verdict() -> None:
    queue = ProgramQueue()
    outcome = queue.submit(queue.open(lambda _: None), b"one")
    for worker in ("node1", "node2"):
        taken(queue, worker)
        queue.gone(worker, "node lost")

    with pytest.raises(SandboxError, match="node lost"):
        outcome.result()


def test_programs_of_a_file_that_is_stopped_are_not_waited_for() -> None:
    queue = ProgramQueue()
    file = queue.open(lambda _: None)
    outcomes = [queue.submit(file, content) for content in (b"one", b"two")]
    taken(queue, "node1")

    queue.close(file)

    assert [True, True] == [isinstance(outcome.exception(), SandboxError) for outcome in outcomes]
    assert LATER is queue.next("node2")
