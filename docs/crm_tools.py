"""Write the page on the CRM tools: `.venv/bin/python docs/crm_tools.py > docs/reference/crm-tools.md`."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_crmeval.conversations.crm.tools import TOOLS

INTRODUCTION = """\
# CRM tools

These are the tools that an agent can call in a conversation, as a model sees them. A call with an unknown argument or a
wrong value is refused with a message that says what is allowed. Searches match parts of words, regardless of case, and
return rows in a [fixed order](../cases.md#references).

This page is generated: `.venv/bin/python docs/crm_tools.py > docs/reference/crm-tools.md`.
"""


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("format", schema.get("type", "any"))
    return kind if isinstance(kind, str) else " or ".join(kind)


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield INTRODUCTION
    for name, definition in sorted(TOOLS.items()):
        schema: Mapping[str, Any] = definition.tool.parameters
        yield f"## {name}\n\n{definition.tool.description}\n"
        if schema.get("properties"):
            yield "| argument | type | required | meaning |\n|---|---|---|---|"
            for argument, about in schema["properties"].items():
                required = "yes" if argument in schema.get("required", []) else ""
                yield f"| `{argument}` | {_type(about)} | {required} | {about.get('description', '')} |"
            yield ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()).rstrip() + "\n")
