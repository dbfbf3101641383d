"""What compat does where pytest, xdist or pytest-timeout lack a private name: the fallback, and no error."""

import io
import logging
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crmeval import compat


class Plugins:
    """A plugin manager in which every plugin is the same object."""

    def __init__(self, plugin: object) -> None:
        self._plugin = plugin

    def get_plugin(self, _: str) -> object:
        """Return it."""
        return self._plugin


def config_of(plugin: object, writer: object = None) -> Any:  # noqa: ANN401 (as much of a config as compat uses)
    """Return a config with one plugin and one terminal writer."""
    return SimpleNamespace(pluginmanager=Plugins(plugin), get_terminal_writer=lambda: writer)


def test_fixtures_are_unknown_without_private_names() -> None:
    """None, not an empty set: such a case is not played ahead."""
    item: Any = SimpleNamespace(session=SimpleNamespace())

    assert compat.fixtures_of(item) is None
    assert compat.fixture_module(item, "sandbox") is None


@pytest.mark.usefixtures("tmp_path")
def test_fixtures_of_a_real_item(request: pytest.FixtureRequest) -> None:
    """Here this test: the names in its signature, the definitions of all its fixtures, and where one is defined."""
    found = compat.fixtures_of(request.node)

    assert found is not None
    assert {"request"} == found[0]
    assert {"tmp_path", "tmp_path_factory"} <= set(found[1])
    assert "_pytest.tmpdir" == compat.fixture_module(request.node, "tmp_path")


def test_time_limit_is_zero_without_pytest_timeout() -> None:
    """A run without the plugin has no such attribute."""
    config: Any = SimpleNamespace()

    assert 0.0 == compat.default_timeout(config)


@pytest.mark.parametrize("writer", [SimpleNamespace(), SimpleNamespace(_file=io.StringIO())], ids=["none", "not real"])
def test_terminal_of_another_reporter_is_left_alone(writer: object) -> None:
    """Its file can't be replaced, and has no descriptor."""
    config = config_of(SimpleNamespace(), writer)

    assert not compat.owns_terminal(config)
    assert compat.terminal_descriptor(config) is None


def test_logging_is_left_alone_without_handlers_of_pytest() -> None:
    before = list(logging.getLogger().handlers)
    with compat.catch_logs(config_of(None)):
        assert before == logging.getLogger().handlers


def test_workers_keep_their_time_without_xdist() -> None:
    nodes = SimpleNamespace(EXIT_TIMEOUT=10)
    compat.end_workers_at_once(config_of(None))
    compat.end_workers_at_once(config_of(SimpleNamespace(nodemanager=nodes)))

    assert 0 == nodes.EXIT_TIMEOUT


def test_workers_end_in_a_thread_if_xdist_has_a_way() -> None:
    ended = Event()
    ending = compat.end_workers(config_of(SimpleNamespace(nodemanager=SimpleNamespace(teardown_nodes=ended.set))))

    assert ending
    assert ended.wait(60)
    assert compat.end_workers(config_of(None)) is compat.end_workers(config_of(SimpleNamespace())) is None
