"""What a reply has to say, worked out anew: from what the CRM answered, and from what the words ask for."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from pytest_crmeval.conversations.references import rows_of
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import Row
from tests.referents import Moment, named_in, own_key, referents, without

DERIVATIONS = ("nothing", "names", "count", "sum", "extreme", "difference", "cells")
_VOCABULARY = (
    *("stage", "status", "statuses", "amount", "amounts", "worth", "value", "values", "price", "total", "number"),
    *("count", "combined", "difference", "differ", "between", "apart", "cheapest", "cheaper", "lowest", "lower"),
    *("highest", "higher", "smallest", "smaller", "biggest", "bigger", "largest", "least", "most", "first"),
    *("earliest", "soonest", "nearest", "close", "closes", "closing", "expires", "expiry", "expired", "lapse"),
    *("valid", "until", "start", "begin", "since", "owner", "owns", "whose", "title", "position", "phone", "mail"),
    *("address", "street", "industry", "version", "type", "probability", "percentage", "likely", "money", "much"),
    *("many", "together", "altogether", "each", "active", "pending", "deal", "deals", "quote", "quotes"),
    *("contract", "contracts", "client", "clients", "contact", "contacts", "people", "document", "documents"),
    *("file", "files", "note", "notes", "opportunity", "opportunities", "company", "companies", "when", "included"),
    *("partner", "vendor", "prospect", "inactive", "letters", "added", "which", "what", "delta"),
)
"""Words that matter, so that it matters when a finger slips on them."""
_OTHERS = ("may", "own", "last", "star", "not", "end")
"""Words that look like one of them, mistyped."""
_LABELS: Mapping[str, str] = {
    "note_id": "content",
    "document_id": "file_name",
    "contract_id": "value",
    "quote_id": "amount",
    "opportunity_id": "name",
    "company_id": "name",
    "client_id": "name",
}
"""The columns that identify rows."""
_TABLES: Mapping[str, str] = {
    "clients": r"clients?|customers?|accounts?",
    "companies": r"compan(?:y|ies)",
    "contacts": r"contacts?|people|persons?",
    "opportunities": r"deals?|opportunit(?:y|ies)",
    "quotes": r"quotes?",
    "contracts": r"contracts?",
    "documents": r"documents?|docs|files?",
    "notes": r"notes?",
}
_PHONE = r"phone|\bnumber\b|\btel\b"
_MAIL = r"e-?mail|\bmail\b"
_OWNER = r"owner|\bowns\b|whose|in charge|looks? after|which of us|\bwho(?:m|'s)?\b"
_STATUS = r"status|\bactive\b.*\b(?:expired|prospect)\b"
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "opportunity_id": {
        "stage": r"\bstage|how far|where do we stand",
        "amount": r"amount|\bworth|\bvalue|figure|how (?:much|big)|price",
        "close_date": r"\bclos(?:e|es|ing)\b|\bwhen\b",
        "owner": _OWNER,
        "probability": r"probabilit|how likely|percent|what %|chance|odds",
    },
    "quote_id": {
        "status": _STATUS,
        "amount": r"amount|price|how much|comes? to|total|\bover\b|figure|\bworth",
        "version": r"version",
        "valid_until": r"valid|expir|until|\blaps|\bruns? out|\bgood (?:until|for)\b|\bholds?\b",
    },
    "contract_id": {
        "status": _STATUS,
        "value": r"\bvalue|\bworth|how much|money|what sum",
        "start_date": r"start|first day|begin|began|since|from which day",
        "end_date": r"\bend(?:s|ed)?\b|runs? out|until|last day|when is it over",
    },
    "client_id": {
        "status": _STATUS,
        "phone": _PHONE,
        "email": _MAIL,
        "address": r"address|street|\bcity\b|where exactly|\bletters\b",
        "owner": _OWNER,
        "industry": r"industry",
    },
    "contact_id": {"title": r"\btitle|\bposition\b", "phone": _PHONE, "email": _MAIL},
    "company_id": {
        "type": r"partner|\btype\b|classif|what kind",
        "industry": r"industry",
        "address": r"address|street|\bcity\b",
    },
}
"""Of each kind of row, the words that ask for a column."""
_CHATTER = re.compile(
    r"\bwho is who\b|\baddress line\b|\bversion \d[\d.]*|\b(?:whatever|no matter what|each and every) (?:their )?status"
    r"|\b(?:with|have|has|of) the status \w+|\bthat ends? on\b|\bnot the \w+|\bmy (?:own )?notes\b|\bone number\b"
    r"|\bworth ten e-mails\b|\bon file\b|\bfr\w+ start\b|\b(?:bigg|small|larg)(?:er|est) (?:deal|opportunity)",
    re.IGNORECASE,
)
"""Says nothing of what is asked for."""
_COUNT = r"how many|\bcount\b|\bnumber (?:of|and|\+)|\btheir number|\bthe number,|figure for our"
_SUM = (
    r"they come to|add(?:s|ed)? up|\bsum\b|combined|taken together|(?<!deals )(?<!clients )together\b|altogether"
    r"|total\b(?! number)"
)
_EACH = r"\beach\b|one line|\bamounts\b(?! of the deals)|included|amount by amount|\bwith (?:\w+ )?(?:amounts|values)"
_APART = (
    r"difference|(?<!them )\bapart\b(?!, so)|\bdelta\b|\bgap\b|how much (?:lies )?between|how much more|\bsave\b"
    r"|\bdiffer\b(?! in amount)"
)
_MOST = r"biggest|largest|highest|most|\btop\b|\bmax|dearest|\b(?:bigger|higher|dearer)\b"
_LEAST = r"smallest|lowest|cheapest|least|bottom|\bless\b|\bmin\b|wallet|\b(?:smaller|lower|cheaper)\b"
_FIRST = r"^(?=.*\b(?:first|next|earliest|soonest|nearest)\b).*(?:\bclos|expir|\bvalid|\blaps|\bruns? out|\bends?\b)"
_DATES = {"opportunity_id": "close_date", "quote_id": "valid_until", "contract_id": "end_date"}
_WON = {"Closed-Won": "won", "Closed-Lost": "lost"}
_QUOTED = re.compile(r"[\"“].*?[\"”]")

Facts = Collection[Json]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the CRM answered, and the words that it was asked by."""

    moment: Moment
    tool: str
    value: Json
    asks: bool = False
    """Whether the reply is to ask back."""

    @cached_property
    def text(self) -> str:
        """The words, mended, without names and chatter."""
        names = sorted(_called(self.moment.world.names.values()), key=len, reverse=True)
        bare = without(_QUOTED.sub(" ", self.moment.words[-1]), "", names)
        return _CHATTER.sub(" ; ", _mended(bare.lower()))

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the answer; of notes only those of the record that is spoken of."""
        value = self.value
        if isinstance(value, Mapping) and not (set(value) & set(_LABELS) or "contact_id" in value):
            value = value["quotes"] if "quotes" in value else list(value.values())
        rows = [row for row in rows_of(value) if isinstance(row, Mapping)]
        owners = referents(self.moment, "Opportunity") if self._narrows() else None
        return rows if owners is None else [row for row in rows if row["entity_id"] in owners]

    def _narrows(self) -> bool:
        """Whether the words speak of the notes on a record, and not of all there are."""
        if self.tool != "list_notes":
            return False
        named = named_in(self.moment.world, self.moment.words[-1])
        return (
            bool(named) or re.search(r"\bdeal|\bopportunit|\bon (?:it|that|this)\b", self.moment.words[-1]) is not None
        )


def _called(names: Collection[str]) -> set[str]:
    """Return what records are called: by their names, or by how these begin, if that is more than a word."""
    words = [name.split() for name in names]
    return {" ".join(each[:length]) for each in words for length in range(2, len(each))} | {*names}


def _mended(text: str) -> str:
    """Return a text in which fingers did not slip on the words that matter."""
    return re.sub(r"[a-z]{3,}", lambda match: _SLIPS.get(match[0], match[0]), text)


def _slips(word: str) -> Iterator[str]:
    """Yield how a word may be mistyped: a letter is missing, doubled, or has changed places with the next."""
    for at in range(1, len(word)):
        yield from (
            word[:at] + word[at + 1 :],
            word[: at + 1] + word[at:],
            word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
        )


_SLIPS = {slip: word for word in _VOCABULARY[::-1] for slip in _slips(word) if slip not in (*_VOCABULARY, *_OTHERS)}


def derivation(shown: Shown, facts: Sequence[Json]) -> str:
    """Return how facts follow from what was shown; empty if they don't, or if one is missing."""
    if shown.asks:
        return "names" if _tells_apart(shown.rows, facts) else ""
    name, wanted = _answer(shown)
    return name if wanted and set(facts) == set(wanted) else ""


