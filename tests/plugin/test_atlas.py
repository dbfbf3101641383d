"""An agent that learns, end to end: all its models on loopback, in real pytest runs."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crmeval import cli
from pytest_crmeval.agents.atlas.telemetry import rows
from pytest_crmeval.player import conversations
from pytest_crmeval.postgres.databases import Address
from tests.atlas_models import RULE, answer_by_role, roles_in, stream
from tests.projects import report_of
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
ATLAS = "atlas?student=openai:small;price=1/2&teacher=openai:large;price=3/4&mode=coach&retries=1&samples=1"
ALONE = "openai:small?price=1/2"
OFF = f"{ATLAS}&learning=off"
A, B = ("--crmeval-agent", ATLAS), ("--crmeval-agent", ALONE)


def trials_of(path: Path, subject: str = ATLAS) -> list[dict[str, Any]]:
    """Return the trials of a subject."""
    found = [trial for trial in report_of(path)["trials"] if trial["subject"] == subject]
    return sorted(found, key=lambda trial: (trial["learning"]["held_out"], trial["learning"]["position"]))


def summary_of(path: Path, subject: str = ATLAS) -> dict[str, Any]:
    """Return the summary of a subject."""
    return next(found for found in report_of(path)["results"] if found["subject"] == subject)


def test_agent_with_a_playbook_learns_from_its_training_cases(
    project: Project, providers: Providers, given_server: str
) -> None:
    """A habit costs one conversation per wording; the rule helps in the second half and on held-out cases."""
    providers(answer_by_role)
    path = project(stream(8, 4))

    result = path.runpytest(*A, *B, "--crmeval-agent", OFF, "-n", "2")
    learning, off = summary_of(path.path)["learning"], summary_of(path.path, OFF)["learning"]

    result.stdout.fnmatch_lines(
        [
            "crmeval queue: *a learning agent plays 8 in order, then 4 with what it has learned",
            "learning of atlas*: 0.500 (2/4, * in 1-4, then 1.000 (4/4, * in 5-8; reviews: approved 6, corrected 2; *",
            "held out: 1.000 (4/4, * with the frozen playbook, 0.000 (0/4, * without (openai:small*); 4 passed only *",
        ]
    )
    played = [trial for trial in trials_of(path.path) if not trial["learning"]["held_out"]]
    assert [f"c{number:02d}" for number in range(8)] == [trial["case"] for trial in played]
    assert ["failed"] * 2 + ["passed"] * 6 == [trial["verdict"] for trial in played]
    assert (0.5, 1.0) == tuple(half["rate"] for half in learning["halves"])
    assert {"cue_hits": 10, "adoptions": 10, "added": 2} == {
        name: learning["counts"][name] for name in ("cue_hits", "adoptions", "added")
    }
    assert (0, 8) == (off["stream"]["passed"], off["stream"]["scored"]), "without learning it stays flat"
    assert (0.125, ALONE) == (learning["comparison"]["p_value"], learning["comparison"]["alone"])
    assert {"student", "teacher", "reward", "learner"} == set(learning["roles"])
    bills = [bill["cost"] for bill in learning["roles"].values()]
    assert summary_of(path.path)["bill"]["cost"] == pytest.approx(sum(bills))
    _check_telemetry(given_server, str(report_of(path.path)["run"]["id"]))


def _check_telemetry(server: str, run: str) -> None:
    """Everything is in the database ``atlas``, which is kept on a server that is not ours."""
    with Address(server).connect(dbname="atlas") as connection:
        found = [json.loads(line) for line in rows(connection, run)]
    sessions = {row["id"]: row for row in found if row["table"] == "sessions" and row["subject"] == ATLAS}
    counts = Counter(row["table"] for row in found if row.get("session_id") in sessions)
    (registry,) = (row for row in found if row["table"] == "registry")

    assert {"attempts": 8, "guidance": 2, "rewards": 8, "playbook": 3} == counts
    assert ["finished"] * 12 == [row["status"] for row in sessions.values()]
    assert (8, 8) == (registry["position"], registry["playbook"]["played"])
    assert ["added", "noted", "added"] == [row["event"] for row in found if row["table"] == "playbook"]


def test_the_playbook_can_be_read_after_the_run(
    project: Project, providers: Providers, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the learning curve, as text and as JSON; the telemetry of an embedded server need not be exported for it."""
    providers(answer_by_role)
    path = project(stream(4))
    path.runpytest(*A, "-p", "no:xdist", "--crmeval-run", "mine")
    capsys.readouterr()

    assert 0 == cli.main(["atlas", "mine", "--reports", str(path.path / "reports")])
    shown = capsys.readouterr().out
    assert "1-4" in shown
    assert f"p1.1  on 'add': {RULE}" in shown
    assert 'to measure what was learned, add cases with "split": "test"' in shown
    assert 0 == cli.main(["atlas", "mine", "--json", "--reports", str(path.path / "reports")])
    (learner,) = json.loads(capsys.readouterr().out)["learners"]
    assert (4, 2) == (learner["playbook"]["played"], len(learner["playbook"]["practices"]))


