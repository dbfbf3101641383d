"""The scorers that can be chosen by name."""

from collections.abc import Mapping

from pytest_crmeval.ports.scorer import Scorer
from pytest_crmeval.scoring.clbench import clbench
from pytest_crmeval.scoring.crm_state import crm_state
from pytest_crmeval.scoring.reply import reply
from pytest_crmeval.scoring.tool_calls import tool_calls

SCORERS: Mapping[str, Scorer] = {"state": crm_state, "calls": tool_calls, "reply": reply, "clbench": clbench}
