"""Workers as xdist starts them, less xdist: processes of their own that share the control of a run over its line."""

import json
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from pytest_crmeval.channel.line import LineError, LineToController
from pytest_crmeval.channel.remote import RemoteControl
from pytest_crmeval.models.control import Feedback
from tests.permits import permit_of

SPAWNED = multiprocessing.get_context("spawn")
MODEL, BOUND = "openai:m", 400
"""Whom all ask, and the tokens that a call may take."""
_HEADERS = {"content-type": "application/json", "authorization": "Bearer nobody"}
_BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello."}]})

Address = list[str | int]


@contextmanager
def worker(work: Callable[..., None], *arguments: object) -> Iterator[BaseProcess]:
    """Have a process work; it is gone at the end, whatever it did."""
    process = SPAWNED.Process(target=work, args=arguments)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def ask_on(line: Address, threads: int, server: tuple[str, int]) -> None:
    """Have threads ask the server again and again, until there are no more permits."""
    with connected(line) as control, ThreadPoolExecutor(max_workers=threads) as pool:
        for future in [pool.submit(_ask, control, server) for _ in range(threads)]:
            future.result()


def hold_on(line: Address, permits: int, taken: Event) -> None:
    """Take permits, say so, and never give them back."""
    with connected(line) as control:
        for _ in range(permits):
            permit_of(control, MODEL, BOUND)
        taken.set()
        threading.Event().wait()


@contextmanager
def connected(line: Address) -> Iterator[RemoteControl]:
    """Give the control at the other end of the line."""
    host, port, secret = line
    with closing(LineToController(str(host), int(port), str(secret))) as to_controller:
        yield RemoteControl(to_controller)


def _ask(control: RemoteControl, server: tuple[str, int]) -> None:
    with closing(HTTPConnection(*server)) as connection:
        while True:
            try:
                permit = permit_of(control, MODEL, BOUND)
            except LineError:
                return  # the run is over
            connection.request("POST", "/v1/chat/completions", _BODY, _HEADERS)
            tokens = json.loads(connection.getresponse().read())["usage"]["total_tokens"]
            control.release(permit, Feedback(ok=True, tokens=tokens))
