"""The surface: what others may hold on to. A snapshot that changes is a decision, and a line in the change log."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, cast

import pytest
from syrupy.assertion import SnapshotAssertion

import pytest_crmeval
from pytest_crmeval import hookspecs
from pytest_crmeval.options.declared import add_options

PUBLIC_NAMES = {name: getattr(pytest_crmeval, name) for name in pytest_crmeval.__all__}
HOOKS = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("pytest_crmeval_")}


class Notebook:
    """A parser of options that only notes what is declared."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}

    def getgroup(self, name: str, description: str) -> "Notebook":
        """Note a group; it has no notes of its own."""
        self.options[name] = description
        return self

    def addoption(self, name: str, **attributes: object) -> None:
        """Note an option of the command line."""
        self.options[name] = {key: getattr(value, "__name__", value) for key, value in attributes.items()}

    def addini(self, name: str, **attributes: object) -> None:
        """Note a setting."""
        self.settings[name] = attributes


@pytest.fixture
def notebook() -> Notebook:
    """Return everything that can be set."""
    declared = Notebook()
    add_options(cast("pytest.Parser", declared))
    return declared


def test_public_names_are_unchanged(snapshot: SnapshotAssertion) -> None:
    """What ``from pytest_crmeval import …`` offers."""
    assert snapshot == list(pytest_crmeval.__all__)


def test_public_names_are_at_most_25_and_sorted() -> None:
    """Sorted, and none twice."""
    assert len(pytest_crmeval.__all__) <= 25
    assert sorted(PUBLIC_NAMES) == list(pytest_crmeval.__all__)


def test_other_names_are_not_importable() -> None:
    """Public names are imported when they are asked for; what is not one is not there."""
    assert pytest_crmeval.__all__ == [name for name in dir(pytest_crmeval) if not name.startswith("_")]
    with pytest.raises(AttributeError, match="module 'pytest_crmeval' has no attribute 'Trail'"):
        pytest_crmeval.Trail  # type: ignore[attr-defined] # noqa: B018 (it is not there)


def test_members_of_public_names_are_unchanged(snapshot: SnapshotAssertion) -> None:
    """What can be asked of each public name, and what it is made from."""
    assert snapshot == {name: sorted(_members(value)) for name, value in PUBLIC_NAMES.items()}


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    """In a sentence of its own, not in the one that ``dataclass`` makes up; its methods, too."""
    value = PUBLIC_NAMES[name]
    shown = {name: value.__doc__, **{member: getattr(value, member).__doc__ for member in _behaviour(value)}}

    assert [] == [
        member for member, text in shown.items() if not text or not text.strip().splitlines()[0].endswith(".")
    ]
    assert not (value.__doc__ or "").startswith(f"{name}(")


def test_hooks_are_unchanged(snapshot: SnapshotAssertion) -> None:
    """What other plugins may implement, with which arguments, and whether the first answer counts."""
    assert snapshot == {
        name: {
            "arguments": list(inspect.signature(hook).parameters),
            "firstresult": hook.pytest_spec["firstresult"],
            "help": hook.__doc__,
        }
        for name, hook in HOOKS.items()
    }


def test_options_are_unchanged(notebook: Notebook, snapshot: SnapshotAssertion) -> None:
    """What this time."""
    assert snapshot == notebook.options


def test_settings_are_unchanged(notebook: Notebook, snapshot: SnapshotAssertion) -> None:
    """What this project measures."""
    assert snapshot == notebook.settings


def test_help_is_one_line_per_option_in_three_groups(notebook: Notebook) -> None:
    """In a terminal of 80 columns, of which argparse and pytest indent the help by 24."""
    groups = [name for name in notebook.options if not name.startswith("--")]
    options = {name: option for name, option in notebook.options.items() if name not in groups}

    assert 3 == len(groups)
    assert {} == {
        name: option["help"]
        for name, option in [*options.items(), *notebook.settings.items()]
        if len(option["help"]) > 54
    }


def test_every_option_begins_with_our_name(notebook: Notebook) -> None:
    assert set() == {name for name in notebook.options if not name.startswith(("--crmeval-", "crmeval"))}
    assert set() == {name for name in notebook.settings if not name.startswith("crmeval_")}
    assert all(option["help"] for name, option in notebook.options.items() if name.startswith("--"))


def test_the_command_line_has_no_defaults(notebook: Notebook) -> None:
    """None means: not said. Otherwise no setting could come second."""
    assert set() == {name for name, option in notebook.options.items() if "default" in option and name.startswith("--")}


def test_fixtures_are_unchanged(pytester: pytest.Pytester, snapshot: SnapshotAssertion) -> None:
    """What ``pytest --fixtures`` shows of us."""
    lines = pytester.runpytest_inprocess("--fixtures").outlines
    start = next(number for number, line in enumerate(lines) if "fixtures defined from pytest_crmeval" in line)
    ours: list[str] = []
    for line in lines[start + 1 :]:
        if line.startswith("---"):
            break
        ours.append(re.sub(r" -- .*", "", line))

    # pytest sorts by the text of the line number: 99 is after 100.
    assert snapshot == "\n\n".join(sorted(re.split(r"\n{2,}", "\n".join(ours).strip())))


def test_markers_are_unchanged(pytester: pytest.Pytester, snapshot: SnapshotAssertion) -> None:
    """What ``pytest --markers`` shows of us."""
    lines = pytester.runpytest_inprocess("--markers").outlines

    assert snapshot == [line for line in lines if "JSON Lines" in line or "crmeval" in line]


def _members(value: Any) -> Iterator[str]:  # noqa: ANN401 (a class or an alias)
    if isinstance(value, type) and issubclass(value, Enum):
        yield from value.__members__
    elif dataclasses.is_dataclass(value):
        yield from (field.name for field in dataclasses.fields(value))
    yield from _behaviour(value)


def _behaviour(value: Any) -> Iterator[str]:  # noqa: ANN401 (a class or an alias)
    ours = [base for base in getattr(value, "__mro__", [value]) if base.__module__.startswith("pytest_crmeval.")]
    for name, member in {name: member for base in ours for name, member in vars(base).items()}.items():
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod, staticmethod))):
            yield name
