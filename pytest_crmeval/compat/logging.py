"""Log records of cases that are played ahead, kept away from pytest's own handlers.

pytest's ``logging-plugin`` (pytest 9) has two private handlers, ``report_handler`` and ``caplog_handler``. They attach
a record to the item that happens to run. If a later pytest has no such handlers, nothing is caught.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_crmeval.player.logs import Catcher, is_of_the_item


@contextmanager
def watch(config: pytest.Config) -> Iterator[None]:
    """Catch what is logged; what pytest's own handlers would have attached to the wrong item passes them by."""
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
