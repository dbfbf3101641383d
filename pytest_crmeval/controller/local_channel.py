"""The channel to the controller within its own process."""

from concurrent.futures import Future
from typing import Any

from pytest_crmeval.channel import ChannelMessage, ControllerGoneError, Reply
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler, Sender


class LocalChannel:
    """The channel to the controller within its own process, if there are no workers."""

    worker = "main"

    def __init__(self, loop: ControllerLoop, handler: MessageHandler) -> None:
        self._loop = loop
        self._handler = handler

    def ask(self, message: ChannelMessage[Reply]) -> Reply:
        """Post a message and wait for the answer."""
        reply = Future[Reply]()

        def answer(value: Any, error: str) -> None:  # noqa: ANN401 (a reply)
            reply.set_exception(ControllerGoneError(error)) if error else reply.set_result(value)

        self._loop.post(self._handler.received, message, Sender(self.worker, answer))
        return reply.result()

    def tell(self, message: ChannelMessage[Any]) -> None:
        """Post a message."""
        self._loop.post(self._handler.received, message, Sender(self.worker, lambda _value, _error: None))
