"""The program in a response: which of its blocks, and in which language."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.domain.program import Language, Program
from pytest_crmeval.domain.solution import Defect, Extraction
from pytest_crmeval.solutions.files.fences import Block, blocks

_RUN: Mapping[Language, str] = {
    Language.PYTHON: "python py pypy cpython",
    Language.CPP: "cpp c++ cc cxx g++ gnu++",
}
_OTHERS = """
    ada asm c c# clojure cobol cs csharp d dart delphi elixir erlang f# fortran fsharp go golang groovy haskell hs java
    javascript jl js julia kotlin kt lisp lua matlab nim node objective-c ocaml octave pascal perl php prolog r racket
    rb rs ruby rust scala scheme swift ts typescript vb vbnet zig
"""
_TEXTS = """
    bash console css csv diff doctest dot example html http ini input ipython json latex log markdown math md mermaid
    none out output plain plaintext powershell pseudo pseudocode pycon python-repl repl rst sample sh shell sql stderr
    stdin stdout svg tex text toml traceback txt xml yaml yml zsh
"""
_LANGUAGES: Mapping[str, Language] = {word: language for language, words in _RUN.items() for word in words.split()}
_FOREIGN = frozenset(_OTHERS.split())
"""Languages whose programs nobody runs here."""
_NO_PROGRAMS = frozenset(_TEXTS.split())
"""What a block is called that is no program."""
_VERSION = re.compile(r"[\d.]+$")
_THOUGHT = "</think>"
_THINKING = "<think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Why there is no program."""

    defect: Defect
    detail: str = field(default="")


def language_of(word: str) -> Language | None:
    """Return the language that a word names, with or without a version; None if it is none that we know to run."""
    return _LANGUAGES.get(_name(word))


def _name(word: str) -> str:
    return _VERSION.sub("", word.strip().lower().replace(" ", ""))


def extracted(response: str, extraction: Extraction, language: Language) -> Program | Flaw:
    """Return the program of a response; ``language`` is that of a block that does not say its own.

    Where the text ends within its last program, those before it are drafts: the model was about to give another.
    """
    answer = _answer(response)
    if answer is None:
        return Flaw(defect=Defect.TRUNCATED, detail=f"the text ends before {_THOUGHT}")
    found = _candidates(blocks(answer))
    if isinstance(found, Flaw):
        return found
    complete = [block for block in found if block.closed and block.text.strip()]
    if not found[-1].closed and not (complete and extraction is Extraction.FIRST):
        return Flaw(defect=Defect.TRUNCATED, detail="the text ends within its program")
    if not complete:
        return Flaw(defect=Defect.NO_CODE, detail="its block is empty")
    block = _chosen(complete, extraction)
    return Program(language=language_of(block.word) or language, source=block.text + "\n")


def fenced(text: str) -> bool:
    """Tell whether a text that is called a program begins with a fence: then somebody has not taken it out."""
    return text.lstrip("\ufeff \t\r\n").startswith(("```", "~~~"))


def _answer(response: str) -> str | None:
    """Return what follows the model's thoughts, which are drafts; None if it never came to its answer."""
    answer = response.rpartition(_THOUGHT)[2]
    return None if answer.lstrip("\ufeff \t\r\n").startswith(_THINKING) else answer


def _candidates(found: Sequence[Block]) -> Sequence[Block] | Flaw:
    """Return the blocks that may be the program: those that name a language we know, else those that name nothing."""
    named = [block for block in found if language_of(block.word)]
    unnamed = [block for block in found if _name(block.word) not in _FOREIGN | _NO_PROGRAMS]
    if named or unnamed:
        return named or unnamed
    foreign = [block.word for block in found if _name(block.word) in _FOREIGN]
    if foreign:
        return Flaw(defect=Defect.UNSUPPORTED, detail=f"programs in {foreign[-1]} can't be run")
    return Flaw(defect=Defect.NO_CODE, detail="there is no fenced block with a program")


def _chosen(complete: Sequence[Block], extraction: Extraction) -> Block:
    if extraction is Extraction.FIRST:
        return complete[0]
    if extraction is Extraction.LAST:
        return complete[-1]
    return max(complete, key=lambda block: len(block.text))
