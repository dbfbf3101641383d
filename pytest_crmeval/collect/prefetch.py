"""Which cases may be prefetched: played before their items run."""

import inspect
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_crmeval.collect.case_item import CaseItem
from pytest_crmeval.collect.context import context_of, usage_errors
from pytest_crmeval.collect.names import FIXTURES, OUR_FIXTURES
from pytest_crmeval.collect.streams import Stream, streams_of
from pytest_crmeval.compat import PYTEST_PACKAGE, default_timeout, fixture_module, fixtures_of, is_skipped
from pytest_crmeval.domain.records import Record
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.player.agents import agent_of
from pytest_crmeval.player.subjects import asks_models, learns
from pytest_crmeval.report.scope import LeftOut

_HOOKS = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_protocol", "pytest_pyfunc_call")
_MARKS = ("skip", "skipif", "xfail", "xdist_group")
"""Tests with these marks may be skipped, or bound to a worker."""
_INVOLVED = frozenset(
    {"agent", "crm", "crm_connection", "scorers", "monkeypatch", "caplog", "capsys", "capfd", "recwarn"}
)
"""A test that requests one of these fixtures probably influences how the case is played."""


class PrefetchPlan(Record, frozen=True, kw_only=True):
    """The cases that may be prefetched with their time limits, and why the others may not."""

    weights: Mapping[str, float]
    alone: Mapping[str, int]
    """Reasons, and how many cases have them."""
    kinds: Sequence[str] = ()
    """The kinds of prefetched cases: conversations, questions."""
    left_out: LeftOut = msgspec.field(default_factory=dict)
    """Cases that are not played at all."""
    sandboxed: bool = False
    """Whether programs run in our sandbox."""
    streams: Sequence[Stream] = ()
    """Cases that are played in order."""
    refusal: str = ""
    """Why nothing may be played: an agent learns, and its test does not allow prefetching."""


def plan_prefetch(cases: Sequence[CaseItem], left_out: LeftOut) -> PrefetchPlan:
    """Decide for each case whether it may be prefetched, and store that with its item."""
    weights: dict[str, float] = {}
    alone: Counter[str] = Counter()
    known: dict[object, str] = {}
    kinds: dict[str, None] = {}
    refusal = ""
    skipped = {case for case in cases if learns(case.planned.spec) and is_skipped(case.item)}
    for case in cases:
        why = _objection(case, known)
        if why and case not in skipped and learns(case.planned.spec):
            refusal = refusal or _LEARNER.format(subject=case.planned.subject, test=case.item.nodeid, why=why)
        if why or case in skipped:
            alone[why or "skipped"] += 1
        else:
            case.may_be_ahead = True
            weights[case.planned.key] = case.param.ref.turns
            kinds[case.param.kind.marker] = None
    return PrefetchPlan(
        weights=weights,
        alone={why: count for why, count in alone.items() if why != _NO_MODEL},
        kinds=tuple(kinds),
        left_out=left_out,
        sandboxed=any(
            not case.param.kind.has_agent and fixture_module(case.item, "sandbox") in {None, OUR_FIXTURES}
            for case in cases
        ),
        streams=streams_of(case for case in cases if case not in skipped),
        refusal=refusal,
    )


def asks_controller(case: CaseItem) -> bool:
    """Whether an item asks the controller for the outcome of its case before it plays the case.

    The case may have been prefetched, or it costs money. Playing any other case takes no longer than asking.
    """
    options, spec = options_of(case.item.config), case.planned.spec
    costs = not options.replay and (bool(options.judge) or spec not in {"oracle", "mute"})
    return costs or learns(spec) or case.may_be_ahead


def time_limit(item: pytest.Item) -> float | None:
    """Return the time limit of a test by pytest-timeout in seconds; None if there is none."""
    if not item.config.pluginmanager.hasplugin("timeout"):
        return None
    mark = item.get_closest_marker("timeout")
    given = mark.kwargs.get("timeout", next(iter(mark.args), None)) if mark else None
    return float(default_timeout(item.config) if given is None else given) or None


