"""Bulk changes that fail in part, because another user is editing one of the records."""

from pytest_crmeval.conversations.generator.hard.request import Block, Request, modify
from pytest_crmeval.conversations.generator.hard.scene import Scene


def locked_client(scene: Scene) -> list[Block]:
    """Hand three clients over, one of which is locked."""
    new, editor = scene.owner(), scene.owner()
    clients = [scene.client() for _ in range(3)]
    said = [client["name"] for client in scene.chance.shuffled(clients)]
    request = Request(
        phrase="hard_hand_over_three",
        slots={"one": said[0], "two": said[1], "three": said[2], "owner": new},
        calls=[modify(client, owner=new) for client in clients],
        error="is editing it",
        trouble=[{"kind": "lock", "record": clients[0].ref, "by": editor}],
        skills=frozenset({"trouble", "lock"}),
    )
    return [[request]]