def _answer(shown: Shown) -> tuple[str, Facts]:
    """Return what is asked for, and what the answer to it is."""
    if shown.value in ([], {}):
        return "nothing", ["nothing"]
    if shown.tool in _SPECIAL:
        return _SPECIAL[shown.tool](shown)
    if not shown.rows:
        return "", ()
    is_list = not isinstance(shown.value, Mapping) or own_key(shown.rows[0]) not in shown.value
    asked = _figured(shown) if is_list and own_key(shown.rows[0]) in _DATES else None
    return asked or ("cells", _cells(shown))


def _counts(shown: Shown) -> tuple[str, Facts]:
    """Return the count of the table that is named last: what comes before may be chatter."""
    places = {
        match.start(): table
        for table, words in _TABLES.items()
        for match in re.finditer(rf"\b(?:{words})\b", shown.text)
    }
    counts = shown.value if isinstance(shown.value, Mapping) else {}
    return "count", [counts[places[max(places)]]] if places else ()


def _totals(shown: Shown) -> tuple[str, Facts]:
    wanted = {"total_count": _COUNT, "total_amount": _SUM}
    totals = shown.value if isinstance(shown.value, Mapping) else {}
    return "sum", [totals[key] for key, words in wanted.items() if re.search(words, shown.text)]


