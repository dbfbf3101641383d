"""The program in a response: its fenced blocks, which of them is the program, and in which language."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.journal.solutions.outcomes import Defect
from pytest_crmeval.ports.sandbox import Language, Program
from pytest_crmeval.sandboxes.languages import language_named
from pytest_crmeval.solutions.solution import Extraction

_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_LISTED = re.compile(r"(?P<indent>[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_BEHIND = re.compile(r"(?P<indent>)[^`~]*[:>][ \t]*(?P<mark>`{3,})(?P<info>[A-Za-z][^\s`~]*)[ \t]*")
"""A fence after a colon or a tag; it must name a language, otherwise it is not a fence."""
_TAGS = re.compile(r"[^\w`<]*(?:</[A-Za-z_]+>\s*)*|[ \t]+[^\s`]+[ \t]+[^\s`][^`]*")
"""What may follow a closing fence: a full stop, ``</answer>``, a sentence; a single word opens another block."""
_GLUED = re.compile(r"(?P<code>[^`]*[^\s`>])[ \t]*(?P<mark>`{3,})[ \t]*")
"""A closing fence at the end of the last line of a program."""
_WORD = re.compile(r"[^\s`~{}.,:;=]+")
_DEEPER = 3
"""How many blanks further than the opening fence the closing one may be indented."""
_OTHERS = """
    ada asm clojure cobol d dart delphi elixir erlang f# fortran fsharp groovy jl julia lisp lua matlab nim objective-c
    ocaml octave pascal perl prolog r racket scala scheme swift ts typescript vb vbnet zig
"""
_TEXTS = """
    bash console css csv diff doctest dot example html http ini input ipython json latex log markdown math md mermaid
    none out output plain plaintext powershell pseudo pseudocode pycon python-repl repl rst sample sh shell sql stderr
    stdin stdout svg tex text toml traceback txt xml yaml yml zsh
"""
_FOREIGN = frozenset(_OTHERS.split())
"""Languages that no sandbox here runs."""
_USUAL = {Language.PYTHON, Language.PYPY, Language.CPP}
_NO_PROGRAMS = frozenset(_TEXTS.split())
"""Info words of blocks that are not programs."""
_VERSION = re.compile(r"[\d.]+$")
_THOUGHT = "</think>"
_THINKING = "<think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The text between two fences."""

    word: str
    """The first word after the opening fence, in lower case."""
    text: str = field(repr=False)
    closed: bool
    """Whether there is a closing fence; otherwise the text ends within the block."""


@dataclass(slots=True)
class _Open:
    """A block that is not closed yet."""

    mark: str
    indent: int
    word: str
    lines: list[str] = field(default_factory=list)

    def closed_by(self, fence: re.Match[str]) -> bool:
        """Whether a fence closes it: of the same kind, at least as long, without a word, not indented much further."""
        near = len(fence["indent"].expandtabs()) <= self.indent + _DEEPER
        return near and self._as_long_as(fence) and _TAGS.fullmatch(fence["info"]) is not None

    def last_line(self, line: str) -> str:
        """Return the code before a closing fence on the same line; empty for any other line."""
        glued = _GLUED.fullmatch(line) if line.rstrip(" \t").endswith("```") else None
        return glued["code"] if glued and self._as_long_as(glued) else ""

    def given_up_at(self, fence: re.Match[str]) -> bool:
        """Whether a fence with a word opens another block, because this one was never closed."""
        begins = _opens(fence) and len(fence["info"].split()) == 1
        return begins and self._as_long_as(fence) and len(fence["indent"].expandtabs()) <= self.indent

    def _as_long_as(self, fence: re.Match[str]) -> bool:
        return fence["mark"].startswith(self.mark)

    def block(self, *, closed: bool) -> Block:
        """Return the block with its text so far."""
        return Block(word=self.word, text="\n".join(self.lines), closed=closed)


