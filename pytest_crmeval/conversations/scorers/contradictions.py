"""What a reply says in so many words and is otherwise: how many there are, who it is, what it was set to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from pytest_crmeval.conversations.scorers.clauses import clauses_of, sentences_of
from pytest_crmeval.conversations.scorers.facts import names_of
from pytest_crmeval.conversations.scorers.groundedness import Grounds, kind_of, rows_in
from pytest_crmeval.conversations.scorers.mentions import COUNTS, MONTHS, Reading, read
from pytest_crmeval.conversations.scorers.wording import asserts, claims
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolCall, ToolResult
from pytest_crmeval.domain.references import answered_in
from pytest_crmeval.domain.state import Row

_KINDS: Mapping[str, str] = {
    r"clients?|customers?|accounts?": "client_id",
    r"contacts?|people": "contact_id",
    r"opportunit(?:y|ies)|deals?": "opportunity_id",
    r"quotes?": "quote_id",
    r"contracts?": "contract_id",
    r"documents?|files?": "document_id",
    r"notes?": "note_id",
    r"compan(?:y|ies)": "company_id",
    r"results?|match(?:es)?|records?|rows?": "",
}
"""What rows are called -> what they are known by."""
_COUNTED = re.compile(
    r"\b(?P<how>found|returned|there\s+(?:is|are)|total\s+of|(?:you|we|they)\s+(?:\w+\s+)?have|has|shows?|lists?)\s+"
    r"(?:(?:a|an|the|only|just|total|of|exactly|currently|these|following)\s+|[*_]){0,8}"
    rf"(?P<number>\d{{1,6}}|{'|'.join(COUNTS)})[*_]*\s+(?:[a-z][\w-]*\s+){{0,2}}?(?P<things>{'|'.join(_KINDS)})\b",
    re.IGNORECASE,
)
_NAME = r"[\"'\u201c\u2018*_`]*(?P<name>(?!I['\u2019])[A-Z\u00c0-\u00de][\w'\u2019-]*[^\W\d_])"
_SOMEBODY = re.compile(
    r"\b(?:the|an?|new|our|your|added|created|updated|deleted)\s+(?:client|customer|contact|person|company|prospect|deal"
    rf"|opportunity)\s+(?:is\s+)?(?:(?:named|called)\s+)?{_NAME}"
)
_WHOSE = re.compile(rf"\b(?:for|at|with|to|on)\s+{_NAME}")
_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        account active added all amount any approved at both canceled cancelled client close closed closed-lost
        closed-won company contact contract created crm deal details document draft due each e-mail email
        expired for full has her his id ids in inactive industry info information is it its me more name
        negotiation new next note notes number on opportunity our overview owner pending phone probability
        profile proposal prospect prospecting qualification quote record rejected search sent stage status
        summary that the their them this title to update updated us value was with you your dr mr mrs ms monday
        tuesday wednesday thursday friday saturday sunday what which whose
        """,
    )
).union(MONTHS)
"""What may stand in capitals where names do, without being one."""
_STAGES = r"Prospecting|Qualification|Proposal|Negotiation|Closed[- ](?:Won|Lost)"
_STATUSES = r"Active|Prospect|Inactive|Draft|Sent|Approved|Rejected|Cancell?ed|Pending|Expired"
_VALUE = rf"[*_$\u20ac\u00a3\"'\u201c]*(\d[\d,.]*\d|{_STAGES}|{_STATUSES})\b(?!\s?(?:k|m|million)\b)"
_CHOSEN = (
    re.compile(rf"\b({_STAGES})\b"),
    re.compile(rf"\bstatus\b[^.;?!\n]{{0,25}}?\b({_STATUSES})\b", re.IGNORECASE),
)
_BECAME = (
    re.compile(
        r"\b(?:adjusted|advanced|bumped|changed|decreased|increased|lowered|marked|moved|raised|reduced|revised|set|updated)"
        rf"\b[^.;?!\n]{{0,80}}?\b(?:to|as)\s+{_VALUE}"
    ),
    re.compile(rf"\bnow\s+(?:(?:at|in|on|set\sto|an?)\s+)?{_VALUE}"),
    re.compile(rf"\b(?:is|are)\s+{_VALUE}[*_]*\s+now\b"),
)
_IS = re.compile(
    rf"\b(?:is|are)\s+(?:(?:now|currently|still|in|at|the)\s+){{0,3}}[*_\"'\u201c]*({_STAGES}|{_STATUSES})\b"
)
SEVERAL = 3


def contradictions(said: Reading, messages: Sequence[Message], grounds: Grounds) -> Iterator[str]:
    """Yield what a reply says against everything that was heard before it; ``messages`` are those of its own turn."""
    clauses = clauses_of(said.text)
    claimed = [clause for clause in clauses if claims(clause)]
    yield from _miscounted(said, messages, grounds)
    yield from (name for name in _names(said.text, claimed, grounds) if not grounds.has_said(name))
    chosen = dict.fromkeys(choice for sentence in sentences_of(said.text) for choice in _chosen(sentence))
    yield from (choice for choice in chosen if not grounds.has_said(choice))
    yield from _mistaken(said, messages, claimed, grounds)
    changed = dict.fromkeys(value for clause in clauses for value in _changed(clause))
    if changed:
        now = _grounds_of(messages)
        yield from (f"that it is {value} now" for value in changed if not _is_heard(value, now))