def _prefixes(shown: Shown) -> tuple[str, Facts]:
    return "cells", rows_of(shown.value)


_SPECIAL: Mapping[str, Callable[[Shown], tuple[str, Facts]]] = {
    "summarize_counts": _counts,
    "summarize_opportunities": _totals,
    "quote_prefixes": _prefixes,
}


def _figured(shown: Shown) -> tuple[str, Facts] | None:
    """Return what has to be worked out of several rows; None if nothing has."""
    text, rows = shown.text, shown.rows
    sums = [_money(row) for row in rows]
    if re.search(_COUNT, text):
        return "count", [len(rows)]
    if re.search(_APART, text):
        return "difference", [round(max(sums) - min(sums), 2)]
    if re.search(_SUM, text) and not re.search(_EACH, text):
        return "sum", [round(sum(sums), 2)]
    return _extreme(rows, text)


def _extreme(rows: Sequence[Row], text: str) -> tuple[str, Facts] | None:
    """Return the row that is first, biggest or smallest, by the column that identifies it; nothing if two rows are."""
    key = own_key(rows[0])
    first, most, least = (re.search(words, text) is not None for words in (_FIRST, _MOST, _LEAST))
    if not (first or most or least):
        return None
    dated = [row for row in rows if not first or row[_DATES[key]]]
    ranks = [str(row[_DATES[key]]) if first else _money(row) for row in dated]
    best = [row for row, rank in zip(dated, ranks, strict=True) if rank == (max if most and not first else min)(ranks)]
    column = _DATES[key] if first and key != "opportunity_id" else _LABELS[key]
    return "extreme", [best[0][column]] if len(best) == 1 and (first or not (most and least)) else ()


def _money(row: Row) -> float:
    return float(str(row.get("amount") or row.get("value") or 0))


def _cells(shown: Shown) -> Facts:
    """Return what the rows have in the columns that are asked for; if none is, in those that identify rows."""
    key = own_key(shown.rows[0])
    asked = [column for column, words in _COLUMNS.get(key, {}).items() if re.search(words, shown.text)]
    if "email" in asked:  # an address to write to
        asked = ["email"]
    columns = asked or ([_LABELS[key]] if key in _LABELS else [])
    return [part for row in shown.rows for column in columns for part in _parts(column, row[column])]


def _parts(column: str, value: Json) -> Sequence[Json]:
    """Return what is said of a cell: of an address its parts, of a note all but the last stop."""
    if column == "address":
        return str(value).split(", ")
    return [str(value).removesuffix(".") if column == "content" else _WON.get(str(value), value)]


def _tells_apart(rows: Sequence[Row], facts: Sequence[Json]) -> bool:
    """Whether each of several rows has one fact of its own: its label, or what only its name ends with."""
    found = [[fact for fact in facts if fact in _marks(row, rows)] for row in rows]
    return len(rows) > 1 and all(len(own) == 1 for own in found) and len(facts) == len(rows)


def _marks(row: Row, rows: Sequence[Row]) -> list[Json]:
    label = row[_LABELS[own_key(row)]]
    names = [str(other[_LABELS[own_key(row)]]).split() for other in rows]
    common = len(list(takewhile(lambda words: len(set(words)) == 1, zip(*names, strict=False))))
    return [label, " ".join(str(label).split()[common:])]
