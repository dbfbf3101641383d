"""What the documentation shows is true: its examples are run."""

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_crmeval import cli, hookspecs
from pytest_crmeval.agents import command as command_agents
from pytest_crmeval.agents import http, protocol
from pytest_crmeval.agents.calling import as_agent, reply_of
from pytest_crmeval.agents.command import CommandAgent
from pytest_crmeval.agents.http import HttpAgent
from pytest_crmeval.conversations.calibration import labelled_replies
from pytest_crmeval.conversations.play import play
from pytest_crmeval.domain.formats import address_of
from pytest_crmeval.domain.messages import Reply, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.options.declared import OPTIONS, SETTINGS
from pytest_crmeval.options.schedulers import ASSIGNED, COUNT, NUMBERED, SLURM_ID
from pytest_crmeval.player.kinds import KINDS
from pytest_crmeval.report.gate import Gate
from tests.fakes import PaperCrm, conversation, trial
from tests.kept_runs import keep, part
from tests.postgres.processes import eventually

ROOT = Path(__file__).parents[1]
DECLARED = {name for options in OPTIONS.values() for name in options}


def blocks(page: str, language: str) -> list[str]:
    """Return the examples of a page of the documentation that are written in a language."""
    return blocks_of(ROOT / "docs" / page, language)


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the examples of a file that are written in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def convert(dialogue: str) -> str:
    """Return what the script of the page makes of a dialogue."""
    (script,) = blocks("converting-transcripts.md", "python")
    command = [sys.executable, "-c", script]
    return subprocess.run(command, input=dialogue, capture_output=True, text=True, check=True, encoding="utf-8").stdout


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    """Convert the dialogue of the page with the script of the page."""
    (dialogue,) = blocks("converting-transcripts.md", "json")
    (tmp_path / "mine.jsonl").write_text(convert(dialogue), encoding="utf-8")
    return tmp_path / "mine.jsonl"


def test_a_refusal_stays_a_refusal() -> None:
    (dialogue,) = blocks("converting-transcripts.md", "json")
    record = json.loads(dialogue)
    find = {"name": "find_account", "arguments": {"query": "Harbor"}}
    refused = {"name": "update_deal", "arguments": {"deal": 5, "value": 99_000_000}, "error": "too much"}
    record["exchanges"] = [{"user": "Make it 99 million.", "calls": [find, refused]}]
    (turn,) = json.loads(convert(json.dumps(record)))["turns"]

    assert ("modify_opportunity", False) == (turn["expected_tool"], turn["expect_success"])


