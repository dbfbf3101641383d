"""All options and settings, each with one line of help. docs/reference/options.md describes them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

Arguments = Mapping[str, Any]
"""Arguments of ``addoption`` or ``addini``."""


def _one(metavar: str, text: str) -> Arguments:
    return {"metavar": metavar, "help": text}


def _many(metavar: str, text: str) -> Arguments:
    return {"action": "append", "metavar": metavar, "help": f"{text}; repeatable"}


def _choice(choices: Sequence[str], text: str) -> Arguments:
    return {"choices": choices, "help": text}


def _switch(text: str) -> Arguments:
    return {"action": "store_const", "const": True, "help": text}


def _setting(text: str, default: str = "") -> Arguments:
    return {"help": f"{text} (default: {default})" if default else text, "default": default}


def _lines(text: str) -> Arguments:
    return {"help": f"{text}, one per line", "type": "linelist", "default": []}


def _truth(text: str, *, default: bool) -> Arguments:
    return {"help": f"{text} (default: {str(default).lower()})", "type": "bool", "default": default}


OPTIONS: Mapping[str, Mapping[str, Arguments]] = {
    "what to evaluate": {
        "--crmeval-agent": _many("SPEC", "agent to evaluate (default: oracle)"),
        "--crmeval-conversations": _many("FILE", "play this file instead of the marker's"),
        "--crmeval-questions": _many("FILE", "use this file instead of the marker's"),
        "--crmeval-solutions": _many("PATH", "run these files instead of the marker's"),
        "--crmeval-problems": _many("FILE", "use these problems instead of the marker's"),
        "--crmeval-tests": _one("DIR", "also use the generated tests in this folder"),
        "--crmeval-suite": _many("NAME", "only cases of this suite"),
        "--crmeval-tag": _many("TAG", "only cases with this tag"),
        "--crmeval-split": _choice(("train", "test"), "only cases of this split"),
        "--crmeval-sample": _one("N", "sample N cases per suite, the same for every agent"),
        "--crmeval-seed": _one("S", "seed for the sample (default: 0)"),
        "--crmeval-trials": _one("K", "play each case K times (default: 1)"),
        "--crmeval-shard": _one("I/N|auto", "play part I of N; auto: as the scheduler assigns"),
    },
    "how to run": {
        "--crmeval-scorer": _many("NAME", "scorer: state, calls, reply or clbench"),
        "--crmeval-invalid": _choice(("report", "play"), "report unpassable cases (default) or play them"),
        "--crmeval-judge": _one("SPEC", "model that checks statements and grades answers"),
        "--crmeval-user": _one("SPEC", "model that plays the users of cases with a goal"),
        "--crmeval-inflight": _one("K", "cases in flight per worker (default with models: 8)"),
        "--crmeval-cluster": _one("WHERE", "play on a Ray cluster: local, auto or its address"),
        "--crmeval-cluster-insecure": _switch("accept a cluster without token authentication"),
        "--crmeval-learning-from": _one("RUN", "start learning agents with the playbook of this run"),
        "--crmeval-sandbox": _one("WHERE", "where programs run: local or http://host:2000"),
        "--crmeval-fresh": _switch("run all solutions again; reuse no verdicts"),
        "--crmeval-budget": _one("USD", "maximum cost of the run in US dollars"),
        "--crmeval-estimate": _switch("estimate calls, tokens, cost and time; run nothing"),
        "--crmeval-record": _one("DIR", "record all model calls into this folder"),
        "--crmeval-replay": _one("DIR", "replay recorded model calls; no network, no key"),
        "--crmeval-set": _many("KEY=VALUE", "override an ini setting in this run"),
    },
    "run and results": {
        "--crmeval-run": _one("ID", "name of the run; the same name resumes it"),
        "--crmeval-progress": _choice(("auto", "on", "off"), "show progress (default: auto, off with -q)"),
        "--crmeval-verbose": _switch("show every failure and the whole summary"),
        "--crmeval-gate": _many("RULE", "rule for the exit status"),
        "--crmeval-baseline": _one("FILE|RUN|git:REF", "report to compare with, case by case"),
    },
}
"""Command-line options, by group. They have no defaults: None means that an option was not given."""

SETTINGS: Mapping[str, Arguments] = {
    "agents": _lines("named agents, 'name = spec'"),
    "gates": _lines("rules for the exit status"),
    "baseline": _setting("report that every run is compared with"),
    "reports": _setting("folder for journals and reports", "reports"),
    "failures": _setting("failed cases shown with their dialogue", "10"),
    "page": _truth("write reports/<run>.html", default=True),
    "otel": _setting("send telemetry: off, on or content", "off"),
    "inflight": _setting("the same as --crmeval-inflight"),
    "cluster_players": _setting("players per node of the cluster", "1"),
    "cluster_resources": _setting("what each player reserves, 'CPU=4 GPU=1'"),
    "cluster_runtime_env": _setting("Ray's runtime environment, as JSON"),
    "rates": _lines("rate limits, 'model 500rpm 200000tpm'"),
    "durations": _setting("run or report whose durations balance the shards"),
    "max_steps": _setting("maximum replies with tool calls per turn", "20"),
    "agent_timeout": _setting("seconds for one reply of your own agent", "300"),
    "max_failures": _setting("failed calls in a row that pause a model", "20"),
    "server_wait": _setting("seconds to wait for PostgreSQL", "60"),
    "env_file": _setting("file with environment variables (default: .env)"),
    "checkpoints": _setting("only checkpoints that match, like checkpoint-{49,98}"),
    "extract": _setting("code block: first, last or longest", "last"),
    "all_tests": _truth("run all tests, even after one fails", default=False),
    "tests_max": _setting("maximum generated tests per problem (default: all)"),
    "tests_sort": _setting("order: small_first or large_first", "none"),
    "tests_bytes": _setting("maximum bytes of generated tests (default: no limit)"),
    "tests_sample": _setting("share of generated tests to run", "1"),
    "tests_examples": _setting("examples: instead, always or never", "instead"),
    "tests_skip_over": _setting("skip inputs over this many bytes", "50000000"),
    "file_timeout": _setting("seconds per solution file", "300"),
    "solution_timeout": _setting("seconds per solution (default: no limit)"),
    "testlib": _setting("testlib.h for checkers in C++, or its folder"),
    "factors": _lines("limit multipliers, 'java time=2'"),
    "packages": _lines("folders of packages that programs import"),
    "unsafe_sandbox": _truth("run programs even without isolation", default=False),
}
"""Settings of the ini file, without their prefix ``crmeval_``."""


def add_options(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    for title, options in OPTIONS.items():
        group = parser.getgroup(f"crmeval {title}", f"crmeval: {title}")
        for name, arguments in options.items():
            group.addoption(name, **arguments)
    for name, arguments in SETTINGS.items():
        parser.addini(f"crmeval_{name}", **arguments)
