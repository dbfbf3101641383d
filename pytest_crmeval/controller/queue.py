"""Who plays what: each case is given to one player, and played once.

Players are the slots of all workers; whose item a case is does not matter to them. An item takes what has been played,
waits for what is being played, and has played next what nobody has begun, or plays it itself. So nothing depends on how
xdist deals items out. What a learner plays is given out one after the other, and nobody waits for it but its own items.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from threading import Condition

from pytest_crmeval.controller.streams import StreamState, course_of
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.stream import Stream
from pytest_crmeval.player.queue_client import Taken

BLOCKS = 4
"""How many times what can be in flight is looked over to find the longest."""
FAR = 8
"""So many times as much is begun ahead where items take minutes that nobody waits for a model in."""

TRIES = 2
"""How often slots try to play a case whose order counts, before its item has to."""


class _State(Enum):
    WAITING = auto()
    PLAYING = auto()
    PLAYED = auto()
    """Ahead of its item, which will take it."""
    ALONE = auto()
    """Its item has taken it, or plays it, or has played it, itself."""


_BEFORE = frozenset({_State.WAITING, _State.PLAYING})


@dataclass(slots=True)
class _Entry:
    state: _State = _State.WAITING
    player: str = ""
    alone: bool = False
    """Whether it is being played by its own item."""
    abandoned: bool = False
    """Whether its item is over, though somebody still plays it."""
    outcome: JsonObject | None = None
    tries: int = 0
    """How often somebody has begun it ahead."""


class JobQueue:
    """The one place that decides, in the process that owns the run; any number of threads may ask.

    ``record`` is called with what was played before anybody else hears of it: what is finished is not lost.
    """

    def __init__(self, record: Callable[[JsonObject], None]) -> None:
        self._record = record
        self._entries: dict[str, _Entry] = {}
        self._queue: list[str] = []
        """The next to be begun is the last."""
        self._unreported: set[str] = set()
        """What was begun ahead, and whose item has not been told of yet."""
        self._window = 0
        self._demanded: set[str] = set()
        """What an item waits for that nobody has begun."""
        self._slots: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        """Slots that play what nobody waits for any more, and may never come back."""
        self._retired: set[str] = set()
        """Whose own items are done: they play on, but wait for nothing."""
        self._gone: set[str] = set()
        self._suspects: list[str] = []
        """Cases of a dead player that no item has taken yet; one of them may have killed the player."""
        self._suspect = ""
        """The suspect that a slot is playing, or played last."""
        self._course = StreamState()
        self._ahead: set[str] = set()
        """What of the course may be played by slots."""
        self._queuing: set[str] = set()
        """Items that wait for their turn to play themselves."""
        self._joined: set[str] = set()
        self._players = 1
        self._opened = self._closed = False
        self._changed = Condition()
        self.lacking = ""
        """Why fewer were in flight than there could have been; empty if all is well."""

    @property
    def in_flight(self) -> int:
        """How many are being played."""
        return sum(entry.state is _State.PLAYING for entry in self._entries.values())

    @property
    def playing(self) -> Sequence[str]:
        """What is being played."""
        with self._changed:
            return [key for key, entry in self._entries.items() if entry.state is _State.PLAYING]

    def open(  # noqa: PLR0913 (how far it is looked ahead)
        self,
        weights: Mapping[str, float],
        *,
        at_once: int,
        short_sighted: bool = False,
        far_sighted: bool = False,
        streams: Iterable[Stream] = (),
        players: int = 1,
    ) -> None:
        """Begin to give out cases, in their order; among those that are near each other the longest first.

        ``at_once`` is how many all players together can play. Not many more than that are begun before their items
        are reported; who is ``short_sighted`` begins no more than that, because the run may end at any item. Who is
        ``far_sighted`` begins many more: among the items are some that keep their worker busy with something else.
        ``streams`` go before all others, because they take longest: one case of each at a time.
        """
        with self._changed:
            self._entries |= {key: _Entry() for key in weights}
            self._course, self._players = course_of(streams), players
            self._ahead = {key for key in weights if key in self._course}
            free = [key for key in weights if key not in self._course]
            self._queue = _ordered(free, weights, at_once if short_sighted else BLOCKS * at_once)[::-1]
            self._window = at_once if short_sighted else 2 * BLOCKS * at_once * (FAR if far_sighted else 1)
            self._opened = True
            self._changed.notify_all()

    def join(self, player: str, slots: int) -> None:
        """Know that somebody is going to play so many cases at the same time."""
        with self._changed:
            self._slots[player] += slots
            self._joined.add(player)

    def quit(self, player: str, why: str = "") -> None:
        """Know that he plays one less from now on; the first reason for it, if there is one, stays."""
        with self._changed:
            self._slots[player] -= player not in self._gone
            self.lacking = self.lacking or why
            self._changed.notify_all()

    def next(self, player: str) -> str | None:
        """Wait for a case to play; None when there is no more."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._due() or self._has_room() or self._spare() or player in self._gone | self._retired
            )
            if player in self._gone or self._closed:
                return None
            can_begin = self._queue and self._has_room()
            if due := self._due() or ("" if can_begin else self._spare()):
                self._begin(due, player)
                self._entries[due].tries += 1
                return due
            if not can_begin:
                return None
            key = self._queue.pop()
            self._demanded.discard(key)
            self._begin(key, player)
            self._unreported.add(key)
            return key

    def finish(self, key: str, outcome: JsonObject) -> None:
        """Take how a case was played; it is on record when this returns."""
        self._record(outcome)
        with self._changed:
            entry = self._entries[key]
            if entry.state is _State.PLAYING:
                entry.state = _State.ALONE if entry.alone else _State.PLAYED
                entry.outcome = None if entry.alone else outcome
            elif entry.state is _State.WAITING or key in self._suspects:  # its player is gone, but had finished it
                entry.state, entry.outcome = _State.PLAYED, outcome
                self._suspects = [suspect for suspect in self._suspects if suspect != key]
            if entry.abandoned:
                entry.abandoned = False
                self._lost[entry.player] -= 1
            self._course.settle(key)
            self._changed.notify_all()

    def settle(self, player: str, *, over: bool) -> None:
        """Wait until all slots of somebody whose own items are done have ended, but not for those that are lost.

        They go on for the items of others, unless the run is ``over``.
        """
        with self._changed:
            self._retired.add(player)
            self._closed = self._closed or over
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._slots[player] <= self._lost[player])

    def drop(self, key: str) -> None:
        """Take a case back that could not be played: its item will do it."""
        with self._changed:
            self._give_back(key, self._entries[key])
            self._changed.notify_all()

    def take(self, key: str, player: str, *, patient: bool) -> Taken:
        """Return how a case was played, once; who comes again, or is not patient and comes too early, plays it himself.

        Who is ``patient`` has it played next by somebody else, as long as there is anybody.
        """
        with self._changed:
            entry = self._entries.setdefault(key, _Entry())
            if patient and key in self._queue:
                self._queue.remove(key)
                self._queue.append(key)
                self._demanded.add(key)
                self._changed.notify_all()
            self._wait_for(key, entry, player, patient=patient)
            if player in self._gone:  # nobody would hear it
                return "over", None
            if entry.outcome is not None:
                outcome, entry.outcome, entry.state = entry.outcome, None, _State.ALONE
                return "played", outcome
            if self._closed:
                return "over", None
            if key in self._queue:
                self._queue.remove(key)
                self._demanded.discard(key)
            self._begin(key, player, alone=True)
            return "alone", None

    def leave(self, key: str) -> None:
        """Have nothing more played ahead for the test of this case: it does not evaluate what it was given."""
        test = key.partition("[")[0]
        with self._changed:
            self._queue = [waiting for waiting in self._queue if waiting.partition("[")[0] != test]
            self._ahead = {waiting for waiting in self._ahead if waiting.partition("[")[0] != test}
            self._suspects = [waiting for waiting in self._suspects if waiting.partition("[")[0] != test]
            self._changed.notify_all()

    def reported(self, key: str, *, crashed: bool = False) -> None:
        """Know that the item of a case is over: there is room for another.

        If its worker has ``crashed``, what was given back to be played again is not over, nor is what a slot elsewhere
        plays: a stream that went on beside it would learn from two at the same time.
        """
        with self._changed:
            self._unreported.discard(key)
            if key in self._suspects:
                self._suspects.remove(key)
            entry = self._entries.get(key)
            if crashed and entry and key in self._ahead and entry.state in _BEFORE and not entry.alone:
                return
            if entry and entry.state is _State.PLAYING:  # its test broke off, or its time was over
                entry.state, entry.abandoned = _State.ALONE, not entry.alone
                self._lost[entry.player] += entry.abandoned
            self._course.settle(key)
            self._changed.notify_all()

    def gone(self, player: str, *, replaced: bool = False) -> None:
        """Note that a player is gone. One of the cases that it was playing may have killed it.

        Therefore their items play them one at a time: if a worker dies again, xdist knows which item it was. But such
        an item may have to wait behind those of a learner, so a slot with nothing else to play tries each of these
        cases once, also one at a time. If the player is ``replaced``, the new one may be dealt items that others wait
        for.
        """
        with self._changed:
            self._gone.add(player)
            self._players += replaced
            self._slots.pop(player, None)
            for key, entry in self._entries.items():
                if entry.state is _State.PLAYING and entry.player == player:
                    self._give_back(key, entry)
                    if not (entry.alone or entry.tries or key in self._course):
                        self._suspects.append(key)
            self._changed.notify_all()

    def close(self, seconds: float = 0.0) -> int:
        """Begin nothing more; wait for what is in flight, so long, and return how many are in flight still."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self.in_flight, seconds)
            return self.in_flight

    def _begin(self, key: str, player: str, *, alone: bool = False) -> None:
        entry = self._entries[key]
        entry.state, entry.player, entry.alone = _State.PLAYING, player, alone
        if key in self._suspects:
            self._suspects.remove(key)
            self._suspect = self._suspect if alone else key

    def _give_back(self, key: str, entry: _Entry) -> None:
        """Take back what somebody has not brought to its end; of a stream, a slot may try again."""
        again = key in self._ahead and not entry.alone and entry.tries < TRIES
        entry.state = _State.WAITING if again else _State.ALONE
        if entry.alone or entry.tries >= TRIES:
            self._course.settle(key)

    def _due(self) -> str:
        """Return a case of a stream whose turn it is, and that nobody has begun; nothing if there is none."""
        if self._closed or not self._opened:
            return ""
        due = (key for key in self._course.due() if key in self._ahead)
        return next((key for key in due if self._entries[key].state is _State.WAITING), "")

    def _spare(self) -> str:
        """Return a suspect for a slot with nothing else to play; empty if another slot is playing one."""
        if self._closed or not self._suspects:
            return ""
        playing = self._suspect and self._entries[self._suspect].state is _State.PLAYING
        return "" if playing else self._suspects[0]

    def _has_room(self) -> bool:
        if self._closed or not self._opened:
            return self._closed
        if not self._queue:
            return not self._is_streaming
        return self._queue[-1] in self._demanded or len(self._unreported) < self._window

    @property
    def _is_streaming(self) -> bool:
        """Whether there is something that slots will be asked to play when its turn comes."""
        waiting = (key for key in self._course.left() if key in self._ahead)
        return any(self._entries[key].state is _State.WAITING for key in waiting)

    def _wait_for(self, key: str, entry: _Entry, player: str, *, patient: bool) -> None:
        """Wait until there is something to tell the item of a case."""
        self._changed.wait_for(lambda: player in self._gone or not self._is_coming(key, entry, patient=patient))
        if key not in self._course or entry.outcome is not None:
            return
        self._queuing.add(key)
        self._changed.notify_all()
        self._changed.wait_for(lambda: player in self._gone or self._closed or self._may_play(key))
        self._queuing.discard(key)

    def _may_play(self, key: str) -> bool:
        """Whether an item may play its own case: it is its turn; or nobody is left who could play what is before it."""
        if self._course.has_turn(key):
            return True
        living = max(len(self._joined - self._gone - self._retired), self._players - len(self._gone | self._retired))
        stuck = len(self._queuing) >= living and not self.in_flight
        return stuck and key == self._course.first(self._queuing)

    def _is_coming(self, key: str, entry: _Entry, *, patient: bool) -> bool:
        """Whether it is worth while to wait for a case."""
        if entry.state is not _State.WAITING:
            return entry.state is _State.PLAYING
        wanted = key in self._ahead or (patient and key in self._queue)
        return wanted and self._slots.total() > 0 and not self._closed


def _ordered(keys: Sequence[str], weights: Mapping[str, float], block: int) -> list[str]:
    """Return keys block by block, the heaviest of each first; the last block is a whole one, for it makes the tail."""
    starts = range(len(keys) % block - block, len(keys), block)
    blocks = (keys[max(0, start) : start + block] for start in starts)
    return [key for each in blocks for key in sorted(each, key=weights.__getitem__, reverse=True)]
