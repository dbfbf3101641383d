"""Parametrize a marked test: one item of pytest per agent and case of the dataset."""

import gc
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.collect.case_item import CaseParam
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.process import Process
from pytest_crmeval.collect.selection import is_selected, remember_labels, remember_test, select
from pytest_crmeval.collect.shards import shard_filter
from pytest_crmeval.collect.tags import marks_of
from pytest_crmeval.collect.test_ids import trial_slug, unique_slugs
from pytest_crmeval.compat import fixtures_of
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.options.once import once
from pytest_crmeval.options.reading import is_dry_run, is_selective, options_of
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.agents import subjects_of
from pytest_crmeval.player.kinds import KINDS, Kind, Ref
from pytest_crmeval.report.gate import SUITE

NOTHING = object()
"""Replaces the parameters of a test if none of its cases is selected; otherwise pytest would report a skipped test."""
_SETTINGS = {
    "suite": "suite='name'",
    "confidential": "confidential=True",
    "problems": "problems='problems.jsonl'",
    "threshold": "threshold=0.5",
}
"""The optional arguments of markers, as they are written."""


class GcPause:
    """Pauses the garbage collector, which would traverse all collected tests again and again."""

    def __init__(self, config: pytest.Config) -> None:
        self._in_worker = hasattr(config, "workerinput")
        self._was_enabled = False

    def begin(self) -> None:
        """Pause it."""
        self._was_enabled = gc.isenabled() or self._was_enabled
        gc.disable()

    def end(self) -> None:
        """Resume it if it was running before; a worker, which ends with its tests, freezes them."""
        if self._was_enabled:
            if self._in_worker:
                gc.freeze()
            gc.enable()


def _check_fixtures(metafunc: pytest.Metafunc) -> None:
    """Report a misspelt ``evaluate`` once, instead of an error of pytest for every case."""
    requested, defined = fixtures_of(metafunc.definition) or (frozenset(), {})
    unknown = sorted(requested - defined.keys()) if "evaluate" not in requested else []
    if near := get_close_matches("evaluate", unknown, n=1, cutoff=0.8):
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: fixture {near[0]!r} not found; did you mean 'evaluate'?"
        )


def kind_of(metafunc: pytest.Metafunc) -> tuple[Kind, pytest.Mark]:
    """Return the kind of case that a marked test plays, and the mark."""
    found = [(kind, mark) for kind in KINDS if (mark := metafunc.definition.get_closest_marker(kind.marker))]
    if len(found) > 1:
        names = " and ".join(repr(kind.marker) for kind, _ in found)
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid} has the markers {names}; use one per test")
    return found[0]


def generate(metafunc: pytest.Metafunc, process: Process) -> None:
    """Give a marked test its cases; if it needs a server, start it while the rest is collected."""
    config = metafunc.config
    kind, marker = kind_of(metafunc)
    # Workers know which cases are done, but a sample is drawn from all cases.
    early = hasattr(config, "workerinput") and not options_of(config).samples_later
    pause = once(config, GcPause)
    pause.begin()
    try:
        some = parametrize(metafunc, kind, marker, process.done if early else ())
    except BaseException:
        pause.end()
        raise
    if some and kind.needs_server and not is_dry_run(config) and not is_selective(config):
        process.start_server()


def parametrize(
    metafunc: pytest.Metafunc, kind: Kind, marker: pytest.Mark, done: Collection[tuple[str, ...]] = ()
) -> bool:
    """Give a marked test its cases, without those that are ``done``; return whether there are any."""
    if kind.argument not in metafunc.fixturenames:
        near = get_close_matches(kind.argument, metafunc.fixturenames, n=1, cutoff=0.8)
        hint = f"; did you mean {kind.argument!r} instead of {near[0]!r}?" if near else ""
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid} is marked {kind.marker!r} but has no argument {kind.argument!r}{hint}"
        )
    _check_fixtures(metafunc)
    options = options_of(metafunc.config)
    remember_test(metafunc.config, kind, metafunc.definition.path)
    path, suite = _dataset(kind, marker, metafunc)
    if not is_selected(metafunc.config, suite):
        metafunc.parametrize(kind.argument, [pytest.param(NOTHING, id="nothing")], indirect=True)
        return False
    try:
        settings = kind.settled(dict(marker.kwargs), metafunc.definition.path.parent)
    except (ValueError, TypeError) as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    if not kind.has_agent:  # hide the files from the programs that they test
        from pytest_crmeval.player.sandboxes import case_files

        context_of(metafunc.config).once(case_files).update([path, *settings.get("problems", ())])
    refs = _index(kind, kind.files(options) or [path], settings, options)
    remember_labels(metafunc.config, refs)
    params = _params(metafunc, kind, suite, refs, settings)
    if done:
        params = _undone(params, metafunc, done)
    metafunc.parametrize(kind.argument, params or [pytest.param(NOTHING, id="nothing")], indirect=True)
    return bool(params)