def test_a_converted_transcript_is_clean(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is invalid in it, and nothing odd."""
    assert 0 == cli.main(["lint", str(converted)])
    assert "0  invalid conversations" in capsys.readouterr().out


@pytest.fixture
def few_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut each committed set of labelled replies to its first conversation: all of them take half a minute."""
    sets = [tmp_path / path.name for path in labelled_replies.committed_sets()]
    for cut, path in zip(sets, labelled_replies.committed_sets(), strict=True):
        cut.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    monkeypatch.setattr(labelled_replies, "committed_sets", lambda: sets)


@pytest.mark.usefixtures("few_replies")
def test_scorers_are_sound_on_a_converted_transcript(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The oracle passes it, mute and parrot don't, and flaws are caught."""
    assert 0 == cli.main(["calibrate", str(converted), "--tries", "6"]), capsys.readouterr().out


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """Write the conversation of the page on one line, as it says."""
    *_, case = blocks("writing-cases.md", "json")
    (tmp_path / "mine.jsonl").write_text(" ".join(case.split("\n")) + "\n", encoding="utf-8")
    return tmp_path / "mine.jsonl"


@pytest.mark.usefixtures("few_replies")
def test_scorers_are_sound_on_a_conversation_written_by_hand(by_hand: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["lint", str(by_hand)]), capsys.readouterr().out
    assert 0 == cli.main(["calibrate", str(by_hand), "--tries", "6"]), capsys.readouterr().out


def test_figures_are_those_of_the_bundled_suite() -> None:
    count = len((ROOT / "evals" / "data" / "crm.jsonl").read_bytes().splitlines())

    assert f"{count:,} conversations" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"`evals/data/crm.jsonl`, {count:,} cases" in (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")


def test_a_command_that_asks_another_file_asks_it_once() -> None:
    """Each marked test would ask the whole file: so the command names a suite, of which there is one test."""
    commands = [line for block in blocks("questions.md", "sh") for line in block.splitlines()]
    asking = [line.split() for line in commands if "--crmeval-questions" in line]
    suites = [words[words.index("--crmeval-suite") + 1] for words in asking]
    tests = (ROOT / "evals" / "test_questions.py").read_text(encoding="utf-8")

    assert suites
    assert [1] * len(suites) == [tests.count(f'suite="{suite}"') for suite in suites]


def test_the_last_job_of_the_matrix_merges_what_the_others_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each artifact has a folder with the journal of a shard, and its report."""
    monkeypatch.chdir(tmp_path)
    for index in (1, 2, 3, 4):
        run = f"shard-{index}"
        keep(tmp_path / "artifacts" / run, run, [trial(f"case-{index}")], parts=[part(f"{index}/4")])
    (job,) = blocks("shards.md", "yaml")
    (command,) = re.findall(r"- run: crmeval (merge .*)", job)
    words = [
        str(found) for word in command.split() for found in (sorted(tmp_path.glob(word)) if "*" in word else [word])
    ]

    assert 0 == cli.main(words), capsys.readouterr()
    assert 4 == json.loads(Path("reports/whole.json").read_text())["results"][0]["passed"]


def test_recipes_for_schedulers_start_one_shard_per_task_and_merge_them() -> None:
    """Each starts as many tasks as there are shards, under run ids that the merge finds."""
    kubernetes, gitlab, github = map(yaml.safe_load, blocks("schedulers.md", "yaml"))
    batch, merge = blocks("schedulers.md", "sh")
    pod = kubernetes["spec"]["template"]["spec"]["containers"][0]

    assert 0 == subprocess.run(["/bin/sh", "-n"], input=batch.encode(), check=False).returncode
    assert ("Indexed", kubernetes["spec"]["completions"]) == (
        kubernetes["spec"]["completionMode"],
        int(next(each["value"] for each in pod["env"] if each["name"] == COUNT)),
    )
    assert {ASSIGNED} == github["env"].keys()
    starting = (batch, *pod["args"], gitlab["evals"]["script"][-1])
    merging = (merge, merge, gitlab["gate"]["script"][-1])
    for start, end, number in zip(starting, merging, (SLURM_ID, *list(NUMBERED)[1:3]), strict=True):
        assert set(re.findall(r"--crmeval-[a-z-]+", start)) <= DECLARED
        (run,) = re.findall(rf'--crmeval-shard auto --crmeval-run "([a-z]+-)\${number}"', start)
        assert f"'{run}*'" in end


@pytest.mark.parametrize("page", ["shards.md", "ci.md"])
def test_the_options_of_a_workflow_are_ours(page: str) -> None:
    """A copy of it runs."""
    *_, job = blocks(page, "yaml")

    assert set(re.findall(r"--crmeval-[a-z-]+", job)) <= DECLARED


def test_reference_has_every_option_and_setting() -> None:
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `(--crmeval-[a-z-]+)", page, re.MULTILINE)) == DECLARED
    assert set(re.findall(r"^\| `crmeval_([a-z_]+)", page, re.MULTILINE)) == set(SETTINGS)


def test_the_name_of_the_run_is_what_the_last_job_of_the_matrix_looks_for() -> None:
    (job,) = blocks("shards.md", "yaml")

    assert "RUN: shard-${{ matrix.shard }}" in job


def test_the_gates_of_the_pages_can_be_read() -> None:
    """Each in the table, in a command or in settings."""
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/gates.md", "docs/ci.md"))
    quoted = re.findall(r"[`'\"]([a-z]+(?:\[[^\]]+\])?\.[a-z_@^0-9]+ (?:[<>=]|not worse)[^`'\"]*)[`'\"]", pages)

    assert 15 <= len([Gate.parse(text) for text in quoted])


def test_the_nightly_job_posts_what_a_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The night before is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "before", "nightly", [trial("one")])
    keep(tmp_path / "reports", "nightly", [trial("one")])
    *_, job = blocks("ci.md", "yaml")
    (command,) = re.findall(r"crmeval (compare .*) > comparison.md", job)

    assert 0 == cli.main(command.split()), capsys.readouterr()
    assert capsys.readouterr().out.startswith("### nightly vs nightly\n")


@pytest.mark.parametrize(("result", "status"), [("success", 0), ("failure", 1), ("cancelled", 1)])
def test_the_last_job_of_the_matrix_is_red_if_a_shard_is(result: str, status: int) -> None:
    """A test that evaluates nothing is in no journal."""
    (job,) = blocks("shards.md", "yaml")
    _, _, after = job.partition("- run: crmeval merge")
    (command,) = re.findall(r"- run: (.*)", after)

    shown = subprocess.run(["/bin/sh", "-c", command.replace("${{ needs.shard.result }}", result)], check=False)

    assert status == shown.returncode


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_site_builds_without_a_broken_link(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    page = (tmp_path / "cases" / "index.html").read_text(encoding="utf-8")
    assert "/blob/main/evals/data/crm.jsonl" in page  # links that leave the folder lead to the repository
    assert 'href="../schemas/conversation-1.json"' in page
    for path in (tmp_path / "schemas").iterdir():  # where their address says
        assert address_of(f"crmeval.{path.stem.replace('-1', '/1')}") == json.loads(path.read_text())["$id"]
    assert {"report-1.json", "transcript-1.json", "problem-1.json"} <= {
        path.name for path in (tmp_path / "schemas").iterdir()
    }
    reference = (tmp_path / "reference" / "commands" / "index.html").read_text(encoding="utf-8")
    statuses = (tmp_path / "reference" / "exit-status" / "index.html").read_text(encoding="utf-8")
    for name in cli.COMMANDS:
        assert f'id="crmeval-{name}"' in reference
        assert f"#crmeval-{name}" in statuses, f"the help of crmeval {name} has no line 'Exit status: ...'"


@pytest.mark.parametrize(("script", "page"), [("crm_tools.py", "crm-tools.md"), ("model_specs.py", "models.md")])
def test_generated_page_is_what_its_script_writes(script: str, page: str) -> None:
    command = [sys.executable, str(ROOT / "docs" / script)]
    written = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert written == (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")


def test_list_of_decisions_is_complete() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\((0\d+[^)]*)\)", (folder / "index.md").read_text(encoding="utf-8"))
    assert listed == sorted(path.name for path in folder.glob("0*.md"))


def test_commands_of_the_pages_can_be_parsed() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES).replace("\\\n", " ")
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    lines += re.findall(r"^\$ (.*)", text, re.MULTILINE)
    parsed = 0
    for line in lines:
        assert set(re.findall(r"--crmeval-[a-z-]+", line)) <= DECLARED, line
        for command in re.split(r"&&|\|\||[|&;]", line):
            words = shlex.split(command, comments=True)
            if words and words[0].rpartition("/")[2] == "crmeval":
                given = words[1 : words.index("--") if "--" in words else None]
                cli.parser_for(given[:1]).parse_args(given)
                parsed += 1
    assert parsed > 30


def test_pages_on_markers_and_hooks_are_complete() -> None:
    reference = ROOT / "docs" / "reference"
    markers = (reference / "markers.md").read_text(encoding="utf-8")
    hooks = (reference / "hooks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"@pytest\.mark\.([a-z]+)\(", markers)) == {kind.marker for kind in KINDS}
    declared = {name for name in vars(hookspecs) if name.startswith("pytest_crmeval_")}
    assert set(re.findall(r"^\| `(pytest_crmeval_[a-z_]+)\(", hooks, re.MULTILINE)) == declared


def test_readme_is_short_and_its_links_lead_to_pages() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.split()) <= 600
    site = yaml.safe_load(re.sub(r"!!python\S+", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))["site_url"]
    linked = re.findall(rf"\]\({site}([^)]*)\)", readme)
    assert len(linked) > 6
    for link in linked:
        page = f"{link.rstrip('/') or 'index'}.md" if link.endswith("/") or not link else link
        assert (ROOT / "docs" / page).exists(), link


def test_links_between_files_of_the_repository_lead_somewhere() -> None:
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", ROOT / "docs" / "llms.txt"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_python_examples_can_be_compiled() -> None:
    examples = [(page, block) for page in PAGES for block in blocks_of(page, "python")]
    for page, block in examples:
        compile(block, str(page), "exec")
    assert len(examples) > 10


def test_settings_and_data_of_examples_can_be_parsed() -> None:
    for page in PAGES:
        for block in blocks_of(page, "toml"):
            tomllib.loads(block)
        for block in blocks_of(page, "yaml"):
            assert yaml.safe_load(block)


DIALOGUE = [user_says("How many clients are there?")]
ANSWERED = [*DIALOGUE, agent_says(Reply(calls=[ToolCall(tool="list_clients")])), crm_says([ToolResult(value=[{}, {}])])]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the kinds of message that agents in other processes have exchanged; each is checked against the schema."""
    schema = json.loads((files("pytest_crmeval") / "agents/agent-protocol.schema.json").read_text(encoding="utf-8"))
    seen: list[str] = []

    def check(kind: str, content: bytes) -> None:
        Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}).validate(json.loads(content))
        seen.append(kind)

    def request(*arguments: Any) -> bytes:  # noqa: ANN401 (as the other)
        content = protocol.request(*arguments)
        check("Request", content)
        return content

    def reply_in(content: bytes, conversation: str) -> Reply:
        check("Answer", content)
        return protocol.reply_in(content, conversation)

    for module in (http, command_agents):
        monkeypatch.setattr(module, "request", request)
        monkeypatch.setattr(module, "reply_in", reply_in)
    return seen


def test_example_of_an_agent_as_a_server_answers(checked: list[str]) -> None:
    (script,) = blocks("how-to/agents.md", "python")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-c", script.replace("9000", str(port))], stderr=subprocess.DEVNULL
    ) as server:
        agent = HttpAgent(f"http://127.0.0.1:{port}/reply")
        try:
            eventually(lambda: connects(port), "the server listens")
            assert Reply(calls=(ToolCall(tool="list_clients"),)) == reply_of(agent, DIALOGUE, ())
            assert Reply(text="There are 2 clients.") == reply_of(agent, ANSWERED, ())
            assert ["Request", "Answer"] * 2 == checked
        finally:
            server.kill()


