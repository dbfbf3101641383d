"""What a player on another machine needs of this one: cases with their content, keys, the judge's opinions."""

import os
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_crmeval.journal.ids import JUDGEMENTS
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.job import Job
from pytest_crmeval.player.models import judge_spec, model_specs, parsed_spec
from pytest_crmeval.player.telemetry import VARIABLE


def carried(job: Job) -> bytes:
    """Return a job with the content of its case; DatasetError if it can't be read."""
    return pickle.dumps(replace(job, case=job.read()))


def environment(context: Context) -> Mapping[str, str]:
    """Return the environment variables that the models of the run need; none if it calls no model."""
    names: list[str] = []
    for spec in map(parsed_spec, model_specs(context.options)):
        provider = PROVIDERS[spec.provider]
        names += [spec.key_name, provider.variable, *provider.also, VARIABLE]
    if context.options.otel != "off":
        names += [name for name in os.environ if name.startswith("OTEL_")]
    return {name: os.environ[name] for name in names if name in os.environ}


def opinions(context: Context) -> Mapping[str, bytes]:
    """Return the judge's opinions on the labelled replies as files, by their paths in the folder of reports."""
    options = context.options
    if not options.judge:
        return {}
    from pytest_crmeval.conversations.judge.agreement import copy_opinions
    from pytest_crmeval.models.judge import JudgementCache

    spec, samples = judge_spec(options)
    with TemporaryDirectory() as folder:
        copies = Path(folder)
        given, found = (JudgementCache(reports / JUDGEMENTS) for reports in (options.reports, copies))
        copy_opinions(parsed_spec(spec).identity, samples, given, found)
        return {str(path.relative_to(copies)): path.read_bytes() for path in copies.rglob("*.json")}
