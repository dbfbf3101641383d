"""``crmeval serve-crm``: the command, with the client of the MCP SDK."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pytest_crmeval.cli import main
from tests.projects import ADA, case


async def added(url: str, token: str) -> tuple[int, Any]:
    """Add a client; return the number of tools, and the result."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        result = await client.call_tool("create_new_client", ADA)
    return len(tools), json.loads(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.usefixtures("given_server")
def test_tools_of_a_conversation_can_be_called_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(case("one", policy="Ask first.")), encoding="utf-8")
    command = [sys.executable, "-m", "pytest_crmeval.cli", "serve-crm", str(tmp_path / "cases.jsonl"), "one"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        shown = dict(process.stdout.readline().strip().split(": ", 1) for _ in range(5))
        tools, result = asyncio.run(added(shown["url"].strip(), shown["token"].strip()))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)

    assert (130, "crmeval: stopped\n") == (process.returncode, err)
    assert (str(tools), "Add Ada Ltd, ada@ada.example, active.") == (shown["tools"].strip(), shown["user"].strip())
    assert "Ask first." == shown["rules"]
    assert "Ada Ltd" == result["value"]["name"]
    assert out.startswith("call:  create_new_client {'name': 'Ada Ltd'")


def test_unknown_case_is_an_error_with_a_similar_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(case("first")), encoding="utf-8")

    assert 2 == main(["serve-crm", str(tmp_path / "cases.jsonl"), "frist"])

    assert "has no case 'frist'; did you mean first?" in capsys.readouterr().err