def connects(port: int) -> bool:
    """Whether something listens on a port of loopback."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_example_of_an_agent_as_a_program_answers(tmp_path: Path, checked: list[str]) -> None:
    (script,) = blocks("how-to/agents.md", "javascript")
    (tmp_path / "agent.js").write_text(script, encoding="utf-8")
    agent = CommandAgent(f"node {tmp_path}/agent.js")

    assert Reply(calls=(ToolCall(tool="list_clients"),)) == reply_of(agent, DIALOGUE, ())
    assert Reply(text="There are 2 clients.") == reply_of(agent, ANSWERED, ())
    assert ["Request", "Answer"] * 2 == checked
    agent.close()


def test_example_of_an_agent_that_calls_tools_itself_answers() -> None:
    (script,) = blocks("tool-server.md", "python")
    names: dict[str, Any] = {}
    exec(script, names)  # noqa: S102 (the example)
    agent = as_agent(names["counter"], "")
    assert agent is not None

    (exchange,) = play(conversation("How many clients are there?"), agent, PaperCrm()).exchanges

    assert "There are 1 clients." == exchange.reply  # an object with one field
    assert [ToolCall(tool="list_clients")] == [call for call, _ in exchange.calls]


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_example_of_an_agent_in_bash_answers(tmp_path: Path, checked: list[str]) -> None:
    (script,) = blocks("how-to/agents.md", "bash")
    (tmp_path / "agent.sh").write_text(script, encoding="utf-8")
    agent = CommandAgent(f"bash {tmp_path}/agent.sh")

    assert Reply(calls=(ToolCall(tool="list_clients"),)) == reply_of(agent, DIALOGUE, ())
    assert Reply(text="I have looked at all clients.") == reply_of(agent, ANSWERED, ())
    assert ["Request", "Answer"] * 2 == checked
    agent.close()
