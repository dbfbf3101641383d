"""Which cases of a dataset are selected: by tag, by split, and a sample of those."""

import random
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.options.once import once
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.subjects import asks_models

if TYPE_CHECKING:  # msgspec is needed only when a marked test is collected
    from pytest_crmeval.player.kinds import Kind, Ref

    Named = tuple[Ref, str]

T = TypeVar("T")
SHOWN = 30
"""Maximum number of tags in an error message."""


class _Labels:
    """The suites, tags and splits of all datasets: one that is in no dataset at all is misspelt."""

    def __init__(self, _: pytest.Config) -> None:
        self.suites: set[str] = set()
        self.tags: set[str] = set()
        self.splits: set[str] = set()
        self.tests: dict[str, Path] = {}
        """A test file for each marker that was collected."""


def select(named: "Sequence[Named]", options: Options) -> "list[Named]":
    """Return the selected cases; the sample is drawn from those with the tags and split, here or later."""
    tags = frozenset(options.tags)
    wanted = [
        (ref, name)
        for ref, name in named
        if (not tags or not tags.isdisjoint(ref.tags)) and options.split in {"", ref.split}
    ]
    return wanted if options.samples_later else sampled(wanted, options)


def is_selected(config: pytest.Config, suite: str) -> bool:
    """Whether a suite was selected; its name is stored for error messages."""
    once(config, _Labels).suites.add(suite)
    return suite in (options_of(config).suites or [suite])


def missing_requirement(ref: "Ref", spec: str, options: Options, *, needs_judge: bool = True) -> str:
    """Return what is missing for an agent to play a case in this run; empty if nothing is."""
    if needs_judge and ref.judged and not options.judge and spec not in {"oracle", "mute"}:
        return "only a judge can grade the answer; add --crmeval-judge SPEC"
    if ref.simulated and not options.user and spec not in CONTROLS:
        return "the user is simulated; add --crmeval-user SPEC"
    if ref.confidential and (options.record or options.replay) and (asks_models(spec) or options.judge):
        return "the suite is confidential, and cassettes are plain text"
    return ""


def remember_labels(config: pytest.Config, refs: "Iterable[Ref]") -> None:
    """Store the tags and splits of a dataset, for error messages."""
    labels = once(config, _Labels)
    for ref in refs:
        labels.tags.update(ref.tags)
        labels.splits.add(ref.split)


def remember_test(config: pytest.Config, kind: "Kind", test: Path) -> None:
    """Store a test file with the marker of a kind of case, for error messages."""
    once(config, _Labels).tests[kind.marker] = test


def selection_error(config: pytest.Config) -> str:
    """Return an error about unknown files, suites, tags or splits in options; empty if all of them exist."""
    from pytest_crmeval.player.kinds import KINDS

    options, labels = options_of(config), once(config, _Labels)
    for kind in KINDS:
        if kind.files(options) and kind.marker not in labels.tests:
            return _unused_files(kind, labels.tests.values())
    if unknown := [suite for suite in options.suites if suite not in labels.suites]:
        return f"--crmeval-suite {unknown[0]!r}: unknown suite; suites: {', '.join(sorted(labels.suites))}"
    wrong = []
    for tag in options.tags:
        if tag not in labels.tags:
            known = f"this tag; tags: {_listed(tag, labels.tags)}" if labels.tags else "a tag"
            wrong.append(f"--crmeval-tag {tag!r}: no case has {known}")
    split, splits = options.split, labels.splits - {""}
    if split and not splits:
        why = 'no case has a split; add "split": "train" or "split": "test" to the cases'
        wrong.append(f"--crmeval-split {split}: {why}")
    elif split and split not in splits:
        wrong.append(f"--crmeval-split {split}: no case is in this split; splits: {', '.join(sorted(splits))}")
    return "\n".join(wrong)


def sampled(cases: "list[T]", options: Options) -> "list[T]":
    """Return a sample of the cases in their order; all of them if the sample size is not smaller."""
    if options.sample is None or options.sample >= len(cases):
        return cases
    # Not for cryptography: the same seed selects the same cases for every agent, on every worker.
    chosen = set(random.Random(options.seed).sample(range(len(cases)), options.sample))  # noqa: S311
    return [case for number, case in enumerate(cases) if number in chosen]


def _unused_files(kind: "Kind", collected: Iterable[Path]) -> str:
    """Return an error if no collected test uses the files of an option, with the test file that would."""
    mark = f"pytest.mark.{kind.marker}"
    folders = dict.fromkeys(test.parent for test in collected)
    users = [path for folder in folders for path in sorted(folder.glob("*.py")) if mark in path.read_text("utf-8")]
    hint = f"; add {users[0]} to the command" if users else ""
    return f"--crmeval-{kind.marker} is given, but no collected test is marked with @{mark}{hint}"


def _listed(tag: str, there: set[str]) -> str:
    """Return all tags if they are few, otherwise the most similar ones."""
    ordered = sorted(there)
    if len(ordered) > SHOWN:
        ordered = list(dict.fromkeys([*get_close_matches(tag, ordered), *ordered]))
    more = f" ... and {len(ordered) - SHOWN} more" if len(ordered) > SHOWN else ""
    return ", ".join(tag if tag.isprintable() else ascii(tag) for tag in ordered[:SHOWN]) + more
