"""Decides which case is played next, and by which worker.

It has no threads and no clock: the controller's thread owns it. Every worker has slots, which prefetch any case. An
item gets the outcome of its case if a slot has played it, waits if a slot is playing it, and otherwise plays it
itself. So the order in which cases are played does not depend on how xdist distributes the items.

The conversations of a learner are played only by slots, one after the other. A case whose worker dies is played once
more. If that worker dies as well, the case is errored.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal, TypeAlias

from pytest_crmeval.collect.streams import Stream
from pytest_crmeval.controller.streams import StreamState

BLOCKS = 4
"""How many times the number of cases in flight is searched for the longest case."""
FAR = 8
"""Factor for the number of prefetched cases if some items keep their worker busy for minutes."""
ATTEMPTS = 2
"""Maximum number of attempts at a case whose worker dies, or whose slot is interrupted."""


class Later(Enum):
    """The type of ``LATER``."""

    LATER = auto()


LATER: Final = Later.LATER
"""There is no answer yet; ask again when the queue has changed."""
Played: TypeAlias = tuple[bytes, bytes]
"""An outcome: the trial, and the other data that its item needs."""
NOTHING: Played = (b"", b"")
Taken: TypeAlias = tuple[Literal["played", "alone", "over", "refused"], Played]
"""The answer to an item: its outcome; it plays its case itself; the run is over; only slots may play the case.

