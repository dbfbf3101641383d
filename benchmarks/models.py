"""Measure the cost of a model call beyond that of the SDK. Part of ``make bench``; takes a minute.

A loopback server in its own process gives the right answers for bundled conversations, so that a whole run can be
measured: pytest with ``-n 1``, real SDKs, PostgreSQL, scores, transcripts. All figures are CPU time, which depends
little on the load of the machine.

ours
    The worker of a whole run, minus the worker of a run in which the oracle plays the same cases; per model call.
create
    The SDK as documented: its typed method gets the same prepared parameters, on a client like ours.
post
    The layer below, which we use: prepared bytes are sent, and the received bytes are not parsed.

*Memory* is that of the worker after so many trials, with three dialects and five agents in one run. The peer is
the worker of plain pytest-xdist with as many tests that assert True: pytest keeps a report of each.
"""

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection as Wire
from pathlib import Path
from typing import Any

from benchmarks.measuring import Spread, differences, embedded_server, heading, pytest_command, sized, take_turns, timed
from benchmarks.rows import Row, report
from pytest_crmeval.agents.chat import system_prompt
from pytest_crmeval.conversations.crm.standalone import standalone_crm
from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.ports.chat_model import Prompt
from tests.providers.answers import Answer
from tests.providers.delivery import Seen
from tests.providers.loopback import Loopback
from tests.providers.scripted import Script, rehearsed, script_of, scripted_brain

BUNDLE = Path(__file__).parents[1] / "evals" / "data" / "crm.jsonl"
EVERY = sized(40, small=300)
"""CPU is measured with one conversation out of this many."""
WARM = sized(5, small=1)
"""The first cases or calls, which are not counted because of imports, connections and caches."""
ROUNDS = sized(1, small=1)
AIM = 2
"""Milliseconds beyond those of the SDK."""
STEP, AGENTS = sized((300, 5), small=(2, 2))
"""Trials of one agent, after which memory is read; and the number of agents."""

CHAT, RESPONSES, MESSAGES = "openai chat", "openai responses", "anthropic"
SPECS: Mapping[str, str] = {
    CHAT: "openai:{model}?base_url={url}/v1&api=chat",
    RESPONSES: "openai:{model}?base_url={url}/v1&api=responses",
    MESSAGES: "anthropic:{model}?base_url={url}",
}
DIALECTS = sized((CHAT, RESPONSES, MESSAGES), small=(MESSAGES,))
ORACLE, OURS, CREATE, POST = "oracle", "ours", "create", "post"

PLAIN_TEST = """
import pytest

@pytest.mark.parametrize("conversation", [f"oracle-case-{{number:05d}}" for number in range({tests})])
def test_conversation(conversation):
    assert True
"""

METER = """
import json
import os
import time
from pathlib import Path

NOTED = []


def resident():
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def pytest_runtest_logfinish():
    NOTED.append((time.process_time(), resident()))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        Path(session.config.rootpath, "noted.json").write_text(json.dumps(NOTED))
"""
"""A conftest in which the worker records its CPU seconds and its memory in bytes after each test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The project, the cases and the model server of the benchmark."""

    folder: Path
    dsn: str
    url: str
    prompts: Sequence[Sequence[Prompt]]
    """The prompts of each case with which CPU is measured."""
    pool: ProcessPoolExecutor

    @property
    def calls(self) -> int:
        """The number of calls of a run that are counted."""
        return sum(map(len, self.prompts[WARM:]))

    def noted(self, cases: str, *specs: str) -> list[tuple[float, int]]:
        """Play with pytest, and return what its worker recorded after each trial."""
        shutil.rmtree(self.folder / "reports", ignore_errors=True)
        agents = [option for spec in specs for option in ("--crmeval-agent", spec)]
        command = pytest_command("-n", "1", "evals/test_crm.py", "--crmeval-conversations", cases, *agents)
        return metered(command, self.folder, CRMEVAL_DSN=self.dsn)

    def played(self, spec: str) -> float:
        """Return the CPU seconds of a worker for all cases but the first few."""
        noted = self.noted("some.jsonl", spec)
        if len(noted) != len(self.prompts):
            raise SystemExit(f"{len(self.prompts)} cases, but {len(noted)} were noted")
        return noted[-1][0] - noted[WARM - 1][0]

    def bare(self, dialect: str, way: str) -> float:
        """Return the CPU seconds of the SDK alone for the same calls."""
        bodies = [ready(dialect, prompt) for prompts in self.prompts for prompt in prompts]
        return self.pool.submit(bare, dialect, way, self.url, bodies[-self.calls - WARM :]).result()

    def spec(self, dialect: str, model: str = "m") -> str:
        """Return the spec of a model on our server."""
        return SPECS[dialect].format(model=model, url=self.url)


