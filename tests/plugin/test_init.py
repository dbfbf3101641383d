"""`crmeval init`: the project that it writes runs at once."""

import json
import re
from pathlib import Path

import pytest
import yaml

from pytest_crmeval.cli import main

pytest_plugins = ["pytester"]


TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def _shown_in_tutorial() -> list[str]:
    """Return the output in the tutorial, block by block, as patterns of lines; ``...`` matches anything."""
    blocks = re.findall(r"```text\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    return [re.escape(block).replace(re.escape("..."), ".*") for block in blocks]


def _results(folder: Path) -> dict[tuple[str, str], tuple[int, int]]:
    report = json.loads((folder / "reports" / "latest.json").read_text())
    return {(row["suite"], row["subject"]): (row["passed"], row["planned"]) for row in report["results"]}


def test_first_run_passes_and_own_agent_passes_what_it_can(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # as wide as the output in the tutorial
    assert main(["init", "."]) == 0
    first = pytester.runpytest_subprocess()
    assert first.ret == pytest.ExitCode.OK
    table, dialogue, gate = _shown_in_tutorial()
    assert re.search(table, first.stdout.str())
    first.stdout.fnmatch_lines(["gate crm[[]mine[]].pass_rate >= 0.60: not evaluated *"])
    assert _results(pytester.path) == {
        ("crm", "oracle"): (3, 3),
        ("questions", "oracle"): (5, 5),
        ("checkpoints", "checkpoint-100"): (1, 1),
        ("checkpoints", "checkpoint-200"): (1, 1),
    }

    result = pytester.runpytest_subprocess("evals/test_crm.py", "--crmeval-agent", "mine")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert re.search(dialogue, result.stdout.str())
    assert re.search(gate, result.stdout.str())
    assert _results(pytester.path) == {("crm", "mine"): (1, 3)}
    result.stdout.fnmatch_lines(
        ["gate crm[[]mine[]].pass_rate >= 0.60: BREACHED *", "gate questions*: not evaluated *"]
    )


@pytest.mark.parametrize("kind", ["questions", "checkpoints"])
def test_each_file_of_a_new_project_passes_alone(pytester: pytest.Pytester, kind: str) -> None:
    assert main(["init", "."]) == 0
    assert pytester.runpytest_subprocess(f"evals/test_{kind}.py").ret == pytest.ExitCode.OK


def test_model_is_named_in_settings_and_workflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "project", "--agent", "anthropic:claude-x?max_output_tokens=900"]) == 0
    project = tmp_path / "project"
    assert (
        'crmeval_agents = ["claude-x = anthropic:claude-x?max_output_tokens=900"]'
        in (project / "pyproject.toml").read_text()
    )
    assert not (project / "evals" / "agent.py").exists()
    workflow = yaml.safe_load((project / ".github" / "workflows" / "evals.yml").read_text())
    step = workflow["jobs"]["evals"]["steps"][3]
    assert step["env"] == {"ANTHROPIC_API_KEY": "${{ secrets.ANTHROPIC_API_KEY }}"}
    assert step["run"].endswith("--crmeval-agent claude-x")
    assert '"crm[claude-x].pass_rate >= 0.60"' in (project / "pyproject.toml").read_text()
    assert "export ANTHROPIC_API_KEY=" in capsys.readouterr().out


def test_model_that_needs_no_key_is_not_given_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "project"), "--agent", "ollama:llama3"]) == 0
    workflow = yaml.safe_load((tmp_path / "project" / ".github" / "workflows" / "evals.yml").read_text())
    assert "env" not in workflow["jobs"]["evals"]["steps"][3]
    shown = capsys.readouterr().out
    assert ("export" in shown, "--crmeval-agent llama3 --crmeval-estimate" in shown) == (False, True)


def test_bundled_suite_is_included_on_request(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "project"), "--with-suite", "crm"]) == 0
    assert len((tmp_path / "project" / "evals" / "data" / "crm.jsonl").read_text().splitlines()) == 1200


def test_existing_file_is_kept_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text("# mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "pyproject.toml already exists; nothing was written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize("spec", ["bots:Closer", "openai:", "gpt5", "openai:m?temperature=9"])
def test_agent_that_is_not_a_model_is_refused(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "project"), "--agent", spec]) == 2
    assert f"--agent {spec}: " in capsys.readouterr().err
    assert not (tmp_path / "project").exists()
