"""End to end: bundled conversations of every kind, played through the real SDKs by a server that answers correctly."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.ports.crm import Crm
from tests.projects import report_of
from tests.providers.answers import Call, Say, Status
from tests.providers.loopback import Loopback, Seen
from tests.providers.scripted import Script, script_of, scripted_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
BUNDLE = Path(__file__).parents[2] / "evals" / "data" / "crm.jsonl"
TWINS = 4
"""Number of conversations in the sample that begin with the same words as another one."""
TWO_WORKERS = ("-n", "2")


def kinds_of(record: dict[str, Any]) -> Iterable[str]:
    """Return the features of a conversation."""
    tools = (turn["expected_tool"] for turn in record["turns"])
    return [*record["tags"], record["complexity_level"], record["workflow_category"], *tools]


def sample() -> list[dict[str, Any]]:
    """Return a few bundled conversations that cover every kind, and some that begin with the same words."""
    records = [json.loads(line) for line in BUNDLE.read_text(encoding="utf-8").splitlines()]
    openings = Counter(map(opening_of, records))
    twins = sorted((record for record in records if openings[opening_of(record)] > 1), key=opening_of)[:TWINS]
    chosen, missing = {record["conversation_id"]: record for record in twins}, {*chain(*map(kinds_of, records))}
    while missing:
        found = max(records, key=lambda record: len(missing.intersection(kinds_of(record))) / len(record["turns"]))
        chosen[found["conversation_id"]] = found
        missing.difference_update(kinds_of(found))
    return sorted(chosen.values(), key=itemgetter("conversation_id"))


def opening_of(record: dict[str, Any]) -> str:
    """Return the user's first message."""
    return str(record["turns"][0]["user_utterance"])


def specs_of(server: Loopback) -> list[str]:
    """Return an agent for each dialect."""
    openai = f"openai:x?base_url={server.openai_url}"
    return [f"{openai}&api=chat", f"{openai}&api=responses", f"anthropic:x?base_url={server.anthropic_url}"]


def agents(specs: Sequence[str]) -> Iterator[str]:
    """Yield the options that name the agents."""
    for spec in specs:
        yield from ("--crmeval-agent", spec)


def passed(path: Path) -> dict[str, int]:
    """Return the number of passed trials of each agent."""
    return Counter(trial["subject"] for trial in report_of(path)["trials"] if trial["verdict"] == "passed")


def output(path: Path) -> list[tuple[Any, ...]]:
    """Return the trials of a report, without time and cost."""
    return [itemgetter("subject", "case", "verdict", "scores")(trial) for trial in report_of(path)["trials"]]


def request(utterance: str) -> Seen:
    """Return the first request to a model."""
    said = {"role": "user", "content": utterance}
    return Seen(method="POST", path="/v1/chat/completions", headers={}, body={"messages": [said]})


@pytest.fixture
def bundled(project: Project) -> pytest.Pytester:
    """Return a project with the sample."""
    return project(sample())


@pytest.fixture
def script(bundled: pytest.Pytester, crm: Crm) -> Script:
    """Return the conversations of the sample."""
    return script_of([ref.read() for ref in index([bundled.path / "cases.jsonl"])], crm)


def test_correct_player_passes_in_every_dialect_and_is_replayed_without_a_server(
    bundled: pytest.Pytester, providers: Providers, script: Script
) -> None:
    """Nothing is lost or changed on the way to the model and back.

    A replay has the same verdicts and scores, whatever was called and answered, and makes no request.
    """
    server = providers(scripted_brain(script))
    specs, cases = specs_of(server), len(sample())

    bundled.runpytest(*agents(specs), *TWO_WORKERS, "--crmeval-record", "tapes")

    assert 20 < cases < 30
    assert dict.fromkeys(specs, cases) == passed(bundled.path)
    assert len(server.seen) == sum(trial["bill"]["usage"]["calls"] for trial in report_of(bundled.path)["trials"])

    recorded = output(bundled.path)
    server.seen.clear()
    bundled.runpytest(*agents(specs), "-p", "no:xdist", "--crmeval-replay", "tapes")

    assert 3 * cases == len(recorded)
    assert recorded == output(bundled.path)
    assert [] == server.seen


def test_scripted_server_rejects_a_different_dialogue(script: Script) -> None:
    """The server follows a script, so passing proves that it received exactly the expected dialogue."""
    brain, opening = scripted_brain(script), opening_of(sample()[0])

    assert isinstance(brain(request(opening)), Call | Say)
    assert isinstance(brain(request(f"{opening} Please.")), Status)
