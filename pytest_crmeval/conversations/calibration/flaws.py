"""Corrupted oracles: agents that do everything right, except for one mistake in the CRM.

A variant must be a real mistake: variants with the right result are left out, with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations

from pytest_crmeval.conversations.calibration.rehearsal import (
    ENTITIES,
    Rehearsal,
    entity_named,
    is_seen_beside,
    key_of,
    own_call,
    sort_of,
    template,
)
from pytest_crmeval.conversations.calibration.variants import Kinds, Variant, at_once, changed, instead
from pytest_crmeval.conversations.references import resolve
from pytest_crmeval.conversations.scorers.tool_calls import is_forewarned
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES, Row

UNASKED = ToolCall(
    tool="create_new_client", arguments={"name": "Unasked", "email": "unasked@unasked.example", "status": "Active"}
)
SPARE: Mapping[str, tuple[str, str]] = {
    "Client": ("modify_client", "phone"),
    "Contact": ("modify_contact", "phone"),
    "Opportunity": ("modify_opportunity", "notes"),
    "Quote": ("modify_quote", "version"),
}
"""Entity -> the tool that changes it, and a column that cases rarely mention."""
NAMED: Mapping[str, str] = {"Client": "name", "Contact": "title", "Opportunity": "name", "Quote": "version"}
"""Entity -> a text column that most of its rows have."""
LOOKS: Mapping[str, str] = {
    "Client": "client_search",
    "Contact": "contact_search",
    "Opportunity": "view_opportunity_details",
    "Quote": "quote_details",
}
"""Entity -> the tool that finds a row by its id."""
REPEATABLE = (
    *("create_new_contact", "create_new_opportunity", "create_quote", "create_contract"),
    *("clone_", "upload_", "add_"),
)
"""Writes that have another effect when they are repeated.

A client's e-mail address can be taken only once, a deleted row is gone, and repeating a change has no effect.
"""
HIJACKED: Mapping[str, Json] = {
    "text": "Hijacked",
    "email": "hijacked@unasked.example",
    "number": 7,
    "date": "2099-12-31",
}
"""Type of a value -> an additional value to write. No times, because they are not compared."""
CONFUSED: Mapping[str, Sequence[tuple[str, Mapping[str, Json]]]] = {
    "delete_quote": [("cancel_quote", {})],
    "cancel_quote": [("delete_quote", {}), ("modify_quote", {"status": "Rejected"})],
    "delete_opportunity": [("modify_opportunity", {"stage": "Closed-Lost"}), ("clone_opportunity", {})],
    "clone_opportunity": [("modify_opportunity", {"notes": "(Clone)"})],
    "modify_opportunity": [("clone_opportunity", {}), ("delete_opportunity", {})],
    "modify_quote": [("delete_quote", {})],
    "create_quote": [("modify_opportunity", {"notes": "Quoted."})],
    "create_contract": [("create_new_opportunity", {"name": "Contract", "amount": 1000, "stage": "Negotiation"})],
    "create_new_opportunity": [("create_contract", {})],
    "create_new_contact": [("create_new_opportunity", {"name": "New", "amount": 1000, "stage": "Prospecting"})],
    "add_note": [("upload_document", {"file_name": "note.txt"})],
    "upload_document": [("add_note", {"content": "See the document."})],
}
"""Tool -> tools that it may be confused with, and the arguments that they need."""


def changed_text(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write one text wrong."""
    for turn in rehearsal.writes:
        for name, value in rehearsal.arguments(turn, "text", "email", "file"):
            yield changed(turn, name, f"x{value}")
        for name, value in rehearsal.arguments(turn, "text"):
            yield changed(turn, name, f"{value} II")