def stale(said: Reading, chosen: Json) -> Sequence[str]:
    """Return the stages and statuses that a reply tells instead of what was ``chosen`` just now."""
    if not isinstance(chosen, str) or said.says(chosen):
        return ()
    clauses = clauses_of(said.text)
    told = [value for clause in clauses for value in _changed(clause) if not value[0].isdigit()]
    found = told if any(map(claims, clauses)) else _IS.findall(said.text)
    return [f"that it is {value} now" for value in dict.fromkeys(found)]


def _chosen(sentence: str) -> Sequence[str]:
    """Return the stages and statuses that a sentence says to be so; who names several lists them."""
    found = [choice for pattern in _CHOSEN for choice in pattern.findall(sentence)]
    return found if 0 < len(found) < SEVERAL and asserts(sentence) else ()


def _changed(clause: str) -> Sequence[str]:
    """Return what a clause says something has become: a stage, a status, a number that is no part of a date."""
    found = [value for pattern in _BECAME for value in pattern.findall(clause)]
    if not found or not asserts(clause):
        return ()
    numbers = _values(clause)
    return [value for value in dict.fromkeys(found) if not value[0].isdigit() or _values(value) <= numbers]


def _values(text: str) -> set[float]:
    return {figure.value for figure in read(text).numbers}


def _grounds_of(messages: Sequence[Message]) -> Grounds:
    grounds = Grounds()
    grounds.add(messages)
    return grounds


def _miscounted(said: Reading, messages: Sequence[Message], grounds: Grounds) -> Iterator[str]:
    """Yield where a reply counts what are not so many, and not as many as it names; what is found is found now."""
    looked = any(not writes(call.tool) for message in messages for call in message.calls)
    now = _grounds_of(messages) if looked else grounds
    known, named = cache(Grounds.counts), cache(partial(_named, said))
    for match in {match[0]: match for match in _COUNTED.finditer(said.text)}.values():
        number = COUNTS[word] if (word := match["number"].lower()) in COUNTS else int(word)
        kind = next(kind for things, kind in _KINDS.items() if re.fullmatch(things, match["things"], re.IGNORECASE))
        shown = now if match["how"].lower() in ("found", "returned") else grounds
        if number > 1 and number not in known(shown, kind) and number != named(shown):
            yield repr(match[0])


def _named(said: Reading, grounds: Grounds) -> int:
    """Return how many rows a reply names."""
    rows = {str(row[kind_of(row)]): row for row in grounds.rows()}
    return sum(_is_named(row, said) for row in rows.values())


def _is_named(row: Row, said: Reading) -> bool:
    names = [name for name in names_of([row]) if isinstance(name, str)]
    return bool(names) and all(map(said.says, names))


def _names(text: str, claimed: Sequence[str], grounds: Grounds) -> Iterator[str]:
    """Yield the names that a reply gives somebody.

    Those that come after what it is, those beside the other half of a known name, those for whom something was done.
    """
    found = [match["name"] for match in _SOMEBODY.finditer(text)]
    found += [match["name"] for clause in claimed for match in _WHOSE.finditer(clause)]
    for first, last in grounds.people:
        if (first in text) is not (last in text):
            found += [name for match in re.finditer(_beside(first, last), text) for name in match.groups() if name]
    return (name for name in dict.fromkeys(found) if name.lower() not in _WORDS and not name.isupper())


def _mistaken(said: Reading, messages: Sequence[Message], claimed: Sequence[str], grounds: Grounds) -> Iterator[str]:
    """Yield the names of rows to which a reply says something was done, when it was done to another one of the kind."""
    written = list(_writes_in(messages))
    touched = {value for call, _ in written for value in call.arguments.values() if isinstance(value, str)}
    touched |= {str(row[kind_of(row)]) for _, result in written for row in rows_in(result.value)}
    if not touched or not claimed:
        return
    rows = list(grounds.rows())
    right = [row for row in rows if str(row[kind_of(row)]) in touched]
    kinds = {*map(kind_of, right), *(name for call, _ in written for name in call.arguments if name.endswith("_id"))}
    wrong = [row for row in rows if kind_of(row) in kinds and str(row[kind_of(row)]) not in touched]
    if wrong and not any(_is_named(row, said) for row in right):
        told = read("\n".join(claimed))
        yield from dict.fromkeys(str(names_of([row])[0]) for row in wrong if _is_named(row, told))


def _writes_in(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, ToolResult]]:
    made = ((call, result) for call, result in answered_in(messages) if isinstance(call.arguments, Mapping))
    return ((call, result) for call, result in made if writes(call.tool))


def _beside(first: str, last: str) -> str:
    """Return the pattern of a first name with any last name, or a last name with any first name."""
    name = r"([A-Z\u00c0-\u00de][\w'\u2019-]+[^\W\d_])"
    return rf"\b{re.escape(first)} {name}(?<!ed)\b|\b{name}(?<!ed) {re.escape(last)}\b"


def _is_heard(value: str, grounds: Grounds) -> bool:
    if value[0].isdigit():
        return all(map(grounds.bear_out, read(value).numbers))
    return grounds.has_said(value)
