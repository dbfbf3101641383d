"""Whether words say that something was done, was not done, or was not there."""

import re
from collections.abc import Callable, Sequence

from pytest_crmeval.conversations.scorers.clauses import DEEDS, clauses_of, sentences_of

_SOON = r"(?:(?:just|now|also|already|successfully|officially|duly|went\sahead\sand|gone\sahead\sand)\s+)*"
_CLAIM = re.compile(
    rf"\bI(?:['\u2019]ve|\s+have)?\s+{_SOON}(?:{DEEDS}|closed)\b(?!\s+(?:no|nothing|none)\b)"
    rf"|\bbeen\s+{_SOON}{DEEDS}\b|\b(?:was|were)\s+{_SOON}{DEEDS}\b(?!\s+(?:on|in|at|by)\b)"
    r"|\b(?:is|are)\s+now\b(?!\s+(?:closed|locked|final|inactive|taken|used|in\suse))|\b(?:is|are)\s+gone\b"
    r"|^\W*+(?:done|all\s(?:set|done)|success\w*|completed?)\b|\bsuccessfully\b|\b(?:is|are)\s+(?:complete|done|finished)\b"
    rf"|^\W*+{DEEDS}\b|^\W*+(?:[\w'\u2019-]+\s+){{1,4}}(?!named\b){DEEDS}(?:\W*$|\s+(?:to|from)\b|\s*[:(])"
    r"|\bI(?:['\u2019]ve|\s+have)?\s+(?:(?:went|gone)\s+ahead\s+with|took\s+care\s+of|seen\s+to|saw\s+to)\b"
    r"|^\W*+(?:it|that|this)(?:\s+is|['\u2019]s)\s+in\s+the\s+system\b|\bconsider\s+(?:it|that|this)\s+(?:done|\w+ed)\b|^\W*+sorted\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|cannot|unable|never|no(?!\s+problem)|nor|neither|nothing|none|without|fail\w*|refus\w*"
    r"|(?<!\bthe\s)(?<!\ba\s)reject\w*|den(?:y|ied)|declin\w*|perhaps|maybe|probably|seems?|appears?|if|unless|until|once|when|whenever|before|after|because|since|would|could|should|can|may|might|must"
    r"|will|needs?|please|to\sbe)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_EARLIER = re.compile(r"\b(?:already|earlier|ago|previous(?:ly)?|originally|last|existing)\b", re.IGNORECASE)
_TRIFLE = r"an?\s+(?:problem|issue|big\s+deal|trouble|thing)\b"
_NO_MORE = r"(?:other|further|more|additional|problem|worries|trouble|need|issue)"
_REFUSED = re.compile(
    rf"\b(?:not(?!\s+{_TRIFLE})|cannot|unable|never|no(?!\s+{_NO_MORE})|nor|neither|none|nothing(?!\s+(?:else|more|other))"
    r"|fail(?:s|ed|ure)?|refuse[sd]?|reject(?:s|ed)|den(?:y|ied)|decline[sd]?|impossible|invalid|error|already"
    r"|(?<!\bno\s)(?<!\bnot\sa\s)problem|closed|deleted|gone|removed|locked|blocked|duplicate|unknown|exists|must|only|in\suse"
    r"|taken|belongs|exceed(?:s|ed|ing)?|maximum|minimum|limits?|capped|highest|lowest|at\s(?:most|least)|tried|too\s\w+|more\sthan|(?:over|above|beyond|outside)\s(?:of\s)?the|fewer|in\sthe\spast"
    r"|(?:has|have|is|are)\s(?:long\s)?(?:past|passed|over)|malformed|typo|mistyped|misspel\w+|incomplete|(?:has|have)\sto"
    r"|left\s(?:it|the\s\w+|everything)\s(?:alone|as)"
    r"|(?:stays?|remains?|still|another\s\w+\s(?:uses|has|owns)))\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:only|already|must|taken|exists|tried|too\s\w+|at\sleast|more\sthan|over\sthe|above\sthe|(?:has|have)\sto|stays?|remains?|still)\b",
    re.IGNORECASE,
)
"""What refusals say; and not they alone."""
_CLOSED = re.compile(r"\bclosed\b", re.IGNORECASE)
_FIGURE = r"[*_$\u20ac\u00a3]*(\d(?:[\d,.]*\d)?(?:\s?(?:k|m|million|thousand)\b)?)"
_CURRENT = re.compile(rf"(?:\b(?:is|are|at|now)|:)\s+{_FIGURE}", re.IGNORECASE)
_WANTED = re.compile(r"\b(?:request\w*|ask\w*|want\w*|desired)\b", re.IGNORECASE)
_NOW = re.compile(
    rf"\b(?:is|are|at|to|has|of)\s+{_FIGURE}(?:\s+(?:USD|EUR|dollars|euros|percent)|\s?%)?[*_]*\s+now\b", re.IGNORECASE
)
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
    rf"(?:\bnot|n['\u2019]t|\bnever)\s+(?:yet\s+)?(?:been\s+|be\s+)?(?:(?!linked|assigned|attached|set\b){DEEDS}|change|update|create|add|delete|move|do|make)\b"
    r"|\bno\schanges?\b|\bnothing\s(?:was|has|is|changed)\b|\bunchanged\b",
    re.IGNORECASE,
)
_PUTS_OFF = re.compile(r"\blater\b|\bplease\s+(?:provide|specify|clarify)\b", re.IGNORECASE)
_ELSE = re.compile(r"\b(?:other|others|else|rest|itself)\b", re.IGNORECASE)
_BESIDES = re.compile(r"\b(?:other(?!\s+one\b)|others|else|rest|itself)\b", re.IGNORECASE)
_STATES = re.compile(r"\b(?:is|are|has|have|['\u2019]s)\b(?!\s+(?:still|unchanged|closed|locked))", re.IGNORECASE)
_STAYS = re.compile(r"\b(?:still|remains?|stays?|unchanged|needs?|must|as before)\b", re.IGNORECASE)
_NONE = re.compile(
    r"\bno\b(?!\s+(?:other|further|longer|more|additional|problem|worries|doubt|question|changes?|phone|e-?mail|owner|close|notes?\son))"
    r"|\b(?:none|nothing|nobody|zero|empty|cannot|unable|not\s(?:find|found|see|have|exist|any|in|there|on|return|match|yet))\b"
    r"|\b(?:is|are|was|were|does|do|did|has|have|had)\s+not\b|n['\u2019]t\s+(?:\w+\s+)?(?:find|found|see|have|exist|any|in|there"
    r"|on|return|match|been|a|yet|contain|show|know|got)\w*\b|(?:\bnot|n['\u2019]t)\s+able\s+to\s+(?:find|see|locate)\b|\bwithout\s+(?:a\s+)?(?:result|match|success)|(?<![\w.,-])0(?:[.,]0+)?(?![\d.,]*\d|[\w-])",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"(?:\bnot|n['\u2019]t|\bunable\sto)\s+(?:\w+\s+){0,2}?(?:find|found|locate|located|see|exist|exists|return|returned|retrieve"
    r"|any(?!\s+(?:actions?|changes?|steps?)\b)|match|in\s(?:the|our|your)\s(?:crm|system|records?|database))\b"
    r"|\bno\s+(?:such|match\w*|results?|records?|entr(?:y|ies))\b|\bno\s+(?:\w+\s+){1,4}?(?:found|match\w*|exists?|named|called|came)\b"
    r"|\bfound\s+(?:no\b|none\b|nothing\b)|\bnothing\b(?=\W*$|\s+(?:found|match\w*|was|came|turned|like|for|by|in|there|named|called)\b)|\bno\s?(?:body|one)\b|\bthere\s+(?:is|are)\s+(?:no|none)\b",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    r"\b(?:search\w*|look(?:ed|ing)?\s(?:for|up|at|through)|check(?:ed|ing)?|tried|if|would|should|could)\b|\?",
    re.IGNORECASE,
)

