"""Tool results do not depend on the order in which PostgreSQL returns rows."""

from collections.abc import Iterator

from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import play
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.postgres.databases import Address
from tests.reference_plays import BUNDLE, EVERY

OTHER_PLAN = ("enable_seqscan", "enable_hashagg", "enable_hashjoin", "enable_sort")
"""Without these plans, rows come in the order of an index instead of that of the table."""


def test_transcripts_are_the_same_with_another_query_plan(server: str) -> None:
    """The oracle's dialogues, and everything that can be read afterwards without an id, floats included."""
    address = Address(server)
    with address.connect_apart("usual_plan") as usual, address.connect_apart("other_plan") as other:
        for setting in OTHER_PLAN:
            other.execute(f"SET {setting} = off".encode())
        for one, same in zip(_results(PostgresCrm(usual)), _results(PostgresCrm(other)), strict=True):
            assert one == same


def _results(crm: PostgresCrm) -> Iterator[str]:
    reading = [tool.name for tool in crm.tools if not tool.parameters["required"]]
    assert {"list_notes", "summarize_opportunities", "quote_prefixes"} <= set(reading)
    for case in (ref.read() for ref in index([BUNDLE])[::EVERY]):
        with crm.seeded(case.seed, case.now, case.id):
            yield repr(play(case, Oracle(case), crm))
            yield repr([crm.call(ToolCall(tool=name, arguments={})) for name in reading])
