"""The estimate of a run, before any model is called."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.agents.atlas.specs import AtlasSpec, is_atlas
from pytest_crmeval.agents.chat import system_prompt
from pytest_crmeval.collect.case_item import CaseItem, cases_of
from pytest_crmeval.collect.context import usage_errors
from pytest_crmeval.collect.streams import is_held_out
from pytest_crmeval.controller.prefetch import at_once
from pytest_crmeval.conversations.crm.tools import TOOLS
from pytest_crmeval.journal.history import history
from pytest_crmeval.options.environment import addresses_of
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.models import judge_spec, pricing, role_specs
from pytest_crmeval.report.estimate import Estimate, Judging, estimate
from pytest_crmeval.report.loads import CaseSize, Throughput
from pytest_crmeval.report.role_costs import LearnerRoles


def forecast(session: pytest.Session) -> Estimate:
    """Return the estimate for the collected cases."""
    cases = cases_of(session.items)
    planned = [case.planned for case in cases]
    options = options_of(session.config)
    specs = {case.spec for case in planned if is_atlas(case.spec)}
    workers = session.config.getoption("numprocesses", None) or 1
    with usage_errors():
        return estimate(
            planned,
            history(options.reports, planned, addresses := addresses_of(session.config)),
            _sizes(cases),
            pricing,
            overhead=len(system_prompt()) + sum(len(repr(entry.tool)) for entry in TOOLS.values()),
            pace=Throughput(
                at_once=workers * (at_once(session.config) if any(case.may_be_ahead for case in cases) else 1),
                workers=workers,
                caps=options.rates,
                replayed=options.replay is not None,
            ),
            judge=_judging(options),
            casts={spec: _learner_roles(options, spec) for spec in specs},
            addresses=addresses,
        )


def _learner_roles(options: Options, spec: str) -> LearnerRoles:
    """Return the models of a learner by role."""
    terms = AtlasSpec.parse(spec)
    return LearnerRoles(
        specs=role_specs(options, spec),
        samples=terms.samples,
        learns=terms.learns,
        is_frozen=terms.learning == "frozen",
    )


def _judging(options: Options) -> Judging | None:
    if not options.judge:
        return None
    spec, samples = judge_spec(options)
    price = pricing(spec)
    return Judging(name=options.judge, spec=spec, samples=samples, price=price) if price else None


def _sizes(cases: Sequence[CaseItem]) -> dict[str, CaseSize]:
    """Return the size of each case by its key; each case is read once, however many subjects play it."""
    read: dict[tuple[Path, int], CaseSize] = {}
    sizes = {}
    for case in cases:
        param = case.param
        place = (param.ref.path, param.ref.offset)
        if place not in read:
            read[place] = replace(param.kind.size(param.ref), held_out=is_held_out(case))
        sizes[case.planned.key] = read[place]
    return sizes
