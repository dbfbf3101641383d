"""Read the command line, the ini file and the environment into one frozen ``Options``."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crmeval.agents import NAMED_AGENTS
from pytest_crmeval.journal.ids import new_run, problem_of
from pytest_crmeval.options.given import (
    Given,
    dollars,
    json_object,
    one_of,
    read,
    resources,
    seconds,
    share,
    telemetry,
    whole,
)
from pytest_crmeval.options.once import once_per_config
from pytest_crmeval.options.values import (
    AUTO,
    DEFAULT_SCORERS,
    EXAMPLES,
    EXTRACTIONS,
    MOST_INFLIGHT,
    ORDERS,
    SCORERS,
    CheckpointOptions,
    ClusterOptions,
    GeneratedTests,
    Options,
)

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.models.caps import Cap
    from pytest_crmeval.ports.sandbox import Language
    from pytest_crmeval.report.gate import Gate
    from pytest_crmeval.sandboxes.languages import Factors


@once_per_config
def options_of(config: pytest.Config) -> Options:
    """Return the options of this run, decided once: command line before ini before default."""
    given = Given(config)
    run = run_of_controller(config) or given.option("--crmeval-run")
    options = _read(config, given, run, config.rootpath / Path(given.text("reports")).expanduser())
    _check_rootdir(config, options.files)
    return options


def _read(config: pytest.Config, given: Given, run: str | None, reports: Path) -> Options:
    return Options(
        agents=given.options("--crmeval-agent") or ("oracle",),
        named_agents={**NAMED_AGENTS, **_named_agents(given)},
        conversations=given.files("--crmeval-conversations"),
        questions=given.files("--crmeval-questions"),
        checkpoints=_checkpoints(config, given),
        scorers=given.each("--crmeval-scorer", one_of(SCORERS)) or DEFAULT_SCORERS,
        play_invalid=given.option("--crmeval-invalid") == "play",
        trials=given.parsed("--crmeval-trials", whole(1)) or 1,
        **_selection(config, given),
        **_shards(config, given, reports / run if run else None, reports),
        run=new_run() if run is None else read(f"--crmeval-run {run!r}", run, _run),
        resumable=run is not None,
        gates=_gates(given),
        baseline=given.option("--crmeval-baseline") or "",
        baseline_file=given.text("baseline"),
        reports=reports,
        page=given.is_true("page"),
        otel=given.setting("otel", telemetry),
        failures=given.setting("failures", whole(0)),
        verbose=bool(given.option("--crmeval-verbose")),
        overrides=given.overrides,
        max_steps=given.setting("max_steps", whole(1)),
        agent_timeout=given.setting("agent_timeout", seconds),
        server_wait=given.setting("server_wait", whole(1)),
        cluster=_cluster(config, given),
        inflight=given.either("inflight", whole(1, MOST_INFLIGHT)),
        judge=given.option("--crmeval-judge") or "",
        user=given.option("--crmeval-user") or "",
        budget=given.parsed("--crmeval-budget", dollars),
        learning_from=given.option("--crmeval-learning-from") or "",
        estimate=bool(given.option("--crmeval-estimate")),
        **_cassettes(given),
        rates=_rates(given),
        max_failures=given.setting("max_failures", whole(0)),
    )


def _selection(config: pytest.Config, given: Given) -> dict[str, Any]:
    """Return which of the collected cases are played."""
    return {
        "suites": given.options("--crmeval-suite"),
        "tags": given.options("--crmeval-tag"),
        "split": given.option("--crmeval-split") or "",
        "sample": given.parsed("--crmeval-sample", whole(1)),
        "seed": given.parsed("--crmeval-seed", whole()) or 0,
        "narrowed": any(getattr(config.option, name, None) for name in ("keyword", "markexpr", "deselect")),
    }


def _checkpoints(config: pytest.Config, given: Given) -> CheckpointOptions:
    folders = [config.rootpath / Path(line).expanduser() for line in given.lines("packages")]
    if lost := next((folder for folder in folders if not folder.is_dir()), None):
        raise pytest.UsageError(f"{given.source('packages')}: the folder {lost} does not exist")
    return CheckpointOptions(
        solutions=given.files("--crmeval-solutions"),
        problems=given.files("--crmeval-problems"),
        pattern=given.text("checkpoints"),
        sandbox=given.option("--crmeval-sandbox") or AUTO,
        unsafe=given.is_true("unsafe_sandbox"),
        packages=folders,
        factors=_factors(given),
        extraction=given.setting("extract", one_of(EXTRACTIONS)),
        generated=GeneratedTests(
            folder=_existing(given, "--crmeval-tests"),
            most=given.optional("tests_max", whole(0)),
            order=given.setting("tests_sort", one_of(ORDERS)),
            bytes=given.optional("tests_bytes", whole(0)),
            share=given.setting("tests_sample", share),
        ),
        examples=given.setting("tests_examples", one_of(EXAMPLES)),
        skip_over=given.setting("tests_skip_over", whole(0)),
        all_tests=given.is_true("all_tests"),
        file_seconds=given.setting("file_timeout", seconds),
        solution_seconds=given.optional("solution_timeout", seconds),
        fresh=bool(given.option("--crmeval-fresh")),
        testlib=_testlib(config, given),
    )


def is_dry_run(config: pytest.Config) -> bool:
    """Whether pytest only shows tests or fixtures, and runs nothing."""
    if config.getoption("crmeval_estimate"):
        return True
    showing = ("collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test")
    return any(getattr(config.option, name, False) for name in showing)


def is_selective(config: pytest.Config) -> bool:
    """Whether pytest may deselect some of what is collected, which is not known before collection ends."""
    asked = (getattr(config.option, name, None) for name in ("keyword", "markexpr", "lf", "deselect"))
    return any(asked)


def is_partial(config: pytest.Config) -> bool:
    """Whether only a part of the project's tests is selected: by files, names, marks or tags."""
    options = options_of(config)
    files = any("::" in argument or Path(argument).is_file() for argument in config.args)
    return files or is_selective(config) or bool(options.tags or options.split)


