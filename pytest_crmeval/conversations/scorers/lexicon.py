"""The words that a reply is read by: small lists, each with what its words have in common."""

from collections.abc import Mapping, Sequence

STAGES = ("Prospecting", "Qualification", "Proposal", "Negotiation", "Closed-Won", "Closed-Lost")
STATUSES = ("Active", "Prospect", "Inactive", "Draft", "Sent", "Approved", "Rejected", "Canceled", "Pending", "Expired")
TYPES = ("Partner", "Vendor", "Competitor")
CHOICES: Mapping[str, tuple[str, str]] = {
    **{stage.replace("-", " ").casefold(): ("stage", stage) for stage in STAGES},
    **{status.casefold(): ("status", status) for status in STATUSES},
    **{name.casefold(): ("type", name) for name in TYPES},
    **{f"{name.casefold()}s": ("type", name) for name in TYPES},
    "cancelled": ("status", "Canceled"),
    "drafts": ("status", "Draft"),
    "prospects": ("status", "Prospect"),
    "won": ("stage", "Closed-Won"),
    "lost": ("stage", "Closed-Lost"),
}
"""What a stage, a status or a type is called."""

NOUNS: Mapping[str, str] = {
    noun: f"{kind}_id"
    for kind, nouns in {
        "client": "client clients customer customers account accounts",
        "contact": "contact contacts person people",
        "opportunity": "deal deals opportunity opportunities",
        "quote": "quote quotes",
        "contract": "contract contracts",
        "document": "document documents file files attachment attachments",
        "note": "note notes",
        "company": "company companies partner partners vendor vendors competitor competitors",
    }.items()
    for noun in nouns.split()
}
"""What a record is called -> the column of its id."""

OWNERS: Mapping[str, frozenset[str]] = {
    "client_id": frozenset(),
    "company_id": frozenset(),
    **dict.fromkeys(("contact_id", "opportunity_id"), frozenset({"client_id"})),
    **dict.fromkeys(("quote_id", "contract_id"), frozenset({"client_id", "opportunity_id"})),
    **dict.fromkeys(("note_id", "document_id"), frozenset({"client_id", "opportunity_id", "contact_id"})),
}
"""Kind of record -> the kinds that it may belong to, as far as they have names."""

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
    "text": ("title", "owner", "industry", "address", "created_by", "uploaded_by"),
}
"""Sort of value -> the columns that may hold it."""

FIELDS: Mapping[str, Sequence[str]] = {
    "amount": ("amount", "value"),
    "value": ("amount", "value"),
    "price": ("amount", "value"),
    "stage": ("stage",),
    "probability": ("probability",),
    "owner": ("owner",),
    "owned": ("owner",),
    "industry": ("industry",),
    "phone": ("phone",),
    "email": ("email",),
    "mail": ("email",),
    "title": ("title",),
    "status": ("status", "stage"),
    "prefix": ("quote_prefix",),
    "version": ("version",),
    "validity": ("valid_until",),
    "valid": ("valid_until",),
    "expiry": ("valid_until", "end_date"),
    "address": ("address", "email"),
    "close": ("close_date",),
    "start": ("start_date",),
    "starts": ("start_date",),
    "end": ("end_date",),
    "ends": ("end_date",),
    **dict.fromkeys(("notes", "note", "remark", "comment"), ("notes", "content")),
    "name": ("name", "first_name", "last_name", "file_name"),
}
"""Word for a column -> the columns that it may mean."""

DEEDS: Mapping[str, str] = {
    word: kind
    for kind, words in {
        "created": "created cloned duplicated",
        "deleted": "deleted erased purged removed",
        "canceled": "canceled cancelled voided withdrawn revoked",
        "closed": "closed",
        "reopened": "reopened reactivated revived",
        "sent": "sent resent",
        "approved": "approved",
        "uploaded": "uploaded",
        "changed": "updated changed moved modified renamed raised lowered increased decreased reduced extended edited "
        "adjusted advanced amended corrected revised switched shifted transferred reassigned assigned bumped promoted "
        "converted reset replaced reverted restored handed brought dropped renewed doubled tripled halved pushed "
        "lifted swapped postponed prolonged",
        "written": "added applied appended attached copied drafted entered filed filled generated issued linked logged "
        "made marked opened posted prepared put recorded registered saved set stored wrote written noted",
        "outside": "passed notified informed alerted messaged phoned texted invited reminded scheduled booked ordered "
        "paid printed exported invoiced arranged emailed mailed forwarded contacted called rang shared published "
        "translated "
        "reserved briefed pinged archived merged",
    }.items()
    for word in words.split()
}
"""How one says that something was done -> the kind of deed; no tool does what is ``outside``."""


def listed(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


DENIALS = listed(
    "not no never cannot unable neither nor none nothing nobody without fail fails failed failure refused "
    "refuses wasnt "
    "isnt arent werent rejected declined blocked "
    "dont doesnt didnt cant couldnt wont wouldnt hasnt havent hadnt shouldnt"
)
HARMLESS = listed(
    "other further more additional problem problems worries trouble need issue doubt question questions else rush "
    "hurry wonder matter big harm shame bother only"
)
"""What one says after a 'no' or a 'not' that denies nothing."""
OPEN = listed(
    "if unless whether would could should may might can will shall must want wants need needs please let once "
    "either or "
    "like try tried trying attempted request requested asked maybe perhaps probably possibly such"
)
"""Words after which something is only offered, asked for, or possible."""
OLD = listed(
    "from was were previous previously former formerly instead than old original originally before had earlier "
    "replacing "
    "replaces replaced used overwrote overwritten overwriting superseded unlike versus vs swapped rather"
)
"""Words after which something is said as it was, or of something else."""
NEW = listed("now is are has have becomes became reads stands to at new")
"""Words after which something is said as it is."""
OTHERS = listed(
    "than other others another unlike versus vs compared except besides both each neither remaining respectively "
    "sibling"
)
"""Words by which a sentence speaks of other records beside the one that is meant."""
LOOSE = OTHERS | listed(
    "whereas while alone first second next left leaves leaving same similar apart aside alongside against nearest "
    "closest cheaper higher lower bigger smaller larger different separate either"
)
"""These, and words by which a clause may do so."""
CONTRASTS = LOOSE | listed(
    "instead not rather also still stays stay unchanged untouched remains remain only keeps keep too well "
    "reference context ahead behind mix confuse"
)
"""These, and words by which one says what was not changed."""
STATUS_KINDS: Mapping[str, frozenset[str]] = {
    "Active": frozenset({"client_id", "contract_id"}),
    **dict.fromkeys(("Prospect", "Inactive"), frozenset({"client_id"})),
    **dict.fromkeys(("Draft", "Sent", "Approved", "Rejected", "Canceled"), frozenset({"quote_id"})),
    **dict.fromkeys(("Pending", "Expired"), frozenset({"contract_id"})),
}
"""Status -> the kinds of records that may have it."""
WORKED_OUT = listed(
    "total totals totaling totalling totalled sum sums together combined altogether overall average averages add adds "
    "across pipeline weighted difference apart between more less higher lower up down off by increase increased "
    "decrease "
    "reduction discount raise raised above below over under cheaper longer shorter later gap make makes minus "
    "plus half cut "
    "drop extra double twice percentage points left remaining worth comes"
)
"""Words beside which a number may be worked out."""