def changed_choice(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write another stage or status."""
    for turn in rehearsal.writes:
        for name, value in rehearsal.arguments(turn, "choice"):
            if name != "entity_type":  # refused without the id of such an entity
                others = rehearsal.choices(turn.expected.tool, name)
                yield from (changed(turn, name, other) for other in others if other != value)


def changed_number(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write one number wrong: by one, by a cent, by a digit."""
    for turn in rehearsal.writes:
        for name, value in rehearsal.arguments(turn, "number"):
            if isinstance(value, int | float):
                wrong = (value - 1, value + 2) if name == "probability" else (value + 1, value - 0.01, value / 10)
                yield from (changed(turn, name, number) for number in wrong if number > 0)


def changed_date(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write one date wrong: by a day, by a year."""
    for turn in rehearsal.writes:
        for name, value in rehearsal.arguments(turn, "date"):
            if day := _day(value):
                yield from (changed(turn, name, str(day + timedelta(days=days))) for days in (1, 365))


def dropped_argument(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Omit one argument of a write."""
    for turn in rehearsal.writes:
        call = template(turn)
        for name in call.arguments:
            if name not in rehearsal.required(call.tool) and not _says_nothing(rehearsal, turn, name):
                kept = {key: value for key, value in call.arguments.items() if key != name}
                yield instead(turn, ToolCall(tool=call.tool, arguments=kept), what=f"{call.tool} without {name}")


def added_argument(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write an additional column of the row."""
    for turn in rehearsal.writes:
        for name, schema in rehearsal.parameters(turn.expected.tool).items():
            if name not in template(turn).arguments and sort_of(name, schema) in HIJACKED:
                yield changed(turn, name, HIJACKED[sort_of(name, schema)])


def wrong_record(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Change another row of the same entity."""
    for turn in rehearsal.writes:
        if not rehearsal.is_idle(turn):  # a call that would change nothing in another row is not a mistake
            yield from elsewhere(rehearsal, turn)


def wrong_entity(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Add a note or a document to a row of another entity."""
    for turn in rehearsal.writes:
        call = template(turn)
        for entity in rehearsal.choices(call.tool, "entity_type"):
            for row_id, _ in rehearsal.survivors(str(entity)) if entity != call.arguments["entity_type"] else ():
                arguments = {**call.arguments, "entity_type": entity, "entity_id": row_id}
                yield instead(turn, ToolCall(tool=call.tool, arguments=arguments), what=f"{call.tool} on a {entity}")


def wrong_tool(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Use another tool on the right row: cancel instead of delete, clone instead of modify."""
    for turn in rehearsal.writes:
        for tool, more in CONFUSED.get(turn.expected.tool, ()):
            needed = rehearsal.required(tool)
            kept = {name: value for name, value in template(turn).arguments.items() if name in needed}
            if kept.keys() | more.keys() >= set(needed):
                call = ToolCall(tool=tool, arguments={**kept, **more})
                yield instead(turn, call, what=f"{tool}, not {turn.expected.tool}")


def dropped_write(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Omit a write, and claim that it was done."""
    for turn in rehearsal.writes:
        yield instead(turn, what=f"no {turn.expected.tool}", text=turn.exchange.reply)


def looked_only(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Read the row that should be changed, and claim that it was changed."""
    for turn in rehearsal.writes:
        if rehearsal.is_idle(turn):  # there was nothing to change, so reading is enough
            continue
        for name, value in rehearsal.arguments(turn, "id"):
            if (entity := entity_named(turn, name)) in LOOKS:
                look = ToolCall(tool=LOOKS[entity], arguments={TABLES[entity][1]: value})
                what = f"{look.tool}, no {turn.expected.tool}"
                yield instead(turn, look, what=what, text=turn.exchange.reply)


def guessed_refusal(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Decline without looking or trying, although only the data shows that the call is refused."""
    for turn in rehearsal.refusals:
        if not (turn.is_evident or is_forewarned(turn)):  # a refusal that is already known need not be looked up
            yield instead(turn, what=f"{turn.expected.tool} not attempted, record not read", text=turn.exchange.reply)


def doubled_call(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Make a call twice, in one step or in two."""
    for turn in rehearsal.writes:
        if turn.expected.tool.startswith(REPEATABLE):
            call = turn.expectation.call
            yield instead(turn, call, call, what=f"{call.tool} twice")
            yield at_once(turn, call, call)


def extra_write(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Add a write that was not requested."""
    for turn in rehearsal.turns:
        calls = own_call(turn)
        yield instead(turn, UNASKED, *calls, what=f"{UNASKED.tool} unasked, before")
        for more in _unasked(rehearsal):
            yield instead(turn, *calls, more, what=f"{more.tool} unasked")


def undone_write(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Change a row that was not mentioned and change it back, before the requested calls."""
    for turn in rehearsal.writes:
        for entity, (tool, _) in SPARE.items():
            for row_id, row in _untouched(rehearsal, entity):
                column = NAMED[entity]
                away, back = (
                    ToolCall(tool=tool, arguments={TABLES[entity][1]: row_id, column: value})
                    for value in ("Unasked", row[column])
                )
                yield instead(turn, away, back, *own_call(turn), what=f"{tool} unasked, and undone")


def extra_delete(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Also delete a row that was not mentioned."""
    for turn in rehearsal.turns:
        for entity in ("Opportunity", "Quote"):
            for row_id, _ in rehearsal.survivors(entity):
                more = ToolCall(tool=f"delete_{entity.lower()}", arguments={TABLES[entity][1]: row_id})
                yield instead(turn, *own_call(turn), more, what=f"{more.tool} unasked")


def swapped_writes(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Swap two writes to one row between their turns, if the order matters."""
    for one, other in combinations(rehearsal.parts, 2):
        mine, yours = one.expected.arguments, other.expected.arguments
        same_row = any(name in ENTITIES and mine[name] == yours.get(name) for name in mine)
        if one.number == other.number:
            continue  # requests in one turn have no turns to be swapped
        if one.writes and other.writes and same_row and _order_matters(one, other):
            what = f"what was asked in turn {other.number} first"
            first, then = (instead(a, b.expectation.call, what=what) for a, b in ((one, other), (other, one)))
            yield replace(first, steps={**first.steps, **then.steps})


def forgotten_request(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Fulfil one of several requests of a turn, and claim that all were done."""
    for turn in rehearsal.several:
        for part in turn.parts:
            if part.made is not None and not rehearsal.is_idle(part) and not is_seen_beside(part):
                what = f"{part.expected.tool} forgotten"
                yield instead(part, what=what, text=turn.exchange.reply)


def botched_request(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Fulfil the first of several requests, and make a mistake in another one."""
    for make in (changed_text, changed_choice, changed_number, changed_date, wrong_record):
        yield from (variant for variant in make(rehearsal) if variant.place)


def acted_anyway(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write although nothing should be done or the user should be asked first, and don't mention it."""
    for turn in rehearsal.turns:
        for more in _unasked(rehearsal) if turn.calls_nothing or turn.expectation.asks else ():
            yield instead(turn, *own_call(turn), more, what=f"{more.tool} anyway", text=turn.exchange.reply)


FLAWS: Kinds = {
    "text changed": changed_text,
    "choice changed": changed_choice,
    "number changed": changed_number,
    "date changed": changed_date,
    "argument dropped": dropped_argument,
    "argument added": added_argument,
    "wrong record": wrong_record,
    "wrong entity": wrong_entity,
    "wrong tool": wrong_tool,
    "write dropped": dropped_write,
    "looked only": looked_only,
    "refusal guessed": guessed_refusal,
    "call doubled": doubled_call,
    "extra write": extra_write,
    "write undone": undone_write,
    "extra delete": extra_delete,
    "writes swapped": swapped_writes,
    "request forgotten": forgotten_request,
    "request botched": botched_request,
    "acted anyway": acted_anyway,
}


def elsewhere(rehearsal: Rehearsal, turn: Played) -> Iterator[Variant]:
    """Yield the variants that name another row of the same entity: a seeded one, or one created earlier."""
    for name, _ in rehearsal.arguments(turn, "id"):
        right, entity = turn.expected.arguments[name], entity_named(turn, name)
        others: list[str] = [row_id for row_id, _ in rehearsal.survivors(entity)]
        others += [f"{{{{turn_{earlier.number}.{TABLES[entity][1]}}}}}" for earlier in _makers(rehearsal, turn, entity)]
        for other in others:
            if resolve(other, turn.outputs) != right:
                yield changed(turn, name, other)


def _makers(rehearsal: Rehearsal, turn: Played, entity: str) -> Iterator[Played]:
    """Yield the earlier turns that created a row of an entity."""
    for earlier in rehearsal.writes:
        made = ENTITIES.get(key_of(earlier.exchange.output or {}))
        if earlier.number < turn.number and made == entity:
            yield earlier


def _order_matters(one: Played, other: Played) -> bool:
    """Whether two writes to one row have another result in reverse order."""
    changes = {"cancel_quote": {"status": "Canceled"}}
    mine = changes.get(one.expected.tool, one.expected.arguments)
    yours = changes.get(other.expected.tool, other.expected.arguments)
    if one.is_evident and other.is_evident:
        return False  # neither call has to be made
    if other.expected.tool == "clone_opportunity":
        return one.expected.tool == "modify_opportunity"
    overwritten = any(mine[name] != yours[name] for name in mine.keys() & yours.keys())
    return overwritten or (not other.expectation.succeeds and str(mine.get("stage")).startswith("Closed"))


def _says_nothing(rehearsal: Rehearsal, turn: Played, name: str) -> bool:
    """Whether an argument has no effect: the row has the value already, or by default."""
    given = turn.expected.arguments
    if turn.expected.tool.startswith("modify_"):
        before = rehearsal.row_before(turn) or {}
        others = [other for other in given if other not in (name, *rehearsal.required(turn.expected.tool))]
        return before.get(name) == given[name] or not others  # a call without any change is refused
    return turn.expected.tool == "create_contract" and (name, given[name]) == ("status", "Pending")


def _unasked(rehearsal: Rehearsal) -> Iterator[ToolCall]:
    """Yield writes that were not requested, except those that a later turn overwrites."""
    yield UNASKED
    written = {name for turn in rehearsal.writes for name in turn.expected.arguments}
    for entity, (tool, column) in SPARE.items():
        for row_id, _ in rehearsal.survivors(entity):
            if column not in written:
                yield ToolCall(tool=tool, arguments={TABLES[entity][1]: row_id, column: "Unasked"})
            note = {"entity_type": entity, "entity_id": row_id, "content": "Nobody asked for this note."}
            yield ToolCall(tool="add_note", arguments=note)


def _untouched(rehearsal: Rehearsal, entity: str) -> Iterator[tuple[str, Row]]:
    """Yield the seeded rows that no turn changes and that have a text column."""
    table, key = TABLES[entity]
    before = {str(row[key]): row for row in rehearsal.evidence.reference.before.get(table, ())}
    for row_id, row in rehearsal.survivors(entity):
        if row.get(NAMED[entity]) and row == before.get(row_id):
            yield row_id, row


def _day(value: Json) -> date | None:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None
