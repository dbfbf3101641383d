"""Which items there are: a marker and its dataset become one pytest case per agent and case."""

import inspect
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.keys import OUR_FIXTURES
from pytest_crmeval.collect.selection import is_wanted, lacking, misspelt, remember_labels, sampled, select
from pytest_crmeval.collect.shards import in_shard
from pytest_crmeval.collect.tags import acting_tags, marks_of
from pytest_crmeval.collect.test_ids import trial_slug, unique_slugs
from pytest_crmeval.domain.paths import own_name
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.models.usage_meter import CallPurpose
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.job import Job
from pytest_crmeval.player.kinds import KINDS, Kind, Ref
from pytest_crmeval.player.subjects import refusal
from pytest_crmeval.report.gate import SUITE
from pytest_crmeval.report.scope import LeftOut, by_reason

PLANNED = pytest.StashKey[PlannedCase]()
FILE_NAME = pytest.StashKey[str]()
"""What the files of a trial are called, where its case alone does not tell: another test plays it, too."""
_DONE = pytest.StashKey[Counter[tuple[object, ...]]]()
"""Where the files of finished cases are kept that were not even collected."""
_NOTHING = object()
"""Stands for a dataset of which nothing was asked for: pytest would make a skipped test of it."""
_SETTINGS = {
    "suite": "suite='name'",
    "confidential": "confidential=True",
    "problems": "problems='problems.jsonl'",
    "threshold": "threshold=0.5",
}
"""What markers may say beside the path, as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseParam:
    """What a test is parametrized with: where the case is, and who is to play it."""

    kind: Kind
    ref: Ref
    suite: str
    agent: str
    spec: str
    settings: Mapping[str, Any]
    """What the marker says beside the path."""
    trial: int = 1
    """Which attempt at the case it is."""


def kind_of(metafunc: pytest.Metafunc) -> tuple[Kind, pytest.Mark]:
    """Return which kind of case a marked test is to play, and the mark."""
    found = [(kind, mark) for kind in KINDS if (mark := metafunc.definition.get_closest_marker(kind.marker))]
    if len(found) > 1:
        names = " and ".join(repr(kind.marker) for kind, _ in found)
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid} is marked {names}: one test, one kind")
    return found[0]


def parametrize(
    metafunc: pytest.Metafunc, kind: Kind, marker: pytest.Mark, done: Collection[tuple[str, ...]] = ()
) -> bool:
    """Give a marked test its cases, without those that are ``done``; return whether there are any."""
    if kind.argument not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid} is marked {kind.marker!r} but has no argument {kind.argument!r}"
        )
    options = options_of(metafunc.config)
    path, suite = _dataset(kind, marker, metafunc)
    if not is_wanted(metafunc.config, suite):
        metafunc.parametrize(kind.argument, [pytest.param(_NOTHING, id="nothing")], indirect=True)
        return False
    settings = _settled(kind, marker, metafunc)
    refs = _index(kind, kind.files(options) or [path], settings, options)
    remember_labels(metafunc.config, refs)
    marks = marks_of(metafunc.config, refs)
    # Before the selection: a case has the same id whatever else is played.
    slugs = unique_slugs([ref.id for ref in refs])
    named = select(list(zip(refs, slugs, strict=True)), options)
    agents = list(zip(options.agents, map(options.spec, options.agents), unique_slugs(options.agents), strict=True))
    players = partial(kind.players, partial(_sandbox, metafunc.config), agents)
    is_mine = in_shard(metafunc.config, metafunc.definition.nodeid, suite, named, players, kind.marker)
    taken = set(slugs)
    params = [
        pytest.param(
            CaseParam(kind=kind, ref=ref, suite=suite, agent=agent, spec=spec, settings=settings, trial=trial),
            id=label,
            marks=[marks[tag] for tag in ref.tags if tag in marks],
        )
        # Who stops early has tried as many cases as possible.
        for trial in range(1, (options.trials if kind.has_agent else 1) + 1)
        for ref, name in named
        for agent, spec, label in players(ref, trial_slug(name, trial, taken))
        if is_mine(ref, spec)
    ]
    if done:
        params = _undone(params, metafunc, done)
    metafunc.parametrize(kind.argument, params or [pytest.param(_NOTHING, id="nothing")], indirect=True)
    return bool(params)


def _undone(params: Sequence[Any], metafunc: pytest.Metafunc, done: Collection[tuple[str, ...]]) -> list[Any]:
    """Return the parameters whose test is not done, and note where the files of the others are kept.

    pytest takes seconds to make tests of tens of thousands of parameters. A test that is parametrized further has other
    node ids: it is collected, and deselected later.
    """
    left = []
    places = metafunc.config.stash.setdefault(_DONE, Counter())
    for param in params:
        (value,) = param.values
        planned = _planned(value, f"{metafunc.definition.nodeid}[{param.id}]")
        if (planned.key, planned.fingerprint, planned.spec) in done:
            places[_shelf(planned, value)] += 1
        else:
            left.append(param)
    return left


def remember_cases(items: Sequence[pytest.Item]) -> None:
    """Note what each item stands for, under the node id that it has before anybody decorates it."""
    for item in items:
        param = _param_of(item)
        if isinstance(param, CaseParam):
            item.stash[PLANNED] = _planned(param, item.nodeid)
            item.extra_keyword_matches.update((param.ref.id, *param.ref.tags))
    _tell_apart([item for item in items if PLANNED in item.stash])


def _planned(param: CaseParam, key: str) -> PlannedCase:
    return PlannedCase(
        key=key,
        suite=param.suite,
        subject=param.agent,
        case=param.ref.id,
        fingerprint=param.ref.fingerprint,
        spec=param.spec,
        trial=param.trial,
    )


def _tell_apart(items: Sequence[pytest.Item]) -> None:
    """Give the trials of a case that several tests play in one suite names of their own; who has one keeps it."""
    places = [_shelf(item.stash[PLANNED], param_of(item)) for item in items]
    counts = Counter(places)
    options = None
    if items:
        options = options_of(items[0].config)
        finished = items[0].config.stash.get(_DONE, Counter())
        counts.update(finished)
    folder = options and (options.replay or options.record)
    for item, place in zip(items, places, strict=True):
        if counts[place] > 1 or folder:
            planned = item.stash[PLANNED]
            name = own_name(planned.case, planned.key)
            if counts[place] > 1 or (folder and _is_recorded(folder, planned, name)):
                item.stash[FILE_NAME] = name


def _shelf(planned: PlannedCase, param: CaseParam) -> tuple[object, ...]:
    """Return where the files of a trial are kept."""
    return (*param.kind.place(planned, param.ref), planned.trial)


def _is_recorded(folder: Path, planned: PlannedCase, name: str) -> bool:
    """Whether there is a recording by this name, made when other tests that play the case were there."""
    from pytest_crmeval.models.cassettes.files import is_recorded

    return is_recorded(folder, CallPurpose(suite=planned.suite, subject=planned.subject, case=name))


def _sandbox(config: pytest.Config) -> str:
    from pytest_crmeval.player.sandboxes import kind_of_sandbox

    return kind_of_sandbox(context_of(config))


def job_of(item: pytest.Item) -> Job:
    """Return the job of an item of ours."""
    param = param_of(item)
    return Job(
        planned=item.stash[PLANNED],
        kind=param.kind,
        ref=param.ref,
        settings=param.settings,
        file_name=item.stash.get(FILE_NAME, ""),
    )


def param_of(item: pytest.Item) -> CaseParam:
    """Return what an item of ours is parametrized with; UsageError if it is none of ours."""
    param = _param_of(item)
    if not isinstance(param, CaseParam):
        raise pytest.UsageError(f"{item.nodeid}: only a test with a marker of crmeval has an agent")
    return param


def deselect_nothing(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take away what only stands for a dataset of which nothing was asked for."""
    _deselect(config, items, [item for item in items if _param_of(item) is _NOTHING])


