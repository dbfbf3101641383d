"""stderr is read while a program runs, and only its beginning and end are kept, so that it can't fill the memory."""

import os
import select
from dataclasses import dataclass, field

_HALF = 32 * 1024
_CHUNK = 64 * 1024
_LAST_CHUNKS = 32
"""More than a pipe holds: the program has ended when the answer comes."""


@dataclass(slots=True)
class Ends:
    """The beginning and the end of something long."""

    first: bytes = b""
    last: bytes = b""
    left_out: int = 0

    def add(self, chunk: bytes) -> None:
        """Take what comes next."""
        room = _HALF - len(self.first)
        self.first += chunk[:room]
        self.last += chunk[room:] if room < len(chunk) else b""
        surplus = max(len(self.last) - _HALF, 0)
        self.left_out += surplus
        self.last = self.last[surplus:]

    def shown(self) -> bytes:
        """Return what is kept, and how much is missing between."""
        gap = f"\n... {self.left_out} bytes left out ...\n".encode() if self.left_out else b""
        return self.first + gap + self.last


@dataclass(slots=True)
class Listener:
    """Reads a pipe until another descriptor is readable."""

    pipe: int
    ends: Ends = field(default_factory=Ends)

    def until(self, speaker: int, seconds: float) -> bool:
        """Read until ``speaker`` is readable and the pipe is empty; False if that takes too long without a word."""
        poller = select.poll()
        for descriptor in (speaker, self.pipe):
            poller.register(descriptor, select.POLLIN)
        while heard := dict(poller.poll(seconds * 1000)):
            if speaker in heard:
                for _ in range(_LAST_CHUNKS):
                    if not self._read():
                        break
                return True
            if not self._read():
                poller.unregister(self.pipe)
        return False

    def _read(self) -> bool:
        try:
            chunk = os.read(self.pipe, _CHUNK)
        except BlockingIOError:
            return False
        self.ends.add(chunk)
        return bool(chunk)
