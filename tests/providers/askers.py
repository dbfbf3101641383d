"""What workers do that share the control of a run: each is a process with a channel to the controller."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection

from pytest_crmeval.channel import ControllerGoneError, ExecnetChannel, Finished, WorkerChannel
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.player.remote import RemoteControl
from tests.permits import permit_of

MODEL, BOUND = "openai:m", 400
"""The model that all ask, and the tokens that a call may take."""
TAKEN = b"all taken"
_HEADERS = {"content-type": "application/json", "authorization": "Bearer nobody"}
_BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello."}]})


def ask_on(channel: ExecnetChannel, threads: int, server: tuple[str, int]) -> None:
    """Have threads ask the server again and again, until there are no more permits."""
    control = RemoteControl(WorkerChannel(channel))
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for future in [pool.submit(_ask, control, server) for _ in range(threads)]:
            future.result()


def hold_on(channel: ExecnetChannel, permits: int) -> None:
    """Take permits, report that as an outcome, and never give them back."""
    ours = WorkerChannel(channel)
    for _ in range(permits):
        permit_of(RemoteControl(ours), MODEL, BOUND)
    ours.tell(Finished("held", (TAKEN, b""), in_item=True))
    threading.Event().wait()


def _ask(control: RemoteControl, server: tuple[str, int]) -> None:
    with closing(HTTPConnection(*server)) as connection:
        while True:
            try:
                permit = permit_of(control, MODEL, BOUND)
            except ControllerGoneError:
                return  # the run is over
            connection.request("POST", "/v1/chat/completions", _BODY, _HEADERS)
            tokens = json.loads(connection.getresponse().read())["usage"]["total_tokens"]
            control.release(permit, Feedback(ok=True, tokens=tokens))
