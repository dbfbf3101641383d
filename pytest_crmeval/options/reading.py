"""From the command line, the ini file and the environment to one frozen ``Options``."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crmeval.agents.named import NAMED_AGENTS
from pytest_crmeval.journal.ids import new_run, problem_of
from pytest_crmeval.options.checkpoints import checkpoint_options_of
from pytest_crmeval.options.rootdir import check_rootdir
from pytest_crmeval.options.values import DEFAULT_SCORERS, MOST_INFLIGHT, SCORERS, Options

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.domain.shard import Shard
    from pytest_crmeval.models.limits import Cap
    from pytest_crmeval.report.gate import Gate

_KEY = pytest.StashKey[Options]()


def options_of(config: pytest.Config) -> Options:
    """Return the options of this run, decided once: command line before ini before default."""
    if _KEY not in config.stash:
        config.stash[_KEY] = options = _decide(config)
        check_rootdir(config, options.files)
    return config.stash[_KEY]


def _decide(config: pytest.Config) -> Options:
    run = run_of_controller(config) or config.getoption("crmeval_run")
    here = config.invocation_params.dir
    return Options(
        agents=tuple(dict.fromkeys(config.getoption("crmeval_agent") or ["oracle"])),
        named_agents={**NAMED_AGENTS, **_named(config.getini("crmeval_agents"))},
        conversations=tuple(here / name for name in config.getoption("crmeval_conversations") or ()),
        questions=tuple(here / name for name in config.getoption("crmeval_questions") or ()),
        checkpoints=checkpoint_options_of(config),
        scorers=_scorers(config.getoption("crmeval_scorer")),
        play_invalid=config.getoption("crmeval_invalid") == "play",
        suites=tuple(dict.fromkeys(config.getoption("crmeval_suite") or ())),
        tags=tuple(dict.fromkeys(config.getoption("crmeval_tag") or ())),
        split=config.getoption("crmeval_split") or "",
        sample=_positive("--crmeval-sample", config.getoption("crmeval_sample")),
        seed=config.getoption("crmeval_seed") or 0,
        narrowed=any(getattr(config.option, name, None) for name in ("keyword", "markexpr", "deselect")),
        trials=_positive("--crmeval-trials", config.getoption("crmeval_trials")) or 1,
        shard=_shard(config),
        durations=_durations(config),
        run=new_run() if run is None else _checked_run(run),
        resumable=run is not None,
        gates=_gates(config),
        baseline=config.getoption("crmeval_baseline") or "",
        baseline_file=config.getini("crmeval_baseline"),
        reports=_reports(config),
        max_steps=_positive("crmeval_max_steps", _number("crmeval_max_steps", config)) or 1,
        server_wait=_positive("crmeval_server_wait", _number("crmeval_server_wait", config)) or 1,
        inflight=_inflight(config),
        judge=config.getoption("crmeval_judge") or "",
        budget=_budget(config.getoption("crmeval_budget")),
        learning_from=config.getoption("crmeval_learning_from") or "",
        estimate=bool(config.getoption("crmeval_estimate")),
        **_cassettes(config),
        rates=_rates(config.getini("crmeval_rates")),
        max_failures=_not_negative("crmeval_max_failures", config),
    )


def is_dry_run(config: pytest.Config) -> bool:
    """Whether pytest was only asked to show what there is."""
    if config.getoption("crmeval_estimate"):
        return True
    showing = ("collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test")
    return any(getattr(config.option, name, False) for name in showing)


def is_selective(config: pytest.Config) -> bool:
    """Whether only some of what is collected may be run: nobody knows which before that is done."""
    asked = (getattr(config.option, name, None) for name in ("keyword", "markexpr", "lf", "deselect"))
    return any(asked)


def is_partial(config: pytest.Config) -> bool:
    """Whether somebody has asked for a part of the project's tests: files, names, marks, tags."""
    options = options_of(config)
    files = any("::" in argument or Path(argument).is_file() for argument in config.args)
    return files or is_selective(config) or bool(options.tags or options.split)


def is_colored(config: pytest.Config) -> bool:
    """Whether the terminal at the end of the run shows colours; a worker asks the controller's."""
    told = getattr(config, "workerinput", {}).get("crmeval", {})
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    return bool(told.get("colored", terminal is not None and terminal.hasmarkup))


def run_of_controller(config: pytest.Config) -> str | None:
    """Return the run's id as the controller told this worker; None in the controller itself."""
    told: dict[str, str] = getattr(config, "workerinput", {}).get("crmeval", {})
    return told.get("run")


def _checked_run(run: str) -> str:
    if problem := problem_of(run):
        raise pytest.UsageError(f"--crmeval-run {run!r}: {problem}")
    return run


def _reports(config: pytest.Config) -> Path:
    return config.rootpath / Path(config.getini("crmeval_reports")).expanduser()


def _shard(config: pytest.Config) -> "Shard | None":
    text = config.getoption("crmeval_shard")
    if text is None:
        return None
    from pytest_crmeval.domain.shard import Shard, ShardSyntaxError

    try:
        return Shard.parse(text)
    except ShardSyntaxError as error:
        raise pytest.UsageError(f"--crmeval-shard {error}") from None


