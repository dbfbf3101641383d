"""Whether the records bear out what a reply states."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations

from pytest_crmeval.domain.state import Row
from pytest_crmeval.scoring.clauses import denies
from pytest_crmeval.scoring.grounds import RULES
from pytest_crmeval.scoring.lexicon import BLANKS, COLUMN_WORDS, COLUMNS, OPEN, OWN, TOTALS
from pytest_crmeval.scoring.mentions import Figure, read, same_day, words_of
from pytest_crmeval.scoring.records import Key
from pytest_crmeval.scoring.scene import Scene
from pytest_crmeval.scoring.values import Statement, Told, same

ORIGINS = frozenset({"from", "previously", "formerly", "instead", "before", "had", "said"})
"""Words by which one says what a value was before."""
BEFORE = frozenset({"from", "previously", "formerly", "previous", "replacing"})
"""Words beside the value that was written over."""
STAYS = frozenset({"still", "stays", "remains", "keeps"})
SOME = 30
"""Amounts that are added up."""
_ORIGIN = re.compile(r"\bfrom\s+(.{2,80}?)\s+(?:back\s+|over\s+)?to\s+(.{2,80})")

_GAVE = re.compile(rf"\bI gave .+ the (?:new )?(?:{'|'.join(COLUMN_WORDS)})\b")
_BECAME = re.compile(r"\bis now (?:the |in |at )?(.{3,60})$|\bis (?:the |in |at )?(.{3,60}) now$")


def untrue(told_in_reply: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield each statement of a reply that nothing bears out, with the row that it was compared with."""
    for told in told_in_reply:
        told.statements.sort(key=lambda each: each.start)
        yield from (fault for each in told.statements if each.sense == "denied" and (fault := _unheard(each, scene)))
        judged = [statement for statement in told.statements if statement.sense in ("fact", "new", "old")]
        yield from (fault for statement in judged if (fault := _fault(statement, scene)))
        yield from _wrong_origins(told, scene)


def _fault(said: Statement, scene: Scene) -> str:  # noqa: PLR0911 (one for each finding)
    """Return why a statement is not true; empty if it may be."""
    records = scene.records
    if fault := _wrong_old(said, scene):
        return fault
    if any(said.is_in(row) for key in said.records for row in _versions(said, key, scene)):
        return ""
    if not said.records and said.sort in ("stage", "status", "type", "version", "text", "blank"):
        return ""
    stays = said.sense == "fact" and said.clause.has(STAYS)
    changed = [write for write in records.written if write.key in said.records and write.old]
    if stays and any(said.is_in(write.old or {}) and {*COLUMNS[said.sort]} & write.changed.keys() for write in changed):
        return _reason(said, changed[0].key, "out of date", scene)
    if _is_granted(said, scene):
        return ""
    if said.sense == "old" and said.sort in ("stage", "status", "type", "text") and not said.clause.has(ORIGINS):
        return ""
    was = next((key for key in said.records for row in records.versions(key) if said.is_in(row)), None)
    other = next((key for key, row in records.rows.items() if said.is_in(row)), None)
    if was and said.sense == "fact" and _is_beside_new(said, was, scene):
        return ""
    if was and said.sense != "old":
        return _reason(said, was, "out of date", scene)
    if said.sense == "old" and not (said.named or said.records):
        return ""
    return _reason(said, next(iter(said.records), None), "of another record" if other else "unknown", scene)


def _wrong_old(said: Statement, scene: Scene) -> str:
    """Return that a value is not the one that was written over, where it is said to be."""
    there = bisect_right(said.clause.words, said.start, key=lambda word: word.end)
    before = {*said.clause.spelled[max(0, there - 3) : there]}
    columns = {*(said.columns or COLUMNS[said.sort])}
    writes = [write for write in scene.records.written if write.old and columns & write.changed.keys()]
    if said.sense != "old" or not before & BEFORE or not writes or said.clause.has(frozenset({"than"})):
        return ""
    if any(said.is_in(row) for write in writes for row in scene.records.past[write.key][:-1]):
        return ""
    return _reason(said, writes[0].key, "unknown", scene)


def _is_beside_new(said: Statement, key: Key, scene: Scene) -> bool:
    """Whether the sentence of an old value also has the new one: 'half of 100 is 50', 'swapped A for B'."""
    news = [write.changed for write in scene.records.written if write.key == key]
    beside = read(said.clause.sentence.text)
    return any(beside.says(new[column]) for new in news for column in COLUMNS[said.sort] if column in new)


def _unheard(said: Statement, scene: Scene) -> str:
    """Return that a value is unknown that is denied to be so; empty if somebody has said it."""
    if said.sort in OWN - {"email", "phone"} or said.sort in ("version", "prefix"):
        return ""
    known = any(said.is_in(row) for rows in scene.records.past.values() for row in rows)
    value = said.value if isinstance(said.value, Figure | frozenset) else str(said.value)
    return "" if known or scene.grounds.knows(value) else _reason(said, None, "unknown", scene)


def _versions(said: Statement, key: Key, scene: Scene) -> Sequence[Row]:
    return (
        scene.records.versions(key) if said.sense == "old" or key in scene.records.gone else (scene.records.rows[key],)
    )


