"""Agents that are programs, in real processes."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crmeval.agents.calling import AgentError, in_conversation, reply_of
from pytest_crmeval.agents.command import CommandAgent
from pytest_crmeval.agents.specs import AgentUnavailable, make_agent
from pytest_crmeval.domain import cutting
from pytest_crmeval.domain.messages import Reply, user_says

# Longer than what is shown of an answer, as signed tokens are.
SECRET = "".join(f"{number:x}" for number in range(0x4000, 0x4000 + 300))
HELLO = [user_says("Hello")]
LOOP = """
import json, os, sys
number = 0
for line in sys.stdin:
    request = json.loads(line)
    number += 1
    {}
    sys.stdout.flush()
"""
SAY = 'print(json.dumps({"conversation": request["conversation"], "text": f"{os.getpid()} {number}"}))'
Made = Callable[..., CommandAgent]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Made]:
    """Return a function that makes the agent of a program which does something with each request."""
    made: list[CommandAgent] = []

    def make(action: str) -> CommandAgent:
        path = tmp_path / f"agent-{len(made)}.py"
        path.write_text(LOOP.format(action), encoding="utf-8")
        made.append(CommandAgent(f"{sys.executable} '{path}'"))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def test_one_process_answers_all_conversations(program: Made) -> None:
    agent = program(SAY)

    replies = [reply_of(in_conversation(agent), HELLO, ()).text.split() for _ in range(3)]

    assert ["1", "2", "3"] == [number for _, number in replies]
    assert 1 == len({process for process, _ in replies})


def test_program_that_dies_is_started_again(program: Made) -> None:
    agent = program(f"{SAY}; sys.stdout.flush(); number == 2 and (sys.exit('I am tired'))")
    first, second = (reply_of(agent, HELLO, ()).text.split() for _ in range(2))

    with pytest.raises(AgentError, match="the program ended with status 1: I am tired"):
        reply_of(agent, HELLO, ())
    third = reply_of(agent, HELLO, ()).text.split()

    assert first[0] == second[0] != third[0]
    assert "1" == third[1]


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ('print("Loading ...")', "malformed answer: JSON is malformed: invalid character .*: 'Loading ...'"),
        ('print(json.dumps({"conversation": "another"}))', "it is for another conversation, 'another'"),
        ('print("x" * 5_000_000)', "the answer is longer than 4,000,000 bytes"),
        ('print("{}\\n{}")', "must print one line per request, but also printed"),
        ("os.kill(os.getpid(), 9)", "the program was killed by SIGKILL"),
        ("sys.exit('no key')", "the program ended with status 1: no key"),
        ("(os.close(1), sys.stdin.read())", "the program closed its stdout, but did not exit"),
    ],
)
def test_bad_answer_is_an_error_and_the_next_request_is_answered_by_a_new_process(
    program: Made, action: str, error: str
) -> None:
    agent = program(f"{action} if request['messages'][-1]['text'] == 'Fail' else {SAY}")
    process, _ = reply_of(agent, HELLO, ()).text.split()

    with pytest.raises(AgentError, match=error):
        reply_of(agent, [user_says("Fail")], ())

    again, number = reply_of(agent, HELLO, ()).text.split()
    assert again != process
    assert "1" == number


def test_program_that_does_not_answer_in_time_is_ended(program: Made) -> None:
    agent = program(f"{SAY} if number == 1 else sys.stdin.read()")
    process, _ = reply_of(agent, HELLO, ()).text.split()
    agent.seconds = 0.05

    with pytest.raises(AgentError, match=r"timeout: the program did not print a line within 0.05 s; does it flush"):
        reply_of(agent, HELLO, ())

    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


def test_long_dialogue_does_not_block_a_program_that_writes_first(program: Made) -> None:
    agent = program(f'sys.stderr.write("x" * 200_000); {SAY}')

    assert reply_of(agent, [user_says("Hello" * 200_000)], ()).text.endswith(" 1")


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("no-such-agent", "there is no program 'no-such-agent' on the PATH"),
        ("./no-such-agent", "there is no program './no-such-agent' in this folder"),
        ("./plain.sh", "./plain.sh is not executable; allow it with chmod .x ./plain.sh, or .* exec:bash ./plain.sh"),
    ],
)
def test_program_that_can_not_be_started_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.sh").touch(mode=0o644)

    with pytest.raises(AgentUnavailable, match=f"agent 'exec:{word}': {problem}"):
        make_agent(f"exec:{word}")


def test_script_that_ends_after_each_answer_is_started_for_each_request(program: Made) -> None:
    agent = program(f"{SAY}; break")

    replies = [reply_of(agent, HELLO, ()).text.split() for _ in range(3)]

    assert ["1"] * 3 == [number for _, number in replies]
    assert 3 == len({process for process, _ in replies})


def test_program_that_answers_before_it_has_read_the_request_is_restarted(tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(
        'import os, sys; os.read(0, 10); print(f\'{{"text": "{os.getpid()}"}}\', flush=True); sys.stdin.read()'
    )
    agent = CommandAgent(f"{sys.executable} '{path}'", seconds=20)

    replies = [reply_of(agent, [user_says("Hello" * 200_000)], ()).text for _ in range(2)]
    agent.close()

    assert replies[0] != replies[1]


def test_program_that_ends_without_an_answer_is_an_error(program: Made) -> None:
    with pytest.raises(AgentError, match=r"the program ended with status 0$"):
        reply_of(program("break"), HELLO, ())


def test_only_the_end_of_a_long_log_is_kept(program: Made) -> None:
    agent = program("sys.stderr.write('x' * 9_000_000 + ' out of memory'); sys.exit(3)")

    with pytest.raises(AgentError, match=r"the program ended with status 3: …x{486} out of memory$"):
        reply_of(agent, HELLO, ())


@pytest.mark.parametrize(
    "action",
    [
        f"sys.stderr.write({SECRET!r} + 'x' * 400); sys.exit(3)",
        f"print('x' * 100 + {SECRET!r} + 'x' * 9)",
    ],
    ids=["log", "answer"],
)
def test_no_part_of_a_secret_remains_where_output_is_cut(
    program: Made, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setenv("OWN_API_KEY", SECRET)
    monkeypatch.setattr(cutting._Process, "redactor", None)  # noqa: SLF001 (made anew for this environment)

    with pytest.raises(AgentError) as caught:
        reply_of(program(action), HELLO, ())

    parts = [SECRET[start : start + 12] for start in range(len(SECRET) - 11)]
    assert [] == [part for part in parts if part in str(caught.value)]


def test_program_may_end_by_itself_when_the_run_ends(program: Made, tmp_path: Path) -> None:
    agent = program(f"import atexit; atexit.register(open, {str(tmp_path / 'ended')!r}, 'w'); {SAY}")
    reply_of(agent, HELLO, ())

    agent.close(patience=300)

    assert (tmp_path / "ended").exists()


def test_command_in_bash(tmp_path: Path) -> None:
    script = tmp_path / "agent.sh"
    script.write_text('#!/bin/sh\nwhile read -r line; do echo \'{"text": "Hello from the shell"}\'; done\n')
    script.chmod(0o755)
    agent = CommandAgent(str(script))

    assert Reply(text="Hello from the shell") == reply_of(agent, HELLO, ())
    agent.close()
