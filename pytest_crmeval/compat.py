"""Every private name of pytest, xdist and pytest-timeout that we use: the version, the reason and the fallback.

Checked with pytest 9.2, pytest-xdist 3.8 and pytest-timeout 2.4. Imported when there is something to evaluate.
"""

import inspect
import logging
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crmeval.player.logs import Catcher, is_of_the_item

try:
    from _pytest._io.saferepr import SafeRepr
except ImportError:  # pragma: no cover (another pytest)
    SafeRepr = None  # type: ignore[assignment, misc]

if TYPE_CHECKING:  # xdist is imported when workers are started
    from xdist.scheduler import EachScheduling, LoadScopeScheduling  # type: ignore[import-untyped] # it has no types
else:
    EachScheduling = LoadScopeScheduling = object

PYTEST_PACKAGE = "_pytest"
"""Where pytest's own fixtures and plugins are. Fallback: they count as the user's, and nothing is prefetched."""
Worker = Any
"""xdist's WorkerController."""


# Fixtures of an item: pytest has no public way to ask which fixtures a test has, and where they are defined.


def fixtures_of(item: pytest.Item) -> tuple[frozenset[str], Mapping[str, Sequence[Any]]] | None:
    """Return the fixtures that a test requests itself, and the definitions of all its fixtures, the one used last.

    ``Item._fixtureinfo`` (pytest 9). Fallback: None, and the case is played in its own item.
    """
    info: Any = getattr(item, "_fixtureinfo", None)
    try:
        return frozenset(info.argnames), dict(info.name2fixturedefs)
    except (AttributeError, TypeError, ValueError):
        return None


def fixture_module(item: pytest.Item, name: str) -> str | None:
    """Return the module that defines a fixture for a test, whether or not the test requests it.

    ``Session._fixturemanager`` (pytest 9). Fallback: None, as if there were no such fixture.
    """
    manager: Any = getattr(item.session, "_fixturemanager", None)
    found = manager.getfixturedefs(name, item) if manager else None
    return inspect.unwrap(found[-1].func).__module__ if found else None


def is_skipped(item: pytest.Item) -> bool:
    """Whether a mark (skip, skipif, xfail with run=False) prevents a test from running.

    ``evaluate_skip_marks`` and ``evaluate_xfail_marks`` of ``_pytest.skipping`` (pytest 9). Fallback: False, and the
    case of a skipped test is played.
    """
    try:
        from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks
    except ImportError:  # pragma: no cover (another pytest)
        return False
    xfail = evaluate_xfail_marks(item)
    return evaluate_skip_marks(item) is not None or (xfail is not None and not xfail.run)


# Time limits.


def default_timeout(config: pytest.Config) -> float:
    """Return the seconds that pytest-timeout gives a test without a marker; 0 if there is no limit.

    ``Config._env_timeout`` (pytest-timeout 2.4) combines option, environment and ini. Fallback: no limit.
    """
    return float(getattr(config, "_env_timeout", None) or 0.0)


# The terminal: pytest has no way to write below its output, nor to write while it captures.


