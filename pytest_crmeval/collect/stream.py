"""Streams: cases that are played in order."""

from pytest_crmeval.domain.records import Record


class Stream(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The cases of one learner."""

    ordered: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Cases that are played afterwards, in any order."""
