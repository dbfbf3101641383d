"""Exchanges to be recorded."""

from typing import Any

from pytest_crmeval.domain.messages import Reply, Tool, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.usage_meter import CallPurpose, UsageMeter
from pytest_crmeval.ports.chat_model import Completion, ModelCall, ModelIdentity, Prompt
from tests.fakes import call, calls, says

IDENTITY = ModelIdentity(provider="openai", model="gpt-4.1", settings={"temperature": 0.0, "max_output_tokens": 800})
TOOLS = (Tool(name="search", description="Find a client.", parameters={"type": "object"}),)
PURPOSE = CallPurpose(suite="crm", subject="gpt-4.1", case="quote-0001")
FILE = "crm/gpt-4.1/quote-0001.jsonl"
ASKED = user_says("Who is Zoë?\nAnd where?")
LOOKED = calls(call("search", name="Zoë", limit=1))
FOUND = crm_says(
    [ToolResult(value=[{"name": "Zoë"}], note="all"), ToolResult(error=ToolError(kind="timeout", message="slow"))]
)


def asking(*messages: Any, reply: Reply, system: str = "You are\nan agent.", **more: Any) -> ModelCall:  # noqa: ANN401 (fields)
    """Return one exchange."""
    prompt = Prompt(system=system, messages=messages, tools=TOOLS, must_call=more.pop("must_call", ""))
    usage = Usage(input=900, cached=100, output=20, calls=1, retries=2)
    ending = "calls" if reply.calls else "said"
    completion = Completion(reply=reply, usage=usage, ending=ending)  # type: ignore[arg-type] # one of them
    return ModelCall(identity=IDENTITY, prompt=prompt, completion=completion, seconds=1.5)


def meter(*calls: ModelCall, purpose: CallPurpose = PURPOSE) -> UsageMeter:
    """Return the meter of a trial that is over."""
    return UsageMeter(purpose=purpose, calls=list(calls))


TWO_STEPS = (asking(ASKED, reply=LOOKED), asking(ASKED, agent_says(LOOKED), FOUND, reply=says("She is here.")))