def owns_terminal(config: pytest.Config) -> bool:
    """Whether pytest's own reporter writes to the terminal, so that its file can be replaced.

    ``TerminalWriter._file`` (pytest 9). Fallback: False, and progress is shown line by line.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return type(reporter).__module__ == f"{PYTEST_PACKAGE}.terminal" and hasattr(config.get_terminal_writer(), "_file")


def terminal_file(config: pytest.Config) -> Any:  # noqa: ANN401 (a text file, or what replaces it)
    """Return the file that pytest writes to; only where ``owns_terminal``."""
    writer: Any = config.get_terminal_writer()
    return writer._file  # noqa: SLF001


def set_terminal_file(config: pytest.Config, file: object) -> None:
    """Make pytest write to another file; only where ``owns_terminal``."""
    writer: Any = config.get_terminal_writer()
    writer._file = file  # noqa: SLF001


def terminal_descriptor(config: pytest.Config) -> int | None:
    """Return a new descriptor of what pytest writes to, which capturing leaves alone. Fallback: None."""
    try:
        return os.dup(terminal_file(config).fileno())
    except (OSError, ValueError, AttributeError):  # not a real file, for example
        return None


def forget_line(config: pytest.Config) -> None:
    """Make pytest start its next output at the beginning of a line.

    ``TerminalWriter._current_line`` (pytest 9). Fallback: the attribute is not used, and a line may be too short.
    """
    writer: Any = config.get_terminal_writer()
    writer._current_line = ""  # noqa: SLF001


# Results.


def forget_failures(session: pytest.Session) -> None:
    """Make a session with failed tests end like one without.

    ``Session.testsfailed`` (pytest 9): the exit status is computed from it, but setting it is not documented. Fallback:
    none; if a later pytest ignores it, forgiven failures keep exit status 1.
    """
    session.testsfailed = 0


def junit_xml(config: pytest.Config) -> Any:  # noqa: ANN401 (pytest's own)
    """Return what writes JUnit XML, with the properties of the whole suite, which are in no report.

    ``xml_key`` (pytest 9) is the only way to it. Fallback: None, and those properties are not redacted.
    """
    try:
        from _pytest.junitxml import xml_key
    except ImportError:  # pragma: no cover (another pytest)
        return None
    return config.stash.get(xml_key, None)


def redact_reprs(redact: Callable[[str], str]) -> Callable[[], None]:
    """Redact secrets in reprs before pytest shortens them; return a function that undoes this.

    ``SafeRepr`` (pytest 9) makes all shortened reprs: arguments and locals in tracebacks, operands of assertions. There
    is no hook between the full repr and the shortened one. Fallback: nothing is patched; secrets that are not cut are
    still redacted in the report.
    """
    if SafeRepr is None:  # pragma: no cover (another pytest)
        return lambda: None
    original = SafeRepr.repr

    def repr_(self: SafeRepr, x: object) -> str:
        if self.maxsize is None:  # nothing is shortened
            return original(self, x)
        whole = SafeRepr(None, self.use_ascii)
        text = original(whole, x)
        clean = redact(text)
        return original(self, x) if clean == text else original(self, _Shown(clean))

    SafeRepr.repr = repr_  # type: ignore[method-assign] # there is no hook

    def undo() -> None:
        if SafeRepr.repr is repr_:
            SafeRepr.repr = original  # type: ignore[method-assign]

    return undo


class _Shown:
    """A value with a given repr."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


# Logging.


@contextmanager
def catch_logs(config: pytest.Config) -> Iterator[None]:
    """Collect log records of prefetched cases, and keep them away from pytest's own handlers.

    ``report_handler`` and ``caplog_handler`` of the plugin ``logging-plugin`` (pytest 9) attach a record to the item
    that happens to run. Fallback: nothing is collected.
    """
    plugin: Any = config.pluginmanager.get_plugin("logging-plugin")
    handlers = [getattr(plugin, name, None) for name in ("report_handler", "caplog_handler")]
    ours = [handler for handler in handlers if isinstance(handler, logging.Handler)]
    if not ours:
        yield
        return
    root, level = logging.getLogger(), getattr(plugin, "log_level", None) or logging.NOTSET
    before, catcher = root.level, Catcher(level)
    catcher.setFormatter(ours[0].formatter)
    root.addHandler(catcher)
    root.setLevel(min(before, level or before))  # pytest does so while a test runs
    for handler in ours:
        handler.addFilter(is_of_the_item)
    try:
        yield
    finally:
        for handler in ours:
            handler.removeFilter(is_of_the_item)
        root.removeHandler(catcher)
        root.setLevel(before)


# Workers of xdist.


def end_workers_at_once(config: pytest.Config) -> None:
    """Make xdist kill its workers when the session finishes; by default each has ten seconds to finish its test.

    ``DSession.nodemanager`` and ``NodeManager.EXIT_TIMEOUT`` (xdist 3.8). Fallback: xdist waits.
    """
    nodes = getattr(config.pluginmanager.get_plugin("dsession"), "nodemanager", None)
    if nodes is not None:
        nodes.EXIT_TIMEOUT = 0


def end_workers(config: pytest.Config) -> Thread | None:
    """End workers that have run their last test in a thread, so that they are gone when the session finishes.

    ``DSession.nodemanager`` and ``NodeManager.teardown_nodes`` (xdist 3.8). Without it, xdist has them end when the
    session finishes, and waits. Fallback: None, and xdist does so.
    """
    nodes = getattr(config.pluginmanager.get_plugin("dsession"), "nodemanager", None)
    teardown = getattr(nodes, "teardown_nodes", None)
    if teardown is None:
        return None
    ending = Thread(target=teardown, name="crmeval-end-of-workers", daemon=True)
    ending.start()
    return ending


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_make_scheduler() -> Generator[None, object, object]:
    """Fix the scheduler that xdist or another plugin has made; the controller registers this module for it."""
    return fixed_scheduler((yield))