def _objection(case: CaseItem, known: dict[object, str]) -> str:
    """Return why a case is played in its item; decided once per agent and test where possible."""
    if not case.param.kind.may_be_ahead:
        return _NO_MODEL
    item, spec = case.item, case.planned.spec
    if spec not in known:
        known[spec] = _agent_objection(item.config, spec)
    if known[spec]:
        return known[spec]
    if options_of(item.config).cluster and time_limit(item):
        return "a time limit"
    marked = (mark.name for name in _MARKS for mark in item.iter_markers(name))
    if (mark := next(marked, "")) and not learns(spec):  # it may be skipped
        return f"marked {mark}"
    # The same function in another class or folder has other fixtures.
    test = (item.parent, getattr(item, "originalname", item.name))
    if test not in known:
        known[test] = _fixture_objection(item) or _hook_objection(item)
    return known[test]


_NO_MODEL = "not asked for"
_LEARNER = (
    "{subject} learns from its conversations, so they are played in order, before their tests run; "
    "{test} does not allow that: {why}; remove this, or choose another agent"
)


def _agent_objection(config: pytest.Config, spec: str) -> str:
    """Return why an agent's cases are not prefetched: the user's own agent may not be thread-safe."""
    options = options_of(config)
    asking = asks_models(spec) or (options.judge and spec in {"oracle", "mute"})
    alone = options.inflight == 1 or (options.inflight is None and (options.replay or not asking))
    alone = alone and not options.cluster
    if alone and not learns(spec):  # a learner has a slot for its stream, whatever else is in flight
        return _NO_MODEL
    if any(config.getoption(name, default=False) for name in ("usepdb", "trace")):
        return "a debugger"
    if spec == "oracle" or learns(spec):
        return ""
    with usage_errors():
        learns_by_itself = getattr(agent_of(context_of(config), spec), "learns", False)
    return "the agent learns, in order" if learns_by_itself else ""


def _fixture_objection(item: pytest.Item) -> str:
    """Return a fixture that rules out prefetching: the user's own, or one of ours that affects the case."""
    found = fixtures_of(item)
    if found is None:
        return "this version of pytest does not show the fixtures of a test"
    asked, defined = found
    if involved := sorted(asked & _INVOLVED):
        return f"the test uses {involved[0]!r}"
    plugins = {PYTEST_PACKAGE}
    for plugin in item.config.pluginmanager.get_plugins():
        # A conftest and what it imports are the user's own.
        if Path(getattr(plugin, "__file__", None) or "?").name != "conftest.py":
            named = getattr(plugin, "__name__", "") or type(plugin).__module__
            plugins.add(named.partition(".")[0])
    for name, definitions in defined.items():
        if definitions and (place := _user_file(name, definitions[-1], plugins)):
            return f"the fixture {name!r} of {place}"
    return ""


def _user_file(name: str, definition: Any, plugins: Collection[str]) -> str:  # noqa: ANN401 (pytest's own)
    """Return the user's file that defines a fixture; None if it is ours, pytest's or a plugin's."""
    function = inspect.unwrap(definition.func)
    module = getattr(function, "__module__", "")
    ours = name not in FIXTURES or module == OUR_FIXTURES
    if ours and not definition.baseid and module.partition(".")[0] in plugins:
        return ""
    code = getattr(function, "__code__", None)
    where = definition.baseid if name.startswith("_xunit_") else getattr(code, "co_filename", "?")
    return Path(where.partition("::")[0]).name


def _hook_objection(item: pytest.Item) -> str:
    """Return the conftest of a test that implements a hook for running tests, which may skip or prepare the test."""
    for plugin in item.config.pluginmanager.get_plugins():
        file = Path(getattr(plugin, "__file__", None) or "?")
        if file.name == "conftest.py" and file.parent in item.path.parents:
            for hook in _HOOKS:
                if hasattr(plugin, hook):
                    return f"{hook} of {file.name}"
    return ""
