"""Errors with conversations in flight: nothing hangs, nothing is lost, and the user is informed."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.plugin.test_inflight import M, many
from tests.postgres.processes import eventually
from tests.projects import report_of
from tests.providers.answers import Answer, Slow
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


DEADLY = """
import os
from bots import Half

class Deadly(Half):
    def reply(self, messages, tools):
        if "c05" in messages[0].text:
            os._exit(1)
        return super().reply(messages, tools)
"""


def test_case_that_kills_its_worker_is_found_and_the_others_pass(project: Project) -> None:
    """Cases that were in flight with it are played again, each in its own item."""
    pytester = project(many(12))
    pytester.makepyfile(deadly=DEADLY)

    result = pytester.runpytest(
        "--crmeval-agent", "deadly:Deadly", "--crmeval-inflight", "3", "-n", "2", "--max-worker-restart", "9"
    )

    verdicts = {trial["case"]: trial["verdict"] for trial in report_of(pytester.path)["trials"]}
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "errored" == verdicts["c05"]
    assert 12 == len(verdicts)


HANGING = """
import time
from bots import Half

class Hanging(Half):
    def reply(self, messages, tools):
        if "c01" in messages[0].text:
            time.sleep(3600)
        return super().reply(messages, tools)
"""


def test_agent_that_hangs_does_not_hold_up_the_run(project: Project) -> None:
    pytester = project(many(4), plugin="timeout")
    pytester.makepyfile(hanging=HANGING)
    many_at_once = ("--crmeval-agent", "hanging:Hanging", "--crmeval-inflight", "3", "--timeout", "3")

    result = pytester.runpytest_subprocess(*many_at_once, "-n", "1", timeout=600)

    verdicts = {trial["case"]: trial["verdict"] for trial in report_of(pytester.path)["trials"]}
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "errored" == verdicts["c01"]


ODD = """
from decimal import Decimal
from pytest_crmeval import Reply, ToolCall

class Odd:
    name = "odd"

    def reply(self, messages, tools):
        if messages[-1].speaker == "crm":
            return Reply(text="Done.")
        return Reply(calls=[ToolCall(tool="client_search", arguments={"name": Decimal(1), "more": {1, 2}, "x": b"x"})])
"""


def test_arguments_that_are_not_json_are_recorded(project: Project) -> None:
    """Decimals, sets and bytes: the calls are refused, and their trials are in the report."""
    pytester = project(many(4))
    pytester.makepyfile(odd=ODD)
    many_at_once = ("--crmeval-agent", "odd:Odd", "--crmeval-inflight", "2")

    result = pytester.runpytest(*many_at_once, "-n", "1")

    assert 4 == result.parseoutcomes()["failed"]
    assert 4 == len(report_of(pytester.path)["trials"])


LEAVING = """
from pathlib import Path
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    evaluate(conversation)
    if conversation.id == "c01":
        Path("leaving.txt").touch()
        pytest.exit("enough")
"""


def test_pytest_exit_in_a_worker_ends_the_whole_run(project: Project, providers: Providers) -> None:
    """Cases in flight are finished, and no new one starts; only two cases are answered before the exit."""
    pytester = project(many(60), test=LEAVING)

    def answer(seen: Seen) -> Answer:
        if any(name in seen.last_user_text for name in ("c00", "c01")):
            return crm_brain(seen)
        eventually(Path(pytester.path, "leaving.txt").exists, "the test of c01 ends the run")
        return Slow(0.5, crm_brain(seen))

    server = providers(answer)

    pytester.runpytest_subprocess(*M, "-n", "2", "--crmeval-inflight", "2", timeout=600)

    assert len(server.seen) < 100
    assert len(server.seen) == 2 * len(report_of(pytester.path)["trials"])


def test_workers_that_are_not_replaced_end_the_run(project: Project) -> None:
    pytester = project(many(60))
    pytester.makepyfile(deadly=DEADLY)
    deadly = ("--crmeval-agent", "deadly:Deadly", "--crmeval-inflight", "2", "-n", "2", "--max-worker-restart", "0")

    result = pytester.runpytest(*deadly)

    assert pytest.ExitCode.OK != result.ret
    assert len(report_of(pytester.path)["trials"]) < 60
    result.stdout.fnmatch_lines(["the run was stopped: a worker crashed and was not replaced; * not run"])


def test_server_with_few_connections_limits_cases_in_flight(
    project: Project, providers: Providers, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary says so. Answers are delayed, so that all slots need a connection at the same time."""
    providers(lambda seen: Slow(0.3, crm_brain(seen)))
    role = f"few_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN CREATEDB CONNECTION LIMIT 6")
    monkeypatch.setenv("CRMEVAL_DSN", make_conninfo(server, user=role, dbname="postgres"))

    result = project(many(12)).runpytest(*M, "-n", "1", "--crmeval-inflight", "8")

    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["concurrency was reduced: *too many connections*"])


DYING = """
import os
from pathlib import Path
from bots import Half

class Dying(Half):
    deaths = {"c01": 1, "c03": 2}

    def reply(self, messages, tools):
        for name, times in self.deaths.items():
            if name in messages[0].text:
                deaths = Path(f"{name}.txt")
                died = len(deaths.read_text()) if deaths.exists() else 0
                if died < times:
                    deaths.write_text("x" * (died + 1))
                    os._exit(1)
        return super().reply(messages, tools)

class Twice(Dying):
    deaths = {"c03": 2}
"""


@pytest.mark.parametrize(
    ("dist", "inflight", "agent"),
    [
        *((dist, "1", "Dying") for dist in ("load", "worksteal", "loadscope", "each")),
        *((dist, "2", "Twice") for dist in ("load", "each")),
    ],
)
def test_case_whose_worker_dies_is_played_once_more(project: Project, dist: str, inflight: str, agent: str) -> None:
    """After the second crash it is errored; the others are played as usual, ahead or in their items.

    xdist may replace as many workers as crash, which must not end the run.
    ``loadfile`` and ``loadgroup`` only differ from ``loadscope`` in what they call a scope.
    """
    pytester = project(many(5))
    pytester.makepyfile(dying=DYING)
    how = ["--tx", "popen"] if dist == "each" else ["-n", "1"]
    crashes = {"Dying": "3", "Twice": "2"}[agent]
    arguments = ("--crmeval-inflight", inflight, "--dist", dist, *how, "--max-worker-restart", crashes)

    result = pytester.runpytest("--crmeval-agent", f"dying:{agent}", *arguments)

    verdicts = {trial["case"]: trial["verdict"] for trial in report_of(pytester.path)["trials"]}
    lines = Path(pytester.path, "reports", "latest", "trials.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = [json.loads(line)["trial"]["case"] for line in lines if '{"trial"' in line]
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert {"c00", "c01", "c02", "c03", "c04"} == verdicts.keys()
    assert {"c03"} == {name for name, verdict in verdicts.items() if verdict == "errored"}
    assert sorted(verdicts) == sorted(recorded)
