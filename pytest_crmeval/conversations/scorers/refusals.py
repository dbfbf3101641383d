"""Whether a reply gives the reason for which the CRM refused something."""

import re
from collections.abc import Collection, Iterator, Sequence

from pytest_crmeval.conversations.scorers.lexicon import OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import words_of
from pytest_crmeval.conversations.scorers.statements import Sentence, denies
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_RIGHTS = listed("permission permissions authorized authorised privileges credentials")
_LARGE = listed("large big size")
_TAKEN = re.compile(r" (?:already exists|exists already|already (?:have|taken|in use)|duplicate|is taken) ")
_THERE = re.compile(r" (?:(?:found|find|located) (?:that|the|your|this|it)|belongs to|had been(?! deleted| removed)) ")
_CHOICES = re.compile(r"one of: ([^.]+)")
_ACCEPTS = listed("accept accepted accepts allow allowed allows support supported supports permit permitted take takes")


def wrong_reason(sentences: Sequence[Sentence], facts: TurnFacts) -> str:
    """Return where a reply gives another reason than the CRM; empty if it does not."""
    kinds = {error.kind for error in facts.errors}
    found = (clause for sentence in sentences if not sentence.asks for clause in _false_reasons(sentence, kinds, facts))
    clause = next(found, "")
    return f'"{clause}": the CRM said "{facts.answers.strip()}"' if clause else ""


def _false_reasons(sentence: Sentence, kinds: Collection[str], facts: TurnFacts) -> Iterator[str]:
    answer = words_of(facts.answers)
    choices = {word for match in _CHOICES.finditer(facts.answers) for word in words_of(match[1]).split()}
    for start, end, words in sentence.clauses:
        clause = sentence.text[start:end].strip(" ,;")
        text, said = words_of(clause), {*words_of(clause).split()}
        if not kinds or OPEN & {*words}:
            continue
        rights = said & _RIGHTS
        large = said & _LARGE and said & {"file", "document", "attachment"}
        taken = _TAKEN.search(text) and not denies(words)
        wrong_taken = taken and ("conflict" not in kinds or (" name " in text and " name " not in answer))
        there = kinds == {"not_found"} and _THERE.search(text) and not denies(words)
        refused = denies(words) and said & _ACCEPTS and said & choices and not said - choices & _extensions(facts)
        if rights or large or wrong_taken or there or refused:
            yield clause


def _extensions(facts: TurnFacts) -> set[str]:
    """Return the endings of the files that the user speaks of."""
    return {match.casefold() for match in re.findall(r"\.(\w{2,5})\b", facts.user)}
