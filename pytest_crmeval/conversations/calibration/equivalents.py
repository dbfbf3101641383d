"""Equivalent oracles: other sequences of calls with the same result."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.conversations.calibration.rehearsal import ENTITIES, Rehearsal, key_of, name_of, own_call, template
from pytest_crmeval.conversations.calibration.variants import Kinds, Variant, at_once, instead
from pytest_crmeval.conversations.references import fields_of
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.mentions import is_id
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm_calls import writes

LOOKS = (
    ToolCall(tool="summarize_counts"),
    ToolCall(tool="list_clients"),
    ToolCall(tool="opportunity_search"),
    ToolCall(tool="quote_search", arguments={"status": "Draft"}),
    ToolCall(tool="client_search", arguments={"name": "no such client"}),
)
"""Harmless reads that were not requested."""
COPIED = ("client_id", "name", "stage", "amount", "close_date", "owner", "probability", "notes")
"""The columns of a new deal."""


def reordered(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Make the call and another one in one step, in either order."""
    for turn in rehearsal.parts:
        for look in LOOKS:
            yield at_once(turn, look, turn.expectation.call)
            yield at_once(turn, turn.expectation.call, look)


def extra_reads(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Add reads before and after."""
    for turn in rehearsal.turns:
        calls = own_call(turn)
        yield instead(turn, *LOOKS[:2], *calls, what="two more reads before")
        yield instead(turn, *calls, *LOOKS[1:3], what="two more reads after")
        yield instead(turn, LOOKS[3], *calls, LOOKS[4], what="more reads around")
        if calls and not turn.writes:
            yield instead(turn, *calls, *calls, what=f"{turn.expected.tool} twice")


def nested(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Pass filters as ``criteria`` and changes as ``updates``, or flat if the case nests them."""
    for turn in rehearsal.parts:
        call = template(turn)
        if call.arguments != turn.expectation.call.arguments:
            yield instead(turn, call, what=f"{call.tool}, flat")
        if call.tool.endswith("_search") and call.arguments:
            yield instead(turn, _call(call.tool, criteria=call.arguments), what=f"{call.tool} with criteria")
        if call.tool.startswith("modify_"):
            keys = {name: value for name, value in call.arguments.items() if name in rehearsal.required(call.tool)}
            rest = {name: value for name, value in call.arguments.items() if name not in keys}
            yield instead(turn, _call(call.tool, **keys, updates=rest), what=f"{call.tool} with updates")


def other_spelling(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Write the same values in another form: 50000.0 for 50000, space around text, null for omitted ones."""
    for turn in rehearsal.parts:
        call = template(turn)
        spellings: Mapping[str, Mapping[str, Json]] = {
            "floats": dict(_floats(rehearsal, turn)),
            "space around text": {name: f" {value} " for name, value in rehearsal.arguments(turn, "text")},
            "nulls": {name: None for name in rehearsal.parameters(call.tool) if name not in call.arguments},
        }
        for what, other in spellings.items():
            if other:
                yield instead(turn, _call(call.tool, **{**call.arguments, **other}), what=what, knows=True)


def other_case(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Search in upper or lower case, except where one letter becomes two, such as ß."""
    for turn in rehearsal.reads:
        call = template(turn)
        for name, value in rehearsal.arguments(turn, "text"):
            for text in {str(value).upper(), str(value).lower()} - {value}:
                if len(text) == len(str(value)) and "{{turn_" not in text:
                    other = _call(call.tool, **{**call.arguments, name: text})
                    yield instead(turn, other, what=f"{name}={text!r}", knows=True)


def other_tool(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Use another tool with the same effect."""
    for turn in (*rehearsal.reads, *rehearsal.writes):
        for calls in _others(rehearsal, turn):
            what = " and ".join(call.tool for call in calls)
            yield instead(turn, *calls, what=f"{what}, not {turn.expectation.call.tool}", knows=True)


def wider_search(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Search without filters, or list everything; report only what was asked for, or also the others for contrast."""
    for turn in rehearsal.reads:
        entity, _, kind = turn.expected.tool.partition("_")
        if kind != "search":
            continue
        search, listing = _call(turn.expected.tool), _call(f"list_{TABLES[entity.capitalize()][0]}")
        yield instead(turn, search, what=f"{search.tool} without filters", knows=True)
        yield instead(turn, listing, what=f"{listing.tool}, not {search.tool}", knows=True)
        found = [name_of(row) for row in rows_in(turn.wanted)]
        others = [name_of(row) for _, row in rehearsal.survivors(entity.capitalize())]
        for other in (name for name in others if name and name not in found):
            text = f"{turn.exchange.reply} The others, such as {other}, don't match."
            yield instead(turn, search, what=f"{search.tool} without filters, said {text!r}", text=text)


def corrected(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Make a call that is refused, then the right one."""
    for turn in rehearsal.parts:
        call = template(turn)
        wrong = [_call(f"{call.tool}s", **call.arguments), _call(call.tool, **{**call.arguments, "colour": "blue"})]
        wrong += [_call(call.tool)] if rehearsal.required(call.tool) else []
        wrong += [
            _call(call.tool, **{**call.arguments, name: f"{value}?"})
            for name, value in rehearsal.arguments(turn, "choice")
        ]
        yield from (instead(turn, first, turn.expectation.call, what=f"{first.tool} wrong at first") for first in wrong)


def two_modifies(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Make a change in several calls; the stage last, since it may close the deal."""
    for turn in rehearsal.writes:
        call = template(turn)
        keys = {name: value for name, value in call.arguments.items() if name in ENTITIES}
        changes = sorted((name for name in call.arguments if name not in keys), key=lambda name: name == "stage")
        if call.tool.startswith("modify_") and len(changes) > 1:
            parts = [_call(call.tool, **keys, **{name: call.arguments[name]}) for name in changes]
            yield instead(turn, *parts, what=f"{call.tool}, one field after the other", knows=True)
            yield at_once(turn, *parts)


def created_then_filled(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Create the row with the required columns and fill in the rest, or with a mistake that is corrected."""
    for turn in rehearsal.writes:
        call = template(turn)
        key = "" if turn.place else key_of(turn.exchange.output or {})  # references can name only the first call
        modify = f"modify_{ENTITIES.get(key, '').lower()}"
        if not call.tool.startswith("create_") or not rehearsal.parameters(modify):
            continue
        row = {key: f"{{{{turn_{turn.number}.{key}}}}}"}
        required = {name: value for name, value in call.arguments.items() if name in rehearsal.required(call.tool)}
        rest = {name: value for name, value in call.arguments.items() if name not in required}
        if rest and rest.keys() <= rehearsal.parameters(modify).keys():
            then = _call(modify, **row, **rest)
            yield instead(turn, _call(call.tool, **required), then, what="created, then filled in", knows=True)
        for name, value in rehearsal.arguments(turn, "number"):
            first, then = _call(call.tool, **{**call.arguments, name: 11}), _call(modify, **row, **{name: value})
            yield instead(turn, first, then, what=f"created with a wrong {name}, then put right", knows=True)


def looked_and_declined(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Look up why the request will be refused, and decline without trying."""
    for turn in rehearsal.refusals:
        for name, value in template(turn).arguments.items():
            if tool := {"opportunity_id": "view_opportunity_details", "quote_id": "quote_details"}.get(name):
                yield instead(turn, _call(tool, **{name: value}), what=f"{tool}, declined", text=turn.exchange.reply)
            if tool := SOUGHT.get(name):
                yield instead(turn, _call(tool, **{name: value}), what=f"{tool}, declined", text=turn.exchange.reply)


def declined_at_once(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Decline at once what the tool's description or the date rules out."""
    for turn in rehearsal.refusals:
        if turn.is_evident:
            yield instead(turn, what=f"{turn.expected.tool} not even tried", text=turn.exchange.reply)


def requests_at_once(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Make all calls of a turn in one step, if none needs the result of the first."""
    for turn in rehearsal.several:
        if not _awaits(turn):
            what = f"{' and '.join(call.tool for call in turn.whole.calls)} at once"
            yield Variant(turn=turn.number, what=what, steps={turn.number: (turn.whole.calls,)})


def requests_reordered(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Fulfil the requests in reverse order, if that makes no difference."""
    for turn in rehearsal.several:
        if not _awaits(turn) and _independent(turn):
            calls = turn.whole.calls[::-1]
            what = f"{', then '.join(call.tool for call in calls)}"
            yield Variant(turn=turn.number, what=what, steps={turn.number: tuple((call,) for call in calls)})
            yield Variant(turn=turn.number, what=f"{what}, at once", steps={turn.number: (calls,)})


SOUGHT: Mapping[str, str] = {
    "client_id": "client_search",
    "contact_id": "contact_search",
    "opportunity_id": "opportunity_search",
    "quote_id": "quote_search",
    "email": "client_search",
}
"""Argument -> the search that shows why a call with it is refused."""


def tried_twice(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Repeat a refused call."""
    for turn in rehearsal.refusals:
        call = turn.expectation.call
        yield instead(turn, call, call, what=f"{call.tool} twice")
        yield at_once(turn, call, call)


EQUIVALENTS: Kinds = {
    "calls reordered": reordered,
    "extra reads": extra_reads,
    "nested or flat": nested,
    "other spelling": other_spelling,
    "other letters": other_case,
    "other tool": other_tool,
    "wider search": wider_search,
    "call corrected": corrected,
    "modify in parts": two_modifies,
    "created, then filled": created_then_filled,
    "looked, declined": looked_and_declined,
    "refused twice": tried_twice,
    "declined at once": declined_at_once,
    "requests at once": requests_at_once,
    "requests reordered": requests_reordered,
}


def _call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def _awaits(turn: Played) -> bool:
    """Whether a further call of a turn refers to the result of the first one."""
    return f"{{{{turn_{turn.number}." in repr(turn.whole.further)


def _independent(turn: Played) -> bool:
    """Whether the calls of a turn are independent: all read, all create rows, or each has its own row."""
    if not turn.writes or all(_makes_new(call.tool) for call in turn.whole.calls):
        return True
    ids = [{value for value in part.expected.arguments.values() if is_id(str(value))} for part in turn.parts]
    apart = sum(map(len, ids)) == len(set().union(*ids)) and all(ids)
    return apart and all(writes(call.tool) and not call.tool.startswith("delete_") for call in turn.whole.calls)


def _makes_new(tool: str) -> bool:
    """Whether a tool only creates a row."""
    return tool.startswith(("create_", "add_", "upload_"))


def _floats(rehearsal: Rehearsal, turn: Played) -> Iterator[tuple[str, float]]:
    for name, value in rehearsal.arguments(turn, "number"):
        if isinstance(value, int):
            yield name, float(value)


def _others(rehearsal: Rehearsal, turn: Played) -> Iterator[Sequence[ToolCall]]:
    """Yield calls of other tools with the same effect as the call of a turn."""
    given = template(turn).arguments
    match turn.expected.tool:
        case "view_opportunity_details":
            tools = ("opportunity_details", "view_opportunity_details", "opportunity_search")
            yield from ([_call(tool, **given)] for tool in tools if tool != turn.expectation.call.tool)
        case "quote_details":
            yield [_call("quote_search", **given)]
            yield [_call("compare_quotes", quote_ids=[given["quote_id"]])]
        case "compare_quotes" | "compare_quote_details" as tool:
            yield [_call("compare_quotes" if tool == "compare_quote_details" else "compare_quote_details", **given)]
            quotes = given["quote_ids"]
            yield [_call("quote_details", quote_id=quote) for quote in quotes] if isinstance(quotes, Sequence) else []
        case "summarize_opportunities":
            yield [_call("opportunity_search", **given)]
        case "cancel_quote":
            yield [_call("modify_quote", **given, status="Canceled")]
        case "create_new_client" if given.keys() == {"name", "email", "status"}:
            yield [_call("ensure_client", **given)]
        case "clone_opportunity":
            yield from _copied(rehearsal, turn)
        case tool if tool.endswith("_search"):
            yield from _by_name(turn)


def _copied(rehearsal: Rehearsal, turn: Played) -> Iterator[Sequence[ToolCall]]:
    """Yield the call that creates the copy of a deal, if its client was seeded."""
    made = fields_of(turn.wanted)
    if made.get("client_id") in rehearsal.seeded:
        yield [_call("create_new_opportunity", **{name: made[name] for name in COPIED if made[name] is not None})]


def _by_name(turn: Played) -> Iterator[Sequence[ToolCall]]:
    """Yield the search by name for a row that the case finds by another column."""
    rows = list(rows_in(turn.wanted))
    for name in ("email", "name", "last_name") if len(rows) == 1 else ():
        if rows[0].get(name) and name not in turn.expected.arguments:
            yield [_call(turn.expected.tool, **{name: rows[0][name]})]
