"""Requests that were refused, unclear or unsuccessful, and what users say next; also corrections."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

_CREATED: Mapping[str, str] = {
    "create_new_client": "Client",
    "create_new_contact": "Contact",
    "create_new_opportunity": "Opportunity",
    "create_quote": "Quote",
    "create_contract": "Contract",
    "upload_document": "Document",
    "add_note": "Note",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest(Intent):
    """A request that was refused, was unclear or found nothing; the user may follow up on it."""

    follow_up: Callable[[Story, "OpenRequest"], Intent | None] | None = None
    """Makes the next request from the story and this one."""
    rows: Sequence[Row] = ()
    """The records that it may have been about."""
    wanted: str = ""
    """The tool that would fulfil it."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of that tool as far as they are known."""
    feminine: bool = False
    """Whether a new person is a woman."""


def put_right(story: Story) -> Intent | None:
    """Ask for something that is allowed, after a refusal."""
    last = story.last
    if not isinstance(last, OpenRequest) or last.asks or last.follow_up is None:
        return None
    return last.follow_up(story, last)


def answer(story: Story) -> Intent | None:
    """Answer the agent's question."""
    last = story.last
    if not isinstance(last, OpenRequest) or not last.asks or last.follow_up is None:
        return None
    return last.follow_up(story, last)


def apply_to_world(
    story: Story, tool: str, args: Mapping[str, Any], row: Row | None, *, feminine: bool = False
) -> Row | None:
    """Change the world as the CRM would, and return the record that the conversation is about then."""
    world = story.world
    if tool in {"add_note", "upload_document"}:
        world.create(_CREATED[tool], story.number, args)
        return row
    if tool in _CREATED:
        columns = {"status": "Pending", **args} if tool == "create_contract" else args
        return world.create(_CREATED[tool], story.number, columns, feminine=feminine)
    if row is None:
        raise ValueError(f"{tool} needs a record")
    if tool.startswith("delete_"):
        world.remove(row)
        return None
    changes = {"status": "Canceled"} if tool == "cancel_quote" else args
    row.columns.update({name: value for name, value in changes.items() if name != TABLES[row.entity][1]})
    return row


def correct_value(story: Story) -> Intent | None:
    """Correct a value of the previous request."""
    if story.last is None or not story.last.fixes:
        return None
    fix = story.chance.one_of(story.last.fixes)
    value, said = fix.draw(story)
    if value == fix.row[fix.column] or said == fix.said:
        return None
    fix.row.columns[fix.column] = value
    # A whole sentence is quoted, so that it is clear where it ends.
    old, new = (f'"{text}"' if text.endswith(".") else text for text in (fix.said, said))
    return Intent(
        tool=fix.tool,
        args={TABLES[fix.row.entity][1]: fix.row.ref, fix.column: value},
        slots={"thing": fix.thing, "old": old, "new": new},
        optional=("thing", "old"),
        skills=frozenset({"correction"}),
        about=fix.row,
    )


_CHANGES = ("modify_client", "modify_contact", "modify_opportunity", "modify_quote")
_TOOLS = (*_CREATED, *_CHANGES)
SCENARIOS = (
    Scenario(make=put_right, entity="Client", tools=[*_TOOLS, "clone_opportunity"], weight=3.0, follows=True),
    Scenario(make=answer, entity="Client", tools=[*_TOOLS, "cancel_quote", "delete_quote"], weight=6.0, follows=True),
    Scenario(make=correct_value, entity="", tools=_CHANGES, follows=True),
)