_LACKS = re.compile(
    r"\bI(?:['\u2019]ll|\s+will)\s+(?:add|change|do|make|move|save|set|update)\b.*\b(?:later|soon|shortly|tomorrow|next)\b|\bmissing\b"
    r"|^\W*+not\s+the\b|(?:\bnot|n['\u2019]t)\s+(?:accepted|go\sthrough|take)\b|\bstill\s+(?:have|has|needs?)\s+to\b",
    re.IGNORECASE,
)
"""What is said of what is still to be done."""
_HARMLESS = re.compile(
    r"\b(?:if|when|any\s?more|no\slonger|unchanged|sent|before\W*$|nothing\sfailed|be\s(?:edited|undone)|(?:without|no)\s(?:an?y?\s)?(?:errors?|problems?|failures?))\b"
    rf"|{_ABSENT.pattern}",
    re.IGNORECASE,
)
"""What may be said not to be so where all was done."""
_NEITHER = re.compile(
    r"\b(?:(?:either|any|none|neither)\s+of\s+(?:it|the|them|these|this|those|that|your)|neither\s+(?:was|is|has|could|worked|request))\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\bnothing\s+(?:was|has|could|is)\b(?!\s+else)[^.,;:]*\b(?:changed|done|saved|updated)\b|\b(?:do|did)\s+nothing\b|\bno\s+changes?\b",
    re.IGNORECASE,
)

