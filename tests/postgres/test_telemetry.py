"""The actions of learners are stored in their own database as they happen, and exported when its server ends."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from pytest_crmeval.agents.atlas.telemetry import Telemetry, export, rows
from pytest_crmeval.agents.learner import ReviewedProposal
from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import Lesson, Reward, RewardOpinion
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.postgres.databases import Address, Janitor
from tests.atlas_models import answer_by_role, stream
from tests.fakes import planned
from tests.plugin.test_atlas import A
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen
from tests.unit.agents.atlas.roles import entry

Project = Callable[..., pytest.Pytester]
KEY, RUN = "crm/atlas", "telemetry-test"
BEGUN = Lesson(key=KEY, position=1)
DONE = Lesson(
    key=KEY,
    position=1,
    added=(entry(action="Say\0 nothing \ud800 odd."),),
    dropped={"p0.1": "of no use"},
    refused=("x: too long",),
    student_notes="my secret note",
)


def redacted(value: Json) -> Json:
    """Remove a secret."""
    return json.loads(json.dumps(value).replace("secret", "[redacted]"))  # type: ignore[no-any-return] # JSON


@pytest.fixture
def telemetry(server: str) -> Iterator[Telemetry]:
    """Return the name of a database that does not exist yet."""
    name = "atlas-of-a-test"
    made = Telemetry(lambda dbname: Address(server).connect(dbname=dbname), name, RUN, redacted)
    made.open()
    yield made
    Janitor(Address(server), name).drop()


def found(telemetry: Telemetry, table: str) -> list[dict[str, Json]]:
    """Return the rows of a table, as they are exported."""
    with telemetry.connected() as connection:
        lines = [json.loads(line) for line in rows(connection, RUN)]
    return [line for line in lines if line["table"] == table]


def test_telemetry_is_written_as_it_happens(telemetry: Telemetry) -> None:
    with telemetry.session(planned("one"), KEY) as log:
        log.begun(BEGUN)
        call = ToolCall(tool="create_client", arguments={"name": "secret"})
        log.attempted(ReviewedProposal(turn=1, number=1, calls=[call], review="corrected", guidance="the secret"))
        log.rewarded(Reward(samples=(RewardOpinion(score=0.5, uncertainty=0.1),)))

        assert [("running", "one", 1)] == [
            (row["status"], row["case_id"], row["position"]) for row in found(telemetry, "sessions")
        ]
        (attempt,), (note,) = found(telemetry, "attempts"), found(telemetry, "guidance")
        assert [{"tool": "create_client", "arguments": {"name": "[redacted]"}}] == attempt["calls"]
        assert ("the [redacted]", [0.5]) == (note["note"], [row["score"] for row in found(telemetry, "rewards")])
        log.finished(DONE, Playbook().after(DONE))

    events = [(row["event"], row["entry_id"]) for row in found(telemetry, "playbook")]
    assert [("added", "p1.1"), ("dropped", "p0.1"), ("refused", ""), ("noted", "student_notes")] == events
    (registry,) = found(telemetry, "registry")
    assert (1, "my [redacted] note") == (registry["position"], registry["playbook"]["student_notes"])  # type: ignore[index,call-overload] # JSON


def test_abandoned_session_is_recorded_as_such(telemetry: Telemetry) -> None:
    with suppress(ConnectionError), telemetry.session(planned("one"), KEY) as log:
        log.begun(BEGUN)
        raise ConnectionError
    with telemetry.session(planned("two"), KEY) as log:
        log.begun(BEGUN)
    with telemetry.session(planned("two"), KEY) as log:
        log.begun(BEGUN)
        log.finished(DONE, Playbook())

    assert ["broken", "abandoned", "finished"] == [row["status"] for row in found(telemetry, "sessions")]


def cut_off(server: str, name: str) -> None:
    """End all connections to a database."""
    with Address(server).connect() as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def test_failing_telemetry_database_is_reported_and_affects_nothing_else(telemetry: Telemetry, server: str) -> None:
    """Nothing more of this conversation is written, so no row lacks its predecessors; the next one is complete."""
    with telemetry.session(planned("one"), KEY) as log:
        log.begun(BEGUN)
        cut_off(server, "atlas-of-a-test")
        log.rewarded(Reward(samples=(RewardOpinion(score=0.5, uncertainty=0.1),)))
        log.finished(DONE, Playbook())
    with telemetry.session(planned("two"), KEY) as next_log:
        next_log.begun(BEGUN)
        next_log.finished(DONE, Playbook())

    assert "telemetry is incomplete: terminating connection due to administrator command" == log.trouble
    assert ("", ["running", "finished"]) == (next_log.trouble, [row["status"] for row in found(telemetry, "sessions")])
    assert [] == found(telemetry, "rewards")


def test_tables_are_created_once(telemetry: Telemetry) -> None:
    """Each worker opens the database; its rows are kept."""
    with telemetry.session(planned("one"), KEY) as log:
        log.begun(BEGUN)
    telemetry.open()

    assert 1 == len(found(telemetry, "sessions"))


def test_export_continues_after_an_earlier_one(telemetry: Telemetry, tmp_path: Path) -> None:
    """A resumed run has a new server, and the old lines."""
    (tmp_path / "atlas.jsonl").write_text('{"table":"sessions"}\n', encoding="utf-8")
    with telemetry.session(planned("one"), KEY) as log:
        log.begun(BEGUN)
    with telemetry.connected() as connection:
        lines = export(connection, RUN, tmp_path).read_text(encoding="utf-8").splitlines()

    assert ["sessions", "sessions"] == [json.loads(line)["table"] for line in lines]


@pytest.fixture
def _school(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


@pytest.mark.usefixtures("_school")
def test_telemetry_of_an_embedded_server_is_exported_next_to_the_report(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    path = project(stream(2))
    with Loopback(answer_by_role) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        result = path.runpytest(*A, "-p", "no:xdist", "--crmeval-run", "mine")

    result.stdout.fnmatch_lines(["telemetry: reports/mine/atlas.jsonl"])
    lines = (path.path / "reports" / "mine" / "atlas.jsonl").read_text(encoding="utf-8").splitlines()
    tables = {json.loads(line)["table"] for line in lines}
    assert {"sessions", "attempts", "guidance", "rewards", "playbook", "registry"} == tables


@pytest.mark.usefixtures("_school")
def test_given_database_is_used(project: Project, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "somebody-elses"
    janitor = Janitor(Address(server), name)
    janitor.init()

    def failing(seen: Seen) -> Answer:
        if seen.tools == ("reward",) and "Firm0" in seen.last_user_text:
            cut_off(server, name)
        return answer_by_role(seen)

    try:
        monkeypatch.setenv("CRMEVAL_DSN", server)
        monkeypatch.setenv("CRMEVAL_ATLAS_DSN", Address(server).at(name).conninfo)
        with Loopback(failing) as models:
            monkeypatch.setenv("OPENAI_BASE_URL", models.openai_url)
            result = project(stream(3)).runpytest(*A, "-p", "no:xdist", "--crmeval-run", "given")
        result.assert_outcomes(failed=2, passed=1)
        result.stdout.fnmatch_lines(
            ["*telemetry is incomplete: *", "telemetry: in CRMEVAL_ATLAS_DSN, schema crmeval, run 'given'"]
        )
        with psycopg.connect(Address(server).at(name).conninfo) as connection:
            statuses = connection.execute("SELECT status FROM crmeval.sessions ORDER BY started").fetchall()
        assert [("running",), ("finished",), ("finished",)] == statuses
    finally:
        janitor.drop()
