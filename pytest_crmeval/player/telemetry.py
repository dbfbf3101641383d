"""Where learners write down what they do: a database that the user gives, or one beside the workers' own."""

import os
from typing import TYPE_CHECKING

from pytest_crmeval.player.context import Context, SetupError

if TYPE_CHECKING:  # psycopg takes 0.3 s and is wanted only when a case is played
    from pytest_crmeval.agents.atlas.telemetry.database import Telemetry

VARIABLE = "CRMEVAL_ATLAS_DSN"


def given_database() -> str:
    """Return the address that the user gave; nothing if he gave none."""
    return os.environ.get(VARIABLE, "")


def telemetry_of(context: Context) -> "Telemetry":
    """Return it, made once per process; the database is looked for when something is written down."""
    return context.once(_telemetry)


def check_telemetry(context: Context) -> None:
    """Make its tables before anything is played, and paid; SetupError if there is no such database."""
    import psycopg

    try:
        telemetry_of(context).open()
    except psycopg.Error as error:
        where = VARIABLE if given_database() else f"no database for telemetry on the run's server, give {VARIABLE}"
        told = context.redactor.text(str(error).strip().splitlines()[0])
        raise SetupError(f"crmeval: {where}: {told}") from None


def kept(context: Context) -> str:
    """Export what learners have written down, if it would go with an embedded server; say where it is.

    What can't be exported is told, and no more: what was learnt is in the journal.
    """
    import psycopg

    from pytest_crmeval.agents.atlas.telemetry.database import NAME
    from pytest_crmeval.agents.atlas.telemetry.export import export
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
    from pytest_crmeval.agents.atlas.telemetry.database import NAME, Telemetry
    from pytest_crmeval.postgres.databases import Address

    given = given_database()
    address = Address(given) if given else context.services().server.databases().address
    run, redact = context.options.run, context.redactor.json
    return Telemetry(lambda name: address.connect(dbname=name), None if given else NAME, run, redact)