def _is_granted(said: Statement, scene: Scene) -> bool:  # noqa: PLR0911 (one for each reason)
    """Whether a value may be said although no record has it: the user said it, or it is worked out."""
    value = said.value
    if said.sort == "blank":
        return False
    asked = not (said.named and said.sort in ("stage", "status", "email")) and any(
        same(value, fact) for fact in scene.facts
    )
    if asked or (isinstance(value, Figure) and value.value in RULES):
        return True
    if said.sort in ("text", "prefix"):
        return said.sense != "new" and str(value).casefold() in scene.ask.text.casefold()
    compared = said.sense == "old" and said.clause.has(frozenset({"than"}))
    if compared and isinstance(value, Figure | frozenset) and scene.grounds.knows(value):
        return True
    if said.sense != "new" and _is_heard(value, said, scene):
        return True
    if isinstance(value, Figure):
        return _is_worked_out(value, said, scene)
    return False


def _is_heard(value: object, said: Statement, scene: Scene) -> bool:
    if isinstance(value, Figure):
        return any(value.means(figure.value) for figure in (*scene.ask.figures, *scene.answers.figures))
    if isinstance(value, frozenset):
        days = [day for each in (*scene.ask.dates, *scene.answers.dates, *scene.grounds.today) for day in each]
        return any(same_day(one, other) for one in value for other in days)
    if said.sort in ("version", "stage"):
        return any(
            str(each).casefold() in scene.ask.text.casefold()
            for each in (value if isinstance(value, tuple) else (value,))
        )
    return scene.ask.says(str(value)) or scene.answers.says(str(value))


def _is_worked_out(figure: Figure, said: Statement, scene: Scene) -> bool:
    near = said.clause.has(TOTALS)
    if (near or said.sense != "new") and any(
        figure.means(number) for write in scene.records.written for number in _differences(write.old, write.new)
    ):
        return True
    if said.sense == "old" or (said.sense == "new" and not near):
        return False
    if near and any(figure.means(number) for number in sums([scene.records.rows[key] for key in said.records])):
        return True
    return (near or not said.named) and scene.grounds.bear_out(figure)


def sums(rows: Sequence[Row]) -> Iterator[float]:
    """Yield what amounts of records make together, and how far they are apart."""
    amounts = [float(str(row[column])) for row in rows for column in COLUMNS["amount"] if row.get(column) is not None][
        :SOME
    ]
    for one, other in combinations(amounts, 2):
        yield from (one + other, abs(one - other))
    yield sum(amounts)


def _differences(old: Row | None, new: Row | None) -> Iterator[float]:
    for name, value in (new or {}).items():
        was = (old or {}).get(name)
        if isinstance(value, int | float) and isinstance(was, int | float) and was:
            yield from (abs(value - was), abs(value - was) / was * 100, value / was * 100)


def _wrong_origins(told: Told, scene: Scene) -> Iterator[str]:
    """Yield 'from A to B' where B was written over something else than A."""
    for match in _ORIGIN.finditer(told.sentence.text):
        was, new = read(match[1]), read(match[2])
        for write in scene.records.written:
            for column, value in write.changed.items():
                if column.endswith("_id") or not isinstance(value, str) or write.old is None:
                    continue
                if not new.words.startswith(words_of(value)):
                    continue
                old = write.old.get(column)
                if not (was.says(old) if old is not None else BLANKS & {*was.words.split()}):
                    had = f"no {column}" if old is None else old
                    yield f'"{match[0].strip()}": {scene.label(write.key)} had {had}'


def _reason(said: Statement, key: Key | None, how: str, scene: Scene) -> str:
    words = _quoted(said)
    if key is None:
        return f'"{words}": {how}'
    row = scene.records.rows[key]
    if said.sense == "old":
        row = scene.records.before.get(key, row)
    column = next((column for column in said.columns or COLUMNS[said.sort] if column in row), "")
    has = row.get(column)
    verb = "had" if said.sense == "old" else "has"
    return f'"{words}": {scene.label(key)} {verb} {f"no {column}" if has is None else has}'


def _quoted(said: Statement) -> str:
    """Return the words judged, with a few before them."""
    sentence = said.clause.sentence
    there = bisect_right(sentence.words, said.start, key=lambda word: word.end)
    before = sentence.words[max(0, there - 2) : there]
    start = before[0].start if before else said.start
    return sentence.text[start - sentence.start : said.end - sentence.start].replace("*", "").strip()


def became(told: Sequence[Told], scene: Scene) -> str:
    """Return the words that say that something was given, or is now what the user wanted and no row has."""
    for each in told:
        for clause in each.sentence.clauses if not each.sentence.asks else ():
            match = _BECAME.search(clause.text.replace("*", "").strip(" .!"))
            value = (match[1] or match[2]).casefold() if match else ""
            if value and value in scene.ask.text.casefold() and not denies(clause.spelled) and not clause.has(OPEN):
                cells = {str(cell).casefold() for row in scene.records.rows.values() for cell in row.values()}
                if value not in cells:
                    return clause.text.strip()
            if _GAVE.search(clause.text) and not denies(clause.spelled) and not clause.has(OPEN):
                return clause.text.strip()
    return ""
