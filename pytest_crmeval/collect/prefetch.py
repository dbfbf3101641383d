"""Which cases may be played ahead of their items."""

import inspect
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from pytest_crmeval.collect.cases import PLANNED, param_of
from pytest_crmeval.collect.context import context_of, usage_errors
from pytest_crmeval.collect.keys import FIXTURES, OUR_FIXTURES
from pytest_crmeval.collect.streams import streams_of
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.stream import Stream
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.player.agents import agent_of
from pytest_crmeval.player.subjects import asks_models, learns
from pytest_crmeval.report.scope import LeftOut

_HOOKS = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_protocol", "pytest_pyfunc_call")
MAY_BE_AHEAD = pytest.StashKey[bool]()
_MARKS = ("skip", "skipif", "xfail", "xdist_group")
"""What is marked so may not be run, or not just anywhere."""
_INVOLVED = frozenset(
    {"agent", "crm", "crm_connection", "scorers", "monkeypatch", "caplog", "capsys", "capfd", "recwarn"}
)
"""A test that asks for one of these itself has something in mind with the play."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchPlan:
    """What may be played ahead, and how long each may be; and why the rest may not."""

    weights: Mapping[str, float]
    alone: Mapping[str, int]
    """Reasons, and how many cases have them."""
    kinds: Sequence[str] = ()
    """What is played ahead: conversations, questions."""
    left_out: LeftOut = field(default_factory=dict)
    """What is not played at all."""
    sandboxed: bool = False
    """Whether programs are to run in our sandbox."""
    streams: Sequence[Stream] = ()
    """What is played one after the other."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "weights": dict(self.weights),
            "alone": dict(self.alone),
            "kinds": list(self.kinds),
            "left_out": {suite: dict(reasons) for suite, reasons in self.left_out.items()},
            "sandboxed": self.sandboxed,
            "streams": [stream.to_dict() for stream in self.streams],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return what ``to_dict`` wrote."""
        streams = tuple(map(Stream.from_dict, record["streams"]))
        return cls(streams=streams, **{name: record[name] for name in cls.__slots__ if name != "streams"})


def plan_prefetch(items: Sequence[pytest.Item], left_out: LeftOut) -> PrefetchPlan:
    """Decide for each item of ours whether its case may be played ahead, and note it there."""
    weights: dict[str, float] = {}
    alone: Counter[str] = Counter()
    known: dict[object, str] = {}
    kinds: dict[str, None] = {}
    sandboxed = False
    for item in items:
        if PLANNED not in item.stash:
            continue
        sandboxed = sandboxed or _needs_our_sandbox(item)
        if why := _objection(item, known):
            alone[why] += 1
        else:
            item.stash[MAY_BE_AHEAD] = True
            param = param_of(item)
            weights[item.stash[PLANNED].key] = param.ref.turns
            kinds[param.kind.marker] = None
    told = {why: count for why, count in alone.items() if why != _NO_MODEL}
    return PrefetchPlan(
        weights=weights,
        alone=told,
        kinds=tuple(kinds),
        left_out=left_out,
        sandboxed=sandboxed,
        streams=streams_of(items),
    )


def _needs_our_sandbox(item: pytest.Item) -> bool:
    """Whether a case runs programs, and no conftest brings a sandbox of its own."""
    if param_of(item).kind.has_agent:
        return False
    manager: Any = getattr(item.session, "_fixturemanager", None)
    found = manager.getfixturedefs("sandbox", item) if manager else None
    return not found or inspect.unwrap(found[-1].func).__module__ == OUR_FIXTURES


def is_told(item: pytest.Item) -> bool:
    """Whether the controller has to know what becomes of a case before its item is reported.

    It was played ahead, perhaps; or it costs money. The rest is as quickly repeated as told.
    """
    options, spec = options_of(item.config), item.stash[PLANNED].spec
    asks = not options.replay and (bool(options.judge) or spec not in {"oracle", "mute"})
    return asks or learns(spec) or item.stash.get(MAY_BE_AHEAD, False)


def time_limit(item: pytest.Item) -> float | None:
    """Return how many seconds a test may take by pytest-timeout; None if it may take any time."""
    if not item.config.pluginmanager.hasplugin("timeout"):
        return None
    mark = item.get_closest_marker("timeout")
    given = mark.kwargs.get("timeout", next(iter(mark.args), None)) if mark else None
    return float(getattr(item.config, "_env_timeout", None) or 0.0 if given is None else given) or None


def _objection(item: pytest.Item, known: dict[object, str]) -> str:
    """Return why a case is to be played in its item; what is the same for all cases of a test is looked at once."""
    if not param_of(item).kind.may_be_ahead:
        return _NO_MODEL
    if why := _of_agent(item.config, item.stash[PLANNED].spec):
        return why
    if mark := next((mark.name for name in _MARKS for mark in item.iter_markers(name)), ""):
        return f"marked {mark}"
    # The same function in another class or folder has other fixtures.
    test = (item.parent, getattr(item, "originalname", item.name))
    if test not in known:
        known[test] = _of_fixtures(item) or _of_hooks(item)
    return known[test]


_NO_MODEL = "nobody wants it"


def _of_agent(config: pytest.Config, spec: str) -> str:
    """Return why what an agent does is not done ahead: an agent of the user's own may not bear to be asked by many."""
    options = options_of(config)
    asking = asks_models(spec) or (options.judge and spec in {"oracle", "mute"})
    alone = options.inflight == 1 or (options.inflight is None and (options.replay or not asking))
    if alone and not learns(spec):  # a learner has a slot for its stream, whatever else is in flight
        return _NO_MODEL
    if any(config.getoption(name, default=False) for name in ("usepdb", "trace")):
        return "a debugger"
    if spec != "oracle" and not learns(spec) and _learns_by_itself(config, spec):
        return "the agent learns, in order"
    return ""


