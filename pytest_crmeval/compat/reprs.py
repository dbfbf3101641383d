"""Redact secrets in reprs before pytest shortens them.

``SafeRepr`` (private, pytest 9) makes all shortened reprs: arguments and locals in tracebacks, operands of assertions.
There is no hook between the full repr and the shortened one. If a later pytest has no such class, nothing is patched;
secrets that are not cut are still redacted in the report.
"""

from collections.abc import Callable

try:
    from _pytest._io.saferepr import SafeRepr
except ImportError:  # pragma: no cover (another pytest)
    SafeRepr = None  # type: ignore[assignment, misc]

_UNLIMITED = 1_000_000_000


def redact_reprs(redact: Callable[[str], str]) -> Callable[[], None]:
    """Redact secrets in reprs before pytest shortens them; return a function that undoes this."""
    if SafeRepr is None:  # pragma: no cover (another pytest)
        return lambda: None
    original = SafeRepr.repr

    def repr_(self: SafeRepr, x: object) -> str:
        if self.maxsize is None:  # nothing is shortened
            return original(self, x)
        whole = SafeRepr(None, self.use_ascii)
        text = original(whole, x)
        clean = redact(text)
        return original(self, x) if clean == text else original(self, _Shown(clean))

    SafeRepr.repr = repr_  # type: ignore[method-assign] # there is no hook

    def undo() -> None:
        if SafeRepr.repr is repr_:
            SafeRepr.repr = original  # type: ignore[method-assign]

    return undo


class _Shown:
    """A value with a given repr."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
