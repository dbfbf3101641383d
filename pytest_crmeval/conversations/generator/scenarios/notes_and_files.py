"""New notes and files, and questions about them."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
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
"""Entity -> themes of notes; notes on contacts have their own texts."""
SIGNED = 0.15
"""Probability that the user names the author."""
MANY_NOTES, MANY_FILES = 4, 8
_DENIES = re.compile(r"\b(?:no|not|nobody|nothing|none|never|without|cannot)\b|n't\b", re.IGNORECASE)
"""A note with these words, read out, could be understood as the reply that there is none."""


def note_text(story: Story, entity: str) -> str:
    """Return the text of a new note on a record."""
    taken = {row["content"] for row in story.world.of("Note")}
    themes = THEMES.get(entity)
    texts = vocabulary.notes(story.chance.one_of(themes)) if themes else vocabulary.contact_notes()
    return story.chance.one_of([text for text in texts if text not in taken])


def file_name(story: Story, entity: str) -> str:
    """Return the name of a new file for a record."""
    names = vocabulary.files(entity)
    taken = {row["file_name"] for row in story.world.of("Document")}
    extension = story.chance.one_of(names.extensions)
    return story.chance.one_of([name for stem in names.stems if (name := f"{stem}.{extension}") not in taken])


def _add_note(story: Story, entity: str, slot: str) -> Intent | None:
    """Add a note to a record."""
    row = story.pick(entity)
    text = note_text(story, entity)
    args: dict[str, Any] = {"entity_type": entity, "entity_id": row.ref, "content": text}
    slots: dict[str, Slot] = {slot: story.refer_to(row), "note": text}
    if story.chance.chance(SIGNED):
        args["created_by"] = slots["author"] = story.chance.one_of(vocabulary.owners())
    story.world.create("Note", story.number, args)
    return Intent(tool="add_note", args=args, slots=slots, skills=frozenset({"note"}), about=row)


def _attach_file(story: Story, entity: str, slot: str) -> Intent | None:
    """Attach a file to a record."""
    row = story.pick(entity)
    name = file_name(story, entity)
    args: dict[str, Any] = {"entity_type": entity, "entity_id": row.ref, "file_name": name}
    slots: dict[str, Slot] = {slot: story.refer_to(row), "file": name}
    extra = story.chance.weighted((("", 0.7), ("uploaded_by", 0.15), ("file_url", 0.15)))
    if extra == "uploaded_by":
        args[extra] = slots["uploader"] = story.chance.one_of(vocabulary.owners())
    elif extra == "file_url":
        folder = story.chance.one_of(("sales", "shared", "deals", "inbox", "scans", "crm"))
        args[extra] = slots["url"] = f"https://files.example/{folder}/{name}"
    story.world.create("Document", story.number, args)
    return Intent(tool="upload_document", args=args, slots=slots, skills=frozenset({"document"}), about=row)


def read_out_notes(story: Story) -> Intent | None:
    """Ask for the texts of all notes, if they are few."""
    notes = story.world.of("Note")
    if not _unseen(story, notes) or len(notes) > MANY_NOTES or any(map(_denies, notes)):
        return None
    return _listed(notes, [_text(note) for note in notes])


def read_out_notes_on_deal(story: Story) -> Intent | None:
    """Ask for the texts of the notes on one deal."""
    notes = story.world.of("Note")
    noted = {note["entity_id"] for note in _unseen(story, notes)}
    deal = story.pick("Opportunity", lambda row: row.ref in noted)
    if any(map(_denies, notes)):
        return None
    said = [_text(note) for note in notes if note["entity_id"] == deal.ref]
    return _listed(notes, said, deal=(deal, story.refer_to(deal)))


def list_all_documents(story: Story) -> Intent | None:
    """Ask for the names of all files, if they are few."""
    files = story.world.of("Document")
    if not _unseen(story, files) or len(files) > MANY_FILES:
        return None
    return _listed(files, list(dict.fromkeys(row["file_name"] for row in files)))


def _count(story: Story, entity: str) -> Intent | None:
    """Ask how many notes or files there are, unless the counts, which are shown together, have been seen."""
    rows = story.world.of(entity)
    if not _unseen(story, rows) or COUNTED in story.seen:
        return None
    story.seen.add(COUNTED)
    skills = frozenset({"aggregation", entity.lower()})
    return Intent(tool="summarize_counts", args={}, slots={}, facts=[len(rows)], skills=skills)


def _listed(rows: Sequence[Row], facts: Sequence[Any], *, deal: tuple[Row, Slot] | None = None) -> Intent:
    """List all rows of an entity, perhaps to answer a question about one deal."""
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


def _unseen(story: Story, rows: Sequence[Row]) -> Sequence[Row]:
    """Return the seeded rows that have not been seen."""
    return [row for row in rows if row.seeded and row.ref not in story.seen]


def _denies(note: Row) -> bool:
    return bool(_DENIES.search(note["content"]))


def _text(note: Row) -> str:
    return str(note["content"]).removesuffix(".")


def _note_on(entity: str, slot: str, weight: float) -> Scenario:
    make = partial(_add_note, entity=entity, slot=slot)
    return Scenario(make=make, wordings=f"note_on_{slot}", entity="Note", tools=["add_note"], weight=weight, joins=True)


def _file_with(entity: str, slot: str, weight: float) -> Scenario:
    make, wordings = partial(_attach_file, entity=entity, slot=slot), f"file_with_{slot}"
    return Scenario(
        make=make, wordings=wordings, entity="Document", tools=["upload_document"], weight=weight, joins=True
    )


_note = partial(Scenario, entity="Note", weight=0.5)
_file = partial(Scenario, entity="Document")
SCENARIOS = (
    _note_on("Client", "client", 1.5),
    _note_on("Opportunity", "deal", 1.5),
    _note_on("Contact", "contact", 1.0),
    _note_on("Quote", "quote", 0.7),
    _note_on("Contract", "contract", 0.7),
    _file_with("Opportunity", "deal", 0.8),
    _file_with("Client", "client", 0.6),
    _file_with("Quote", "quote", 0.6),
    _file_with("Contract", "contract", 0.7),
    _note(make=read_out_notes, tools=["list_notes"]),
    _note(make=read_out_notes_on_deal, tools=["list_notes"]),
    _note(make=partial(_count, entity="Note"), wordings="count_notes", tools=["summarize_counts"]),
    _file(make=list_all_documents, tools=["list_documents"], weight=0.7),
    _file(make=partial(_count, entity="Document"), wordings="count_documents", tools=["summarize_counts"], weight=0.4),
)
