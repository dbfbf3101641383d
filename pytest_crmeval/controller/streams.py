"""Conversations of learners: each stream is played in order, then its held-out cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.collect.streams import Stream


@dataclass(slots=True)
class StreamState:
    """The progress of all streams."""

    streams: Sequence[Stream] = ()
    settled: set[str] = field(default_factory=set)
    """Cases that have ended, played or not."""
    _place: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Case -> its stream, and its number there; held-out cases have the number after the last."""
    _reached: list[int] = field(default_factory=list)
    """For each stream, the number of the first case that has not ended."""

    def __post_init__(self) -> None:
        """Index the cases."""
        self._reached = [0] * len(self.streams)
        for number, stream in enumerate(self.streams):
            places = [*enumerate(stream.ordered), *((len(stream.ordered), key) for key in stream.after)]
            self._place |= {key: (number, place) for place, key in places}

    def __contains__(self, key: str) -> bool:
        """Whether a case belongs to a stream."""
        return key in self._place

    def settle(self, key: str) -> None:
        """Note that a case has ended."""
        if key not in self._place:
            return
        self.settled.add(key)
        number = self._place[key][0]
        ordered = self.streams[number].ordered
        while self._reached[number] < len(ordered) and ordered[self._reached[number]] in self.settled:
            self._reached[number] += 1

    def due(self) -> Iterator[str]:
        """Yield the cases whose turn it is."""
        for number, stream in enumerate(self.streams):
            reached = self._reached[number]
            whose = stream.ordered[reached : reached + 1] or stream.after
            yield from (key for key in whose if key not in self.settled)

    def left(self) -> Iterator[str]:
        """Yield all cases that have not ended."""
        return (key for key in self._place if key not in self.settled)
