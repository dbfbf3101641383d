"""The options and settings that pytest shows with --help."""

import pytest

from pytest_crmeval.options.checkpoints import add_checkpoint_options

SPLITS = ("train", "test")


def add_options(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    group = parser.getgroup("crmeval", "evaluation of agents and checkpoints (crmeval)")
    group.addoption(
        "--crmeval-agent",
        action="append",
        metavar="SPEC",
        help="who is evaluated; repeatable: oracle (default: knows the answers, scores 1.000), mute, claude, gpt-4.1, "
        "gpt-4.1-mini, openai:MODEL or anthropic:MODEL (?temperature=0&max_output_tokens=800&base_url=...), "
        "atlas (?student=openai:gpt-4.1-mini&teacher=openai:gpt-4.1: learns from each conversation for the next), "
        "module:attr of your own, or a name from the ini setting crmeval_agents",
    )
    _add_files(group)
    _add_scoring(group)
    _add_selection(group)
    _add_models(group)
    add_checkpoint_options(group)
    _add_judging(group)
    group.addoption(
        "--crmeval-run",
        metavar="ID",
        help="name of the run; a second time with the same ID does only what is missing",
    )
    group.addoption(
        "--crmeval-progress",
        choices=("auto", "on", "off"),
        help="show how far the run is: auto (default: at the bottom of a terminal, else a line a minute; not with -q), "
        "on (also with -q and in CI), or off",
    )
    _add_settings(parser)


def _add_files(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-conversations",
        action="append",
        metavar="FILE",
        help="play this JSON Lines file instead of the marker's; repeatable",
    )
    group.addoption(
        "--crmeval-questions",
        action="append",
        metavar="FILE",
        help="ask the questions of this file (JSON Lines, or a CSV of BrowseComp, SimpleQA or multiple choice) instead "
        "of the marker's; repeatable",
    )


def _add_scoring(group: pytest.OptionGroup) -> None:
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


def _add_judging(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-gate",
        action="append",
        metavar="RULE",
        help="rule that decides the exit status, instead of those of the ini setting crmeval_gates; repeatable: "
        "'crm.pass_rate >= 0.60', 'crm[gpt-4.1].latency_p95 <= 20s', 'crm.pass_rate not worse than baseline'",
    )
    group.addoption(
        "--crmeval-baseline",
        metavar="FILE|RUN|git:REF",
        help="the report to compare with, case by case: a file, the id of a run, or git:REF[:PATH], the baseline that "
        "is committed there (default: the ini setting crmeval_baseline)",
    )


def _add_selection(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-suite", action="append", metavar="NAME", help="play only cases of this suite; repeatable"
    )
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
    group.addoption(
        "--crmeval-trials",
        type=int,
        metavar="K",
        help="try each case K times (default 1), for pass@k and pass^k; a repeat is no other case: figures know it",
    )
    group.addoption("--crmeval-seed", type=int, metavar="S", help="seed of the sample (default 0)")
    group.addoption(
        "--crmeval-shard",
        metavar="I/N",
        help="play the I-th of N parts of what is selected, as one of N machines; crmeval merge joins their runs",
    )
    group.addoption(
        "--crmeval-durations",
        metavar="RUN",
        help="balance the shards by what this run (id, or path of its report) took, the same for all of them "
        "(default: by the number of turns)",
    )


def _add_models(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-inflight",
        type=int,
        metavar="K",
        help="cases that each worker plays at the same time (default: 8 with models, else 1)",
    )
    group.addoption(
        "--crmeval-judge",
        metavar="SPEC",
        help="a model that gives a second opinion on every conversation, and grades questions that only a judge can "
        "grade: openai:gpt-4.1?samples=3 (default: none)",
    )
    group.addoption(
        "--crmeval-learning-from",
        metavar="RUN",
        help="agents that learn begin with the playbook of this run (id, or path of its report; default: with none)",
    )
    group.addoption(
        "--crmeval-budget",
        metavar="USD",
        help="maximum cost of the run in US dollars, including its earlier parts and its judge, for example 5.00",
    )
    group.addoption(
        "--crmeval-estimate",
        action="store_const",
        const=True,
        help="tell what the run would take (calls, tokens, cost, time) and end before anything is spent",
    )
    group.addoption(
        "--crmeval-record",
        metavar="DIR",
        help="write what is asked of models, and what they answer, to cassettes there",
    )
    group.addoption(
        "--crmeval-replay",
        metavar="DIR",
        help="play from the cassettes there, with no network and no key; what is not in them is an error of the trial",
    )


def _add_settings(parser: pytest.Parser) -> None:
    parser.addini("crmeval_agents", "named agents, one 'name = spec' each", type="linelist", default=[])
    parser.addini(
        "crmeval_gates", "rules that decide the exit status: 'crm.pass_rate >= 0.60'", type="linelist", default=[]
    )
    parser.addini(
        "crmeval_baseline",
        "report that every run is compared with, relative to pytest's rootdir; --crmeval-baseline git:REF looks for it "
        "there (default: none; baseline.json for git:REF)",
        default="",
    )
    parser.addini("crmeval_reports", "folder of journals and reports", default="reports")
    parser.addini(
        "crmeval_page", "write reports/<run>.html at the end of a run (default: true)", type="bool", default=True
    )
    parser.addini("crmeval_max_steps", "replies with tool calls that an agent may give in one turn", default="20")
    parser.addini(
        "crmeval_server_wait",
        "seconds to wait for an unreachable PostgreSQL before the run is stopped (default: 60)",
        default="60",
    )
    parser.addini(
        "crmeval_max_failures",
        "consecutive calls without an answer after which a model is paused, probed, and given up if the probes fail; "
        "0 turns this off (default: 20)",
        default="20",
    )
    parser.addini("crmeval_inflight", "the same as --crmeval-inflight", default="")
    parser.addini(
        "crmeval_rates",
        "what all workers together may ask of a model: 'openai:gpt-4.1 500rpm 200000tpm'",
        type="linelist",
        default=[],
    )
    parser.addini(
        "crmeval_env_file", "file with KEY=value lines for the environment (default: .env, if it is there)", default=""
    )
