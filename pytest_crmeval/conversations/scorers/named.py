"""The scorers that can be chosen by name."""

from collections.abc import Mapping

from pytest_crmeval.conversations.scorers.clbench import clbench
from pytest_crmeval.conversations.scorers.crm_state import crm_state
from pytest_crmeval.conversations.scorers.reply import reply
from pytest_crmeval.conversations.scorers.tool_calls import tool_calls
from pytest_crmeval.ports.scorer import Scorer

SCORERS: Mapping[str, Scorer] = {"state": crm_state, "calls": tool_calls, "reply": reply, "clbench": clbench}
