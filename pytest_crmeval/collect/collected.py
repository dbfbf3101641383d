"""After collection: which items are ours, which of them remain, and why nothing may be played."""

import inspect
from collections import Counter
from collections.abc import Sequence

import pytest

from pytest_crmeval.collect.case_item import CASE, CaseItem, CaseParam, cases_of
from pytest_crmeval.collect.cases import NOTHING, GcPause, finished_places, place_of, planned_case
from pytest_crmeval.collect.names import OUR_FIXTURES
from pytest_crmeval.collect.prefetch import plan_prefetch
from pytest_crmeval.collect.process import Process
from pytest_crmeval.collect.selection import missing_requirement, sampled, selection_error
from pytest_crmeval.collect.shards import shard_division
from pytest_crmeval.collect.streams import played_twice, put_learners_last
from pytest_crmeval.collect.tags import tag_conflicts
from pytest_crmeval.compat import fixtures_of
from pytest_crmeval.domain.paths import own_name
from pytest_crmeval.models.usage_meter import CallPurpose
from pytest_crmeval.options.once import once
from pytest_crmeval.options.reading import is_dry_run, options_of
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.subjects import refusal
from pytest_crmeval.report.scope import LeftOut, by_reason


def find_cases(config: pytest.Config, items: list[pytest.Item], process: Process) -> list[pytest.Item]:
    """Find our items, and deselect those that are done; return the rest.

    Cases that are done stay if a sample is drawn later.
    """
    # Find our items under their node ids, before another plugin changes these. A test is deselected if nothing
    # of its dataset was selected.
    cases, nothing = [], []
    for item in items:
        callspec = getattr(item, "callspec", None)
        for param in callspec.params.values() if callspec else ():
            if isinstance(param, CaseParam):
                case = CaseItem(item=item, param=param, planned=planned_case(param, item.nodeid))
                item.stash[CASE] = case
                cases.append(case)
                break
            if param is NOTHING:
                nothing.append(item)
                break
    if config.option.keyword:  # a set for each of tens of thousands of tests takes memory
        for case in cases:
            case.item.extra_keyword_matches.update((case.param.ref.id, *case.param.ref.tags))
    _deselect(config, items, nothing)
    _name_files(config, cases)
    if not options_of(config).samples_later:
        _deselect_done(config, items, process.done)
    return list(items)


def select_cases(
    config: pytest.Config, items: list[pytest.Item], collected: Sequence[pytest.Item], process: Process
) -> None:
    """Draw the sample, if it is drawn from the items that other plugins have left."""
    if options_of(config).samples_later:
        # The sample of each test is drawn from its remaining cases, in collection order.
        left, tests = set(items), dict[object, dict[object, None]]()
        for case in cases_of(collected):
            if case.item in left:
                tests.setdefault(_test_of(case.item), {})[_location(case)] = None
        options = options_of(config)
        chosen = {test: set(sampled(list(places), options)) for test, places in tests.items()}
        gone = [case.item for case in cases_of(items) if _location(case) not in chosen[_test_of(case.item)]]
        _deselect(config, items, gone)
        _deselect_done(config, items, process.done)  # after the sample: a resumed run has the same one


def send_plan(session: pytest.Session, process: Process) -> None:
    """Skip what can't be played, order the rest, and send it to the controller; or refuse to play anything."""
    config = session.config
    once(config, GcPause).end()
    cases, left_out = _deselect_unplayable(session, cases_of(session.items))
    cases = put_learners_last(session.items, cases)
    prefetch = plan_prefetch(cases, left_out)
    why = _objection(session, cases, left_out, begun=bool(process.done)) or played_twice(cases) or prefetch.refusal
    if why:
        process.refuse(f"crmeval: {why}")
    if any(case.param.kind.needs_server for case in cases) and not is_dry_run(config):
        process.start_server()
    process.send_plan([(case.item.nodeid, case.planned) for case in cases], prefetch, shard_division(config))


