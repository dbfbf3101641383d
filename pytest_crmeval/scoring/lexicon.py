"""The words that a reply is read by: small lists, each with what its words have in common."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.scoring.mentions import MONTHS


def listed(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


DENIALS = listed(
    "not no never cannot unable neither nor none nothing nobody without fail fails failed failure "
    "refused refuses wasn't "
    "isn't aren't weren't don't doesn't didn't can't couldn't won't wouldn't hasn't haven't hadn't shouldn't"
)
HARMLESS = listed(
    "other further more additional problem problems worries trouble need issue doubt question questions else rush "
    "hurry wonder matter big harm shame duplicates"
)
"""What one says after a 'no' or a 'not a' that denies nothing."""
OPEN = listed(
    "if unless whether would could should may might can will shall must want wants need needs please "
    "let once either or "
    "i'll i'd we'll you'd you'll it'll like try tried trying attempted request requested asked maybe "
    "perhaps probably possibly e.g such"
)
"""Words after which something is only offered, asked for, or possible."""
OLD = listed(
    "from was were wasn't previous previously former formerly instead than old original originally before had "
    "earlier replacing replaces replaced used overwrote overwritten overwriting superseded unlike versus vs"
)
"""Words after which something is said as it was, or of something else."""
NEW = listed("now is are has have becomes became")
"""Words after which something is said as it is."""
SETS = frozenset({"to", "into", "now", "as"})
CONTRASTS = listed(
    "than other others another instead not rather unlike versus vs compared except besides both also still stays stay "
    "unchanged untouched remains remain whereas while alone"
)
"""Words by which one sets other records beside the one that is meant."""
ENTITIES = {
    "client_id": ["client", "clients", "customer", "customers", "account", "accounts"],
    "contact_id": ["contact", "contacts", "person", "people"],
    "opportunity_id": ["deal", "deals", "opportunity", "opportunities"],
    "quote_id": ["quote", "quotes"],
    "contract_id": ["contract", "contracts"],
    "document_id": ["document", "documents", "file", "files"],
    "note_id": ["note", "notes"],
    "company_id": ["company", "companies", "partner", "partners", "vendor", "vendors", "competitor", "competitors"],
}
"""Kind of record -> what it is called."""
NOUNS = {noun: kind for kind, nouns in ENTITIES.items() for noun in nouns}
COLUMNS: Mapping[str, Sequence[str]] = {
    "amount": ("amount", "value"),
    "percent": ("probability",),
    "date": ("close_date", "valid_until", "start_date", "end_date", "created_date", "created_at", "uploaded_at"),
    "email": ("email",),
    "phone": ("phone",),
    "stage": ("stage",),
    "status": ("status",),
    "type": ("type",),
    "version": ("version",),
    "prefix": ("quote_prefix",),
    "blank": (),
    "text": ("title", "owner", "industry", "created_by", "uploaded_by"),
}
"""Sort of value -> the columns that hold it."""
STAGES = ("Prospecting", "Qualification", "Proposal", "Negotiation", "Closed-Won", "Closed-Lost")
STATUSES = ("Active", "Prospect", "Inactive", "Draft", "Sent", "Approved", "Rejected", "Canceled", "Pending", "Expired")
TYPES = ("Partner", "Vendor", "Competitor")
CHOICES: Mapping[str, tuple[str, str]] = {
    **{stage.casefold(): ("stage", stage) for stage in STAGES},
    **{status.casefold(): ("status", status) for status in STATUSES},
    **{name.casefold(): ("type", name) for name in TYPES},
    "cancelled": ("status", "Canceled"),
    "drafts": ("status", "Draft"),
    "prospects": ("status", "Prospect"),
    "won": ("stage", "Closed-Won"),
    "lost": ("stage", "Closed-Lost"),
}
"""What a stage or a status is called."""
PLAIN = listed(
    "sent active inactive draft drafts approved rejected canceled cancelled pending expired won lost "
    "partner vendor competitor prospect"
)
"""Of these, those that mean the same in small letters."""
KINDS: Mapping[str, frozenset[str]] = {
    "Active": frozenset({"client_id", "contract_id"}),
    **dict.fromkeys(("Prospect", "Inactive"), frozenset({"client_id"})),
    **dict.fromkeys(("Draft", "Sent", "Approved", "Rejected", "Canceled"), frozenset({"quote_id"})),
    **dict.fromkeys(("Pending", "Expired"), frozenset({"contract_id"})),
}
"""Status -> the kinds of records that may have it."""
LEFT = listed("left leaves leaving remaining only")
"""Words by which one speaks of what is there after something was deleted."""
OWN = frozenset({"text", "status", "stage", "email", "phone"})
"""Sorts that are said of the record that was written, if they can be."""
LEADS = listed("is are in as to at stage status marked currently still was now be been the closed it's that's")
TOTALS = listed(
    "total totals totaling totalling totalled sum sums together combined altogether overall average averages add adds "
    "across pipeline weighted difference apart between more less higher lower up down off by "
    "increase increased decrease "
    "reduction discount raise raised above below over under cheaper dearer longer shorter later gap makes minus plus of"
)
"""Words beside which a number may be worked out."""
COLUMN_WORDS: Mapping[str, Sequence[str]] = {
    "amount": ("amount", "value"),
    "value": ("amount", "value"),
    "stage": ("stage",),
    "probability": ("probability",),
    "owner": ("owner",),
    "industry": ("industry",),
    "phone": ("phone",),
    "e-mail": ("email",),
    "email": ("email",),
    "address": ("address", "email"),
    "title": ("title",),
    "status": ("status", "stage"),
    "close": ("close_date", "stage"),
    "prefix": ("quote_prefix",),
    "version": ("version",),
    "validity": ("valid_until",),
    "name": ("name", "first_name", "last_name", "file_name"),
}
"""Word for a column -> the columns that it may mean."""
DEEDS: Mapping[str, str] = {
    "created": "created cloned duplicated",
    "deleted": "deleted erased purged removed",
    "canceled": "canceled cancelled voided withdrawn revoked",
    "closed": "closed",
    "reopened": "reopened re-opened reactivated revived",
    "sent": "sent resent",
    "outside": "notified informed alerted messaged phoned texted invited reminded scheduled booked ordered paid "
    "printed "
    "exported invoiced arranged e-mailed emailed mailed forwarded contacted called rang shared published translated "
    "reserved briefed pinged archived merged",
    "changed": "updated changed moved modified renamed raised lowered increased decreased reduced extended "
    "edited adjusted "
    "advanced amended corrected revised switched shifted transferred reassigned assigned bumped "
    "promoted converted reset",
    "written": "added adjusted applied appended attached copied drafted entered filed filled generated issued "
    "linked logged "
    "made marked opened posted prepared put recorded registered saved set stored submitted uploaded "
    "wrote written noted "
    "completed replaced",
}
"""Kind of deed -> how one says that it was done."""
KIND_OF = {word: kind for kind, words in DEEDS.items() for word in words.split()}
DONE = (
    *("done", "all set", "sorted", "complete", "completed", "successfully", "saved", "taken care of", "took care of"),
    *("seen to it", "went ahead", "gone ahead", "in the system", "on it", "is finished", "good to go", "got the new"),
    *("has the new", "have the new"),
    *("left a note", "took the first", "chose one", "picked one", "chosen one"),
)
"""What is said when all of it was done, whatever it was."""
DOINGS = listed(
    "change changes update create add delete move do make save possible able unable failed could couldn't can't cannot "
    "error later refused rejected missing accepted to note touched"
)
"""Words by which one says, with a denial, that something was not done."""
ADVERBS = listed("just now also already successfully officially duly then and since accordingly both permanently")
AUXILIARIES = listed("is are was were be been had has have it it's")
EARLIER = listed("already earlier ago previously originally last yesterday")
MAIL = listed("message messages e-mail email mail reminder invitation confirmation notification")
OUTSIDE = ("gone out", "on its way", "know by", "passed it on", "been passed on")
"""What is said of things that no tool does."""
VAGUE = listed("other others second rest first remaining one")
FINDS = listed("find found see locate exist exists match matches any know")

ORDINARY = listed(
    "i crm id ok am pm monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr usd eur "
    "gbp chf closed won lost "
    "english e-mail email url pdf christmas easter eve finance"
).union(MONTHS)
"""Words in capitals that are not names."""
PICKS = listed("only best match matches matching among")
"""Words by which one picks what was asked for among others."""
REFUSALS = listed(
    "invalid error already closed deleted gone removed locked blocked duplicate unknown exists must "
    "only taken belongs exceed "
    "exceeds exceeded exceeding maximum minimum limit limits capped caps highest lowest most least "
    "past passed malformed typo "
    "mistyped incomplete stays stay remains remain still rejected rejects refuses refuse refused "
    "declined denied outside "
    "beyond impossible unsupported unavailable limited afraid unfortunately sorry yourself lacks "
    "ends department elsewhere "
    "too above over between problem fewer uses contact desk"
)
"""Words by which one says that something can't be done."""
TURNED_DOWN = (
    "another tool",
    "other tool",
    "please ask",
    "please use",
    "please turn",
    "for your",
    "have to",
    "has to",
    "as it was",
    "someone else",
    "can only",
)
INVITES = (
    *(
        "please tell",
        "please confirm",
        "please specify",
        "please clarify",
        "please provide",
        "please let me know",
        "please give",
    ),
    *(
        "please choose",
        "please pick",
        "please share",
        "please send",
        "please check",
        "please say",
        "kindly",
        "let me know which",
    ),
    *(
        "let me know what",
        "let me know who",
        "let me know the",
        "let me know whether",
        "let me know your",
        "let me know how",
    ),
    *(
        "let me know if you mean",
        "let me know if you meant",
        "tell me which",
        "tell me what",
        "tell me who",
        "tell me the",
    ),
    *(
        "tell me more",
        "tell me whether",
        "i need",
        "i ll need",
        "i still need",
        "i d need",
        "not sure which",
        "not sure what",
        "not sure who",
    ),
    *(
        "unclear which",
        "unclear what",
        "could you tell",
        "can you tell",
        "could you confirm",
        "could you give",
        "can you give",
    ),
    *(
        "send me",
        "give me",
        "more details please",
        "need to know",
        "just send",
        "i require",
        "once i know",
        "once you tell",
        "once i have",
    ),
)
"""Questions without a question mark."""
COURTESY = (
    *(
        "anything else",
        "what else",
        "something else",
        "what s next",
        "what next",
        "help you further",
        "assist you further",
    ),
    *("help with today", "how can i help", "how may i help", "any questions", "other questions", "further questions"),
    *(
        "does that help",
        "is that fine",
        "is that ok",
        "is that all right",
        "is that right",
        "shall i go on",
        "a summary",
        "help you with",
    ),
)
"""Questions that one asks out of politeness."""
SOUGHT = listed(
    "find found see locate located exist exists return returned match matches matching any such know have contact"
)


BLANKS = listed("blank empty nothing none unset unassigned nobody")
