"""Random schedules, crashes and interruptions: no case is lost or recorded twice, and learners play in order."""

from collections import Counter
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_crmeval.collect.streams import Stream
from pytest_crmeval.controller.queue import ATTEMPTS, LATER, JobQueue

WORKERS, SLOTS = 2, 2


class Simulation:
    """Workers with slots and items, driven by random steps according to xdist's rules."""

    def __init__(self, free: int, learner: int, held_out: int) -> None:
        self.queue = JobQueue()
        self.stream = [f"l[{number}]" for number in range(learner)]
        self.held_out = [f"h[{number}]" for number in range(held_out)]
        self.keys = [f"f[{number}]" for number in range(free)] + self.stream + self.held_out
        self.alone_only = [f"own[{number}]" for number in range(free // 2)]
        self.recorded: list[str] = []
        self.begun: Counter[str] = Counter()
        self.slots: dict[str, list[str | None]] = {}
        """Worker -> the cases of its slots; None is idle."""
        self.items: dict[str, str] = {}
        """Worker -> the item that it runs."""
        self.playing_alone: set[str] = set()
        self.to_run = [*self.keys, *self.alone_only]
        """Items that no worker has started."""
        self._names = count()
        self.queue.open(
            dict.fromkeys(self.keys, 1.0),
            at_once=WORKERS * SLOTS,
            streams=[Stream(ordered=tuple(self.stream), after=tuple(self.held_out))],
        )
        for _ in range(WORKERS):
            self.start_worker()

    def start_worker(self) -> None:
        """Start a worker, as xdist does for a crashed one."""
        name = f"gw{next(self._names)}"
        self.queue.join(name, SLOTS)
        self.slots[name] = [None] * SLOTS

    def ask(self, worker: str, slot: int, *, paused: bool = False) -> None:
        """Give a slot its next case; if the model is ``paused``, at most one case of other agents starts."""
        if self.slots[worker][slot] is None:
            key = self.queue.next(worker, is_held=lambda _: paused and bool(self.queue.playing))
            if isinstance(key, str):
                self.slots[worker][slot] = key
                self.begin(key)

    def begin(self, key: str) -> None:
        """Note that a case has started, and check the order of a learner's cases."""
        self.begun[key] += 1
        others = [key for slots in self.slots.values() for key in slots if key in self.stream]
        assert len(others) <= 1
        if key in self.stream:
            assert set(self.stream[: self.stream.index(key)]) <= set(self.recorded)
        if key in self.held_out:
            assert set(self.stream) <= set(self.recorded)

    def finish(self, worker: str, slot: int) -> None:
        """Finish the case of a slot."""
        if key := self.slots[worker][slot]:
            self.slots[worker][slot] = None
            self.record(key, worker)

    def record(self, key: str, worker: str) -> None:
        """Send an outcome."""
        if self.queue.finish(key, worker, (key.encode(), b"")):
            self.recorded.append(key)

    def run_item(self, worker: str, *, patient: bool) -> None:
        """Start the next item of a worker, or continue the current one."""
        if worker not in self.items:
            if not self.to_run:
                return
            self.items[worker] = self.to_run.pop(0)
        key = self.items[worker]
        if key in self.playing_alone:
            self.playing_alone.discard(key)
            self.queue.finish_in_item(key)
            self.recorded.append(key)
            self.end_item(worker)
            return
        answer = self.queue.take(key, worker, patient=patient)
        if answer is LATER:
            return
        assert answer[0] in {"played", "alone"}
        if answer[0] == "alone":
            assert key not in self.stream + self.held_out
            self.begun[key] += 1
            self.playing_alone.add(key)
        else:
            assert key in self.recorded
            self.end_item(worker)

    def end_item(self, worker: str) -> None:
        """Report an item."""
        self.queue.reported(self.items.pop(worker))

    def kill(self, worker: str, *, last_words: bool) -> None:
        """Kill a worker; perhaps an outcome of its first slot arrives before the news."""
        if last_words:
            self.finish(worker, 0)
        slots = self.slots.pop(worker)
        for key in self.queue.gone(worker):
            self.record(key, worker)  # as errored
        if last_words and slots[1]:
            self.record(slots[1], worker)  # and perhaps another one after the news
        if key := self.items.pop(worker, ""):
            self.playing_alone.discard(key)
            if self.queue.crashed(key):
                self.to_run.insert(0, key)
        self.start_worker()

    def step(self, what: str, number: int, *, flag: bool) -> None:
        """Do one of these steps."""
        workers = list(self.slots)
        worker = workers[number % len(workers)]
        if what == "ask":
            self.ask(worker, number % SLOTS, paused=flag)
        elif what == "finish":
            self.finish(worker, number % SLOTS)
        elif what == "item":
            self.run_item(worker, patient=flag)
        else:
            self.kill(worker, last_words=flag)

    def drain(self) -> None:
        """Run to the end without further crashes."""
        for _ in range(20 * (len(self.keys) + len(self.alone_only) + 1)):
            for worker in list(self.slots):
                for slot in range(SLOTS):
                    self.ask(worker, slot)
                    self.finish(worker, slot)
                self.run_item(worker, patient=True)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "finish", "finish", "item", "item", "item", "kill"]),
        st.integers(0, 7),
        st.booleans(),
    ),
    max_size=120,
)


@settings(max_examples=300, deadline=None)
@given(free=st.integers(0, 12), learner=st.integers(0, 5), held_out=st.integers(0, 3), steps=STEPS)
def test_every_case_is_recorded_exactly_once(
    free: int, learner: int, held_out: int, steps: list[tuple[str, int, bool]]
) -> None:
    """Whichever workers die, and in whatever order slots, items and messages come."""
    run = Simulation(free, learner, held_out)
    for what, number, flag in steps:
        run.step(what, number, flag=flag)
    run.drain()

    assert sorted([*run.keys, *run.alone_only]) == sorted(run.recorded)
    assert run.stream == [key for key in run.recorded if key in run.stream]
    assert [] == run.queue.playing
    assert max(run.begun.values(), default=0) <= ATTEMPTS


@settings(max_examples=100, deadline=None)
@given(free=st.integers(0, 12), learner=st.integers(0, 5), steps=STEPS, again=STEPS)
def test_interrupted_run_is_completed_by_a_second_part(
    free: int, learner: int, steps: list[tuple[str, int, bool]], again: list[tuple[str, int, bool]]
) -> None:
    """The second part plays what the first has not recorded; together they record each case once, learners in order."""
    first = Simulation(free, learner, 0)
    for what, number, flag in steps:
        first.step(what, number, flag=flag)
    done = first.recorded
    rest = Simulation(0, 0, 0)
    rest.stream = [key for key in first.stream if key not in done]
    rest.keys = [key for key in first.keys if key not in done]
    rest.alone_only = [key for key in first.alone_only if key not in done]
    rest.to_run = [*rest.keys, *rest.alone_only]
    rest.queue.open(
        dict.fromkeys(rest.keys, 1.0), at_once=WORKERS * SLOTS, streams=[Stream(ordered=tuple(rest.stream))]
    )
    for what, number, flag in again:
        rest.step(what, number, flag=flag)
    rest.drain()

    recorded = [*done, *rest.recorded]
    assert sorted([*first.keys, *first.alone_only]) == sorted(recorded)
    assert first.stream == [key for key in recorded if key in first.stream]
