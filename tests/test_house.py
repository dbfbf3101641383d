"""The layers of the package, and slow modules that are not imported."""

import gc
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(sysconfig.get_path("scripts"))
FLOORS = "Modules import only from lower layers"
GLUE = "Only the modules for pytest import pytest"
PRIVATE = "Only compat imports private modules of pytest"
ANSWER_KEY = "Agents and models never reach the answer key"
SDKS = "Each SDK has one home"
RAY = "Only the cluster imports Ray"
CYCLES = "No cycles"
CONTRACTS = [FLOORS, GLUE, PRIVATE, ANSWER_KEY, SDKS, RAY, CYCLES]
US = "pytest_crmeval"
BREACHES = [
    (FLOORS, "postgres/keeper.py", "from pytest_crmeval import report", f"{US}.postgres.keeper -> {US}.report"),
    (FLOORS, "agents/scripted.py", "from pytest_crmeval.models import specs", f"{US}.agents.scripted -> {US}.models"),
    (FLOORS, "attic.py", "", f"{US}.attic"),
    (FLOORS, "loft/__init__.py", "", f"{US}.loft"),
    (GLUE, "player/job.py", "import pytest", f"{US}.player.job -> pytest "),
    (GLUE, "cli/report.py", "def _late() -> None:\n    import _pytest.config", f"{US}.cli.report -> _pytest"),
    (GLUE, "conversations/crm/postgres.py", "from xdist import plugin", f"{US}.conversations.crm.postgres -> xdist"),
    (PRIVATE, "collect/item.py", "from _pytest.config import Config", f"{US}.collect.item -> _pytest"),
    (
        *(ANSWER_KEY, "agents/scripted.py"),
        *("from pytest_crmeval.domain.expectation import Expectation", f"{US}.agents.scripted -> {US}.domain"),
    ),
    (
        *(ANSWER_KEY, "models/sdk.py"),
        *("from pytest_crmeval.domain.conversation import Conversation", f"{US}.models.sdk -> {US}.domain"),
    ),
    (ANSWER_KEY, "agents/chat.py", "from pytest_crmeval.ports.crm import Crm", f"{US}.agents.chat -> {US}.ports.crm"),
    (SDKS, "agents/scripted.py", "import openai", f"{US}.agents.scripted -> openai"),
    (SDKS, "questions/judge.py", "def _late() -> None:\n    import anthropic", f"{US}.questions.judge -> anthropic"),
    (RAY, "player/job.py", "def _late() -> None:\n    import ray", f"{US}.player.job -> ray"),
    (CYCLES, "domain/score.py", "from pytest_crmeval.domain.trial import Trial", r"\.score -> \.trial"),
]
"""A contract, the line of a module that breaks it, and the import or module that import-linter names."""