def deselect_unsampled(config: pytest.Config, items: list[pytest.Item], order: Sequence[pytest.Item]) -> None:
    """Deselect cases outside the sample of each test, which is drawn from the remaining cases in collection order."""
    left, tests = set(items), dict[object, dict[object, None]]()
    for item in order:
        if item in left and PLANNED in item.stash:
            tests.setdefault(_test_of(item), {})[_place_of(item)] = None
    options = options_of(config)
    chosen = {test: set(sampled(list(refs), options)) for test, refs in tests.items()}
    ours = [item for item in items if PLANNED in item.stash]
    _deselect(config, items, [item for item in ours if _place_of(item) not in chosen[_test_of(item)]])


def _test_of(item: pytest.Item) -> tuple[object, str]:
    """Return the test function of an item."""
    return item.parent, getattr(item, "originalname", item.name)


def _place_of(item: pytest.Item) -> tuple[object, ...]:
    """Return the location of the case of an item; its id alone may not be unique."""
    ref = param_of(item).ref
    return ref.path, ref.offset, ref.id


def deselect_done(config: pytest.Config, items: list[pytest.Item], done: set[tuple[str, ...]]) -> None:
    """Take away what an earlier part of the run has finished with the same content and the same agent."""

    def finished(item: pytest.Item) -> bool:
        planned = item.stash.get(PLANNED, None)
        return planned is not None and (planned.key, planned.fingerprint, planned.spec) in done

    _deselect(config, items, [item for item in items if finished(item)])


