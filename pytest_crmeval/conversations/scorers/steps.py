"""How far a turn is said to have moved a value, compared with what it has written: 'raised by 5 %', 'doubled'."""

import re
from collections.abc import Iterator
from datetime import date

from pytest_crmeval.conversations.scorers.mentions import Figure
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts
from pytest_crmeval.conversations.scorers.values import changes_of
from pytest_crmeval.domain.state import Row

_TIMES = {"doubled": 2.0, "tripled": 3.0, "halved": 0.5, "quadrupled": 4.0}
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_STEP = re.compile(
    r"\bby (?:(?:exactly|another|an?|the) )?(?:[$\u20ac\u00a3]|[A-Z]{3} )?(?P<by>\w[\w,.]*)"
    rf"|(?<!the )(?P<times>{'|'.join(_TIMES)})\b"
    r"|(?P<more>\b\w[\w,.]*)(?: (?:percentage )?points| days| %|%)?"
    r" (?:more|less|higher|lower|longer|later|earlier) than (?:before|it was)",
    re.IGNORECASE,
)


def wrong_steps(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield how far a value is said to have been moved, if the turn has moved none so far."""
    steps = {step for write in facts.records.written for step in _steps(write.old or {}, write.new or {})}
    for match in _STEP.finditer(sentence.text) if steps and not sentence.asks and not facts.reads else ():
        place = match.start(str(match.lastgroup))
        times = _TIMES.get((match["times"] or "").lower())
        said = next((m.value for m in sentence.mentions if m.start == place), times)
        figure = said if isinstance(said, Figure) else Figure(value=float(str(said))) if _is_number(said) else None
        sense = sentence.sense(Mention("count", said, match.start(), match.end()))
        if figure and sense == "fact" and not any(map(figure.means, steps)):
            yield f'"{match[0].strip()}": the turn has changed nothing so far'


def _is_number(said: object) -> bool:
    return isinstance(said, int | float) or str(said).isdigit()


def _steps(old: Row, new: Row) -> Iterator[float]:
    """Yield how far a write has moved numbers and dates, in whatever unit."""
    yield from changes_of(old, new)
    for name, value in new.items():
        was = old.get(name)
        if isinstance(value, int | float) and isinstance(was, int | float) and was:
            yield value / was
        if was != value and _ISO.match(str(value)) and _ISO.match(str(was)):
            since, until = sorted(date.fromisoformat(str(each)[:10]) for each in (was, value))
            apart, months = (until - since).days, until.month - since.month + 12 * (until.year - since.year)
            whole = (months,) if since.day == until.day else (months, round(apart / 30.44))
            yield from (apart, apart + 1, apart / 7, apart / 365, *whole, *(each / 12 for each in whole))
