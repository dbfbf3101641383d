"""Whether words say that something was done, was not done, or was not there."""

import re
from collections.abc import Callable, Sequence

_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\be\.g\.)[\s*_]+|\n+")
_CLAUSE = re.compile(
    rf"{_SENTENCE.pattern}|(?<!\s)\s+[\u2014\u2013]\s+|(?<!\s),?\s+(?:but|however|though|although|and|so|yet)\s+"
)
_DEEDS = (
    r"(?:re)?(?:added|adjusted|advanced|amended|applied|appended|assigned|attached|booked|bumped|canceled|cancelled|changed"
    r"|cloned|completed|converted|copied|corrected|created|decreased|deleted|drafted|duplicated|edited|entered|extended"
    r"|filed|flagged|generated|increased|issued|linked|logged|lowered|made|marked|modified|moved|named|opened|posted"
    r"|prepared|promoted|put|raised|recorded|reduced|registered|removed|revised|saved|scheduled|sent|set|shifted|stored"
    r"|submitted|switched|taken\scare\sof|transferred|updated|uploaded|voided|withdrawn|written|wrote)"
)
_SOON = r"(?:(?:just|now|also|already|successfully|officially|duly|went\sahead\sand|gone\sahead\sand)\s+)*"
_CLAIM = re.compile(
    rf"\bI(?:['\u2019]ve|\s+have)?\s+{_SOON}(?:{_DEEDS}|closed)\b(?!\s+(?:no|nothing|none)\b)"
    rf"|\bbeen\s+{_SOON}{_DEEDS}\b|\b(?:was|were)\s+{_SOON}{_DEEDS}\b(?!\s+(?:on|in|at|by)\b)"
    r"|\b(?:is|are)\s+now\b(?!\s+(?:closed|locked|final|inactive|taken|used|in\suse))|\b(?:is|are)\s+gone\b"
    r"|^\W*+(?:done|all\s(?:set|done)|success\w*|completed?)\b|\bsuccessfully\b|\b(?:is|are)\s+(?:complete|done|finished)\b"
    rf"|^\W*+{_DEEDS}\b|^\W*+(?:[\w'\u2019-]+\s+){{1,4}}{_DEEDS}(?:\W*$|\s+(?:to|from)\b|\s*[:(])",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|cannot|unable|never|no(?!\s+problem)|nor|neither|nothing|none|without|fail\w*|refus\w*"
    r"|(?<!\bthe\s)(?<!\ba\s)reject\w*|den(?:y|ied)|declin\w*|perhaps|maybe|probably|seems?|appears?|if|unless|until|once|when|whenever|before|after|because|since|would|could|should|can|may|might|must"
    r"|will|needs?|please|to\sbe)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_EARLIER = re.compile(r"\b(?:already|earlier|ago|previous(?:ly)?|originally|last|existing)\b", re.IGNORECASE)
_REFUSED = re.compile(
    r"\b(?:not|cannot|unable|never|no(?!\s+(?:other|further|more|additional|problem|worries))|nor|neither|none|nothing"
    r"|fail(?:s|ed|ure)?|refuse[sd]?|reject(?:s|ed)|den(?:y|ied)|decline[sd]?|impossible|invalid|error|problem|already"
    r"|closed|deleted|gone|removed|locked|duplicate|unknown|exists|must|only|in\suse|taken|belongs)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_WEAK = re.compile(r"\b(?:only|already|closed|must|taken|exists)\b", re.IGNORECASE)
"""What refusals say; and not they alone."""
_CURRENT = re.compile(r"(?:\b(?:is|are|at|now)|:)\s+[*_$\u20ac\u00a3]*(\d[\d,.]*\d)", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:which|did\syou\smean|do\syou\smean|clarify|specify|provide|another|different|instead)\b[^.!?]{0,300}\?"
    r"|\bplease\s+(?:clarify|specify|provide|tell|confirm|choose|check)\b",
    re.IGNORECASE,
)
_UNABLE = re.compile(
    r"\b(?:could|can|was|were|am|is|are|['\u2019]m)\s?(?:not|n['\u2019]t)\s+(?:\w+\s+)?(?:able|possible|allowed|permitted|found)\b"
    r"|\b(?:could|can)\s?(?:not|n['\u2019]t)\b(?!\s+be\s+(?:undone|recovered|restored|reversed))|\bunable\b|\bfail(?:s|ed|ure)?\b|\berror\b|\bimpossible\b|\bunsuccessful"
    r"|\b(?:was|were|been|is|are|got)\s+(?:refused|rejected|denied|declined|blocked)\b|\b(?:refused|rejected|declined)\s+"
    r"(?:it|this|that|the|your|my)\b|\bnot\s(?:possible|found|work)\b|n['\u2019]t\s+(?:work|exist)\b|\bno\ssuch\b",
    re.IGNORECASE,
)
_UNDONE = re.compile(
    rf"(?:\bnot|n['\u2019]t|\bnever)\s+(?:yet\s+)?(?:been\s+|be\s+)?(?:(?!linked|assigned|attached|set\b){_DEEDS}|change|update|create|add|delete|move|do|make)\b"
    r"|\bno\schanges?\b|\bnothing\s(?:was|has|is|changed)\b|\bunchanged\b",
    re.IGNORECASE,
)
_PUTS_OFF = re.compile(r"\blater\b|\bplease\s+(?:provide|specify|clarify)\b", re.IGNORECASE)
_ELSE = re.compile(r"\b(?:other|others|else|rest|itself)\b", re.IGNORECASE)
_STATES = re.compile(r"\b(?:is|are|has|have|['\u2019]s)\b(?!\s+(?:still|unchanged|closed|locked))", re.IGNORECASE)
_STAYS = re.compile(r"\b(?:still|remains?|stays?|unchanged|needs?|must|as before)\b", re.IGNORECASE)
_NONE = re.compile(
    r"\bno\b(?!\s+(?:other|further|longer|more|additional|problem|worries|doubt|question|changes?|phone|e-?mail|owner|close|notes?\son))"
    r"|\b(?:none|nothing|nobody|zero|empty|cannot|unable|not\s(?:find|found|see|have|exist|any|in|there|on|return|match|yet))\b"
    r"|\b(?:is|are|was|were|does|do|did|has|have|had)\s+not\b|n['\u2019]t\s+(?:\w+\s+)?(?:find|found|see|have|exist|any|in|there"
    r"|on|return|match|been|a|yet|contain|show|know|got)\w*\b|\bwithout\s+(?:a\s+)?(?:result|match|success)|(?<![\w.,-])0(?:[.,]0+)?(?![\d.,]*\d|[\w-])",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"(?:\bnot|n['\u2019]t|\bunable\sto)\s+(?:\w+\s+){0,2}?(?:find|found|locate|located|see|exist|exists|return|returned|retrieve"
    r"|any|match|in\s(?:the|our|your)\s(?:crm|system|records?|database))\b"
    r"|\bno\s+(?:such|match\w*|results?|records?|entr(?:y|ies))\b|\bno\s+(?:\w+\s+){1,4}?(?:found|match\w*|exists?|named|called|came)\b"
    r"|\bfound\s+(?:no\b|none\b|nothing\b)|\bnothing\b(?=\W*$|\s+(?:found|match\w*|was|came|turned|like|for|by|in|there|named|called)\b)|\bno\s?(?:body|one)\b|\bthere\s+(?:is|are)\s+(?:no|none)\b",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    r"\b(?:search\w*|look(?:ed|ing)?\s(?:for|up|at|through)|check(?:ed|ing)?|tried|if|would|should|could)\b|\?",
    re.IGNORECASE,
)

_OUTSIDE = re.compile(
    r"\b(?:not|cannot|unable|no(?!\s+(?:other|further|more|additional|problem|worries))|never|none|impossible|unsupported"
    r"|outside|beyond|out\sof\s(?:scope|reach|my)|limited\sto|declin\w*|lacks?|unavailable|afraid|unfortunately"
    r"|can\sonly|only\s(?:able|assist|cover|handle|have|help|here|look|manage|support|with|work)"
    r"|another\s(?:app|program|system|tool|way))\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""What is said to somebody who asks for what can't be done here at all."""
_ELSEWHERE = re.compile(
    rf"\bI(?:['\u2019]ve|\s+have)?\s+{_SOON}(?:arranged|called|contacted|e-?mailed|exported|forwarded|informed|invited|messaged"
    r"|notified|ordered|paid|phoned|printed|published|reminded|reserved|shared|texted|translated)\b",
    re.IGNORECASE,
)
"""Deeds that are not done in a CRM."""
_QUESTION = re.compile(r"\?[\s*_\"')\u201d]*$")
_COURTESY = re.compile(
    r"\b(?:anything|what)\s+else\b|\b(?:help|assist|support)\b[^?]{0,40}\b(?:further|today|more|else|otherwise)\b"
    r"|\bhow\s+(?:else\s+)?(?:can|may|could)\s+I\s+(?:help|assist)|\b(?:other|further|more|any)\s+(?:questions?|requests?|help|assistance)\b"
    r"|\b(?:does|did|do)\s+(?:that|this|it)\s+(?:help|make\ssense|work\sfor)|\bok(?:ay)?\?|\bright\?|\ball\s?right\?"
    r"|(?<!\bor\s)\bsomething\s+else\b",
    re.IGNORECASE,
)
"""Questions that one asks out of politeness, whatever was said."""
_WISH = (
    r"(?:advise|answer|check|choose|clarify|confirm|double-check|enter|give|indicate|list|name|pick|point|provide|reply|say"
    r"|select|send|share|specify|supply|tell)"
)
_INVITES = re.compile(
    rf"\b(?:please|kindly)\s+(?:\w+ly\s+)?{_WISH}\b"
    r"|\blet\s+me\s+know\s+(?:which|what|who(?:m|se)?|when|where|how|whether|the|your|if\s+you\s+(?:mean|meant|are\s+referring))\b"
    r"|\b(?:tell|remind)\s+me\s+(?:which|what|who(?:m|se)?|when|where|how|whether|the|more)\b"
    r"|\bI(?:['\u2019]ll|['\u2019]d|\s+will|\s+would)?\s+(?:\w+\s+)?(?:need|require)\b(?!\s+(?:no|nothing|to\b(?!\s+know)))"
    rf"|\b(?:can|could|would)\s+you\s+(?:please\s+)?{_WISH}\b",
    re.IGNORECASE,
)
"""Questions without a question mark."""
_ANNOUNCED = re.compile(r"^\W*+(?:done|all\s(?:set|done)|completed?|success\w*)\s*[:,\u2014\u2013-]", re.IGNORECASE)

_OPEN = re.compile(
    r"\b(?:not|cannot|never|no|nor|neither|without|if|unless|until|once|before|would|could|should|can|may|might|must|will"
    r"|needs?|one\sof|options?|valid|available|possible|choose|either|or|next|want|like|such\sas|e\.g|allowed|stages|statuses"
    r"|between)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"^\W*+(?:sent|cancell?ed)(?:\W*$|\s*[:(,|/])|\bor\W+(?:sent|cancell?ed)\W*$", re.IGNORECASE)
"""Statuses that sound like deeds."""
_GONE = re.compile(r"\b(?:was|were|been|is|are)\s+(?:(?:just|also|now)\s+)?(?:deleted|removed|gone)\b", re.IGNORECASE)
_HAPPENED = re.compile(rf"\b(?:was|were|been)\s+{_SOON}{_DEEDS}\b", re.IGNORECASE)
_OFFER = re.compile(
    r"\?[\s*_\"')]*$|\be\.g\.|\b(?:let\sme\sknow|you\scould|such\sas|(?:would|if)\syou(?:['\u2019]d)?\s(?:like|want))\b",
    re.IGNORECASE,
)


def says_no(text: str, *, reads: bool = False, deletes: bool = False) -> bool:
    """Whether a reply to what can't be done says so, or asks back; and does not say that it was done."""
    return _declines(text) and not says_done(text, reads=reads, deletes=deletes)


def says_done(text: str, *, reads: bool = False, deletes: bool = False) -> bool:
    """Whether a reply says that it was done.

    Who lists what can be chosen claims nothing, nor does who says why it can't be: because it was deleted.
    """
    reasons = reads or _UNABLE.search(text) or _UNDONE.search(text)
    clauses = [clause for clause in clauses_of(text) if not _CHOICE.search(clause)]
    if not deletes:
        clauses = [_GONE.sub(" ", clause) for clause in clauses]
    return any(claims(_HAPPENED.sub(" ", clause) if reasons else clause) for clause in clauses)


def _declines(text: str) -> bool:
    """Whether a reply says that something is not so, or asks back."""
    return bool(_REFUSED.search(text) or _ASKS.search(text))


def says_not_all(text: str) -> bool:
    """Whether a reply says of some of it that it was not done; of the rest it may say that it was."""
    return any(_declines(_WEAK.sub(" ", clause)) for clause in clauses_of(text) if not claims(clause))


def says_outside(text: str) -> bool:
    """Whether a reply says that this is not for the CRM; and does not say that anything was done."""
    return bool(_OUTSIDE.search(text)) and not claims_any(text) and not _ELSEWHERE.search(text)


def asks_back(text: str) -> bool:
    """Whether a reply wants to know something before it goes on; politeness does not."""
    asked = [sentence for sentence in sentences_of(text) if _QUESTION.search(sentence) or _INVITES.search(sentence)]
    return any(not _COURTESY.search(sentence) for sentence in asked)


def claims_any(text: str) -> bool:
    """Whether a reply says anywhere that something was done; who lists what can be chosen does not."""
    return any(claims(clause) for clause in clauses_of(text) if not _CHOICE.search(clause))


def hints(text: str) -> bool:
    """Whether a reply declines in words that don't always do."""
    return not _declines(_WEAK.sub(" ", text))


def figures_stated(text: str) -> Sequence[str]:
    """Return the figures that a reply says to be what is."""
    return [figure for sentence in sentences_of(text) if asserts(sentence) for figure in _CURRENT.findall(sentence)]


def says_none(text: str) -> bool:
    """Whether a reply says that nothing was found."""
    return bool(_NONE.search(text))


def says_failed(text: str) -> bool:
    """Whether a reply says that something was not done, and nowhere that something was."""
    clauses = [clause for clause in clauses_of(text) if not clause.rstrip("*_ ").endswith("?")]
    if any(map(claims, clauses)):
        return False
    if _puts_off(text):
        return True
    if any(_UNABLE.search(clause) and not re.search(r"\bif\b", clause) for clause in clauses):
        return True
    undone = [clause for clause in clauses if _UNDONE.search(clause) and not _ELSE.search(clause)]
    others = [clause for clause in clauses if clause not in undone and not _STAYS.search(clause)]
    return bool(undone) and not any(map(_STATES.search, others))


def _puts_off(text: str) -> bool:
    """Whether a reply only asks back or promises."""
    said = clauses_of(text)
    return text.strip(" \n.") == "?" or (bool(said) and all(map(_PUTS_OFF.search, said)))


def says_absent(text: str, mentions: Callable[[str], bool]) -> bool:
    """Whether a reply says that what is there was not found, and in no clause that ``mentions`` it that it was."""
    if not _ABSENT.search(text):
        return False
    clauses = [clause for clause in clauses_of(text) if not _ABSENT.search(clause) and not _SOUGHT.search(clause)]
    return not any(map(mentions, clauses))


def claims(clause: str) -> bool:
    """Whether a clause says that something was done: just now, not earlier, not perhaps."""
    if clause.rstrip("*_ ").endswith("?"):
        return bool(_ANNOUNCED.search(clause))
    if _EARLIER.search(clause):
        return False
    return any(not _DOUBT.search(clause, 0, match.end()) for match in _CLAIM.finditer(clause))


def asserts(clause: str) -> bool:
    """Whether a clause or sentence says that something is so: it does not ask, offer, deny or list what could be."""
    return not (clause.rstrip("*_ ").endswith("?") or _OPEN.search(clause))


def clauses_of(text: str) -> Sequence[str]:
    """Return the clauses of a text."""
    return [clause for clause in _CLAUSE.split(text) if clause.strip()]


def sentences_of(text: str) -> Sequence[str]:
    """Return the sentences of a text."""
    return [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]


def without_offers(text: str) -> str:
    """Return a text without what it only asks or offers."""
    sentences = sentences_of(text)
    stated = [sentence for sentence in sentences if not _OFFER.search(sentence)]
    return text if len(stated) == len(sentences) else " ".join(stated)