def leave_out(session: pytest.Session) -> LeftOut:
    """Take away what can't be graded, or can't be recorded, in this run; return why, and how many of each suite.

    A dry run shows what there is.
    """
    options = options_of(session.config)
    why = {item: told for item in session.items if (told := _lacking(item, options))}
    if session.config.option.collectonly and not options.estimate:
        return {}
    _deselect(session.config, session.items, list(why))
    found: dict[str, Counter[str]] = {}
    for item, told in why.items():
        found.setdefault(item.stash[PLANNED].suite, Counter())[told] += 1
    return found


def _lacking(item: pytest.Item, options: Options) -> str:
    """Return what is lacking for a case; nothing if it can be played."""
    if PLANNED not in item.stash:
        return ""
    param = param_of(item)
    if why := refusal(param.spec, param.kind.marker):
        return why
    needs_judge = param.ref.judged and not _has_own_scorers(item)
    return lacking(param.ref, param.spec, options, needs_judge=needs_judge)


def _has_own_scorers(item: pytest.Item) -> bool:
    """Whether somebody else's scorers take the place of grader and judge."""
    info: Any = getattr(item, "_fixtureinfo", None)
    definitions = getattr(info, "name2fixturedefs", {}).get("scorers", ())
    return bool(definitions) and inspect.unwrap(definitions[-1].func).__module__ != OUR_FIXTURES


def objection(session: pytest.Session, left_out: LeftOut, *, begun: bool) -> str:
    """Return why nothing of what was collected may be played; nothing if all is well.

    In a run that has begun the rest may be done already, and in a shard the rest may be elsewhere.
    """
    if why := acting_tags(session.config) or _rerun(session):
        return why
    whole = not begun and options_of(session.config).shard is None
    if left_out and whole and not any(PLANNED in item.stash for item in session.items):
        return "\n".join(f"none of {count} cases can be played: {why}" for why, count in by_reason(left_out).items())
    return "" if session.testsfailed else misspelt(session.config)  # a file that can't be read may have the tag


def _rerun(session: pytest.Session) -> str:
    """Return an error if pytest-rerunfailures would rerun cases, which inflates the pass rate; empty if it won't."""
    plugin = session.config.pluginmanager.get_plugin("rerunfailures")
    reruns = getattr(plugin, "get_reruns_count", None)
    test = next((item for item in session.items if reruns and PLANNED in item.stash and reruns(item)), None)
    if test is None:
        return ""
    return (
        f"--reruns is not allowed for {test.nodeid}: it would count only the last attempt. To try cases several "
        "times, use --crmeval-trials N. To rerun only other tests, mark this one with "
        "@pytest.mark.flaky(reruns=0); else remove --reruns"
    )


def plan_of(items: Iterable[pytest.Item]) -> list[tuple[str, PlannedCase]]:
    """Return node id (as scheduled) and case of the items that are ours."""
    return [(item.nodeid, planned) for item in items if (planned := item.stash.get(PLANNED, None))]


def need_server(items: Iterable[pytest.Item]) -> bool:
    """Whether any case of ours is played in a PostgreSQL."""
    return any(PLANNED in item.stash and param_of(item).kind.needs_server for item in items)


def _deselect(config: pytest.Config, items: list[pytest.Item], gone: Sequence[pytest.Item]) -> None:
    if gone:
        config.hook.pytest_deselected(items=gone)
        unwanted = set(gone)
        items[:] = [item for item in items if item not in unwanted]


def _param_of(item: pytest.Item) -> object:
    """Return what a test has for a case, or for a dataset of which nothing was asked for; None if it has neither."""
    callspec = getattr(item, "callspec", None)
    for param in callspec.params.values() if callspec else ():
        if param is _NOTHING or isinstance(param, CaseParam):
            return param
    return None


def _dataset(kind: Kind, marker: pytest.Mark, metafunc: pytest.Metafunc) -> tuple[Path, str]:
    """Return the marker's file and the suite's name."""
    if len(marker.args) != 1 or not isinstance(marker.args[0], (str, Path)) or marker.kwargs.keys() - kind.settings:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: write @pytest.mark.{kind.marker}({kind.example}), one path, "
            f"perhaps {' and '.join(_SETTINGS[name] for name in _SETTINGS if name in kind.settings)}"
        )
    path = metafunc.definition.path.parent / marker.args[0]
    suite = marker.kwargs.get("suite", re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem))
    if not isinstance(suite, str) or not SUITE.fullmatch(suite):
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: suite={suite!r} is no name: use letters, digits, '_' and '-'"
        )
    return path, suite


def _settled(kind: Kind, marker: pytest.Mark, metafunc: pytest.Metafunc) -> Mapping[str, Any]:
    try:
        return kind.settled(dict(marker.kwargs), metafunc.definition.path.parent)
    except (ValueError, TypeError) as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None


def _index(kind: Kind, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
    from pytest_crmeval.domain.dataset_error import DatasetError

    try:
        return kind.index(paths, settings, options)
    except DatasetError as error:
        raise pytest.Collector.CollectError(str(error)) from None
