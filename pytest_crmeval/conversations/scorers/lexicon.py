"""The words that a reply is read by: small lists, each with what its words have in common."""

from collections.abc import Mapping, Sequence


def listed(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def _inverted(groups: Mapping[str, str]) -> dict[str, str]:
    """Return word -> group, of the words of each group."""
    return {word: group for group, words in groups.items() for word in words.split()}


STAGES = ("Prospecting", "Qualification", "Proposal", "Negotiation", "Closed-Won", "Closed-Lost")
STATUS_KINDS: Mapping[str, frozenset[str]] = {
    "Active": frozenset({"client_id", "contract_id"}),
    **dict.fromkeys(("Prospect", "Inactive"), frozenset({"client_id"})),
    **dict.fromkeys(("Draft", "Sent", "Approved", "Rejected", "Canceled"), frozenset({"quote_id"})),
    **dict.fromkeys(("Pending", "Expired"), frozenset({"contract_id"})),
}
"""Status -> the kinds of records that may have it."""
_TYPES = ("Partner", "Vendor", "Competitor")
CHOICES: Mapping[str, tuple[str, str]] = {
    **{stage.replace("-", " ").casefold(): ("stage", stage) for stage in STAGES},
    **{status.casefold(): ("status", status) for status in STATUS_KINDS},
    **{f"{name.casefold()}{ending}": ("type", name) for name in _TYPES for ending in ("", "s")},
    "cancelled": ("status", "Canceled"),
    "drafts": ("status", "Draft"),
    "prospects": ("status", "Prospect"),
    "won": ("stage", "Closed-Won"),
    "lost": ("stage", "Closed-Lost"),
}
"""What a stage, a status or a type is called."""

NOUNS: Mapping[str, str] = _inverted(
    {
        "client_id": "client clients customer customers account accounts",
        "contact_id": "contact contacts person people",
        "opportunity_id": "deal deals opportunity opportunities",
        "quote_id": "quote quotes",
        "contract_id": "contract contracts",
        "document_id": "document documents file files attachment attachments",
        "note_id": "note notes",
        "company_id": "company companies partner partners vendor vendors competitor competitors",
    }
)
"""What a record is called -> the column of its id."""

OWNERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("client_id", "company_id"), frozenset[str]()),
    **dict.fromkeys(("contact_id", "opportunity_id"), frozenset({"client_id"})),
    **dict.fromkeys(("quote_id", "contract_id"), frozenset({"client_id", "opportunity_id"})),
    **dict.fromkeys(("note_id", "document_id"), frozenset({"client_id", "opportunity_id", "contact_id"})),
}
"""Kind of record -> the kinds that it may belong to, as far as they have names."""

COLUMNS: Mapping[str, Sequence[str]] = {
    "amount": ("amount", "value"),
    "percent": ("probability",),
    "date": ("close_date", "valid_until", "start_date", "end_date", "created_date", "created_at", "uploaded_at"),
    **{sort: (sort,) for sort in ("email", "phone", "stage", "status", "type", "version")},
    "prefix": ("quote_prefix",),
    "text": ("title", "owner", "industry", "address", "created_by", "uploaded_by"),
}
"""Sort of value -> the columns that may hold it."""

_FIELDS = _inverted(
    {
        "amount value": "amount value price",
        "owner": "owner owned",
        "email": "email mail",
        "status stage": "status",
        "quote_prefix": "prefix",
        "valid_until": "validity valid",
        "valid_until end_date": "expiry expires",
        "address email": "address",
        "close_date": "close",
        "start_date": "start starts",
        "end_date": "end ends",
        "notes content": "notes note remark comment",
        "name first_name last_name file_name": "name",
        **{column: column for column in ("stage", "probability", "industry", "phone", "title", "version")},
    }
)
FIELDS: Mapping[str, Sequence[str]] = {word: columns.split() for word, columns in _FIELDS.items()}
"""Word for a column -> the columns that it may mean."""

DEEDS: Mapping[str, str] = _inverted(
    {
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
        "translated reserved briefed pinged archived merged",
    }
)
"""How one says that something was done -> the kind of deed; no tool does what is ``outside``."""

DENIALS = listed(
    "not no never cannot unable neither nor none nothing nobody without fail fails failed failure refused "
    "refuses wasnt isnt arent werent rejected declined blocked "
    "dont doesnt didnt cant couldnt wont wouldnt hasnt havent hadnt shouldnt"
)
HARMLESS = listed(
    "other further more additional problem problems worries trouble need issue doubt question questions else rush "
    "hurry wonder matter big harm shame bother only"
)
"""What one says after a 'no' or a 'not' that denies nothing."""
OPEN = listed(
    "if unless whether would could should may might can will shall must want wants need needs please let once "
    "either or like try tried trying attempted request requested asked maybe perhaps probably possibly such "
    "ask asks asking instruction instructions tell tells telling told"
)
"""Words after which something is only offered, asked for, or possible."""
OLD = listed(
    "from was were previous previously former formerly instead than old original originally before had earlier "
    "replacing replaces replaced used overwrote overwritten overwriting superseded unlike versus vs swapped rather"
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
    "reference context ahead behind mix confuse contrast comparison"
)
"""These, and words by which one says what was not changed."""
WORKED_OUT = listed(
    "total totals totaling totalling totalled sum sums together combined altogether overall average averages add adds "
    "across pipeline weighted difference apart between more less higher lower up down off by increase increased "
    "decrease reduction discount raise raised above below over under cheaper longer shorter later gap make makes minus "
    "plus half cut drop added extra double twice percentage points left remaining worth comes"
)
"""Words beside which a number may be worked out."""


def denies(words: Sequence[str]) -> bool:
    """Whether words deny something; 'no problem' does not."""
    return any(
        word in DENIALS and not HARMLESS.intersection(words[place + 1 : place + 3]) for place, word in enumerate(words)
    )
