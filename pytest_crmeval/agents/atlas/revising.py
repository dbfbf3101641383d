"""The learner: what goes into the playbook after a conversation."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from pytest_crmeval.agents.atlas.asking import (
    Arguments,
    UnreadableError,
    asked,
    dialogue,
    form,
    in_line,
    prompt_for,
    text_in,
)
from pytest_crmeval.agents.atlas.gates import (
    LONGEST_NOTES,
    LONGEST_TEXT,
    MOST_CUES,
    Context,
    ineffective,
    note_objection,
    objection,
    values_in,
)
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import REPLY, Entry, Lesson
from pytest_crmeval.domain.messages import Message, Tool
from pytest_crmeval.domain.playbook import Playbook, Practice
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.ports.chat_model import ChatModel

MOST_NEW = 4
_TEXT: Mapping[str, Json] = {"type": "string"}
_ENTRY: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "cue": {"type": "array", "items": _TEXT, "description": "Words or phrases of a user; any one is enough."},
        "action": {**_TEXT, "description": "What to do then, as an order."},
        "tool": {**_TEXT, "description": f"The tool that the action is about, or {REPLY!r}."},
        "effect": {**_TEXT, "description": "What gets better by it."},
        "scope": {**_TEXT, "description": "Where it holds, and where it does not."},
    },
    "required": ["cue", "action", "tool", "effect", "scope"],
    "additionalProperties": False,
}
FORM = form(
    "revise",
    "Say what the playbook gains and loses by the conversation; nothing is a good answer.",
    {
        "entries": {"type": "array", "items": _ENTRY, "description": f"New ones, at most {MOST_NEW}."},
        "drop": {"type": "array", "items": _TEXT, "description": "Ids of entries that are wrong or of no use."},
        "student_notes": {**_TEXT, "description": f"All that the student is always told; {LONGEST_NOTES} characters."},
        "teacher_notes": {**_TEXT, "description": f"All that the teacher is always told; {LONGEST_NOTES} characters."},
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What a learner wants changed, before the gates."""

    entries: Sequence[Entry]
    drop: Sequence[str]
    student_notes: str
    teacher_notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The conversation as the agent's side has it."""

    messages: Sequence[Message]
    tools: Sequence[Tool]

    @property
    def context(self) -> Context:
        """What entries are held against."""
        return Context(
            tools={tool.name for tool in self.tools},
            values=values_in(self.messages, " ".join(map(repr, self.tools))),
            utterances=[message.text for message in self.messages if message.speaker == "user"],
        )


def revised(model: ChatModel, lesson: Lesson, playbook: Playbook, heard: Heard, *, most: int) -> Lesson:
    """Return the lesson with what is to change in the playbook, as far as the gates let it.

    What has turned out to be ineffective goes, also where the learner has nothing to say. UnreadableError if what he
    says can't be read; ModelError if he can't be asked.
    """
    counted = playbook.practised(lesson)
    prompt = prompt_for("learner", FORM, _shown(lesson, counted, heard))
    known = {entry.id for entry in playbook.entries}
    revision = asked(model, prompt, lambda arguments: _read(arguments, lesson.position, known))
    unwanted = {name: "the learner finds it wrong or of no use" for name in revision.drop if name in known}
    lesson = replace(lesson, dropped={**unwanted, **ineffective(counted)})
    return _gated(lesson, revision, playbook, heard.context, most)


def pruned(lesson: Lesson, playbook: Playbook) -> Lesson:
    """Return the lesson with what has turned out to be ineffective: what is left when nobody can be asked."""
    return replace(lesson, dropped=ineffective(playbook.practised(lesson)))


def _gated(lesson: Lesson, revision: Revision, playbook: Playbook, context: Context, most: int) -> Lesson:
    left = [practice for practice in playbook.practices if practice.entry.id not in lesson.dropped]
    added: list[Entry] = []
    refused: list[str] = []
    for entry in revision.entries:
        so_far = replace(playbook, practices=(*left, *(Practice(entry=new) for new in added)))
        if why := objection(entry, so_far, context, most):
            refused.append(f"{cut(entry.action, 80)}: {why}")
        else:
            added.append(entry)
    return replace(_noted(lesson, revision, playbook, context), added=tuple(added), refused=tuple(refused))


def _noted(lesson: Lesson, revision: Revision, playbook: Playbook, context: Context) -> Lesson:
    """Return the lesson with the notes that are new, and hold in general."""
    for name in ("student_notes", "teacher_notes"):
        text = getattr(revision, name)
        if text != getattr(playbook, name):
            why = note_objection(text, context)
            lesson = replace(lesson, **({"trouble": (*lesson.trouble, f"{name}: {why}")} if why else {name: text}))
    return lesson


def _shown(lesson: Lesson, playbook: Playbook, heard: Heard) -> dict[str, str]:
    reward = lesson.reward
    return {
        "tools": ", ".join(tool.name for tool in heard.tools),
        "playbook": "\n".join(encoded(practice.to_dict()).decode() for practice in playbook.practices),
        "student-notes": playbook.student_notes,
        "teacher-notes": playbook.teacher_notes,
        "dialogue": dialogue(heard.messages),
        "reviews": "\n".join(lesson.guidance),
        "reward": f"{reward.score:.2f}: {reward.reason}" if reward else "",
    }


def _read(arguments: Arguments, position: int, known: Collection[str]) -> Revision:
    entries = _list_in(arguments, "entries")
    if len(entries) > MOST_NEW:
        raise UnreadableError(f"there are to be at most {MOST_NEW} entries")
    # Another run, whose playbook this one began with, has counted from 1, too.
    names = (name for number in count(1) if (name := f"p{position}.{number}") not in known)
    return Revision(
        entries=tuple(_entry(entry, name, position) for entry, name in zip(entries, names, strict=False)),
        drop=tuple(map(str, _list_in(arguments, "drop"))),
        student_notes=text_in(arguments, "student_notes", longest=LONGEST_NOTES),
        teacher_notes=text_in(arguments, "teacher_notes", longest=LONGEST_NOTES),
    )


def _entry(record: Json, name: str, position: int) -> Entry:
    if not isinstance(record, Mapping):
        raise UnreadableError("an entry is to be an object")
    cue = _list_in(record, "cue")
    texts = {
        field: in_line(text_in(record, field, longest=2 * LONGEST_TEXT))
        for field in ("action", "tool", "effect", "scope")
    }
    return Entry(id=name, cue=tuple(in_line(str(words)) for words in cue[: MOST_CUES + 1]), born=position, **texts)


def _list_in(arguments: Arguments, name: str) -> Sequence[Json]:
    value = arguments.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise UnreadableError(f"{name} is to be a list")
    return value