def _learns_by_itself(config: pytest.Config, spec: str) -> bool:
    """Whether the user's own agent says that it learns."""
    with usage_errors():
        return bool(getattr(agent_of(context_of(config), spec), "learns", False))


def _of_fixtures(item: pytest.Item) -> str:
    """Return which fixture of the user's own a test has, or which of ours it has something in mind with."""
    info: Any = getattr(item, "_fixtureinfo", None)
    try:
        asked, defined = set(info.argnames), dict(info.name2fixturedefs)
    except (AttributeError, TypeError, ValueError):
        return "this pytest does not tell which fixtures a test has"
    if involved := sorted(asked & _INVOLVED):
        return f"the test asks for {involved[0]!r}"
    plugins = _plugins(item.config)
    for name, definitions in defined.items():
        if definitions and (place := _own(name, definitions[-1], plugins)):
            return f"the fixture {name!r} of {place}"
    return ""


def _own(name: str, definition: Any, plugins: Collection[str]) -> str:  # noqa: ANN401 (pytest's own)
    """Return the user's file that a fixture is from; nothing if it is ours, pytest's or a plugin's."""
    function = inspect.unwrap(definition.func)
    module = getattr(function, "__module__", "")
    ours = name not in FIXTURES or module == OUR_FIXTURES
    if ours and not definition.baseid and module.partition(".")[0] in plugins:
        return ""
    code = getattr(function, "__code__", None)
    where = definition.baseid if name.startswith("_xunit_") else getattr(code, "co_filename", "?")
    return Path(where.partition("::")[0]).name


def _of_hooks(item: pytest.Item) -> str:
    """Return which conftest above a test has something to say when it runs: it may skip it, or prepare it."""
    for plugin in item.config.pluginmanager.get_plugins():
        file = Path(getattr(plugin, "__file__", None) or "?")
        if file.name == "conftest.py" and file.parent in item.path.parents:
            for hook in _HOOKS:
                if hasattr(plugin, hook):
                    return f"{hook} of {file.name}"
    return ""


def _plugins(config: pytest.Config) -> frozenset[str]:
    """Return the packages that plugins come from; a conftest and what it imports are the user's own."""
    found = {"_pytest"}
    for plugin in config.pluginmanager.get_plugins():
        if Path(getattr(plugin, "__file__", None) or "?").name != "conftest.py":
            named = getattr(plugin, "__name__", "") or type(plugin).__module__
            found.add(named.partition(".")[0])
    return frozenset(found)
