"""What is published: wheel and sdist, the GitHub Action, the pre-commit hook, the workflows."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from pytest_crmeval.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]


def _build(folder: Path) -> Mapping[str, bytes]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_distributions_are_reproducible_and_a_wheel_gives_a_first_run(tmp_path: Path) -> None:
    built = _build(tmp_path / "first")
    assert len(built) == 2
    assert built == _build(tmp_path / "second")

    (wheel,) = (tmp_path / "first").glob("*.whl")
    site = tmp_path / "site"
    ZipFile(wheel).extractall(site)  # as pip does, without compiling every module
    environment = {**os.environ, "PYTHONPATH": str(site)}  # before the checkout, which is installed as well

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert not done.returncode, done.stdout + done.stderr
        return done.stdout

    assert run("-c", "import pytest_crmeval; print(pytest_crmeval.__file__)").startswith(str(site))
    sets = "from pytest_crmeval.conversations.calibration.labelled_replies import committed_sets as sets"
    assert f"{site}/" in run("-c", f"{sets}; print(*sets())")
    run("-m", "pytest_crmeval.cli", "init", "project", "--with-suite", "crm")
    run("-m", "pytest", "project", "-p", "no:xdist", "--crmeval-sample", "3", "-p", "no:cacheprovider")
    report = json.loads((tmp_path / "project" / "reports" / "latest.json").read_text())
    assert {(row["suite"], row["passed"], row["planned"]) for row in report["results"]} >= {
        ("crm", 3, 3),
        ("questions", 3, 3),
    }


def test_heavy_packages_are_not_imported_with_the_plugin() -> None:
    heavy = {"scipy", "jinja2", "openai", "anthropic", "psycopg"}
    probe = f"import sys, pytest_crmeval.plugin; sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", probe], check=False, capture_output=True, text=True)
    assert not done.stderr.strip()


def test_action_passes_its_inputs_to_pytest(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    inputs = {name: given["default"] for name, given in action["inputs"].items()}
    inputs |= {
        "agents": "claude gpt-4.1",
        "gates": "crm.errored == 0\ncrm[claude].pass_rate >= 0.6\n",
        "arguments": "-k quote",
    }
    environment = {key: inputs[value[11:-3]] for key, value in steps["Evaluate"]["env"].items()}  # ${{ inputs.NAME }}
    (tmp_path / "pytest").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "pytest").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/bash", "-e", "-o", "pipefail", "-c", steps["Evaluate"]["run"]],
        env={"PATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    agents = ["--crmeval-agent", "claude", "--crmeval-agent", "gpt-4.1"]
    gates = ["--crmeval-gate", "crm.errored == 0", "--crmeval-gate", "crm[claude].pass_rate >= 0.6"]
    expected = ["evals", "-n", "2", "--junitxml=reports/junit.xml", *agents, *gates, "-k", "quote"]
    assert done.stdout.splitlines() == expected


def test_pre_commit_hook_names_a_command_and_finds_conversations() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, command = hook["entry"].split()
    assert (program, command in COMMANDS) == ("crmeval", True)
    assert re.search(hook["files"], "evals/data/crm.jsonl")
    assert not re.search(hook["files"], "evals/data/questions.jsonl")


def test_workflows_test_every_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if ":: Python :: 3." in name]
    assert versions == workflow["jobs"]["test"]["strategy"]["matrix"]["python"]


def test_completion_knows_commands_and_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", "bash"])
    assert not ended.value.code
    script = capsys.readouterr().out
    assert "--with-suite" in script
    subprocess.run(["/bin/bash", "-n"], input=script, text=True, check=True)
