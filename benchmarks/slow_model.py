"""A model server for benchmarks, which answers every call after the same time and uses little CPU.

It gives the right answers for the cases of ``inflight.py``: it creates the requested client and confirms it. ``/seen``
returns the calls that it has received.
"""

import asyncio
import json
import re
import sys
import time

ADD = re.compile(rb"Add ([\w ]+), (\S+), active\.")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Server:
    """Answers each call after a fixed time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._in_flight = 0
        self._seen: list[tuple[float, int]] = []
        """The time of each call and each answer, and how many calls were in flight from then on."""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one client."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                found = LENGTH.search(head)
                body = await reader.readexactly(int(found[1]) if found else 0)
                answer = self._told() if head.startswith(b"GET /seen") else await self._answer(body)
                writer.write(HEAD % len(answer) + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, body: bytes) -> bytes:
        self._count(1)
        await asyncio.sleep(self._seconds)
        self._count(-1)
        return reply(body)

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._seen.append((time.monotonic(), self._in_flight))

    def _told(self) -> bytes:
        seen, self._seen = self._seen, []
        return json.dumps(seen).encode()


def reply(body: bytes) -> bytes:
    """Return the reply: a call after a user's message, text after a result."""
    user, result = body.rfind(b'"role":"user"'), body.rfind(b'"role":"tool"')
    asked = ADD.search(body, user)
    name, email = (asked[1].decode(), asked[2].decode()) if asked else ("?", "?")
    if result > user or not asked:
        message: dict[str, object] = {"role": "assistant", "content": f"Done: {name} was created."}
    else:
        arguments = json.dumps({"name": name, "email": email, "status": "Active"})
        call = {"id": "c", "type": "function", "function": {"name": "create_new_client", "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    usage = {"prompt_tokens": 5000, "completion_tokens": 40, "total_tokens": 5040}
    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(answer).encode()


async def main(seconds: float) -> None:
    """Serve until the end of standard input."""
    server = await asyncio.start_server(Server(seconds).talk, "127.0.0.1", 0, limit=2**24, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
