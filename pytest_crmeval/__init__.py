"""Evaluate LLM agents and model checkpoints as pytest cases."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_crmeval.domain.conversation import Conversation, Turn
    from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolError, ToolResult
    from pytest_crmeval.domain.score import Score, Verdict
    from pytest_crmeval.domain.transcript import Transcript
    from pytest_crmeval.domain.trial import Trial
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.ports.crm import Crm
    from pytest_crmeval.ports.scorer import Evidence, Scorer
    from pytest_crmeval.questions.question import Question
    from pytest_crmeval.render.export.run import load_run
    from pytest_crmeval.report.report import Report
    from pytest_crmeval.report.ruling import Ruling
    from pytest_crmeval.solutions.solution import SolutionFile

__all__ = [
    "Agent",
    "Conversation",
    "Crm",
    "Evidence",
    "Message",
    "Question",
    "Reply",
    "Report",
    "Ruling",
    "Score",
    "Scorer",
    "SolutionFile",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Transcript",
    "Trial",
    "Turn",
    "Verdict",
    "load_run",
]

_HOMES = {
    "Agent": "ports.agent",
    "Conversation": "domain.conversation",
    "Crm": "ports.crm",
    "Evidence": "ports.scorer",
    "Message": "domain.messages",
    "Question": "questions.question",
    "Reply": "domain.messages",
    "Report": "report.report",
    "Ruling": "report.ruling",
    "Score": "domain.score",
    "Scorer": "ports.scorer",
    "SolutionFile": "solutions.solution",
    "Tool": "domain.messages",
    "ToolCall": "domain.messages",
    "ToolError": "domain.messages",
    "ToolResult": "domain.messages",
    "Transcript": "domain.transcript",
    "Trial": "domain.trial",
    "Turn": "domain.conversation",
    "Verdict": "domain.score",
    "load_run": "render.export.run",
}
"""Where the public names live: imported when they are used, because a pytest plugin is loaded in every run."""


if not TYPE_CHECKING:  # a type checker knows the names, and no others

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
