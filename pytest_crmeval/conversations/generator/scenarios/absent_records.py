"""Requests about records that don't exist, and requests that the CRM has no tool for."""

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES
from pytest_crmeval.conversations.generator.scenarios import unused_names
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest, apply_to_world
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import note_text
from pytest_crmeval.conversations.generator.story import Story

ABSENT = frozenset({"absence"})
BEYOND = frozenset({"out-of-scope"})
NOTHING = ("nothing",)


def ask_for_absent_client(story: Story) -> Intent | None:
    """Ask for a client that does not exist."""
    return _absent_client(story, {})


def note_on_absent_client(story: Story) -> Intent | None:
    """Add a note to a client that does not exist."""
    return _absent_client(story, {"note": note_text(story, "Client")})


def hand_over_absent_client(story: Story) -> Intent | None:
    """Give a client that does not exist another owner."""
    return _absent_client(story, {"owner": story.chance.one_of(vocabulary.owners())})


def _absent_client(story: Story, said: dict[str, Slot]) -> Intent:
    name = unused_names.company(story)
    return OpenRequest(
        tool="client_search",
        args={"name": name},
        slots={"name": name, **said},
        facts=NOTHING,
        skills=ABSENT,
        # After another request than a question it would be unclear whether it is still to be done.
        follow_up=None if said else _then_add,
    )


def _then_add(story: Story, last: OpenRequest) -> Intent:
    """Add the client that was not found."""
    name = last.args["name"]
    address, status = unused_names.mailbox(story, name), story.chance.one_of(("Active", "Prospect"))
    args = {"name": name, "email": address, "status": status}
    about = apply_to_world(story, "create_new_client", args, None)
    slots: dict[str, Slot] = {"email": address, "status": status}
    skills = frozenset({"recovery", "creation"})
    return Intent(tool="create_new_client", args=args, slots=slots, phrase="then_add_them", skills=skills, about=about)


def ask_for_absent_person(story: Story) -> Intent | None:
    """Ask for a contact that does not exist."""
    return _absent_person(story, {})


def promote_absent_person(story: Story) -> Intent | None:
    """Change the title of a contact that does not exist."""
    return _absent_person(story, {"title": story.chance.one_of(vocabulary.titles())})


def _absent_person(story: Story, said: dict[str, Slot]) -> Intent:
    first, last, _ = unused_names.person(story)
    return Intent(
        tool="contact_search",
        args={"first_name": first, "last_name": last},
        slots={"first": first, "last": last, **said},
        facts=NOTHING,
        skills=ABSENT,
    )


def ask_for_absent_deal(story: Story) -> Intent | None:
    """Ask for a deal that does not exist."""
    return _absent_deal(story, {})


def move_absent_deal(story: Story) -> Intent | None:
    """Change the stage of a deal that does not exist."""
    return _absent_deal(story, {"stage": story.chance.one_of(STAGES)})


def _absent_deal(story: Story, said: dict[str, Slot]) -> Intent:
    name = unused_names.deal_name(story)
    slots: dict[str, Slot] = {"title": name, **said}
    return Intent(tool="opportunity_search", args={"name": name}, slots=slots, facts=NOTHING, skills=ABSENT)


def out_of_scope(story: Story) -> Intent | None:
    """Ask for something that a CRM does not do."""
    return _declined(request=story.chance.one_of(vocabulary.outside_requests()))


def delete_client(story: Story) -> Intent | None:
    """Delete a client; there is no tool for that."""
    client = story.pick("Client")
    return _declined(client=story.refer_to(client))


def delete_person(story: Story) -> Intent | None:
    """Delete a contact; there is no tool for that."""
    person = story.pick("Contact")
    return _declined(contact=story.refer_to(person))


def change_contract(story: Story) -> Intent | None:
    """Change the status of a contract; there is no tool for that."""
    contract = story.pick("Contract")
    status = story.chance.one_of([each for each in ("Active", "Pending", "Expired") if each != contract["status"]])
    return _declined(contract=story.refer_to(contract), status=status)


def delete_file(story: Story) -> Intent | None:
    """Delete a file; there is no tool for that."""
    files = story.world.of("Document")
    return _declined(file=story.chance.one_of(files)["file_name"]) if files else None


def _declined(**slots: Slot) -> Intent:
    return Intent(tool="", args={}, slots=slots, declined=True, skills=BEYOND)


_CLIENT, _PERSON, _DEAL = ["client_search"], ["contact_search"], ["opportunity_search"]
SCENARIOS = (
    Scenario(make=ask_for_absent_client, entity="Client", tools=_CLIENT, weight=0.8, trouble=True),
    Scenario(make=note_on_absent_client, entity="Note", tools=_CLIENT, weight=0.8, trouble=True),
    Scenario(make=hand_over_absent_client, entity="Client", tools=_CLIENT, weight=0.6, trouble=True),
    Scenario(make=ask_for_absent_person, entity="Contact", tools=_PERSON, weight=0.8, trouble=True),
    Scenario(make=promote_absent_person, entity="Contact", tools=_PERSON, weight=0.8, trouble=True),
    Scenario(make=ask_for_absent_deal, entity="Opportunity", tools=_DEAL, weight=0.8, trouble=True),
    Scenario(make=move_absent_deal, entity="Opportunity", tools=_DEAL, weight=0.8, trouble=True),
    Scenario(make=out_of_scope, entity="", weight=7.0, trouble=True),
    Scenario(make=delete_client, entity="Client", weight=0.4, trouble=True),
    Scenario(make=delete_person, entity="Contact", weight=0.4, trouble=True),
    Scenario(make=change_contract, entity="Contract", weight=0.5, trouble=True),
    Scenario(make=delete_file, entity="Document", weight=0.4, trouble=True),
)
