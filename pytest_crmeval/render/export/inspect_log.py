"""A run as logs of Inspect: one log per suite and subject, in version 2 of its JSON format."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.paths import slug
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial, is_of_checkpoint
from pytest_crmeval.domain.usage import Bill, total
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.journal.transcripts import dialogue_of, store
from pytest_crmeval.render.export.run import LoadedRun

VERDICT = "verdict"
_LETTERS = {Verdict.PASSED: "C", Verdict.FAILED: "I"}
"""Correct and incorrect, as Inspect's viewer shows them."""


def write_logs(run: LoadedRun, folder: Path) -> Iterator[Path]:
    """Write a log for each suite and subject, and yield its path. Invalid cases are left out: they were not played."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in run.trials:
        if trial.verdict is not Verdict.INVALID:
            groups.setdefault((trial.planned.suite, trial.planned.subject), []).append(trial)
    for (suite, subject), trials in groups.items():
        # Inspect lists only files whose names begin with a time, and reads task and id from the rest.
        task = f"{slug(suite)}-{slug(subject)}".replace("_", "-")
        path = folder / f"{run.started.replace(':', '-')}_{task}_{_id(run.id, suite, subject)}.json"
        store(path, encoded(_log(run, suite, subject, trials)))
        yield path


def _log(run: LoadedRun, suite: str, subject: str, trials: Sequence[Trial]) -> dict[str, Any]:
    cases = dict.fromkeys(trial.planned.case for trial in trials)
    scored = [trial for trial in trials if trial.verdict in _LETTERS]
    bill = total(trial.bill for trial in trials)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": _id(run.id, suite, subject),
            "run_id": _id(run.id),
            "created": run.started,
            "task": suite,
            "task_id": _id(run.id, suite),
            "dataset": {"name": suite, "samples": len(cases), "sample_ids": list(cases)},
            "model": subject,
            "config": {"epochs": max(trial.planned.trial for trial in trials)},
            "metadata": {"run": run.id, "spec": trials[0].planned.spec},
        },
        "results": {
            "total_samples": len(trials),
            "completed_samples": len(scored),
            "scores": [] if is_of_checkpoint(trials[0].planned) or not scored else [_accuracy(scored)],
        },
        "stats": {"started_at": run.started, "completed_at": run.ended, "model_usage": _usage(subject, bill)},
        "samples": [_sample(run, trial) for trial in trials],
    }


def _accuracy(scored: Sequence[Trial]) -> dict[str, Any]:
    value = sum(trial.passed for trial in scored) / len(scored)
    return {"name": VERDICT, "scorer": VERDICT, "metrics": {"accuracy": {"name": "accuracy", "value": value}}}


def _sample(run: LoadedRun, trial: Trial) -> dict[str, Any]:
    dialogue = dialogue_of(run.folder, trial) if run.folder else None
    said = [message for exchange in dialogue.exchanges for message in exchange.messages] if dialogue else []
    letter = _LETTERS.get(trial.verdict)
    verdict = {VERDICT: {"value": letter}} if letter and not is_of_checkpoint(trial.planned) else {}
    scores = {score.name: {"value": score.value, "explanation": score.reason or None} for score in trial.scores}
    return {
        "id": trial.planned.case,
        "epoch": trial.planned.trial,
        "input": said[0].text if said else trial.planned.case,
        "target": "",
        "messages": list(_messages(said)),
        "output": {
            "model": trial.planned.subject,
            "completion": dialogue.exchanges[-1].reply if dialogue and dialogue.exchanges else "",
        },
        "scores": {**verdict, **scores},
        "metadata": {**trial.labels.to_dict(), "key": trial.planned.key},
        "model_usage": _usage(trial.planned.subject, trial.bill),
        "total_time": trial.seconds,
        "error": None if letter else {"message": trial.reason, "traceback": "", "traceback_ansi": ""},
    }


def _messages(said: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Yield the dialogue; calls get ids, by which their results refer to them."""
    made: list[tuple[str, str]] = []
    for number, message in enumerate(said):
        if message.speaker == "user":
            yield {"role": "user", "content": message.text}
        elif message.speaker == "agent":
            made = [(f"call_{number}_{place}", call.tool) for place, call in enumerate(message.calls)]
            calls = [
                {"id": call_id, "function": call.tool, "arguments": dict(call.arguments), "type": "function"}
                for (call_id, _), call in zip(made, message.calls, strict=True)
            ]
            yield {"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}
        else:
            for (call_id, tool), result in zip(made, message.results, strict=False):
                error = {"type": "unknown", "message": result.error.message} if result.error else None
                content = result.error.message if result.error else encoded(result.value).decode()
                yield {"role": "tool", "content": content, "tool_call_id": call_id, "function": tool, "error": error}


def _usage(subject: str, bill: Bill | None) -> dict[str, Any]:
    if bill is None:
        return {}
    usage = bill.usage
    return {
        subject: {
            "input_tokens": usage.input - usage.cached - usage.cache_written,
            "output_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "input_tokens_cache_read": usage.cached,
            "input_tokens_cache_write": usage.cache_written,
            "reasoning_tokens": usage.reasoning,
            **({"total_cost": bill.cost} if bill.cost is not None else {}),
        }
    }


def _id(*parts: str) -> str:
    """Return an id like those of Inspect, the same each time."""
    return sha256("\n".join(parts).encode()).hexdigest()[:22]