def _name_files(config: pytest.Config, cases: Sequence[CaseItem]) -> None:
    """If several tests of a suite play a case, give each trial its own file name; a recorded one keeps its name."""
    places = [place_of(case.planned, case.param) for case in cases]
    counts = Counter(places)
    counts.update(once(config, finished_places))
    options = options_of(config)
    folder = options.replay or options.record
    if not folder and len(counts) == counts.total():
        return
    from pytest_crmeval.models.cassettes.files import is_recorded

    for case, place in zip(cases, places, strict=True):
        planned = case.planned
        name = own_name(planned.case, planned.key)
        recording = CallPurpose(suite=planned.suite, subject=planned.subject, case=name)
        # A recording with this name was made when other tests played the case as well.
        if counts[place] > 1 or (folder and is_recorded(folder, recording)):
            case.file_name = name


def _test_of(item: pytest.Item) -> tuple[object, str]:
    """Return the test function of an item."""
    return item.parent, getattr(item, "originalname", item.name)


def _location(case: CaseItem) -> tuple[object, ...]:
    """Return where a case is; its id alone may not be unique."""
    ref = case.param.ref
    return ref.path, ref.offset, ref.id


def _deselect_done(config: pytest.Config, items: list[pytest.Item], done: set[tuple[str, ...]]) -> None:
    """Deselect what an earlier part of the run has finished with the same content and the same agent."""
    if done:
        cases = [(case.item, case.planned) for case in cases_of(items)]
        gone = [item for item, planned in cases if (planned.key, planned.fingerprint, planned.spec) in done]
        _deselect(config, items, gone)


def _deselect_unplayable(session: pytest.Session, cases: list[CaseItem]) -> tuple[list[CaseItem], LeftOut]:
    """Deselect what can't be graded or recorded in this run; return the rest, and the reasons with counts.

    ``--collect-only`` deselects nothing.
    """
    options = options_of(session.config)
    if session.config.option.collectonly and not options.estimate:
        return cases, {}
    left, gone, found = [], [], dict[str, Counter[str]]()
    for case in cases:
        if why := _lacking(case, options):
            gone.append(case.item)
            found.setdefault(case.planned.suite, Counter())[why] += 1
        else:
            left.append(case)
    _deselect(session.config, session.items, gone)
    return left, found


def _lacking(case: CaseItem, options: Options) -> str:
    """Return what is missing for playing a case; empty if nothing is."""
    param = case.param
    if why := refusal(param.spec, param.kind.marker):
        return why
    if not (param.ref.judged or param.ref.simulated or param.ref.confidential):
        return ""
    found = fixtures_of(case.item)
    scorers = found[1].get("scorers", ()) if found else ()
    # Scorers of the user replace grader and judge.
    is_ours = not scorers or inspect.unwrap(scorers[-1].func).__module__ == OUR_FIXTURES
    return missing_requirement(param.ref, param.spec, options, needs_judge=param.ref.judged and is_ours)


def _objection(session: pytest.Session, cases: Sequence[CaseItem], left_out: LeftOut, *, begun: bool) -> str:
    """Return why no collected case can be played; empty if one can.

    In a resumed run the other cases may be done already, and in a shard they may be in other shards.
    """
    if why := tag_conflicts(session.config) or _rerun(session, cases):
        return why
    whole = not begun and options_of(session.config).shard is None
    if left_out and whole and not cases:
        return "\n".join(f"none of {count} cases can be played: {why}" for why, count in by_reason(left_out).items())
    return "" if session.testsfailed else selection_error(session.config)  # a file that can't be read may have the tag


def _rerun(session: pytest.Session, cases: Sequence[CaseItem]) -> str:
    """Return an error if pytest-rerunfailures would rerun cases, which inflates the pass rate; empty if it won't."""
    plugin = session.config.pluginmanager.get_plugin("rerunfailures")
    reruns = getattr(plugin, "get_reruns_count", None)
    test = next((case.item for case in cases if reruns(case.item)), None) if reruns else None
    if test is None:
        return ""
    return (
        f"--reruns is not allowed for {test.nodeid}: it would count only the last attempt. To try cases several "
        "times, use --crmeval-trials N. To rerun only other tests, mark this one with "
        "@pytest.mark.flaky(reruns=0); else remove --reruns"
    )


def _deselect(config: pytest.Config, items: list[pytest.Item], gone: Sequence[pytest.Item]) -> None:
    if gone:
        config.hook.pytest_deselected(items=gone)
        unwanted = set(gone)
        items[:] = [item for item in items if item not in unwanted]
