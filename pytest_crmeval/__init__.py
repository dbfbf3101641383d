"""Evaluate LLM agents and model checkpoints as pytest cases."""

from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.report import Report
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Scorer

__all__ = [
    "Agent",
    "Conversation",
    "Crm",
    "Evidence",
    "Message",
    "Reply",
    "Report",
    "Score",
    "Scorer",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Transcript",
    "Trial",
    "Turn",
    "Verdict",
]
