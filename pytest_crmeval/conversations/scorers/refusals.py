"""Whether a reply gives the reason for which the CRM refused something."""

import re
from collections.abc import Sequence

from pytest_crmeval.conversations.scorers.lexicon import OPEN
from pytest_crmeval.conversations.scorers.mentions import words_of
from pytest_crmeval.conversations.scorers.statements import Sentence, denies
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_TAKEN = r"already (?:exists|have|taken|in use|uses)|exists already|uses .* already|duplicate|is taken"
_REASONS = tuple(
    (re.compile(f" (?:{reason}) "), re.compile(answer))
    for reason, answer in (
        (r"permissions?|authori[sz]ed|privileges|credentials|restricted|not allowed to \w+ it", "permission"),
        (r"(?:file|document|attachment) .*(?:large|big|size)", "size"),
        (_TAKEN, "already exists"),
        (rf"(?:{_TAKEN}) .*name|name .*(?:{_TAKEN})", "already exists with name"),
        (r"(?:find|located?|no) (?:a|any|such)? ?(?:\w+ )?(?:named|called|by that name)", "not found"),
    )
)
"""Words of a reason, and what the CRM has said if it is the right one."""
_THERE = re.compile(
    r" (?:(?:found|find|located|see) (?:that|the|your|this|it)|belongs to|had been(?! deleted| removed)) "
)


def wrong_reason(sentences: Sequence[Sentence], facts: TurnFacts) -> str:
    """Return where a reply gives another reason than the CRM; empty if it does not."""
    answer = words_of(" ".join(error.message for error in facts.errors))
    for sentence in sentences if facts.errors else ():
        for start, end, words in sentence.clauses if not sentence.asks else ():
            clause = sentence.text[start:end].strip(" ,;")
            text = words_of(clause)
            there = (
                {error.kind for error in facts.errors} == {"not_found"} and _THERE.search(text) and not denies(words)
            )
            wrong = any(reason.search(text) and not right.search(answer) for reason, right in _REASONS)
            if (there or wrong) and not OPEN & {*words}:
                return f'"{clause}": the CRM said "{facts.answers.strip()}"'
    return ""
