"""What goes wrong in the CRM during a conversation, as a case describes it."""

from typing import Any

from msgspec import Struct


class Outage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="outage", tag_field="kind"):
    """The first ``calls`` calls of a tool in a turn get no answer; the same call succeeds if it is made again."""

    turn: int
    tool: str
    calls: int = 1


class Lock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="lock", tag_field="kind"):
    """A record can't be changed during a turn, because another user is editing it."""

    turn: int
    record: str
    """Its id."""
    by: str


class Change(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="change", tag_field="kind"):
    """Another user changes the CRM before a turn begins; the agent does not see the call."""

    turn: int
    tool: str
    arguments: dict[str, Any]


Trouble = Outage | Lock | Change
