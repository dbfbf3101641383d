"""`crmeval serve-crm`: the CRM of one conversation as an MCP server."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.cli.terminal import UsageError

if TYPE_CHECKING:  # the CRM is loaded only when it is served
    from pytest_crmeval.domain.conversation import Conversation
    from pytest_crmeval.domain.messages import ToolCall, ToolResult

HELP = """\
Serve the CRM of one conversation over MCP (streamable HTTP, on loopback), to try an agent or an MCP client by hand.
Each call is shown. Ctrl-C ends it and discards all changes.

    crmeval serve-crm evals/data/crm.jsonl deal-simple-0323
    crmeval serve-crm evals/data/crm.jsonl deal-simple-0323 --port 8000

In a run, an agent with a parameter `tool_server` gets such a server for each conversation.

Exit status: 130 after Ctrl-C; 2 if there is no such case or no PostgreSQL, or if the package mcp is not installed.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, metavar="FILE", help="conversations, in JSON Lines")
    parser.add_argument("case", metavar="CASE", help="id of the conversation")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port (default: any that is free)")


def run(options: argparse.Namespace) -> int:
    """Serve the CRM until Ctrl-C."""
    from pytest_crmeval.agents.calling import AgentError
    from pytest_crmeval.conversations.crm.standalone import standalone_crm
    from pytest_crmeval.conversations.tool_server import ToolSession, serving
    from pytest_crmeval.ports.crm import SeedError
    from pytest_crmeval.postgres.embedded import ServerUnavailable

    case = _found(options.file, options.case)
    try:
        with (
            standalone_crm(os.environ.get("CRMEVAL_DSN")) as crm,
            crm.seeded(case.seed, case.now, page_size=case.page_size),
        ):
            session = ToolSession(crm.tools)
            with serving(session, options.port) as server, session.open(_shown(crm.call)):
                rules = f"rules: {case.policy}\n" if case.policy else ""
                said = rules + "".join(f"user:  {words}\n" for words in _words_of_user(case))
                sys.stdout.write(f"url:   {server.url}\ntoken: {server.token}\ntools: {len(crm.tools)}\n{said}")
                sys.stdout.flush()
                while True:
                    time.sleep(3600)
    except (AgentError, ServerUnavailable, SeedError, OSError, OverflowError) as error:
        raise UsageError(error) from error


def _found(file: Path, name: str) -> "Conversation":
    from pytest_crmeval.conversations.dataset.files import index
    from pytest_crmeval.domain.dataset_error import DatasetError

    try:
        refs = {ref.id: ref for ref in index([file])}
    except DatasetError as error:
        raise UsageError(error) from error
    if name not in refs:
        close = get_close_matches(name, refs, n=1)
        raise UsageError(f"{file} has no case {name!r}" + (f"; did you mean {close[0]}?" if close else ""))
    return refs[name].read()


def _words_of_user(case: "Conversation") -> list[str]:
    """Return what the user says, or wants and knows if a model plays the user."""
    return [case.user.goal, *case.user.facts] if case.user else [turn.utterance for turn in case.turns]


def _shown(make_call: "Callable[[ToolCall], ToolResult]") -> "Callable[[ToolCall], ToolResult]":
    """Return the function that makes a call and shows it."""
    from pytest_crmeval.domain.cutting import cut
    from pytest_crmeval.models.sdks.encoding import result_text

    def call_and_show(call: "ToolCall") -> "ToolResult":
        result = make_call(call)
        sys.stdout.write(f"call:  {call.tool} {dict(call.arguments)}\n       {cut(result_text(result), 200)}\n")
        sys.stdout.flush()
        return result

    return call_and_show
