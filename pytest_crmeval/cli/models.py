"""`crmeval models`: which models can be named, and what is known about them."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import date

from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.report.tables import aligned

HELP = """\
List the models that can be used as agents or judges: the environment variable with their key, their price in US
dollars per million tokens (input/cached/output), their context in tokens, when they are retired and what replaces
them. The facts come from the installed SDKs and the price list of genai-prices; no model is called.

    crmeval models                  # all that are not retired
    crmeval models sonnet           # those with "sonnet" in their names
    crmeval models --retired gpt-4
    crmeval models groq             # those of another provider, from the price list

Models that are not listed can be used as well: anthropic:MODEL, openai:MODEL?base_url=ADDRESS.

Exit status: 0, or 2 if no model matches.
"""


_FIRST = ("openai", "anthropic")
"""Providers whose models are listed without being asked for."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="show only specs that contain all of these words")
    parser.add_argument("--retired", action="store_true", help="show retired models as well")


def run(options: argparse.Namespace) -> int:
    """List the models."""
    from pytest_crmeval.models.providers import PROVIDERS

    shown = [name for name in PROVIDERS if name in _FIRST or any(word.startswith(name) for word in options.words)]
    rows = [row for row in _rows(shown, retired=options.retired) if all(word in row[0] for word in options.words)]
    others = ", ".join(name for name in PROVIDERS if name not in shown)
    if not rows and shown[-1] not in _FIRST and not PROVIDERS[shown[-1]].prices:
        raise UsageError(f"the models of {shown[-1]} are not listed here; name any that it has: {shown[-1]}:MODEL")
    if not rows:
        raise UsageError(f"no known model matches {' '.join(options.words)!r}; other providers: {others}")
    head = ("model", "key", "price", "context", "retires")
    sys.stdout.writelines(f"{line}\n" for line in aligned([head, *rows], names=2))
    if not options.words:
        sys.stdout.write(f"\nother providers: {others}; for their models: crmeval models PROVIDER\n")
    return 0


def _rows(providers: Sequence[str], *, retired: bool) -> Iterator[Sequence[str]]:
    from pytest_crmeval.agents import NAMED_AGENTS
    from pytest_crmeval.models.catalog import entry_of, known_models
    from pytest_crmeval.models.providers import PROVIDERS

    named = [(f"{name} = {spec}", *spec.split(":")) for name, spec in NAMED_AGENTS.items()]
    found = [(name, provider, entry_of(provider, model)) for name, provider, model in named]
    found += [(f"{each}:{entry.model}", each, entry) for each in providers for entry in known_models(each)]
    for name, provider, entry in found:
        gone = entry.retires
        if retired or gone is None or gone > date.today():  # noqa: DTZ011 (dates of providers have no zone)
            then = f" -> {entry.successor}" if entry.successor else ""
            size = f"{entry.context:,}" if entry.context else "-"
            seller = PROVIDERS[provider]
            key = seller.key if seller.needs_key else f"{seller.key} (optional)"
            yield name, key, entry.price or "unknown", size, f"{gone}{then}" if gone else "-"
