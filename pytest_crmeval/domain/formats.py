"""The formats of JSON documents: each has a name with a version, and a JSON Schema at a stable address."""

from pytest_crmeval.domain.json import JsonObject

ADDRESS = "https://pytest-crmeval.github.io/pytest-crmeval/schemas"


def address_of(schema: str) -> str:
    """Return the address of the JSON Schema of a format such as ``crmeval.report/1``."""
    name, _, version = schema.removeprefix("crmeval.").partition("/")
    return f"{ADDRESS}/{name}-{version}.json"


def headed(schema: str) -> JsonObject:
    """Return the fields with which a document of a format begins."""
    return {"$schema": address_of(schema), "schema": schema}
