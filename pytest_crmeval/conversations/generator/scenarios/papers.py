"""What users want of notes and files."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.story import COUNTED, Story

THEMES: Mapping[str, Sequence[str]] = {
    "Client": ("call", "people", "support", "competition", "pricing", "internal"),
    "Opportunity": ("call", "pricing", "delivery", "competition", "legal"),
    "Quote": ("pricing", "legal", "delivery"),
    "Contract": ("legal", "delivery", "internal"),
}
"""What notes on a record are about; those on people have a theme of their own."""
SIGNED = 0.15
"""How often people say who wrote it."""
MANY_NOTES, MANY_FILES = 4, 8
_DENIES = re.compile(r"\b(?:no|not|nobody|nothing|none|never|without|cannot)\b|n't\b", re.IGNORECASE)
"""Whoever reads such a note out may be taken to say that there is none."""


def note_text(story: Story, entity: str) -> str:
    """Return what somebody writes down about a record, and nobody has yet."""
    taken = {row["content"] for row in story.world.of("Note")}
    themes = THEMES.get(entity)
    texts = vocabulary.notes(story.chance.one_of(themes)) if themes else vocabulary.contact_notes()
    return story.chance.one_of([text for text in texts if text not in taken])


def file_name(story: Story, entity: str) -> str:
    """Return what a file is called that belongs to a record, and is not on file yet."""
    names = vocabulary.files(entity)
    taken = {row["file_name"] for row in story.world.of("Document")}
    extension = story.chance.one_of(names.extensions)
    return story.chance.one_of([name for stem in names.stems if (name := f"{stem}.{extension}") not in taken])


def note_on_client(story: Story) -> Intent | None:
    """Write something down about a client."""
    return _noted(story, "Client", "client")


def note_on_deal(story: Story) -> Intent | None:
    """Write something down about a deal."""
    return _noted(story, "Opportunity", "deal")


def note_on_contact(story: Story) -> Intent | None:
    """Write something down about a person."""
    return _noted(story, "Contact", "contact")


def note_on_quote(story: Story) -> Intent | None:
    """Write something down about a quote."""
    return _noted(story, "Quote", "quote")


def note_on_contract(story: Story) -> Intent | None:
    """Write something down about a contract."""
    return _noted(story, "Contract", "contract")


def _noted(story: Story, entity: str, slot: str) -> Intent | None:
    row = story.pick(entity)
    if row is None:
        return None
    text = note_text(story, entity)
    args: dict[str, Any] = {"entity_type": entity, "entity_id": row.ref, "content": text}
    slots: dict[str, Slot] = {slot: story.call(row), "note": text}
    if story.chance.chance(SIGNED):
        args["created_by"] = slots["author"] = story.chance.one_of(vocabulary.owners())
    story.world.create("Note", story.number, args)
    return Intent(tool="add_note", args=args, slots=slots, skills=frozenset({"note"}), about=row)


def file_with_deal(story: Story) -> Intent | None:
    """Attach a file to a deal."""
    return _attached(story, "Opportunity", "deal")


def file_with_client(story: Story) -> Intent | None:
    """Attach a file to a client."""
    return _attached(story, "Client", "client")


def file_with_quote(story: Story) -> Intent | None:
    """Attach a file to a quote."""
    return _attached(story, "Quote", "quote")


def file_with_contract(story: Story) -> Intent | None:
    """Attach a file to a contract."""
    return _attached(story, "Contract", "contract")


def _attached(story: Story, entity: str, slot: str) -> Intent | None:
    row = story.pick(entity)
    if row is None:
        return None
    name = file_name(story, entity)
    args: dict[str, Any] = {"entity_type": entity, "entity_id": row.ref, "file_name": name}
    slots: dict[str, Slot] = {slot: story.call(row), "file": name}
    extra = story.chance.weighted((("", 0.7), ("uploaded_by", 0.15), ("file_url", 0.15)))
    if extra == "uploaded_by":
        args[extra] = slots["uploader"] = story.chance.one_of(vocabulary.owners())
    elif extra == "file_url":
        folder = story.chance.one_of(("sales", "shared", "deals", "inbox", "scans", "crm"))
        args[extra] = slots["url"] = f"https://files.example/{folder}/{name}"
    story.world.create("Document", story.number, args)
    return Intent(tool="upload_document", args=args, slots=slots, skills=frozenset({"document"}), about=row)


def read_out_notes(story: Story) -> Intent | None:
    """Have all notes read out; there must not be many."""
    notes = story.world.of("Note")
    if not _news(story, notes) or len(notes) > MANY_NOTES or any(map(_denies, notes)):
        return None
    return _listed(notes, [_words(note) for note in notes])


def read_out_notes_on_deal(story: Story) -> Intent | None:
    """Have read out what was noted about one deal."""
    notes = story.world.of("Note")
    noted = {note["entity_id"] for note in _news(story, notes)}
    deal = story.pick("Opportunity", lambda row: row.ref in noted)
    if deal is None or any(map(_denies, notes)):
        return None
    said = [_words(note) for note in notes if note["entity_id"] == deal.ref]
    return _listed(notes, said, deal=(deal, story.call(deal)))


def count_notes(story: Story) -> Intent | None:
    """Ask how many notes there are."""
    return _counted(story, "Note")


def list_all_documents(story: Story) -> Intent | None:
    """Ask which files there are; there must not be many."""
    files = story.world.of("Document")
    if not _news(story, files) or len(files) > MANY_FILES:
        return None
    return _listed(files, list(dict.fromkeys(row["file_name"] for row in files)))


def count_documents(story: Story) -> Intent | None:
    """Ask how many files there are."""
    return _counted(story, "Document")


def _counted(story: Story, entity: str) -> Intent | None:
    """Return the question for a number; whoever has counted once has counted everything."""
    rows = story.world.of(entity)
    if not _news(story, rows) or COUNTED in story.seen:
        return None
    story.seen.add(COUNTED)
    skills = frozenset({"aggregation", entity.lower()})
    return Intent(tool="summarize_counts", args={}, slots={}, facts=[len(rows)], skills=skills)


def _listed(rows: Sequence[Row], facts: Sequence[Any], *, deal: tuple[Row, Slot] | None = None) -> Intent:
    """Return the question for all rows of a kind, perhaps for the sake of one deal."""
    kind = rows[0].entity.lower()
    return Intent(
        tool=f"list_{kind}s",
        args={},
        slots={"deal": deal[1]} if deal else {},
        facts=facts,
        skills=frozenset({"lookup", kind}),
        about=deal[0] if deal else None,
        looked_at=rows,
    )


def _news(story: Story, rows: Sequence[Row]) -> Sequence[Row]:
    """Return what was there before the talk began, and nobody has looked at since."""
    return [row for row in rows if row.seeded and row.ref not in story.seen]


def _denies(note: Row) -> bool:
    return bool(_DENIES.search(note["content"]))


def _words(note: Row) -> str:
    return str(note["content"]).removesuffix(".")


_NOTE, _FILE = ["add_note"], ["upload_document"]
MOVES = (
    Scenario(make=note_on_client, entity="Note", tools=_NOTE, weight=1.5, joins=True),
    Scenario(make=note_on_deal, entity="Note", tools=_NOTE, weight=1.5, joins=True),
    Scenario(make=note_on_contact, entity="Note", tools=_NOTE, weight=1.0, joins=True),
    Scenario(make=note_on_quote, entity="Note", tools=_NOTE, weight=0.7, joins=True),
    Scenario(make=note_on_contract, entity="Note", tools=_NOTE, weight=0.7, joins=True),
    Scenario(make=file_with_deal, entity="Document", tools=_FILE, weight=0.8, joins=True),
    Scenario(make=file_with_client, entity="Document", tools=_FILE, weight=0.6, joins=True),
    Scenario(make=file_with_quote, entity="Document", tools=_FILE, weight=0.6, joins=True),
    Scenario(make=file_with_contract, entity="Document", tools=_FILE, weight=0.7, joins=True),
    Scenario(make=read_out_notes, entity="Note", tools=["list_notes"], weight=0.5),
    Scenario(make=read_out_notes_on_deal, entity="Note", tools=["list_notes"], weight=0.5),
    Scenario(make=count_notes, entity="Note", tools=["summarize_counts"], weight=0.5),
    Scenario(make=list_all_documents, entity="Document", tools=["list_documents"], weight=0.7),
    Scenario(make=count_documents, entity="Document", tools=["summarize_counts"], weight=0.4),
)