def metered(command: Sequence[str], folder: Path, **variables: str) -> list[tuple[float, int]]:
    """Run pytest, and return what its worker recorded after each test."""
    timed(command, folder, **variables)
    noted: list[tuple[float, int]] = json.loads((folder / "noted.json").read_text(encoding="utf-8"))
    return noted


def ready(dialect: str, prompt: Prompt) -> Mapping[str, Any]:
    """Return our request for a prompt."""
    from pytest_crmeval.models.sdks.anthropic import Messages
    from pytest_crmeval.models.sdks.openai_chat import Chat
    from pytest_crmeval.models.sdks.openai_responses import Responses
    from pytest_crmeval.models.specs import ModelSpec

    if dialect == MESSAGES:
        return Messages(ModelSpec(provider="anthropic", model="m")).body(prompt)
    spec = ModelSpec(provider="openai", model="m")
    return (Chat if dialect == CHAT else Responses)(spec, own=False).body(prompt)


def bare(dialect: str, way: str, url: str, bodies: Sequence[Mapping[str, Any]]) -> float:
    """Send requests one after the other, in a new process; return the CPU seconds of all but the first few."""
    return asyncio.run(_sent(partial(_client, dialect, url), way, bodies))


Ask = Callable[[], Coroutine[Any, Any, object]]


async def _sent(open_client: Callable[[], Any], way: str, bodies: Sequence[Mapping[str, Any]]) -> float:
    async with open_client() as client:
        asks = [_ask(client, way, body) for body in bodies]
        for ask in asks[:WARM]:
            await ask()
        start = time.process_time()
        for ask in asks[WARM:]:
            await ask()
        return time.process_time() - start


def _client(dialect: str, url: str) -> Any:  # noqa: ANN401 (each SDK's own)
    """Return a client with our settings."""
    from pytest_crmeval.models.sdks.transport import http_client

    how: dict[str, Any] = {"api_key": "none", "max_retries": 0, "timeout": None, "http_client": http_client()}
    if dialect == MESSAGES:
        import anthropic

        return anthropic.AsyncAnthropic(base_url=url, **how)
    import openai

    return openai.AsyncOpenAI(base_url=f"{url}/v1", **how)


def _ask(client: Any, way: str, body: Mapping[str, Any]) -> Ask:  # noqa: ANN401 (each SDK's own)
    """Return a call whose parameters are already prepared."""
    import httpx2

    from pytest_crmeval.models.sdks.encoding import encoded

    path = _path(body)
    if way == POST:
        sent = encoded(body)
        return lambda: client.post(path, cast_to=httpx2.Response, content=sent, options={"headers": {}})
    if path == "/v1/messages":
        given = {name: value for name, value in body.items() if name != "temperature"}
        # An older parameter, which the SDK's method does not have.
        return partial(client.messages.create, **given, extra_body={"temperature": body["temperature"]})
    return partial(client.responses.create if "input" in body else client.chat.completions.create, **body)


def _path(body: Mapping[str, Any]) -> str:
    if "input" in body:
        return "/responses"
    return "/v1/messages" if "system" in body else "/chat/completions"


def measure_cpu(bench: Bench) -> None:
    """Print the cost of a call in each of the three ways, and the differences."""
    heading(f"{bench.calls} calls in {len(bench.prompts) - WARM} conversations ({ROUNDS} times each, in turn)")
    for dialect in DIALECTS:
        contenders: dict[str, Callable[[], float]] = {
            ORACLE: partial(bench.played, ORACLE),  # next to the measurement that it is subtracted from
            OURS: partial(bench.played, bench.spec(dialect)),
            CREATE: partial(bench.bare, dialect, CREATE),
            POST: partial(bench.bare, dialect, POST),
        }
        print(f"{dialect}, CPU per call")
        seconds = take_turns(contenders, ROUNDS)
        ours = differences(seconds[OURS], seconds[ORACLE])
        per_call = 1e3 / bench.calls
        print(f"  ours            {ours.shown('ms', per_call)}")
        for way in (CREATE, POST):
            print(f"  {way:<15} {Spread(seconds[way]).shown('ms', per_call)}")
        report(
            Row(
                name=f"CPU time of a worker per call, {dialect}",
                unit="ms",
                ours=ours.median * per_call,
                peer="typed method of the SDK",
                theirs=Spread(seconds[CREATE]).median * per_call,
                most=AIM,
                of="difference",
            )
        )