def is_colored(config: pytest.Config) -> bool:
    """Whether the terminal at the end of the run shows colours; in a worker, the terminal of the controller."""
    sent = getattr(config, "workerinput", {}).get("crmeval", {})
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    return bool(sent.get("colored", terminal is not None and terminal.hasmarkup))


def run_of_controller(config: pytest.Config) -> str | None:
    """Return the id of the run that the controller sent to this worker; None in the controller itself."""
    sent: dict[str, str] = getattr(config, "workerinput", {}).get("crmeval", {})
    return sent.get("run")


def _check_rootdir(config: pytest.Config, given: Mapping[str, Sequence[Path]]) -> None:
    """Refuse a run whose rootdir pytest derived from the value of one of our options.

    pytest looks for the rootdir before it knows our options, and takes a value after a space for a path to collect.
    The project's settings would not be read, and reports would be written beside the data.
    """
    here, root = config.invocation_params.dir, config.rootpath
    if getattr(config.option, "rootdir", None) or config.inipath or root == here:
        return
    for option, paths in given.items():
        for path in paths:
            if path.is_relative_to(root) and not path.is_relative_to(here):
                raise pytest.UsageError(
                    f"pytest chose the rootdir {root} because of {option} {path}; write {option}={path} (with '='), "
                    "name the tests to collect, or add --rootdir"
                )


def _run(name: str) -> str:
    if problem := problem_of(name):
        raise ValueError(problem)
    return name


def _shards(config: pytest.Config, given: Given, run: Path | None, reports: Path) -> dict[str, Any]:
    """Return the shard to play, and the journal or report that shards are balanced by."""
    if given.option("--crmeval-shard") is None:
        return {"shard": None, "durations": None}
    from pytest_crmeval.journal.shard import Shard
    from pytest_crmeval.options.schedulers import assigned_shard

    def shard_in(text: str) -> Shard:
        return assigned_shard(os.environ) if text == AUTO else Shard.parse(text)

    shard = given.parsed("--crmeval-shard", shard_in)
    return {"shard": shard, "durations": _durations(config, given, run, reports)}