def blocks(text: str) -> Sequence[Block]:
    """Return the fenced blocks in order; only the last one may be unclosed."""
    found: list[Block] = []
    inside: _Open | None = None
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        has_mark = "```" in line or "~~~" in line
        fence = _FENCE.fullmatch(line) if has_mark else None
        if inside is None:
            opening = fence or ((_LISTED.fullmatch(line) or _BEHIND.fullmatch(line)) if has_mark else None)
            inside = _opened(opening) if opening and _opens(opening) else None
        elif fence and inside.closed_by(fence):
            found.append(inside.block(closed=True))
            inside = None
        elif fence and inside.given_up_at(fence):
            inside = _opened(fence)
        elif last := inside.last_line(line):
            inside.lines.append(_outdented(last, inside.indent))
            found.append(inside.block(closed=True))
            inside = None
        else:
            inside.lines.append(_outdented(line, inside.indent))
    return [*found, inside.block(closed=False)] if inside else found


def _opened(fence: re.Match[str]) -> _Open:
    word = _WORD.search(fence["info"])
    return _Open(fence["mark"], len(fence["indent"].expandtabs()), word[0].lower() if word else "")


def _opens(fence: re.Match[str]) -> bool:
    """Whether a fence can open a block; three backticks around words of a line can't."""
    return "`" not in fence["info"] or fence["mark"][0] == "~"


def _outdented(line: str, indent: int) -> str:
    """Return a line without the indentation of its fence."""
    if not indent:
        return line
    line = line.expandtabs() if "\t" in line[:indent] else line
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Why there is no program."""

    defect: Defect
    detail: str = field(default="")


def _name(word: str) -> str:
    return _VERSION.sub("", word.strip().lower().replace(" ", ""))


def extracted(response: str, extraction: Extraction, language: Language, version: str = "") -> Program | Flaw:
    """Return the program of a response; ``language`` and ``version`` are those of a block that does not name one.

    If the text ends within its last program, the programs before it are drafts: the model was about to give another.
    """
    answer = response.rpartition(_THOUGHT)[2]  # the model's thoughts are drafts
    if answer.lstrip("\ufeff \t\r\n").startswith(_THINKING):
        return Flaw(defect=Defect.TRUNCATED, detail=f"the text ends before {_THOUGHT}")
    found = _candidates(blocks(answer), language)
    if isinstance(found, Flaw):
        return found
    complete = [block for block in found if block.closed and block.text.strip()]
    if not found[-1].closed and not (complete and extraction is Extraction.FIRST):
        return Flaw(defect=Defect.TRUNCATED, detail="the text ends within its program")
    if not complete:
        return Flaw(defect=Defect.NO_CODE, detail="its block is empty")
    if extraction is Extraction.LONGEST:
        block = max(complete, key=lambda block: len(block.text))
    else:
        block = complete[0 if extraction is Extraction.FIRST else -1]
    found_language, version = language_named(block.word) or (language, version)
    return Program(language=found_language, version=version, source=block.text + "\n")


def fenced(text: str) -> bool:
    """Whether a text that should be a program begins with a fence, so that it is a response."""
    return text.lstrip("\ufeff \t\r\n").startswith(("```", "~~~"))


def _candidates(found: Sequence[Block], language: Language) -> Sequence[Block] | Flaw:
    """Return the blocks that may be the program: those that name a language we can run, else those without a name.

    A response may show its program in further languages: blocks in the usual ones, or in ``language``, come first.
    """
    known = [(block, names[0]) for block in found if (names := language_named(block.word))]
    usual = [block for block, name in known if name in _USUAL or name is language]
    named = usual or [block for block, _ in known]
    unnamed = [block for block in found if _name(block.word) not in _FOREIGN | _NO_PROGRAMS]
    if named or unnamed:
        return named or unnamed
    foreign = [block.word for block in found if _name(block.word) in _FOREIGN]
    if foreign:
        return Flaw(defect=Defect.UNSUPPORTED, detail=f"programs in {foreign[-1]} can't be run")
    return Flaw(defect=Defect.NO_CODE, detail="there is no fenced block with a program")
