"""One question, one answer."""

from pytest_crmeval.agents.calling import reply_of, uses_tool_server
from pytest_crmeval.domain.messages import (
    Message,
    ToolError,
    ToolResult,
    agent_says,
    copy_of,
    crm_says,
    shown_to_agent,
    user_says,
)
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.questions.question import Grader, Question

_LAST_LINE = {
    Grader.EXACT: 'Think as long as you need. End with a line "Answer: X", where X is the answer and nothing else.',
    Grader.NUMERIC: 'Think as long as you need. End with a line "Answer: X", where X is a number in digits.',
    Grader.CHOICE: 'Think as long as you need. End with a line "Answer: X", where X is the letter of your choice.',
    Grader.JUDGE: """Answer in this form:
Explanation: how you arrive at your answer
Exact Answer: the answer, as short as possible
Confidence: how confident you are, from 0% to 100%""",
}
_DONT_GUESS = "If you do not know, say so instead of guessing."
_NO_TOOLS = ToolError(kind="unknown_tool", message="there are no tools here; answer in words")


def prompt_of(question: Question) -> str:
    """Return what the agent is asked: the question, its choices, and in which form to answer."""
    choices = [f"{letter}) {choice}" for letter, choice in question.lettered]
    abstaining = [_DONT_GUESS] if question.may_abstain else []
    rest = [*choices, "", _LAST_LINE[question.grader], *abstaining]
    return "\n".join([question.text, "", *rest] if choices else [question.text, *rest])


def ask(question: Question, agent: Agent, *, max_steps: int, messages: list[Message] | None = None) -> Transcript:
    """Ask ``agent`` and return the transcript; a tool call is answered with an error, because there are no tools.

    ``messages``, an empty list, is filled as the dialogue grows, so that it survives an exception.
    """
    messages = [] if messages is None else messages
    messages.append(user_says(prompt_of(question)))
    tools = None if uses_tool_server(agent) else ()
    for _ in range(max_steps):
        reply = reply_of(agent, tuple(map(shown_to_agent, messages)), tools)
        current().record_reply(reply)
        messages.append(copy_of(agent_says(reply)))
        if not reply.calls:
            return Transcript(exchanges=(Exchange(messages=tuple(messages)),))
        messages.append(crm_says([ToolResult(error=_NO_TOOLS)] * len(reply.calls)))
    return Transcript(exchanges=(Exchange(messages=tuple(messages), cut=True),))