def fixed_scheduler(scheduler: Any) -> Any:  # noqa: ANN401 (xdist's or another plugin's)
    """Return a scheduler that survives the crash of a worker.

    In xdist 3.8, ``loadscope``, ``loadfile`` and ``loadgroup`` schedule finished units of a crashed worker again. A
    unit without unfinished items is never reported, so its worker waits for ever (xdist's issues 1323, 1327, 1378). A
    worker that crashes while others collect is still counted, and the run ends early (1362). Fallback: other versions,
    and schedulers with their own ``remove_node``, are left as they are.
    """
    import xdist  # type: ignore[import-untyped] # it has no types
    from xdist.scheduler import EachScheduling, LoadScopeScheduling

    kind = type(scheduler)
    fixes = {LoadScopeScheduling.remove_node: _Fixed, EachScheduling.remove_node: _FixedEach}
    fix = fixes.get(getattr(kind, "remove_node", None))
    if xdist.__version__.startswith("3.8.") and fix is not None:
        scheduler.__class__ = type(kind.__name__, (fix, kind), {})
    return scheduler


def run_again(scheduler: Any, item: str, worker: Worker) -> None:  # noqa: ANN401 (xdist's or another plugin's)
    """Schedule the item in which a worker crashed once more.

    ``mark_test_pending`` is xdist's own way. Its schedulers for ``each`` and for scopes don't have it; ours have
    ``put_back``. Fallback: the item is not run again.
    """
    pending = getattr(scheduler, "put_back", None)
    if pending is not None:
        pending(item, worker)
        return
    with suppress(NotImplementedError):
        scheduler.mark_test_pending(item)


class _FixedEach(EachScheduling):  # type: ignore[misc] # it has no types
    """Knows the items of a worker that replaces a crashed one, so that it may crash as well."""

    def add_node_collection(self, node: Worker, collection: Sequence[str]) -> None:
        """Register the items of a worker."""
        super().add_node_collection(node, collection)
        self.node2collection.setdefault(node, list(collection))

    def put_back(self, item: str, worker: Worker) -> None:
        """Make the worker that replaces a crashed one begin with the item in which it crashed."""
        number = self.node2collection[worker].index(item)
        self._removed2pending.setdefault(worker, []).insert(0, number)


class _Fixed(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Schedules the unfinished items of a crashed worker, except the one that it crashed in, as ``load`` does."""

    def remove_node(self, node: Worker) -> str | None:
        """Return the item in which a worker crashed, and schedule the rest of its items; KeyError if it is unknown."""
        workload: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        if self.collection is None:  # other workers are still collecting, and its replacement will
            self.registered_collections.pop(node, None)
        left = [(unit, item) for unit in workload.values() for item, is_done in unit.items() if not is_done]
        if not left:
            return None
        unit, crashed = left[0]
        unit[crashed] = True
        for scope, rest in reversed(workload.items()):
            if not all(rest.values()):
                self.workqueue[scope] = rest
                self.workqueue.move_to_end(scope, last=False)
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def put_back(self, item: str, worker: Worker) -> None:  # noqa: ARG002 (any worker may run it)
        """Schedule an item again, with the rest of its unit if that is not over."""
        scope = self._split_scope(item)
        for node, units in self.assigned_work.items():
            if scope in units:
                units[scope][item] = False
                node.send_runtest_some([self.registered_collections[node].index(item)])
                return
        self.workqueue.setdefault(scope, {})[item] = False
        self.workqueue.move_to_end(scope, last=False)
        for node in self.nodes:
            self._reschedule(node)

    def schedule(self) -> None:
        """Schedule, and give a replacement with a single item more: a worker starts an item when it knows the next one.

        The first time xdist does so itself.
        """
        again = self.collection is not None
        super().schedule()
        for node in self.nodes if again else ():
            if self._pending_of(self.assigned_work[node]) == 1:
                self._reschedule(node)

    def add_node_collection(self, node: Worker, collection: Sequence[str]) -> None:
        """Register the items of a worker; RuntimeError if they differ, because the worker would wait for ever."""
        super().add_node_collection(node, collection)
        if node not in self.registered_collections:
            raise RuntimeError(f"{node.gateway.id}, which replaces a crashed worker, collected different tests")

    def _reschedule(self, node: Worker) -> None:
        if node in self.registered_collections:  # else it is still collecting, and gets its part afterwards
            super()._reschedule(node)
