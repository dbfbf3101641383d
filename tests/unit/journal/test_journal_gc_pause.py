"""The garbage collector is paused and resumed."""

import gc

import pytest

from pytest_crmeval.journal.gc_pause import gc_paused


def test_garbage_collector_is_resumed_after_an_error() -> None:
    """A report that can't be read must not turn it off for the rest of the session."""

    @gc_paused()
    def read() -> None:
        assert not gc.isenabled()
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        read()

    assert gc.isenabled()


def test_garbage_collector_that_was_off_stays_off() -> None:
    """Another part of the program may have turned it off."""
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
