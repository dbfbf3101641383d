"""Command line, ini and environment -> one frozen Options."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.domain.gate import Gate

NAMED_AGENTS: Mapping[str, str] = {
    "claude": "anthropic:claude-sonnet-4-5-20250929",
    "gpt-4.1": "openai:gpt-4.1",
    "gpt-4.1-mini": "openai:gpt-4.1-mini",
}
"""Named agents out of the box; ``crmeval_agents`` adds to them."""

SCORERS = ("state", "calls", "reply", "clbench")
DEFAULT_SCORERS = SCORERS[:3]
SPLITS = ("train", "test")

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_KEY = pytest.StashKey["Options"]()


def add_options(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    group = parser.getgroup("crmeval", "evaluation of agents and checkpoints (crmeval)")
    group.addoption(
        "--crmeval-agent",
        action="append",
        metavar="SPEC",
        help="who is evaluated; repeatable: oracle (default: knows the answers, scores 1.000), mute, "
        "module:attr of your own, or a name from the ini setting crmeval_agents",
    )
    group.addoption(
        "--crmeval-conversations",
        action="append",
        metavar="FILE",
        help="play this JSON Lines file instead of the marker's; repeatable",
    )
    group.addoption(
        "--crmeval-scorer",
        action="append",
        metavar="NAME",
        help="what decides the verdict; repeatable, all must pass: state, calls, reply (default: these three), or "
        "clbench, the published benchmark's own; the fixture 'scorers' goes before",
    )
    group.addoption(
        "--crmeval-invalid",
        choices=("report", "play"),
        help="what to do with a case that nobody can pass: report it apart (default), or play it all the same",
    )
    _add_selection(group)
    group.addoption(
        "--crmeval-run",
        metavar="ID",
        help="name of the run; a second time with the same ID does only what is missing",
    )
    _add_settings(parser)


def _add_selection(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-tag",
        action="append",
        metavar="TAG",
        help="play only cases with this tag; repeatable: with any of them (-m 'this and not that' knows more)",
    )
    group.addoption("--crmeval-split", choices=SPLITS, help="play only cases of this split")
    group.addoption(
        "--crmeval-sample", type=int, metavar="N", help="play N cases of each suite, the same for every agent"
    )
    group.addoption("--crmeval-seed", type=int, metavar="S", help="seed of the sample (default 0)")


def _add_settings(parser: pytest.Parser) -> None:
    parser.addini("crmeval_agents", "named agents, one 'name = spec' each", type="linelist", default=[])
    parser.addini(
        "crmeval_gates", "rules that decide the exit status: 'crm.pass_rate >= 0.60'", type="linelist", default=[]
    )
    parser.addini("crmeval_reports", "folder of journals and reports", default="reports")
    parser.addini("crmeval_max_steps", "replies with tool calls that an agent may give in one turn", default="20")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What this run is to do, decided once."""

    agents: Sequence[str]
    named_agents: Mapping[str, str]
    conversations: Sequence[Path]
    scorers: Sequence[str]
    play_invalid: bool
    tags: Sequence[str]
    """Cases with any of them are played; all cases if there is none."""
    split: str
    sample: int | None
    seed: int
    run: str
    resumable: bool
    """Whether the user named the run: only then can there be an earlier part of it."""
    gates: Sequence["Gate"]
    reports: Path
    max_steps: int
    dsn: str | None

    @classmethod
    def from_config(cls, config: pytest.Config) -> "Options":
        """Decide once: command line before ini before default."""
        if _KEY not in config.stash:
            config.stash[_KEY] = cls._decide(config)
        return config.stash[_KEY]

    @classmethod
    def _decide(cls, config: pytest.Config) -> "Options":
        run = run_of_controller(config) or config.getoption("crmeval_run")
        here = config.invocation_params.dir
        return cls(
            agents=tuple(dict.fromkeys(config.getoption("crmeval_agent") or ["oracle"])),
            named_agents={**NAMED_AGENTS, **_named(config.getini("crmeval_agents"))},
            conversations=tuple(here / name for name in config.getoption("crmeval_conversations") or ()),
            scorers=_scorers(config.getoption("crmeval_scorer")),
            play_invalid=config.getoption("crmeval_invalid") == "play",
            tags=tuple(dict.fromkeys(config.getoption("crmeval_tag") or ())),
            split=config.getoption("crmeval_split") or "",
            sample=_positive("--crmeval-sample", config.getoption("crmeval_sample")),
            seed=config.getoption("crmeval_seed") or 0,
            run=_new_run() if run is None else _checked_run(run),
            resumable=run is not None,
            gates=_gates(config.getini("crmeval_gates")),
            reports=config.rootpath / Path(config.getini("crmeval_reports")).expanduser(),
            max_steps=_positive("crmeval_max_steps", _number("crmeval_max_steps", config)) or 1,
            dsn=os.environ.get("CRMEVAL_DSN"),
        )

    @property
    def folder(self) -> Path:
        """Where the run keeps its journal."""
        return self.reports / self.run

    @property
    def selection(self) -> str:
        """Which cases were asked for, in words; nothing if all of them."""
        told = {
            f"tag {' or '.join(self.tags)}": self.tags,
            f"split {self.split}": self.split,
            f"a sample of {self.sample} (seed {self.seed})": self.sample,
        }
        return ", ".join(words for words, asked in told.items() if asked)

    def spec(self, agent: str) -> str:
        """Return the spec behind a name."""
        return self.named_agents.get(agent, agent)


def is_dry_run(config: pytest.Config) -> bool:
    """Whether pytest was only asked to show what there is."""
    showing = ("collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test")
    return any(getattr(config.option, name, False) for name in showing)


def is_colored(config: pytest.Config) -> bool:
    """Whether the terminal at the end of the run shows colours; a worker asks the controller's."""
    told = getattr(config, "workerinput", {}).get("crmeval", {})
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    return bool(told.get("colored", terminal is not None and terminal.hasmarkup))


def run_of_controller(config: pytest.Config) -> str | None:
    """Return the run's id as the controller told this worker; None in the controller itself."""
    told: dict[str, str] = getattr(config, "workerinput", {}).get("crmeval", {})
    return told.get("run")


def _new_run() -> str:
    import secrets

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _checked_run(run: str) -> str:
    if run == "latest" or run.endswith((".json", ".part")) or not _RUN_ID.fullmatch(run):
        raise pytest.UsageError(
            f"--crmeval-run {run!r}: use up to 40 letters, digits, '.', '_' and '-', starting with a letter or digit; "
            "'latest' and what ends with '.json' or '.part' are taken"
        )
    return run


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


def _named(lines: Sequence[str]) -> dict[str, str]:
    named = {}
    for line in lines:
        name, equals, spec = (part.strip() for part in line.partition("="))
        if not (name and equals and spec):
            raise pytest.UsageError(f"crmeval_agents: {line!r} is not 'name = spec'")
        named[name] = spec
    return named


def _gates(lines: Sequence[str]) -> tuple["Gate", ...]:
    if not lines:
        return ()
    from pytest_crmeval.domain.gate import Gate, GateSyntaxError

    try:
        return tuple(Gate.parse(line) for line in lines)
    except GateSyntaxError as error:
        raise pytest.UsageError(f"crmeval_gates: {error}") from None
