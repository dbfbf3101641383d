"""Measure the CPU time of a request to a model: our connections below the SDK, httpx2's, and no SDK at all.

Part of ``make bench``; takes ten seconds. A POST of 19 kB, 10 in flight, without TLS, to a server in its own process.
Each contender runs in a new process; the first requests are not counted.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from benchmarks.inflight import model
from benchmarks.measuring import Spread, heading, sized, take_turns
from benchmarks.rows import Row, report

BYTES = 19_000
IN_FLIGHT, WARM, REQUESTS = 10, sized(100, small=2), sized(1_500, small=4)
ROUNDS = sized(4, small=1)
OURS, SDK, BARE = "SDK over our connections", "SDK over httpx2's connections", "asyncio without an SDK"
BODY = b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % (b"x" * BYTES)
Ask = Callable[[], Awaitable[object]]


def measured(contender: str, url: str) -> float:
    """Return the CPU seconds of one request."""
    os.environ["CRMEVAL_HTTP"] = "sdk" if contender == SDK else ""
    return asyncio.run(_bare(url) if contender == BARE else _with_sdk(url))


async def _with_sdk(url: str) -> float:
    import httpx2
    import openai

    from pytest_crmeval.models.sdks.transport import http_client

    async with openai.AsyncOpenAI(
        base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http_client()
    ) as sdk:
        ask = partial(sdk.post, "/chat/completions", cast_to=httpx2.Response, content=BODY, options={"headers": {}})
        return await _timed([ask] * IN_FLIGHT)


async def _bare(url: str) -> float:
    host, _, port = url.removeprefix("http://").partition(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(BODY)}\r\n\r\n".encode()

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head + BODY)
        answer = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(answer.rpartition(b"content-length: ")[2]))

    connections = [await asyncio.open_connection(host, int(port)) for _ in range(IN_FLIGHT)]
    try:
        return await _timed([partial(ask, *connection) for connection in connections])
    finally:
        for _, writer in connections:
            writer.close()


async def _timed(asks: list[Ask]) -> float:
    async def several(ask: Ask, count: int) -> None:
        for _ in range(count):
            await ask()

    await asyncio.gather(*(several(ask, WARM) for ask in asks))
    start = time.process_time()
    await asyncio.gather(*(several(ask, REQUESTS // IN_FLIGHT + 1) for ask in asks))
    return (time.process_time() - start) / (REQUESTS // IN_FLIGHT + 1) / IN_FLIGHT


def in_new_process(contender: str, url: str) -> float:
    """Measure a contender in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, contender, url).result()


def main() -> None:
    """Run the benchmark."""
    heading(f"CPU time of a POST of {BYTES:,} bytes, {IN_FLIGHT} in flight")
    with model(0.0) as url:
        contenders = {name: partial(in_new_process, name, url) for name in (OURS, SDK, BARE)}
        seconds = {name: Spread(each) for name, each in take_turns(contenders, ROUNDS).items()}
    for name, spread in seconds.items():
        print(f"{name:<32} {spread.shown('ms', 1e3)}")
    for peer, most in ((SDK, 0.6), (BARE, None)):
        ours, theirs = seconds[OURS].median * 1e3, seconds[peer].median * 1e3
        name = "CPU time of a request to a model"
        report(Row(name=name, unit="ms", ours=ours, peer=peer, theirs=theirs, most=most, of="ratio"))


if __name__ == "__main__":
    main()