The reason for "refused" is in place of the trial; it is empty if the case was played before.
"""
NO_SLOT = "a learning agent's conversations are played before their tests, and no worker is left to play them"


class _State(Enum):
    WAITING = auto()
    PLAYING = auto()
    PLAYED = auto()
    """A slot has played it, and its item has not taken the outcome yet."""
    ALONE = auto()
    """Its item has the outcome, is playing the case, or has to play it."""


@dataclass(slots=True)
class _Entry:
    state: _State = _State.WAITING
    player: str = ""
    alone: bool = False
    """Whether it is played by its own item."""
    abandoned: bool = False
    """Whether its item has ended, although a slot is still playing it."""
    outcome: Played | None = None
    is_recorded: bool = False
    """Whether an outcome has arrived since it was last begun."""
    attempts: int = 0
    """How often it was interrupted."""
    crashes: int = 0
    """How often a worker died while it ran the item."""


class JobQueue:
    """Decides which case is played next; ``LATER`` is the answer to a question that has to wait."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._queue: dict[str, None] = {}
        """Cases that no slot has started; the last one comes next."""
        self._playing: dict[str, None] = {}
        self._unreported: set[str] = set()
        """Cases that slots have started and whose items have not ended."""
        self._window = 0
        self._demanded: set[str] = set()
        """Cases that an item waits for and no slot has started."""
        self._slots: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        """Slots that are playing a case whose item has ended; they may never return."""
        self._retired: set[str] = set()
        """Workers whose own items are done: they still play, but don't wait for cases."""
        self._gone: set[str] = set()
        self._suspects: dict[str, None] = {}
        """Cases of dead workers that no item has taken yet; one of them may have killed its worker."""
        self._suspect = ""
        """The suspect that is being played, or was played last."""
        self._streams = StreamState()
        self._only_slots: frozenset[str] = frozenset()
        """Cases that items don't play themselves."""
        self._opened = self._closed = False
        self.shortage = ""
        """Why fewer cases were in flight than possible; empty if there was no reason."""

    @property
    def playing(self) -> Sequence[str]:
        """The cases that are being played."""
        return list(self._playing)

    def open(  # noqa: PLR0913 (keywords)
        self,
        weights: Mapping[str, float],
        *,
        at_once: int,
        few_ahead: bool = False,
        many_ahead: bool = False,
        only_slots: bool = False,
        streams: Iterable[Stream] = (),
    ) -> None:
        """Open the queue: cases go out in order, but within a block the longest first.

        ``at_once`` is the number of slots of all workers. Not many more cases than that are started before their items
        have ended: no more at all if ``few_ahead``, because the run may end at any item, and many more if
        ``many_ahead``, because some items keep their worker busy with something else.

        If ``only_slots``, items don't play these cases themselves, because the players are on other machines.

        ``streams`` are the conversations of learners: they go first, because they take longest, and one of each is
        played at a time.
        """
        self._streams = StreamState(streams=tuple(streams))
        keys = [*weights, *self._streams.left()]
        self._entries |= {key: _Entry() for key in keys if key not in self._entries}
        free = [key for key in weights if key not in self._streams]
        # Block by block, the longest of each first; the last block is complete, because it is the tail.
        block = at_once if few_ahead else BLOCKS * at_once
        starts = range(len(free) % block - block, len(free), block)
        blocks = (free[max(0, start) : start + block] for start in starts)
        ordered = [key for each in blocks for key in sorted(each, key=weights.__getitem__, reverse=True)]
        self._queue = dict.fromkeys(reversed(ordered))
        self._window = at_once if few_ahead else 2 * BLOCKS * at_once * (FAR if many_ahead else 1)
        self._only_slots = frozenset(keys if only_slots else ())
        self._opened = True

    def join(self, player: str, slots: int) -> None:
        """Count the slots of a worker."""
        self._slots[player] += slots

    def quit(self, player: str, reason: str = "") -> None:
        """Count one slot less; the first reason is kept."""
        self._slots[player] -= player not in self._gone
        self.shortage = self.shortage or reason

    def next(self, player: str, *, is_held: Callable[[str], bool] = lambda _: False) -> str | Later | None:
        """Return a case to play; None when there are no more. Cases that ``is_held`` excludes are not started now."""
        if player in self._gone or self._closed:
            return None
        # A suspect is for a slot with nothing else to play, one at a time.
        suspects = () if self._suspect in self._playing else self._suspects
        demanded = next((key for key in suspects if key in self._demanded), "")
        if key := demanded or self._due() or self._first(is_held) or next(iter(suspects), ""):
            self._demanded.discard(key)
            if key in self._queue:
                del self._queue[key]
                self._unreported.add(key)
            self._begin(key, player)
            return key
        unfinished = {_State.WAITING, _State.PLAYING}
        is_streaming = any(self._entries[key].state in unfinished for key in self._streams.left())
        may_come = not self._opened or self._queue or self._suspects or is_streaming
        return LATER if may_come and player not in self._retired else None

    def finish(self, key: str, player: str, outcome: Played) -> bool:
        """Accept the outcome of a case that a slot has played; return whether it counts.

        An outcome from a dead worker counts if the case is not being played again. Each case counts once.
        """
        entry = self._entries[key]
        if entry.abandoned:
            entry.abandoned = False
            self._lost[entry.player] -= 1
            entry.is_recorded, is_first = True, not entry.is_recorded
            return is_first
        if entry.is_recorded or entry.alone or (entry.state is _State.PLAYING and entry.player != player):
            return False
        entry.is_recorded = True
        entry.state, entry.outcome = _State.PLAYED, outcome
        self._remove(key)
        return True

    def finish_in_item(self, key: str) -> None:
        """Note that an item has its own outcome: it has played its case, or was interrupted. It always counts."""
        entry = self._entries.setdefault(key, _Entry())
        entry.abandoned = entry.state is _State.PLAYING and not entry.alone
        self._lost[entry.player] += entry.abandoned
        entry.state, entry.outcome, entry.is_recorded = _State.ALONE, None, True
        self._remove(key)

    def retire(self, player: str, *, over: bool) -> None:
        """Note that the items of a worker are done. Its slots go on for other workers, unless the run is ``over``."""
        self._retired.add(player)
        self._closed = self._closed or over

    def is_settled(self, player: str) -> bool:
        """Whether all slots of a retired worker have ended, except those that are lost."""
        return self._slots[player] <= self._lost[player]

    def drop(self, key: str) -> bool:
        """Requeue an interrupted case; return whether it is lost, because no item may play it."""
        entry = self._entries.setdefault(key, _Entry())
        entry.attempts += 1
        self._playing.pop(key, None)
        return self._give_back(key, entry)

    def take(self, key: str, player: str, *, patient: bool) -> Taken | Later:
        """Return the outcome of an item's case, once; "alone" if the item has to play it itself.

        If ``patient``, a case that no slot has begun is given to a slot next, as long as there are slots.
        """
        entry = self._entries.setdefault(key, _Entry())
        if player in self._gone:
            return "over", NOTHING
        if entry.outcome is not None:
            outcome, entry.outcome, entry.state = entry.outcome, None, _State.ALONE
            return "played", outcome
        if patient and key in self._queue and key not in self._demanded:
            del self._queue[key]
            self._queue[key] = None
            self._demanded.add(key)
        if key in self._only_slots and key in self._suspects:
            self._demanded.add(key)
        if self._must_wait(key, entry, patient=patient):
            return LATER
        if self._closed:
            return "over", NOTHING
        if key in self._streams:
            waits = entry.state is _State.WAITING
            return "refused", (f"{NO_SLOT}: {self.shortage}".strip(": ").encode() if waits else b"", b"")
        self._queue.pop(key, None)
        self._demanded.discard(key)
        self._begin(key, player, alone=True)
        return "alone", NOTHING

    def stop_prefetch(self, key: str) -> None:
        """Hand out no further case of this test, because it does not use the outcome."""
        test = key.partition("[")[0]
        for waiting in [key for key in (*self._queue, *self._suspects) if key.partition("[")[0] == test]:
            self._queue.pop(waiting, None)
            self._suspects.pop(waiting, None)
        for waiting in [key for key in self._streams.left() if key.partition("[")[0] == test]:
            if self._entries[waiting].state is _State.WAITING:
                self._entries[waiting].state = _State.ALONE
                self._streams.settle(waiting)

    def reported(self, key: str) -> None:
        """Note that the item of a case has ended, so that another case can be started."""
        self._unreported.discard(key)
        entry = self._entries.get(key)
        if entry and entry.state is _State.PLAYING:  # its test was interrupted
            entry.state, entry.abandoned = _State.ALONE, not entry.alone
            self._lost[entry.player] += entry.abandoned
        if entry:
            entry.outcome = None
        self._remove(key)

    def crashed(self, key: str) -> bool:
        """Note that a worker died while it ran the item of a case; return whether the item has to be run again.

        Not if the case was played, or will be played by a slot, or was lost with two workers.
        """
        self._unreported.discard(key)
        entry = self._entries.setdefault(key, _Entry(state=_State.ALONE))
        waits = entry.state is _State.WAITING and key in self._streams
        if entry.is_recorded or waits or key in self._playing or key in self._queue or key in self._suspects:
            return False
        entry.crashes += 1
        entry.attempts = max(entry.attempts, entry.crashes)  # it may have died before the case was started
        return entry.attempts < ATTEMPTS

    def gone(self, player: str) -> Sequence[str]:
        """Note that a worker has died; return the cases that are lost, because another worker had died in them before.

        One of the other cases that it was playing may have killed it. Each is played once more: by its item, or by a
        slot with nothing else to play, one at a time.
        """
        self._gone.add(player)
        self._slots.pop(player, None)
        lost = []
        for key in [key for key in self._playing if self._entries[key].player == player]:
            entry = self._entries[key]
            entry.attempts += 1
            self._playing.pop(key, None)
            self._give_back(key, entry)
            if entry.attempts >= ATTEMPTS:
                entry.state, entry.alone = _State.WAITING, False  # for the outcome of a lost case
                lost.append(key)
            elif not entry.alone and key not in self._streams:
                self._suspects[key] = None
        return lost

    def close(self) -> None:
        """Start no further case."""
        self._closed = True

    def _begin(self, key: str, player: str, *, alone: bool = False) -> None:
        entry = self._entries[key]
        entry.state, entry.player, entry.alone, entry.is_recorded = _State.PLAYING, player, alone, False
        self._playing[key] = None
        if key in self._suspects:
            del self._suspects[key]
            self._suspect = key

    def _remove(self, key: str) -> None:
        """Remove a case from the queue."""
        self._playing.pop(key, None)
        self._suspects.pop(key, None)
        self._queue.pop(key, None)
        self._streams.settle(key)

    def _give_back(self, key: str, entry: _Entry) -> bool:
        """Requeue an interrupted case; return whether it is a learner's and lost."""
        in_stream = key in self._streams
        entry.state = _State.WAITING if in_stream and entry.attempts < ATTEMPTS else _State.ALONE
        return in_stream and entry.state is _State.ALONE

    def _due(self) -> str:
        """Return a case of a stream whose turn it is and that no slot has started; empty if there is none."""
        if not self._opened:
            return ""
        return next((key for key in self._streams.due() if self._entries[key].state is _State.WAITING), "")

    def _first(self, is_held: Callable[[str], bool]) -> str:
        """Return the next case of the queue that is not held; empty if there is none, or no room for it."""
        key = next((key for key in reversed(self._queue) if not is_held(key)), "") if self._opened else ""
        return key if key in self._demanded or len(self._unreported) < self._window else ""

    def _must_wait(self, key: str, entry: _Entry, *, patient: bool) -> bool:
        """Whether an item has to wait: a slot plays its case, or will; or another suspect is being played."""
        if key in self._suspects:
            return (self._suspect in self._playing or key in self._only_slots) and not self._closed
        if entry.state is not _State.WAITING:
            return entry.state is _State.PLAYING
        wanted = key in self._streams or (patient and key in self._queue)
        return wanted and (self._slots.total() > 0 or key in self._only_slots) and not self._closed