def _durations(config: pytest.Config) -> Path | None:
    """Return the journal or report that shards are balanced by."""
    named = config.getoption("crmeval_durations")
    if named is None:
        return None
    if config.getoption("crmeval_shard") is None:
        raise pytest.UsageError("--crmeval-durations is for --crmeval-shard: choose a part, too: 1/4")
    from pytest_crmeval.journal.places import NoRunError, is_of, place_of

    try:
        place = place_of(named, _reports(config), config.invocation_params.dir)
    except NoRunError as error:
        raise pytest.UsageError(f"--crmeval-durations {error}") from None
    run = run_of_controller(config) or config.getoption("crmeval_run")
    if run and is_of(place, _reports(config) / run):
        raise pytest.UsageError(f"--crmeval-durations {named!r}: this is the run that is played; name an earlier one")
    return place


def _scorers(names: Sequence[str] | None) -> tuple[str, ...]:
    unknown = [name for name in names or () if name not in SCORERS]
    if unknown:
        raise pytest.UsageError(f"--crmeval-scorer {unknown[0]!r}: there is no such scorer; try {', '.join(SCORERS)}")
    return tuple(dict.fromkeys(names or DEFAULT_SCORERS))


def _positive(option: str, number: int | None) -> int | None:
    if number is not None and number < 1:
        raise pytest.UsageError(f"{option} {number}: give a number of at least 1")
    return number


def _number(setting: str, config: pytest.Config) -> int:
    text = config.getini(setting)
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"{setting} = {text!r}: give a whole number") from None


def _not_negative(setting: str, config: pytest.Config) -> int:
    number = _number(setting, config)
    if number < 0:
        raise pytest.UsageError(f"{setting} = {number}: must be 0 or more")
    return number


def _inflight(config: pytest.Config) -> int | None:
    given: int | None = config.getoption("crmeval_inflight")
    if given is None and config.getini("crmeval_inflight"):
        given = _number("crmeval_inflight", config)
    if given is not None and not 1 <= given <= MOST_INFLIGHT:
        raise pytest.UsageError(f"--crmeval-inflight {given}: give a number from 1 to {MOST_INFLIGHT}")
    return given


def _budget(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        budget = float(text.removeprefix("$"))
    except ValueError:
        budget = 0.0
    if not 0.0 < budget < float("inf"):
        raise pytest.UsageError(f"--crmeval-budget {text!r}: give US dollars, more than none: 5.00")
    return budget


def _cassettes(config: pytest.Config) -> dict[str, Path | None]:
    """Return where to record and where to replay from; one of them at most."""
    here = config.invocation_params.dir
    record, replay = config.getoption("crmeval_record"), config.getoption("crmeval_replay")
    if "" in {record, replay}:
        raise pytest.UsageError("--crmeval-record and --crmeval-replay: name a folder")
    if record and replay:
        raise pytest.UsageError(
            "--crmeval-record and --crmeval-replay: choose one; what is replayed is recorded already"
        )
    folders = {
        "record": here / Path(record).expanduser() if record else None,
        "replay": here / Path(replay).expanduser() if replay else None,
    }
    if folders["record"] and (problem := _unwritable(folders["record"])):
        raise pytest.UsageError(f"--crmeval-record {record}: {problem}")
    if folders["replay"] and not folders["replay"].is_dir():
        raise pytest.UsageError(f"--crmeval-replay {replay}: there is no such folder; --crmeval-record makes one")
    return folders


def _unwritable(folder: Path) -> str:
    """Return why nothing can be written there; nothing if it can, or if the folder can be made."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        return f"{there} is no folder"
    return "" if os.access(there, os.W_OK) else f"{there} can't be written"


def _rates(lines: Sequence[str]) -> tuple["Cap", ...]:
    if not lines:
        return ()
    from pytest_crmeval.models.limits import Cap, CapError

    try:
        return tuple(Cap.parse(line) for line in lines)
    except CapError as error:
        raise pytest.UsageError(f"crmeval_rates: {error}") from None


def _named(lines: Sequence[str]) -> dict[str, str]:
    named = {}
    for line in lines:
        name, equals, spec = (part.strip() for part in line.partition("="))
        if not (name and equals and spec):
            raise pytest.UsageError(f"crmeval_agents: {line!r} is not 'name = spec'")
        named[name] = spec
    return named


def _gates(config: pytest.Config) -> tuple["Gate", ...]:
    given: Sequence[str] | None = config.getoption("crmeval_gate")
    where, lines = ("--crmeval-gate", given) if given else ("crmeval_gates", config.getini("crmeval_gates"))
    if not lines:
        return ()
    from pytest_crmeval.report.gate import Gate, GateSyntaxError

    try:
        return tuple(Gate.parse(line) for line in lines)
    except GateSyntaxError as error:
        raise pytest.UsageError(f"{where}: {error}") from None
