"""The telemetry of learners, in a database of the user or on the run's server."""

import os
from typing import TYPE_CHECKING

from pytest_crmeval.player.context import Context, SetupError

if TYPE_CHECKING:  # psycopg takes 0.3 s and is needed only when a case is played
    from pytest_crmeval.agents.atlas.telemetry import Telemetry

VARIABLE = "CRMEVAL_ATLAS_DSN"


def given_database() -> str:
    """Return the address of the user's database; empty if there is none."""
    return os.environ.get(VARIABLE, "")


def telemetry_of(context: Context) -> "Telemetry":
    """Return the telemetry, created once per process; it connects on the first write."""
    return context.once(_telemetry)


def check_telemetry(context: Context) -> None:
    """Create the tables before any case is played and paid for; SetupError if the database is unreachable."""
    import psycopg

    try:
        telemetry_of(context).open()
    except psycopg.Error as error:
        where = VARIABLE if given_database() else f"no database for telemetry on the run's server; set {VARIABLE}"
        text = context.redactor.text(str(error).strip().splitlines()[0])
        raise SetupError(f"crmeval: {where}: {text}") from None


def kept(context: Context) -> str:
    """Export the telemetry if it would be lost with an embedded server; return a line that says where it is.

    An error is only reported in that line, because the lessons are also in the journal.
    """
    import psycopg

    from pytest_crmeval.agents.atlas.telemetry import NAME, export
    from pytest_crmeval.render.summary import short

    options = context.options
    if given_database() or not context.services().server.databases().address.embedded:
        where = VARIABLE if given_database() else f"the database {NAME} of the run's server"
        return f"telemetry: in {where}, schema crmeval, run {options.run!r}"
    try:
        with telemetry_of(context).connected() as connection:
            return f"telemetry: {short(export(connection, options.run, options.folder))}"
    except (psycopg.Error, OSError) as error:
        return f"telemetry could not be exported: {str(error).splitlines()[0]}"


def _telemetry(context: Context) -> "Telemetry":
    from pytest_crmeval.agents.atlas.telemetry import NAME, Telemetry
    from pytest_crmeval.postgres.databases import Address

    given = given_database()
    address = Address(given) if given else context.services().server.databases().address
    run, redact = context.options.run, context.redactor.json
    return Telemetry(lambda name: address.connect(dbname=name), None if given else NAME, run, redact)
