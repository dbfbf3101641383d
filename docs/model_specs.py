"""Write the page on specs of models: `.venv/bin/python docs/model_specs.py > docs/reference/models.md`."""

import sys
from collections.abc import Iterator

from pytest_crmeval.agents import NAMED_AGENTS
from pytest_crmeval.models.providers import PROVIDERS, Provider
from pytest_crmeval.models.retirement import retirements
from pytest_crmeval.models.specs import PARAMETERS, ModelSpec

INTRODUCTION = """\
# Models

All providers and parameters of a model spec. [Models as agents](../models.md) explains how to use them;
`crmeval models` lists the known models with price, context and retirement date.

This page is generated: `.venv/bin/python docs/model_specs.py > docs/reference/models.md`.
"""
CARRIED = {
    "Chat Completions": "`reasoning`, `reasoning_content`, `reasoning_details`, Mistral's thinking parts, "
    "signatures of calls",
    "Responses": "reasoning items with encrypted content, phases of messages",
    "Messages": "signed and redacted thinking blocks",
}
"""What is sent back with later requests, if the server has returned it."""


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield INTRODUCTION
    yield "## Names\n\n| name | spec | retires |\n|---|---|---|"
    for name, spec in NAMED_AGENTS.items():
        gone = retirements().get(ModelSpec.parse(spec).model)
        then = f", successor `{gone.successor}`" if gone and gone.successor else ""
        yield f"| `{name}` | `{spec}` | {f'{gone.date}{then}' if gone else ''} |"
    yield "\n## Providers\n\n| spec | what it is | API | key | address | list price |\n|---|---|---|---|---|---|"
    yield from map(_provider, PROVIDERS.values())
    yield "\nThe last column names the price list of genai-prices, which applies only to the provider's own address."
    yield "For other addresses, set `?price=`."
    yield "\n## APIs\n\n| API | carried between steps and turns | priced |\n|---|---|---|"
    for api, carried in CARRIED.items():
        yield f"| {api} | {carried} | input, input read from the cache and written to it, output; thoughts are output |"
    yield "\n## Parameters\n\n`PROVIDER:MODEL?name=value&name=value`\n"
    yield "| parameter | default | meaning |\n|---|---|---|"
    for name, (default, meaning) in PARAMETERS.items():
        yield f"| `{name}` | {default} | {meaning} |"


def _provider(provider: Provider) -> str:
    apis = {"anthropic": "Messages", "openai": "Chat Completions"}[provider.sdk]
    if provider.name in {"openai", "azure"}:
        apis = "Chat Completions, Responses"
    elif provider.extra:
        apis = "Messages for Claude, Responses" + (", Chat Completions" if provider.name == "bedrock" else "")
    key = f"`{provider.key}`" + ("" if provider.needs_key else " (optional)")
    also = "".join(f", `{name}`" for name in provider.also)
    where = " or ".join(f"`{each}`" for each in (provider.variable, provider.address) if each) or "from the region"
    return (
        f"| `{provider.name}:MODEL` | {provider.about} | {apis} | {key}{also} | {where} | {provider.prices or 'none'} |"
    )


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()).rstrip() + "\n")
