"""The tools that agents may call, by name. What is not listed here can't be called."""

from collections.abc import Mapping
from typing import Any

from pytest_crmeval.crm.tools import clients, deals
from pytest_crmeval.crm.tools.registry import Entry

TOOLS: Mapping[str, Entry[Any]] = {entry.tool.name: entry for entry in (*clients.ENTRIES, *deals.ENTRIES)}