def measure_memory(bench: Bench) -> None:
    """Print the memory of the worker during a run."""
    heading(f"Memory of the worker, {STEP * AGENTS} trials in one run")
    dialects = (DIALECTS * AGENTS)[:AGENTS]
    specs = [bench.spec(dialect, f"m{number}") for number, dialect in enumerate(dialects)]
    ours = _growth("models", bench.noted("short.jsonl", *specs))
    plain = _growth("plain", metered(pytest_command("-n", "1", "-p", "no:crmeval"), bench.folder / "plain"))
    report(
        Row(
            name=f"memory of a worker per 1,000 trials with models, {STEP * AGENTS:,} trials",
            unit="MB",
            ours=ours,
            peer="plain pytest-xdist",
            theirs=plain,
            most=1,
            of="difference",
        )
    )


def _growth(who: str, noted: Sequence[tuple[float, int]]) -> float:
    """Print the memory after each step; return its growth per 1,000 trials in megabytes."""
    held = [noted[place - 1][1] / 1e6 for place in range(STEP, len(noted) + 1, STEP)]
    slope = (held[-1] - held[0]) / (STEP * (len(held) - 1)) * 1e3
    shown = ", ".join(f"{megabytes:.1f}" for megabytes in held)
    print(f"  {who}: after every {STEP} trials {shown} MB; {slope:.1f} MB per 1,000 trials", flush=True)
    return slope


def write_project(folder: Path) -> None:
    """Write a project with some conversations for CPU and many short ones for memory."""
    lines = BUNDLE.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "some.jsonl").write_text("".join(lines[::EVERY]), encoding="utf-8")
    (folder / "short.jsonl").write_text("".join(sorted(lines, key=_turns)[:STEP]), encoding="utf-8")
    shutil.copytree(BUNDLE.parents[1], folder / "evals", ignore=shutil.ignore_patterns("__pycache__", "data"))
    (folder / "plain").mkdir()
    (folder / "plain" / "test_plain.py").write_text(PLAIN_TEST.format(tests=STEP * AGENTS))
    (folder / "plain" / "pytest.ini").write_text("[pytest]\n")
    for project in (folder, folder / "plain"):
        (project / "conftest.py").write_text(METER)
    (folder / "pytest.ini").write_text("[pytest]\n")


def _turns(line: str) -> int:
    return len(json.loads(line)["turns"])


def rehearse(folder: Path, dsn: str) -> tuple[Script, list[list[Prompt]]]:
    """Return the answers of the server, and the requests with which CPU is measured."""
    some, short = ([ref.read() for ref in index([folder / name])] for name in ("some.jsonl", "short.jsonl"))
    with standalone_crm(dsn) as crm:
        prompts = [
            [Prompt(system=system_prompt(), messages=shown, tools=crm.tools) for shown, _ in rehearsed(case, crm)]
            for case in some
        ]
        return script_of([*some, *short], crm), prompts


@contextmanager
def served(script: Script) -> Iterator[str]:
    """Run the model server in its own process, and yield its address."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        ours.send(script)  # over the pipe, which reports an error if the other end breaks
        yield ours.recv()
    finally:
        ours.close()
        process.join()


def _serve(wire: Wire) -> None:
    brain = scripted_brain(wire.recv())

    def forgetful(seen: Seen) -> Answer:
        server.seen.clear()
        return brain(seen)

    with Loopback(forgetful) as server, suppress(EOFError):
        wire.send(server.url)
        wire.recv()


def main() -> None:
    """Run the benchmark and clean up."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn:
        folder = Path(name)
        write_project(folder)
        script, prompts = rehearse(folder, dsn)
        with served(script) as url, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            bench = Bench(folder=folder, dsn=dsn, url=url, prompts=prompts, pool=pool)
            measure_cpu(bench)
            measure_memory(bench)


if __name__ == "__main__":
    main()
