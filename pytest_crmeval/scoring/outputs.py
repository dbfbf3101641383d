"""Whether an output is the right one, and if not, where it first differs."""

from pytest_crmeval.domain.problem import Comparison


def difference(expected: bytes, found: bytes, comparison: Comparison) -> str:
    """Return the first difference: line, word, what was expected and what was found; nothing if they are the same."""
    raise NotImplementedError