def test_atlas_command_without_a_learning_agent_explains_how_to_learn(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project(stream(1))
    path.runpytest("-p", "no:xdist", "--crmeval-run", "dull")
    capsys.readouterr()

    assert 2 == cli.main(["atlas", "dull", "--reports", str(path.path / "reports")])
    assert "no agent has learned anything in this run" in capsys.readouterr().err


def test_pair_corrects_what_a_coach_lets_pass(project: Project, providers: Providers) -> None:
    """The teacher takes over after its advice was not followed, so nothing wrong is written; then the rule is known."""
    server = providers(answer_by_role)
    path = project(stream(4))

    path.runpytest("--crmeval-agent", ATLAS.replace("coach", "paired"), "-p", "no:xdist").assert_outcomes(passed=4)
    (summary,) = report_of(path.path)["results"]
    assert {"approved": 2, "corrected": 2, "taken over": 2} == summary["learning"]["reviews"]
    first = ["student", "teacher", "student", "teacher", "student", "reward", "learner"]
    assert first == roles_in(server.seen)[:7]


def test_playbook_of_one_run_can_be_used_in_another(
    project: Project, providers: Providers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = providers(answer_by_role)
    path = project(stream(2))
    frozen = ATLAS.replace("coach", "solo") + "&learning=frozen"
    path.runpytest(*A, "-p", "no:xdist", "--crmeval-run", "first").assert_outcomes(failed=2)
    del server.seen[:]

    result = path.runpytest("--crmeval-agent", frozen, "-p", "no:xdist", "--crmeval-learning-from", "first")

    result.assert_outcomes(passed=2)
    assert {"student"} == set(roles_in(server.seen))
    result.stdout.fnmatch_lines(
        ["learning of *; 2 were already learned from in an earlier run, so passing them proves nothing; *"]
    )
    capsys.readouterr()
    assert 0 == cli.main(["atlas", "--reports", str(path.path / "reports")])
    assert f"p1.1  on 'add': {RULE}" in capsys.readouterr().out


def test_time_for_learning_is_not_part_of_the_conversation(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]

    def slow(seen: Seen) -> Answer:
        passed[0] += {"review": 10.0, "reward": 100.0, "revise": 1000.0}.get(seen.tools[0], 1.0)
        return answer_by_role(seen)

    providers(slow)
    monkeypatch.setattr(conversations, "time", SimpleNamespace(perf_counter=lambda: passed[0]))
    path = project(stream(1))
    path.runpytest(*A, "-p", "no:xdist")
    (trial,) = trials_of(path.path)
    summary = summary_of(path.path)

    assert (13.0, 1100.0) == (trial["seconds"], trial["learning_seconds"])
    assert 13.0 == summary["figures"]["latency_p95"]["value"]
    assert (13.0, 1100.0) == tuple(summary["learning"][name] for name in ("seconds_to_play", "seconds_to_learn"))


def test_recorded_learner_is_replayed(project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """All roles, without network or key: the same is learned again."""
    server = providers(answer_by_role)
    path = project(stream(3, 1))
    path.runpytest(*A, "-p", "no:xdist", "--crmeval-record", "tapes")
    recorded = [(trial["verdict"], trial["learning"]) for trial in trials_of(path.path)]
    monkeypatch.delenv("OPENAI_API_KEY")
    calls = len(server.seen)

    path.runpytest(*A, "-p", "no:xdist", "--crmeval-replay", "tapes")

    assert recorded == [(trial["verdict"], trial["learning"]) for trial in trials_of(path.path)]
    assert calls == len(server.seen)


def test_shard_has_all_cases_of_a_learner_or_none(project: Project, providers: Providers) -> None:
    """They can't be divided: each conversation is played with what was learned from those before."""
    providers(answer_by_role)
    path = project(stream(6))
    hands = [
        path.runpytest(*A, *B, "-p", "no:xdist", "--collect-only", "-q", "--crmeval-shard", f"{index}/2").stdout.lines
        for index in (1, 2)
    ]
    learners = [sum("[atlas" in line for line in hand) for hand in hands]
    others = [sum("[openai" in line for line in hand) for hand in hands]

    assert ([6, 0], [3, 3]) == (learners, others)


def test_role_with_an_invalid_model_is_refused_before_anything_is_played(
    project: Project, providers: Providers
) -> None:
    providers(answer_by_role)
    result = project(stream(1)).runpytest("--crmeval-agent", "atlas?student=mute", "-p", "no:xdist")

    result.stderr.fnmatch_lines(["*atlas: student=mute: must name a model; see crmeval models"])


def test_learner_plays_no_conversation_twice(project: Project, providers: Providers) -> None:
    server = providers(answer_by_role)
    path = project(stream(1))
    refused = path.runpytest(*A, *B, "-p", "no:xdist", "--crmeval-trials", "2")
    allowed = path.runpytest("--crmeval-agent", OFF, "-p", "no:xdist", "--crmeval-trials", "2", "--collect-only", "-q")

    refused.stderr.fnmatch_lines(["*--crmeval-trials 2: atlas learns from each conversation, so it can't play*"])
    assert ([], 2) == (server.seen, sum("[atlas" in line for line in allowed.stdout.lines))


def test_learner_plays_a_conversation_for_one_test_only(project: Project, providers: Providers) -> None:
    """If two tests of a suite had the same conversation, the learner would meet it twice."""
    server = providers(answer_by_role)
    path = project(stream(1))
    (path.path / "test_again.py").write_text((path.path / "test_crm.py").read_text(encoding="utf-8"), encoding="utf-8")
    result = path.runpytest(*A, "-p", "no:xdist")

    assert "two tests play c00: the second time, it would know the" in result.stdout.str() + result.stderr.str()
    assert [] == server.seen


def test_missing_telemetry_database_is_refused_before_anything_is_paid(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the setting, without its password."""
    server = providers(answer_by_role)
    monkeypatch.setenv("CRMEVAL_ATLAS_DSN", "host=127.0.0.1 port=1 connect_timeout=1 password=hunter2")
    result = project(stream(1)).runpytest(*A, "-p", "no:xdist")

    result.stderr.fnmatch_lines(["*crmeval: CRMEVAL_ATLAS_DSN: connection failed: *"])
    assert ([], False) == (server.seen, "hunter2" in result.stdout.str() + result.stderr.str())


def test_learner_is_not_distributed_to_every_worker(project: Project, providers: Providers) -> None:
    """Each worker would learn separately, under the same key."""
    providers(answer_by_role)
    result = project(stream(2)).runpytest(*A, "-n", "1", "--dist", "each")

    assert "plays each case only once; choose another --dist" in result.stdout.str() + result.stderr.str()


def estimated(result: pytest.RunResult) -> dict[str, list[str]]:
    """Return the row of an estimate for each role: cases, calls, tokens and so on."""
    rows = (line.split() for line in result.outlines if line.startswith("crm  "))
    return {role: cells for _, _, role, *cells in rows}


def test_estimate_includes_every_role(project: Project, providers: Providers) -> None:
    """Guessed at first, each role at its own price; then from the earlier run.

    Only the student plays held-out cases.
    """
    server = providers(answer_by_role)
    path, estimate = project(stream(2, 1)), (*A, "-p", "no:xdist", "--crmeval-estimate")
    guessed = path.runpytest(*estimate)
    asked = len(server.seen)
    path.runpytest(*A, "-p", "no:xdist")
    known = estimated(path.runpytest(*estimate))

    guessed.stdout.fnmatch_lines(["assumed: 1 review per turn, an arbiter in 20% of conversations, *"])
    assert {"student": "3", "teacher": "2", "reward": "2", "arbiter": "2", "learner": "2"} == {
        role: cells[0] for role, cells in estimated(guessed).items()
    }
    assert (0, True) == (asked, all(cells[5].startswith("$") for cells in estimated(guessed).values()))
    bills = summary_of(path.path)["learning"]["roles"]
    assert {"arbiter": 0, **{role: bill["usage"]["calls"] for role, bill in bills.items()}} == {
        role: int(cells[1]) for role, cells in known.items()
    }