def _params(
    metafunc: pytest.Metafunc, kind: Kind, suite: str, refs: Sequence[Ref], settings: Mapping[str, Any]
) -> list[Any]:
    """Return a parameter for each selected case, player and trial."""
    config = metafunc.config
    options, marks = options_of(config), marks_of(config, refs)
    # Before the selection: a case has the same id whatever else is played.
    slugs = unique_slugs([ref.id for ref in refs])
    named = select(list(zip(refs, slugs, strict=True)), options)
    subjects = subjects_of(context_of(config))
    agents = list(zip(subjects, subjects.values(), unique_slugs(list(subjects)), strict=True))
    players = partial(kind.players, partial(_sandbox, config), agents)
    is_assigned = shard_filter(config, metafunc.definition.nodeid, suite, named, players, kind.marker)
    taken = set(slugs)
    return [
        pytest.param(
            CaseParam(kind=kind, ref=ref, suite=suite, agent=agent, spec=spec, settings=settings, trial=trial),
            id=label,
            marks=[marks[tag] for tag in ref.tags if tag in marks],
        )
        # If the run is stopped early, as many cases as possible have been tried.
        for trial in range(1, (options.trials if kind.has_agent else 1) + 1)
        for ref, name in named
        for agent, spec, label in players(ref, trial_slug(name, trial, taken))
        if is_assigned(ref, spec)
    ]


def _undone(params: Sequence[Any], metafunc: pytest.Metafunc, done: Collection[tuple[str, ...]]) -> list[Any]:
    """Return the parameters whose tests are not done, and store the file locations of the others.

    pytest takes seconds to make tests of tens of thousands of parameters. A test that is parametrized further has
    other node ids: it is collected, and deselected later.
    """
    left = []
    places = once(metafunc.config, finished_places)
    for param in params:
        (value,) = param.values
        planned = planned_case(value, f"{metafunc.definition.nodeid}[{param.id}]")
        if (planned.key, planned.fingerprint, planned.spec) in done:
            places[place_of(planned, value)] += 1
        else:
            left.append(param)
    return left


def finished_places(_: pytest.Config) -> Counter[tuple[object, ...]]:
    """Return the counts of file locations of finished cases that were not collected."""
    return Counter()


def planned_case(param: CaseParam, key: str) -> PlannedCase:
    """Return the planned case of the item with the node id ``key``."""
    return PlannedCase(
        key=key,
        suite=param.suite,
        subject=param.agent,
        case=param.ref.id,
        fingerprint=param.ref.fingerprint,
        spec=param.spec,
        trial=param.trial,
        folder=param.ref.folder,
    )


def place_of(planned: PlannedCase, param: CaseParam) -> tuple[object, ...]:
    """Return where the files of a trial are."""
    return (*param.kind.place(planned, param.ref), planned.trial)


def _sandbox(config: pytest.Config) -> str:
    from pytest_crmeval.player.sandboxes import kind_of_sandbox

    return kind_of_sandbox(context_of(config))


def _dataset(kind: Kind, marker: pytest.Mark, metafunc: pytest.Metafunc) -> tuple[Path, str]:
    """Return the marker's file and the suite's name."""
    if len(marker.args) != 1 or not isinstance(marker.args[0], (str, Path)) or marker.kwargs.keys() - kind.settings:
        unknown = ", ".join(sorted(marker.kwargs.keys() - kind.settings))
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: write @pytest.mark.{kind.marker}({kind.example}), one path, "
            f"optionally with {', '.join(_SETTINGS[name] for name in _SETTINGS if name in kind.settings)}"
            + (f"; unknown argument: {unknown}" if unknown else "")
        )
    path = metafunc.definition.path.parent / marker.args[0]
    suite = marker.kwargs.get("suite", re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem))
    if not isinstance(suite, str) or not SUITE.fullmatch(suite):
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: suite={suite!r} is not a valid name: use letters, digits, '_' and '-'"
        )
    return path, suite


def _index(kind: Kind, paths: Sequence[Path], settings: Mapping[str, Any], options: Options) -> Sequence[Ref]:
    from pytest_crmeval.domain.dataset_error import DatasetError

    try:
        return kind.index(paths, settings, options)
    except DatasetError as error:
        raise pytest.Collector.CollectError(str(error)) from None
