"""What users get wrong, and put right in the turn after."""

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

_THINGS = ("modify_client", "modify_contact", "modify_opportunity", "modify_quote")


def correct_value(story: Story) -> Intent | None:
    """Say that something should have been something else."""
    if story.last is None or not story.last.fixes:
        return None
    fix = story.chance.one_of(story.last.fixes)
    value, said = fix.draw(story)
    if value == fix.row[fix.column] or said == fix.said:
        return None
    fix.row.columns[fix.column] = value
    return Intent(
        tool=fix.tool,
        args={TABLES[fix.row.entity][1]: fix.row.ref, fix.column: value},
        slots={"thing": fix.thing, "old": _quoted(fix.said), "new": _quoted(said)},
        optional=("thing", "old"),
        skills=frozenset({"correction"}),
        about=fix.row,
    )


def _quoted(said: str) -> str:
    """Return a whole sentence in quotes, so that it is clear where it ends."""
    return f'"{said}"' if said.endswith(".") else said


MOVES = (Scenario(make=correct_value, entity="", tools=_THINGS, follows=True),)