_OUTSIDE = re.compile(
    rf"\b(?:not(?!\s+{_TRIFLE})|cannot|unable|no(?!\s+{_NO_MORE})|never|none|impossible|unsupported"
    r"|outside|beyond|out\sof\s(?:scope|reach|my)|limited\sto|declin\w*|lacks?|unavailable|afraid|unfortunately"
    r"|can\sonly|only\s(?:able|assist|cover|do|handle|have|help|here|look|manage|support|with|work)"
    r"|(?:another|other|right|different)\s(?:app|program|system|tool|way|department|team|desk|people|person)|yourself|reach\sends"
    r"|(?:someone|somebody)\selse|please\s(?:ask|call|contact|try|turn|use)|for\syour\s\w+\s(?:agency|agent|department|desk|team)"
    r")\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""What is said to somebody who asks for what can't be done here at all."""
_ELSEWHERE = re.compile(
    rf"\bI(?:['\u2019]ve|\s+have)?\s+{_SOON}(?:arranged|called|contacted|e-?mailed|exported|forwarded|informed|invited|messaged"
    r"|notified|ordered|paid|phoned|printed|published|reminded|reserved|shared|texted|translated)\b|\bI(?:['\u2019]m|\s+am)\s+on\s+it\b|\bI(?:['\u2019]ll|\s+will)\s+(?:do|handle|arrange|book|order)\s+(?:it|that|this)\b"
    r"|(?:^|[.!;]\s+)(?:it|that|this|everything|(?:the|your)\s\w+)(?:\s+is|['\u2019]s)\s+(?:all\s+)?(?:arranged|booked|confirmed|ordered|reserved)\b",
    re.IGNORECASE,
)
"""Deeds that are not done in a CRM."""
_QUESTION = re.compile(r"\?[\s*_\"')\u201d]*$")
_COURTESY = re.compile(
    r"\b(?:anything|what)\s+else\b|\bwhat(?:['\u2019]s|\s+is)?\s+next\b|\b(?:help|assist|support)\b[^?]{0,40}\b(?:further|today|more|else|otherwise)\b"
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
    rf"|\b(?:can|could|would)\s+you\s+(?:please\s+)?{_WISH}\b|^\W*+(?:just\s+)?(?:give|send)\s+me\b|,\s+please\W*$"
    r"|\b(?:not\s+(?:quite\s+)?(?:sure|clear|certain)|unclear|unsure)\s+(?:\w+\s+)?(?:which|what|who(?:m|se)?)\b",
    re.IGNORECASE,
)
"""Questions without a question mark."""
_TOOK = re.compile(
    r"\bI(?:['\u2019]ve|\s+have)?\s+(?:just\s+)?(?:took|taken|chose|chosen|picked|selected|assumed|gave|given|went\s+(?:for|with)|gone\s+(?:for|with))\b"
    r"|\b(?:got|has|have)\s+(?:the|an?|its|his|her|their)\s+new\b|\b(?:is|are)\s+(?:\w+\s+){1,4}now\b",
    re.IGNORECASE,
)
"""Deeds of those who don't ask."""
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
_HAPPENED = re.compile(rf"\b(?:was|were|been)\s+{_SOON}{DEEDS}\b", re.IGNORECASE)
_ASKED_FOR = re.compile(
    r"\bI\s+(?:re-?)?(?:sent|submitted)\s+(?:the\s+|that\s+)?(?:deletion|request|change|call|it)\b", re.IGNORECASE
)
"""What an agent asks of the CRM is not done yet."""
_OFFER = re.compile(
    r"\?[\s*_\"')]*$|\be\.g\.|\b(?:let\sme\sknow|you\scould|I\s(?:could|can)\s(?:also|instead|then|,|for\sexample)|such\sas|(?:would|if)\syou(?:['\u2019]d)?\s(?:like|want))\b",
    re.IGNORECASE,
)


def says_no(text: str, *, reads: bool = False, deletes: bool = False) -> bool:
    """Whether a reply to what can't be done says so, or asks back; and does not say that it was done."""
    return (_declines(text) or asks_back(text)) and not says_done(text, reads=reads, deletes=deletes)


def says_done(text: str, *, reads: bool = False, deletes: bool = False) -> bool:
    """Whether a reply says that it was done.

    Who lists what can be chosen claims nothing, nor does who says why it can't be: because it was deleted.
    """
    reasons = reads or _UNABLE.search(text) or _UNDONE.search(text)
    clauses = [clause for clause in clauses_of(text) if not _CHOICE.search(clause)]
    if not deletes:
        clauses = [_GONE.sub(" ", clause) for clause in clauses]
    return any(claims(_ASKED_FOR.sub(" ", _HAPPENED.sub(" ", clause)) if reasons else clause) for clause in clauses)


def _declines(text: str) -> bool:
    """Whether a reply says that something is not so, or asks back."""
    return bool(_REFUSED.search(text) or _ASKS.search(text))


def says_not_all(text: str, *, closed: bool = False) -> bool:
    """Whether a reply says of some of it that it was not done; ``closed`` says so if that is why."""
    told = [_WEAK.sub(" ", clause) for clause in clauses_of(text) if not claims(clause)]
    return any(_declines(clause if closed else _CLOSED.sub(" ", clause)) for clause in told)


def denials(text: str) -> Sequence[str]:
    """Return the clauses, or what commas make of them, that say that something was not done, or will be later."""
    pieces = [piece for clause in clauses_of(text) if not _is_asked(clause) for piece in re.split(r",\s+", clause)]
    return [piece for piece in pieces if _denies(piece) and not _HARMLESS.search(piece)]


def _denies(piece: str) -> bool:
    """Whether something was not done, or will be; who did not change anything else did what there was to do."""
    not_done = _UNDONE.search(piece) and not _BESIDES.search(piece)
    return bool(not_done or _UNABLE.search(piece) or _LACKS.search(piece))


def says_nothing_done(text: str) -> bool:
    """Whether a reply says that nothing was done at all."""
    return bool(_NOTHING.search(text)) and not claims_any(text)


def says_neither(text: str) -> bool:
    """Whether a reply says of all of it that it was not done."""
    return any(_NEITHER.search(clause) for clause in clauses_of(text) if not _is_asked(clause))


def has_chosen(text: str) -> bool:
    """Whether a reply says that a choice was made that was the user's."""
    return any(_TOOK.search(clause) for clause in clauses_of(text) if not _is_asked(clause))


def without_absent(text: str) -> str:
    """Return a text without what it says was not found."""
    return "\n".join(clause for clause in clauses_of(text) if not _ABSENT.search(clause))


def _is_asked(clause: str) -> bool:
    return clause.rstrip("*_ ").endswith("?")


def says_outside(text: str) -> bool:
    """Whether a reply says that this is not for the CRM; and does not say that anything was done."""
    return bool(_OUTSIDE.search(text)) and not claims_any(text) and not _ELSEWHERE.search(text)


def asks_back(text: str) -> bool:
    """Whether a reply wants to know something before it goes on; politeness does not."""
    asked = [sentence for sentence in sentences_of(text) if _QUESTION.search(sentence) or _INVITES.search(sentence)]
    return any(not _COURTESY.search(sentence) for sentence in asked)


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence is there for politeness."""
    return bool(_COURTESY.search(sentence))


def claims_any(text: str) -> bool:
    """Whether a reply says anywhere that something was done; who lists what can be chosen does not."""
    return any(claims(clause) for clause in clauses_of(text) if not _CHOICE.search(clause))


def figures_stated(text: str) -> Sequence[str]:
    """Return the figures that a reply says to be what is; or now, whatever it says beside it."""
    stated = [figure for sentence in statements(text) for figure in _CURRENT.findall(sentence)]
    return [*stated, *(figure for clause in clauses_of(text) if asserts(clause) for figure in _NOW.findall(clause))]


def statements(text: str) -> Sequence[str]:
    """Return the sentences that say what is, and don't refuse anything; not in words that always do."""
    said = [sentence for sentence in sentences_of(text) if asserts(sentence) and not _WANTED.search(sentence)]
    return [sentence for sentence in said if not _REFUSED.search(_CLOSED.sub(" ", _WEAK.sub(" ", sentence)))]


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


def without_offers(text: str) -> str:
    """Return a text without what it only asks or offers."""
    sentences = sentences_of(text)
    stated = [sentence for sentence in sentences if not _OFFER.search(sentence)]
    return text if len(stated) == len(sentences) else " ".join(stated)
