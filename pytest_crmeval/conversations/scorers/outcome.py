"""Whether a reply fits what is expected of a turn: a question, a refusal, a change, or what was asked for."""

import re
from collections.abc import Sequence

from pytest_crmeval.conversations.references import rows_of
from pytest_crmeval.conversations.scorers.deeds import claims_in, denied, says_done
from pytest_crmeval.conversations.scorers.facts import MANY, NOTHING, names_of
from pytest_crmeval.conversations.scorers.lexicon import FIELDS, denies, listed
from pytest_crmeval.conversations.scorers.mentions import Reading, read, words_of
from pytest_crmeval.conversations.scorers.statements import Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, asked_facts
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.crm_calls import writes

_REFUSALS = listed(
    "invalid error already closed deleted gone removed locked blocked duplicate unknown exists must only taken belongs "
    "exceed exceeds exceeded exceeding maximum minimum limit limits capped caps highest lowest most least past passed "
    "malformed typo mistyped incomplete stays stay remains remain still outside beyond impossible unsupported "
    "unavailable editing limited afraid unfortunately sorry lacks ends too above over between fewer uses"
)
"""Words by which a reply says that something can't be done, beside denials."""
_TURNED_DOWN = re.compile(
    r" (?:(?:an)?other tool|please (?:ask|use|turn)|ha(?:ve|s) to|as it was|someone else|can only|yourself|department"
    r"|elsewhere|for your|contact your) "
)
_INVITES = re.compile(
    r" (?:(?:please|kindly|could you|can you|would you|just) (?:\w+ly )?(?:tell|confirm|specify|clarify|provide"
    r"|let me know|give|choose|pick|share|send|check|say|name|double check)"
    r"|(?:let me know|tell me) (?:which|what|who|whose|the|whether|your|how|more|if you mean)"
    r"|(?:i|will|would|still) (?:still )?need|i require|need to know|(?:not sure|unclear) (?:which|what|who)"
    r"|(?:send|give) me|once (?:i|you)) |please $"
)
"""Questions without a question mark."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_COURTESY = re.compile(
    r" (?:(?:anything|what|something) else|what (?:s )?next|(?:help|assist) (?:you )?(?:further|with|today)"
    r"|(?:how can|how may) i help|(?:any|other|further) questions|(?:does|is) that (?:help|fine|ok|all right|right)"
    r"|a summary) "
)
"""Questions that are only polite."""
_UNSURE = listed("know sure idea help assist say answer")
_EMPTY = listed("empty zero 0")
_NOT_FIELDS = frozenset({*FIELDS, "date", "fields"})
_DENIED = re.compile(
    r"\bnot\s+(?:on\s+|for\s+)?[$\u20ac\u00a3]?\d[\d,.-]*(?:\s+[A-Z][a-z]+(?:\s+\d{4})?)?"
    r"|(?:n['\u2019]t|not|unable to)\s+(?:find|locate|see)\b[^.,;:\n]*|\bno\s+\w+\s+(?:called|named)\b[^.,;:\n]*"
    r"|\b[Tt]here (?:is|are) no\s+\w+\s[^\n]{0,200}?in the CRM"
    r"|\b(?:searched|looked)\s+for\b[^.;:\n]*?(?=\bno\b|\bnothing\b)"
)


def wrong_outcome(  # noqa: PLR0911 (one for each outcome)
    said: Sequence[Sentence], turn: Played, facts: TurnFacts
) -> str:
    """Return where a reply does not fit the outcome that is expected of a turn; empty if it does."""
    expected = turn.expectation
    if expected.asks and not _asks_back(said, facts):
        return "the reply should ask the user, but does not"
    if turn.calls_nothing and not expected.asks and not _declines(said, facts):
        return "the CRM can't do this, but the reply does not say so"
    if not expected.succeeds and not _declines(said, facts) and not _asks_back(said, facts):
        return "the CRM refuses this, but the reply does not say so"
    made = (call.tool for call, result in turn.calls if not result.refused)
    wrote = facts.records.written or any(writes(tool) and not tool.startswith("ensure_") for tool in made)
    if wrote and (words := denied(said, facts, partly=not expected.succeeds)):
        return f'the reply denies the change ("{words}")'
    unsure = any(sentence.spelled & _UNSURE for sentence in said)
    if turn.writes and expected.succeeds and said and (wrote or unsure) and all(map(_says_nothing, said)):
        return "the reply does not say that it was done"
    idle = expected.asks or turn.calls_nothing or not expected.succeeds
    if not facts.records.written and idle and (words := says_done(said)):
        return f'"{words}": nothing was written'
    return ""


def _says_nothing(sentence: Sentence) -> bool:
    """Whether a sentence only asks, promises, or says that something is not known."""
    denies = any(clause.denies for clause in sentence.clauses) or sentence.spelled & {"later", "soon", "please", "will"}
    return sentence.asks or bool(denies and not sentence.mentions and not claims_in([sentence]))


def _declines(said: Sequence[Sentence], facts: TurnFacts) -> bool:
    """Whether a reply says no: in words that deny, or that state a limit; not in those of the user."""
    for sentence in said:
        words = words_of(sentence.text)
        declines = sentence.spelled & _REFUSALS or any(clause.denies for clause in sentence.clauses)
        if words not in words_of(facts.user) and (declines or _TURNED_DOWN.search(words)):
            return True
    return False


def _asks_back(said: Sequence[Sentence], facts: TurnFacts) -> bool:
    """Whether a reply wants to know something before it goes on; politeness, or the user's own question, does not."""
    for sentence in said:
        words = words_of(sentence.text)
        if (
            (sentence.asks or _INVITES.search(words))
            and words not in words_of(facts.user)
            and not _COURTESY.search(words)
        ):
            return True
    return False


