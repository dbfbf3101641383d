"""The parts of a run: their options, and whether the run can be resumed with the current options."""

import platform
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import pytest

from pytest_crmeval.agents.chat import question_prompt, system_prompt
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.journal.provenance import code_of, commit_at, datasets_of, fingerprint_of
from pytest_crmeval.journal.reader import RunRecord
from pytest_crmeval.journal.shard import Shard, is_merged, listed, missing_shards, shard_of
from pytest_crmeval.models.specs import is_model
from pytest_crmeval.options.environment import addresses_of, redactor_of
from pytest_crmeval.options.reading import is_partial, options_of
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.agents import subjects_of
from pytest_crmeval.report.scope import LeftOut

_PACKAGES = ("pytest", "pytest-crmeval", "pytest-xdist", "openai", "anthropic", "genai-prices", "scipy")
_PROMPTS: Mapping[str, Callable[[], str]] = {"conversations": system_prompt, "questions": question_prompt}
SECRET_OPTION = "--postgresql-password"  # noqa: S105 (its name, to hide its value)


def part_of(config: pytest.Config, server: str, division: JsonObject, left_out: LeftOut) -> JsonObject:
    """Return the record of this part; ``division`` describes how cases were divided into shards."""
    options, subjects = options_of(config), subjects_of(context_of(config))
    arguments = _without_secret(config.invocation_params.args)
    # Gates of plugins can be evaluated only by their hooks.
    has_gates = bool(config.hook.pytest_crmeval_gate.get_hookimpls())
    own = {agent: spec for agent, spec in subjects.items() if ":" in spec and not is_model(spec)}
    return {
        "started": _now(),
        "command": redactor_of(config).text(shlex.join(["pytest", *arguments])),
        "agents": dict(subjects),
        **_given(addresses=dict(addresses_of(config))),
        **_given(chosen=bool(config.getoption("crmeval_agent")), git=commit_at(config.rootpath)),
        "version": version("pytest-crmeval"),
        **_given(code=_given(**{agent: code_of(spec) for agent, spec in own.items()})),
        "prompts": {kind: fingerprint_of(text()) for kind, text in _PROMPTS.items()},
        "max_steps": options.max_steps,
        **_given(suites=list(options.suites), partial=is_partial(config), plugin_gates=has_gates),
        "tags": list(options.tags),
        "split": options.split or None,
        "sample": options.sample,
        "seed": options.seed,
        **({"shard": {"index": shard.index, "of": shard.of, **division}} if (shard := options.shard) else {}),
        "scorers": list(options.scorers),
        "invalid": "play" if options.play_invalid else "report",
        **_given(
            trials=options.trials if options.trials > 1 else None,
            judge=options.judge,
            user=options.user,
            budget=options.budget,
            record=str(options.record or ""),
            replay=str(options.replay or ""),
            settings=list(map(redactor_of(config).text, options.overrides)),
            left_out={suite: dict(reasons) for suite, reasons in left_out.items()},
        ),
        "server": server,
    }


def facts_of(past: RunRecord, options: Options) -> JsonObject:
    """Return the facts about a run for its report, over all its parts."""
    return {
        "id": options.run,
        "started": past.parts[0]["started"],
        "ended": _now(),
        "spent": round(past.spent, 8),
        "parts": past.parts,
        "datasets": datasets_of(past.planned.values()),
        **_given(red=sorted(past.red)),
        "machine": platform.platform(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
    }


def check_rules(parts: Sequence[JsonObject], options: Options, division: JsonObject) -> None:
    """Refuse to resume a run with other rules: verdicts of two kinds do not add up, nor do shards of two divisions."""
    begun = f"crmeval: run {options.run!r} was started"
    if why := other_shard(parts, options.shard, division):
        raise pytest.UsageError(f"crmeval: run {options.run!r} {why}, or choose another --crmeval-run")
    for part in parts:
        names, now = part.get("scorers"), options.scorers
        before = list(map(str, names)) if isinstance(names, list) else []  # older journals don't have it
        if before and set(before) != set(now):
            raise pytest.UsageError(
                f"{begun} with the scorers {', '.join(before)}, so it can't be resumed with {', '.join(now)}; "
                "use the same --crmeval-scorer, or another --crmeval-run"
            )
        if part.get("judge", "") != options.judge:
            raise pytest.UsageError(
                f"{begun} {_judged(part.get('judge'))}, so it can't be resumed {_judged(options.judge)}; "
                "use the same --crmeval-judge, or another --crmeval-run"
            )
        if part.get("user", "") != options.user:
            raise pytest.UsageError(
                f"{begun} with the simulated user {part.get('user') or 'none'!r}, so it can't be resumed with "
                f"{options.user or 'none'!r}; use the same --crmeval-user, or another --crmeval-run"
            )
        if options.learning_from and part.get("learning_from", "") != options.learning_from:
            raise pytest.UsageError(
                f"{begun} with different playbooks from those of {options.learning_from}; "
                "omit --crmeval-learning-from, or choose another --crmeval-run"
            )
        if part.get("invalid") == "play" and not options.play_invalid:
            raise pytest.UsageError(f"{begun} with --crmeval-invalid=play; add it, or choose another --crmeval-run")


def _given(**facts: Json) -> JsonObject:
    """Return the facts that have a value."""
    return {name: fact for name, fact in facts.items() if fact}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _judged(judge: Json) -> str:
    return f"with the judge {judge}" if judge else "without a judge"


def _without_secret(arguments: Sequence[object]) -> Iterator[str]:
    """Yield the command line without passwords, because it is stored in the report."""
    before = ""
    for argument in map(str, arguments):
        if before == SECRET_OPTION:
            yield "..."
        else:
            yield f"{SECRET_OPTION}=..." if argument.startswith(f"{SECRET_OPTION}=") else argument
        before = argument


def other_shard(parts: Sequence[JsonObject], now: Shard | None, division: JsonObject) -> str:
    """Return why a run can't be resumed as the shard ``now``; empty if it can."""
    if not parts:
        return ""
    if is_merged(parts):
        return _other_than_merged(parts, now)
    for part in parts:
        before = shard_of(part)
        if before != now:
            choice = f"add --crmeval-shard {before}" if before else "omit --crmeval-shard"
            return f"was started {_as_shard(before)}, so it can't be resumed {_as_shard(now)}; {choice}"
        if before and (test := _divided_otherwise(part.get("shard"), division)):
            return (
                f"was started as shard {before} of other cases of {test}; select the same cases (tags, split, sample, "
                "crmeval_durations)"
            )
    return ""


def _other_than_merged(parts: Sequence[JsonObject], now: Shard | None) -> str:
    """Return why a merged run can't be resumed; empty if it can."""
    missing = missing_shards(parts)
    if now:
        return f"was merged, so it can't be resumed as shard {now}; omit --crmeval-shard"
    if missing:
        return f"was merged without the shards {listed(missing)}; merge them as well"
    return ""


def _divided_otherwise(before: Json, now: JsonObject) -> str:
    """Return a test whose cases were divided into shards in another way before; empty if there is none."""
    earlier, later = _tests(before), _tests(now)
    return next((test for test in later if test in earlier and earlier[test] != later[test]), "")


def _tests(division: Json) -> dict[str, Json]:
    """Return how the cases of each test were divided."""
    tests = division.get("tests") if isinstance(division, Mapping) else None
    found = tests if isinstance(tests, Mapping) else {}
    return {test: about.get("deal") for test, about in found.items() if isinstance(about, Mapping)}


def _as_shard(shard: Shard | None) -> str:
    return f"as shard {shard}" if shard else "without shards"
