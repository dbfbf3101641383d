"""Where a value of a hard conversation comes from, worked out without the generator."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import Row
from tests.readings import counted_days, days, figures, percentages, says
from tests.referents import KINDS, World

_STEP = re.compile(r"(?:nearest|next|multiple of|full) (\d+)|nearest unit")
_WORD = re.compile(r"\w+")
_IDS = (*KINDS, "entity_id")


@dataclass(frozen=True, kw_only=True)
class Known:
    """What an agent can know when it makes a call."""

    said: str
    """The rules of the company, and every utterance up to now."""
    lately: str
    """The rules, and the last two utterances."""
    today: date
    world: World
    """What the CRM holds before the call."""
    before: World
    """What it held at the start."""


def source_of(known: Known, call: ToolCall, argument: str, value: Json) -> str:
    """Return the source of a value of a call; empty if it has none."""
    if argument in _IDS:
        return _of_record(known, str(value))
    if isinstance(value, int | float):
        return next(_of_number(known, call, Fraction(str(value))), "")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)):
        return _of_day(known, call, argument, str(value))
    if argument == "entity_type" or says(known.said, str(value), exactly=False):
        return "said"
    left = {*_WORD.findall(str(value).casefold())} - {*_WORD.findall(known.said.casefold())}
    return "" if left - {"closed", "pending"} else "said in other words"


def _of_record(known: Known, row_id: str) -> str:
    """Return how a record is known: it is named, or belongs to a record or a salesperson that is."""
    row = known.world.rows.get(row_id)
    while row is not None:
        name = str(row.get("name") or f"{row.get('first_name')} {row.get('last_name')}")
        if says(known.lately, name, exactly=False):
            return "named"
        if row.get("owner") and says(known.lately, str(row["owner"])):
            return "owned"
        row = known.world.rows.get(str(row.get("opportunity_id" if "quote_id" in row else "client_id")))
        row = None if row is not None and row.get("client_id") == row_id else row
        row_id = str(row.get("client_id")) if row else ""
    return ""


def _of_number(known: Known, call: ToolCall, value: Fraction) -> Iterator[str]:
    said = figures(known.lately)
    if value in said:
        yield "figure"
    if "new amount" in known.lately and value in figures(known.said):
        yield "said before"
    for row in _rows_of(known, call):
        if value in figures(str(row.get("notes") or "")):
            yield "shown"
        base = Fraction(str(row.get("amount") or 0))
        exact = [base * (1 + sign * percent / 100) for percent in percentages(known.lately) for sign in (1, -1)]
        if any(_rounds_to(value, one, known.lately) for one in exact):
            yield "worked out"
    first = [known.before.rows.get(str(row_id), {}) for row_id in call.arguments.values() if isinstance(row_id, str)]
    if value in [row.get("amount") for row in first]:
        yield "shown before"
    if any(_rounds_to(value, one * rate, known.lately) for one in said for rate in said if 0 < rate < 2):
        yield "converted"


def _rounds_to(value: Fraction, exact: Fraction, text: str) -> bool:
    steps = [int(match[1] or 1) for match in _STEP.finditer(text)]
    return any(value % step == 0 and abs(value - exact) < step for step in steps)


def _rows_of(known: Known, call: ToolCall) -> Sequence[Row]:
    ids = (str(call.arguments.get(name)) for name in ("quote_id", "opportunity_id"))
    return [known.world.rows[each] for each in ids if each in known.world.rows]


def _of_day(known: Known, call: ToolCall, argument: str, value: str) -> str:
    if value in days(known.lately):
        return "day"
    if value in counted_days(known.lately, known.today) or _limited(known, value):
        return "counted day"
    first = [known.before.rows.get(str(row_id), {}) for row_id in call.arguments.values() if isinstance(row_id, str)]
    return "shown before" if value in [row.get(argument) for row in first] else ""


def _limited(known: Known, value: str) -> bool:
    """Whether a day follows from a number of days or months in the rules."""
    day, spans = date.fromisoformat(value), re.findall(r"(\d+) (days|months)", known.lately)
    months = (day.year - known.today.year) * 12 + day.month - known.today.month
    return any(
        (day - known.today).days == int(number) if unit == "days" else months in (1, int(number))
        for number, unit in spans
    )


def leaves(call: ToolCall) -> Mapping[str, Json]:
    """Return the arguments of a call that are written."""
    return {name: value for name, value in call.arguments.items() if value is not None}