def invites_answer(text: str) -> bool:
    """Whether a reply asks for something, with a question mark or without; politeness does not count."""
    sentences = ((sentence, words_of(sentence)) for sentence in _SENTENCE_END.split(text))
    return any(("?" in said or _INVITES.search(words)) and not _COURTESY.search(words) for said, words in sentences)


def missing_facts(text: str, said: Sequence[Sentence], turn: Played, facts: TurnFacts) -> str:
    """Return what was asked for and is not said."""
    meant = read(_DENIED.sub(" ", text))
    for part in turn.parts if facts.facts else ():
        missing = [fact for fact in asked_facts(part) if not _says(meant, said, fact, facts)]
        if missing and not _says_all(read(text), part):
            quoted = ("that there is nothing" if fact == NOTHING else repr(fact) for fact in missing)
            return f"the reply does not say {', '.join(quoted)}"
    return ""


def _says(reading: Reading, said: Sequence[Sentence], fact: Json, facts: TurnFacts) -> bool:
    if fact in (NOTHING, 0):
        return reading.says(0) or any(_says_none(clause.words) for sentence in said for clause in sentence.clauses)
    if not isinstance(fact, str):
        return reading.says(fact)
    if reading.says(f"{fact}s"):
        return True
    others = [other for other in facts.facts if isinstance(other, str) and other != fact]
    if fact in facts.user and any(other not in facts.user and reading.says(other) for other in others):
        return True  # the user knows it
    shared = any(fact not in other and other.split()[:1] == fact.split()[:1] for other in others)
    parts = shared and {*words_of(fact).split()} <= {*reading.words.split()}  # 'Acme Direct and Pacific'
    return parts or reading.says_beside(fact, others)


def _says_none(words: Sequence[str]) -> bool:
    """Whether a clause says that there is nothing; that a column is empty, or not to know it, is another thing."""
    if _UNSURE & {*words}:
        return False
    fields = [n for n, word in enumerate(words) if word == "no" and _NOT_FIELDS.intersection(words[n + 1 : n + 3])]
    return bool(_EMPTY & {*words}) or denies([word for n, word in enumerate(words) if n not in fields])


def _says_all(said: Reading, turn: Played) -> bool:
    """Whether a reply does not count many rows because it names all of them, or counts those that were cut off."""
    if turn.expectation.facts is not None or len(rows := rows_of(turn.wanted)) <= MANY:
        return False
    notes = [result.note for _, result in turn.calls if result.note]
    totals = [figure.value for note in notes for figure in read(note).numbers if figure.value >= len(rows)]
    return any(map(said.says, totals)) or all(map(said.says, names_of(rows)))
