"""Turns that leave something open, and how users go on: they put right what was refused, and answer what was asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

_MADE: Mapping[str, str] = {
    "create_new_client": "Client",
    "create_new_contact": "Contact",
    "create_new_opportunity": "Opportunity",
    "create_quote": "Quote",
    "create_contract": "Contract",
    "upload_document": "Document",
    "add_note": "Note",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled(Intent):
    """What was refused, was not clear, or was not there; the user may come back to it."""

    settle: Callable[[Story, "Unsettled"], Intent | None] | None = None
    """What the user says next; a function that needs nothing but what is here."""
    rows: Sequence[Row] = ()
    """What it may have been about."""
    wanted: str = ""
    """The tool that would do it."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments as far as they are known."""
    feminine: bool = False
    """Of a person who is new."""


def put_right(story: Story) -> Intent | None:
    """Ask for what is allowed, after what is not."""
    last = story.last
    if not isinstance(last, Unsettled) or last.asks or last.settle is None:
        return None
    return last.settle(story, last)


def answer(story: Story) -> Intent | None:
    """Say what the agent has to know."""
    last = story.last
    if not isinstance(last, Unsettled) or not last.asks or last.settle is None:
        return None
    return last.settle(story, last)


def enact(story: Story, tool: str, args: Mapping[str, Any], row: Row | None, *, feminine: bool = False) -> Row | None:
    """Change the world as the CRM does, and return what the talk is of then."""
    world = story.world
    if tool in {"add_note", "upload_document"}:
        world.create(_MADE[tool], story.number, args)
        return row
    if tool in _MADE:
        columns = {"status": "Pending", **args} if tool == "create_contract" else args
        return world.create(_MADE[tool], story.number, columns, feminine=feminine)
    if row is None:
        raise ValueError(f"{tool}: of what?")
    if tool.startswith("delete_"):
        world.remove(row)
        return None
    changes = {"status": "Canceled"} if tool == "cancel_quote" else args
    row.columns.update({name: value for name, value in changes.items() if name != TABLES[row.entity][1]})
    return row


_TOOLS = (*_MADE, "modify_client", "modify_contact", "modify_opportunity", "modify_quote")
MOVES = (
    Scenario(make=put_right, entity="Client", tools=[*_TOOLS, "clone_opportunity"], weight=3.0, follows=True),
    Scenario(make=answer, entity="Client", tools=[*_TOOLS, "cancel_quote", "delete_quote"], weight=6.0, follows=True),
)