def _durations(config: pytest.Config, given: Given, run: Path | None, reports: Path) -> Path | None:
    if not given.text("durations"):
        return None
    from pytest_crmeval.journal.places import NoRunError, is_of, place_of

    try:
        place = place_of(given.text("durations"), reports, config.rootpath)
    except NoRunError as error:
        raise pytest.UsageError(f"{given.source('durations')}: {error}") from None
    if run and is_of(place, run):
        raise pytest.UsageError(f"{given.where('durations')}: this is the current run; name an earlier one")
    return place


def _cluster(config: pytest.Config, given: Given) -> ClusterOptions | None:
    address = given.option("--crmeval-cluster")
    if address is None:
        return None
    if getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        raise pytest.UsageError("--crmeval-cluster: cases are played on the nodes of the cluster; omit -n")
    for option in ("--crmeval-record", "--crmeval-replay"):
        if given.option(option):
            raise pytest.UsageError(f"{option} uses files of this machine; omit --crmeval-cluster")
    return ClusterOptions(
        address=address,
        insecure=bool(given.option("--crmeval-cluster-insecure")),
        players=given.setting("cluster_players", whole(1)),
        resources=given.setting("cluster_resources", resources),
        runtime_env=given.setting("cluster_runtime_env", json_object),
    )


def _cassettes(given: Given) -> dict[str, Any]:
    """Return where to record and where to replay from; one of them at most."""
    record, replay = given.folder("--crmeval-record"), given.folder("--crmeval-replay")
    if record and replay:
        raise pytest.UsageError("--crmeval-record and --crmeval-replay: choose one")
    if record:
        there = next(path for path in (record, *record.parents) if path.exists())
        if not (there.is_dir() and os.access(there, os.W_OK)):
            raise pytest.UsageError(f"{given.shown('--crmeval-record')}: {there} is not a writable folder")
    return {"record": record, "replay": _existing(given, "--crmeval-replay", "; --crmeval-record creates one")}


def _existing(given: Given, option: str, hint: str = "") -> Path | None:
    folder = given.folder(option)
    if folder and not folder.is_dir():
        raise pytest.UsageError(f"{given.shown(option)}: the folder does not exist{hint}")
    return folder


def _testlib(config: pytest.Config, given: Given) -> Path | None:
    if not given.text("testlib"):
        return None
    path = config.rootpath / Path(given.text("testlib")).expanduser()
    header = path / "testlib.h" if path.is_dir() else path
    if not header.is_file():
        raise pytest.UsageError(f"{given.where('testlib')}: the file {header} does not exist")
    return header


def _factors(given: Given) -> "dict[Language, Factors]":
    lines = given.lines("factors")
    if not lines:
        return {}
    from pytest_crmeval.sandboxes.languages import Factors

    return dict(read(given.source("factors"), line, Factors.parse) for line in lines)


def _rates(given: Given) -> tuple["Cap", ...]:
    lines = given.lines("rates")
    if not lines:
        return ()
    from pytest_crmeval.models.caps import Cap

    return tuple(read(given.source("rates"), line, Cap.parse) for line in lines)


def _named_agents(given: Given) -> dict[str, str]:
    named = {}
    for line in given.lines("agents"):
        name, equals, spec = (part.strip() for part in line.partition("="))
        if not (name and equals and spec):
            raise pytest.UsageError(f"{given.source('agents')}: {line!r} is not 'name = spec'")
        named[name] = spec
    return named


def _gates(given: Given) -> tuple["Gate", ...]:
    named = given.options("--crmeval-gate")
    source, lines = ("--crmeval-gate", named) if named else (given.source("gates"), given.lines("gates"))
    if not lines:
        return ()
    from pytest_crmeval.report.gate import Gate

    return tuple(read(source, line, Gate.parse) for line in lines)
