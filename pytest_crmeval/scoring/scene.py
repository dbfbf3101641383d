"""A turn after its calls: everything that its reply can be judged by."""

from collections.abc import Sequence
from functools import cached_property

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.scoring.clauses import Sentence
from pytest_crmeval.scoring.grounds import Grounds
from pytest_crmeval.scoring.lexicon import COLUMNS, CONTRASTS, LEFT
from pytest_crmeval.scoring.mentions import read, words_of
from pytest_crmeval.scoring.records import Key, Named, Names, Records, names_of_records, texts_of, words_in


class Scene:
    """A turn after its calls: everything that its reply can be judged by."""

    def __init__(self, records: Records, grounds: Grounds, messages: Sequence[Message], *, reads: bool = False) -> None:
        self.records = records
        self.grounds = grounds
        self.ask = read(messages[0].text)
        """What the user says in this turn."""
        results = [result for message in messages for result in message.results]
        self.answers = read(" ".join(result.error.message if result.error else result.note for result in results))
        """What the CRM says in this turn in words: why it refuses something, what is cut off."""
        self.names: Names = names_of_records(records)
        self.texts = _texts(records)
        self.own = list(dict.fromkeys([*records.own(), *(key for keys in records.shown if reads for key in keys)]))
        self.involved = records.involved() if not reads else set()
        deleted = any(write.new is None for write in records.written)
        self.contrasts = CONTRASTS | LEFT if deleted else CONTRASTS
        """Words by which a reply speaks of other records than those that were written."""
        self._said = grounds.spoken
        self.facts: Sequence[Json] = ()
        """What the user asked for, as the CRM has it."""
        self._related: dict[Key, Sequence[Key]] = {}

    @cached_property
    def heard(self) -> Sequence[str]:
        """What the user and the CRM have said in the dialogue, and what the records say."""
        return [*self._said, *{text for rows in self.records.past.values() for text in texts_of(rows)}]

    @cached_property
    def heard_words(self) -> Sequence[str]:
        """The same, as words."""
        return [words_of(text) for text in self.heard]

    @cached_property
    def vocabulary(self) -> set[str]:
        """Every word of it."""
        return {part for text in self.heard for word in words_in(text) for part in (word.text, *word.text.split("-"))}

    @cached_property
    def units(self) -> set[str]:
        """Names, titles and the like, each as a whole."""
        return {" ".join(words) for names in (self.names, self.texts) for each in names.values() for words, _ in each}

    def related(self, key: Key) -> Sequence[Key]:
        """Return a record and those that it has to do with."""
        if key not in self._related:
            self._related[key] = list(self.records.related(key))
        return self._related[key]

    def text_of(self, name: Named, sentence: Sentence) -> str:
        """Return a name as a reply writes it."""
        return sentence.text[name.start - sentence.start : name.end - sentence.start]

    def label(self, key: Key) -> str:
        """Return what a record is called in a reason."""
        row = self.records.rows[key]
        name = (
            row.get("name")
            or row.get("file_name")
            or " ".join(filter(None, (str(row.get("first_name") or ""), str(row.get("last_name") or ""))))
        )
        return str(name or f"{key[0].removesuffix('_id')} {row.get('amount') or row.get('value') or key[1][:8]}")


def _texts(records: Records) -> Names:
    """Return the words of titles, owners and industries, as names are kept."""
    found: dict[tuple[str, ...], set[Key]] = {}
    for key, rows in records.past.items():
        for row in rows:
            for column in COLUMNS["text"]:
                words = tuple(word.text for word in words_in(str(row.get(column) or "")))
                if words:
                    found.setdefault(words, set()).add(key)
    by_first: dict[str, list[tuple[tuple[str, ...], frozenset[Key]]]] = {}
    for words, keys in found.items():
        by_first.setdefault(words[0], []).append((words, frozenset(keys)))
    return {first: sorted(each, key=lambda name: -len(name[0])) for first, each in by_first.items()}