def lint(house: Path) -> tuple[dict[str, str], str]:
    """Return what import-linter says about each contract in a copy of the house, and all that it said."""
    result = subprocess.run(
        [SCRIPTS / "lint-imports", "--no-cache", "--no-logo"],
        cwd=house,
        env={**os.environ, "PYTHONPATH": str(house), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    verdicts = (line.rpartition(" ") for line in result.stdout.splitlines())
    return {name: said for name, _, said in verdicts if said in {"KEPT", "BROKEN"}}, result.stdout


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Return a copy of the house, in which things may be broken."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "pytest_crmeval", tmp_path / "pytest_crmeval", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(house: Path, module: str, line: str) -> None:
    """Add a line to a module of the copy."""
    place = house / "pytest_crmeval" / module
    place.parent.mkdir(exist_ok=True)
    with place.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")


def test_no_search_for_garbage_goes_through_all_tests() -> None:
    """It would take a third of a second: what was there before the first test is set aside."""
    assert gc.get_freeze_count() > 50_000


def test_tests_print_with_80_columns_on_every_terminal() -> None:
    """Whatever ``COLUMNS`` says to those who run the tests: lines are broken, and rules are drawn, as wide as that."""
    assert 80 == shutil.get_terminal_size().columns


def test_every_contract_is_kept_where_sdks_are_used_by_their_providers(house: Path) -> None:
    """The rest of the house may use a provider: the contract only forbids other homes."""
    add(house, "models/sdk.py", "import openai\nimport anthropic")
    add(house, "collect/fixtures.py", "from pytest_crmeval.models import sdk")

    verdicts, said = lint(house)

    assert dict.fromkeys(CONTRACTS, "KEPT") == verdicts, said


def test_each_contract_is_broken_by_one_line(house: Path) -> None:
    """That line breaks this contract and no other one."""
    for _, module, line, _ in BREACHES:
        add(house, module, line)

    verdicts, said = lint(house)

    assert dict.fromkeys(CONTRACTS, "BROKEN") == verdicts, said
    _, *parts = re.split(rf"^({'|'.join(CONTRACTS)})\n-+$", said, flags=re.MULTILINE)
    broken = dict(zip(parts[::2], parts[1::2], strict=True))
    for contract, _, _, named in BREACHES:
        assert [contract] == [title for title, why in broken.items() if re.search(rf"- +{named}", why)], (named, said)


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; it does not know that it is started by a test."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)


SLOW = {"openai", "anthropic", "psycopg", "pydantic", "msgspec", "pytest_postgresql", "xdist", "scipy", "numpy"}


def loaded_by(statement: str) -> set[str]:
    """Return which packages a fresh interpreter holds after a statement."""
    result = run(sys.executable, "-c", f"import json, sys\n{statement}\nprint(json.dumps(list(sys.modules)))")
    assert 0 == result.returncode, result.stderr
    return {name.partition(".")[0] for name in json.loads(result.stdout)}


def test_loading_the_plugin_loads_nothing_slow() -> None:
    """It is loaded in every pytest run of an environment, whether we are wanted or not."""
    assert set() == SLOW & loaded_by("import pytest_crmeval.plugin")


def test_the_public_names_do_not_load_pytest() -> None:
    """Agents are imported by programs that are not tests; of what is slow, only what encodes values is loaded."""
    assert {"msgspec"} == (SLOW | {"pytest", "_pytest"}) & loaded_by("from pytest_crmeval import *")


def test_slow_packages_would_be_noticed() -> None:
    """The two tests above can fail."""
    assert {"msgspec", "psycopg"} <= loaded_by("import pytest_crmeval.conversations.crm.postgres")


CONFTEST = """
import json
import os
import sys
from pathlib import Path


def pytest_sessionfinish(session):
    pytest_unconfigure(session.config)  # a slow worker may be killed before it is unconfigured


def pytest_unconfigure(config):
    who = os.environ.get("PYTEST_XDIST_WORKER", "controller")
    packages = sorted({name.partition(".")[0] for name in sys.modules})
    told = {"packages": packages, "active": config.pluginmanager.hasplugin("crmeval")}
    Path(__file__).with_name(f"{who}.json").write_text(json.dumps(told))
"""
UNRELATED = "def test_nothing(): pass"
MARKED = """
import pytest

@pytest.mark.conversations("cases.jsonl")
def test_conversation(conversation): pass
"""
Told = Callable[..., dict[str, set[str]]]


@pytest.fixture
def shown(tmp_path: Path) -> Told:
    """Return a function that runs pytest and returns which slow packages each of its processes holds at its end."""

    def pytest_run(test: str, *arguments: str) -> dict[str, set[str]]:
        (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
        shutil.copy(ROOT / "tests/data/handmade.jsonl", tmp_path / "cases.jsonl")
        # pytest-postgresql imports psycopg itself, in every run, with or without us.
        result = run(sys.executable, "-m", "pytest", "-p", "no:postgresql", *arguments, cwd=tmp_path)
        assert 0 == result.returncode, result.stdout
        found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}
        assert all(process["active"] for process in found.values())
        return {name: (SLOW - {"xdist"}) & set(process["packages"]) for name, process in found.items()}

    return pytest_run


def test_a_pytest_run_without_us_carries_nothing_slow(shown: Told) -> None:
    assert {"controller": set()} == shown(UNRELATED)


def test_a_pytest_run_without_us_carries_nothing_slow_on_workers(shown: Told) -> None:
    """The controller is ready to exchange values with its workers, and has loaded msgspec for that."""
    assert {"controller": {"msgspec"}, "gw0": set()} == shown(UNRELATED, "-n", "1")


def test_a_pytest_run_with_us_would_be_noticed(shown: Told) -> None:
    """The two tests above can fail: to know the cases, a marked test needs msgspec."""
    assert {"controller": {"msgspec"}} == shown(MARKED, "--collect-only")


def test_crmeval_never_imports_pytest() -> None:
    """It shows a report in the time in which pytest would still be loading plugins."""
    result = run(sys.executable, "-X", "importtime", SCRIPTS / "crmeval", "--help")

    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert result.stdout.startswith("usage: crmeval")
    assert "pytest_crmeval.cli" in imported
    assert set() == {"pytest", "_pytest", *SLOW} & {name.partition(".")[0] for name in imported}


ANSWERING = """
import atexit, json, sys
from pytest_crmeval import cli

atexit.register(lambda: sys.stderr.write(json.dumps(list(sys.modules))))
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize("command", [["list"], ["submit", "--hold", "."], ["stop", "latest"], ["run", "--help"]])
def test_commands_about_runs_import_nothing_slow(tmp_path: Path, command: list[str]) -> None:
    """A command loads itself, and no other one."""
    result = run(sys.executable, "-c", ANSWERING, *command, cwd=tmp_path)

    imported = set(json.loads(result.stderr.splitlines()[-1]))
    modules = {"submit", "run", "stop", "listing", "report", "lint", "describe", "generate", "calibrate"}
    loaded = {name for name in modules if f"pytest_crmeval.cli.{name}" in imported}
    assert {{"list": "listing"}.get(command[0], command[0])} == loaded
    slow = {"pytest", "_pytest", "rich", *SLOW} - {"msgspec"}  # what decodes the files of a run
    assert set() == slow & {name.partition(".")[0] for name in imported}
