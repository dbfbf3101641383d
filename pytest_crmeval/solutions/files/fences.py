"""Fenced blocks of a text, as models write them: nested, indented, cut off."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_LISTED = re.compile(r"(?P<indent>[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_BEHIND = re.compile(r"(?P<indent>)[^`~]*[:>][ \t]*(?P<mark>`{3,})(?P<info>[A-Za-z][^\s`~]*)[ \t]*")
"""A fence behind a colon or a tag: only one that names a language, for others are no fences."""
_TAGS = re.compile(r"[^\w`<]*(?:</[A-Za-z_]+>\s*)*|[ \t]+[^\s`]+[ \t]+[^\s`][^`]*")
"""What may follow a fence that closes: a full stop, ``</answer>``, a sentence; a single word begins another block."""
_GLUED = re.compile(r"(?P<code>[^`]*[^\s`>])[ \t]*(?P<mark>`{3,})[ \t]*")
"""A fence behind the last line of a program: what no other line of it ends with."""
_WORD = re.compile(r"[^\s`~{}.,:;=]+")
_DEEPER = 3
"""How much further in than its opening a fence may close, in blanks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What stands between two fences."""

    word: str
    """The first word behind the opening fence, in lower case."""
    text: str = field(repr=False)
    closed: bool
    """Whether the text goes on behind it; else it ends within the block."""


@dataclass(slots=True)
class _Open:
    """A block whose end has not come yet."""

    mark: str
    indent: int
    word: str
    lines: list[str] = field(default_factory=list)

    def closed_by(self, fence: re.Match[str]) -> bool:
        """Tell whether a fence ends it: of the same kind, as long or longer, with no word behind, not far in."""
        near = len(fence["indent"].expandtabs()) <= self.indent + _DEEPER
        return near and self._as_long_as(fence) and _TAGS.fullmatch(fence["info"]) is not None

    def last_line(self, line: str) -> str:
        """Return what stands before a fence that ends the block behind its last line; nothing for any other line."""
        glued = _GLUED.fullmatch(line) if line.rstrip(" \t").endswith("```") else None
        return glued["code"] if glued and self._as_long_as(glued) else ""

    def given_up_at(self, fence: re.Match[str]) -> bool:
        """Tell whether a fence with a word begins another block, because nobody has closed this one."""
        begins = _opens(fence) and len(fence["info"].split()) == 1
        return begins and self._as_long_as(fence) and len(fence["indent"].expandtabs()) <= self.indent

    def _as_long_as(self, fence: re.Match[str]) -> bool:
        return fence["mark"].startswith(self.mark)

    def block(self, *, closed: bool) -> Block:
        """Return what stands in it."""
        return Block(word=self.word, text="\n".join(self.lines), closed=closed)


def blocks(text: str) -> Sequence[Block]:
    """Return the fenced blocks in their order; only the last one may be unclosed."""
    return list(_blocks(text.removeprefix("\ufeff").replace("\r\n", "\n")))


def _blocks(text: str) -> Iterator[Block]:
    inside: _Open | None = None
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if inside is None:
            opening = fence or _late(line)
            inside = _opened(opening) if opening and _opens(opening) else None
        elif fence and inside.closed_by(fence):
            yield inside.block(closed=True)
            inside = None
        elif fence and inside.given_up_at(fence):
            inside = _opened(fence)
        elif last := inside.last_line(line):
            inside.lines.append(_outdented(last, inside.indent))
            yield inside.block(closed=True)
            inside = None
        else:
            inside.lines.append(_outdented(line, inside.indent))
    if inside is not None:
        yield inside.block(closed=False)


def _late(line: str) -> re.Match[str] | None:
    """Return a fence that is not the first thing in its line."""
    return (_LISTED.fullmatch(line) or _BEHIND.fullmatch(line)) if "```" in line or "~~~" in line else None


def _opened(fence: re.Match[str]) -> _Open:
    word = _WORD.search(fence["info"])
    return _Open(fence["mark"], len(fence["indent"].expandtabs()), word[0].lower() if word else "")


def _opens(fence: re.Match[str]) -> bool:
    """Tell whether a block can begin here; three backticks around words of a line are no fence."""
    return "`" not in fence["info"] or fence["mark"][0] == "~"


def _outdented(line: str, indent: int) -> str:
    """Return a line without the blanks that its fence stands behind."""
    if not indent:
        return line
    line = line.expandtabs() if "\t" in line[:indent] else line
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]
