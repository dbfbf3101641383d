"""How items are dealt out again when a worker has crashed, and how workers are killed: all that touches xdist's own.

In xdist 3.8 every way of dealing that knows scopes (``loadscope``, ``loadfile``, ``loadgroup``) deals the units of a
crashed worker out again, also those that are done. Nobody reports from a unit without items, so whoever gets one waits
for ever (xdist's issues 1323, 1327, 1378). One that crashes while others still collect is counted as if it were there,
and the run breaks off (1362). Later versions are left as they are.
"""

from collections.abc import Generator, Sequence
from typing import Any

import pytest
import xdist  # type: ignore[import-untyped] # it has no types
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # the same

_BROKEN = "3.8."
Worker = Any
"""xdist's WorkerController."""


@pytest.hookimpl(wrapper=True)
def pytest_xdist_make_scheduler() -> Generator[None, object, object]:
    """Mend whoever was chosen to deal items out, xdist's own or another plugin's."""
    return mended((yield))


def mended(scheduler: Any) -> Any:  # noqa: ANN401 (whatever some plugin deals with)
    """Return who deals items out, so that a crash does not have him wait for ever; who has his own way keeps it."""
    kind = type(scheduler)
    if xdist.__version__.startswith(_BROKEN) and getattr(kind, "remove_node", None) is LoadScopeScheduling.remove_node:
        scheduler.__class__ = type(kind.__name__, (_Mended, kind), {})
    return scheduler


def end_workers_at_once(config: pytest.Config) -> None:
    """Make xdist kill its workers when the session finishes; by default each has ten seconds to finish its test."""
    nodes = getattr(config.pluginmanager.get_plugin("dsession"), "nodemanager", None)
    if nodes is not None:
        nodes.EXIT_TIMEOUT = 0


class _Mended(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Deals out what is not done, before anything else; what its worker crashed in is done, as with ``load``."""

    def remove_node(self, node: Worker) -> str | None:
        """Return what a worker crashed in; the rest of what it had is dealt out next. KeyError if it is unknown."""
        workload: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        if self.collection is None:  # nothing was dealt out yet, and others still collect: its successor will, too
            self.registered_collections.pop(node, None)
        left = [(unit, item) for unit in workload.values() for item, is_done in unit.items() if not is_done]
        if not left:
            return None
        unit, crashed = left[0]
        unit[crashed] = True
        for scope, rest in reversed(workload.items()):
            if not all(rest.values()):
                self.workqueue[scope] = rest
                self.workqueue.move_to_end(scope, last=False)
        self._deal()
        return crashed

    def schedule(self) -> None:
        """Deal out; and once more to a successor with one item: it begins that when it knows what is next, if anything.

        At first xdist does so itself.
        """
        again = self.collection is not None
        super().schedule()
        for node in self.nodes if again else ():
            if self._pending_of(self.assigned_work[node]) == 1:
                self._reschedule(node)

    def add_node_collection(self, node: Worker, collection: Sequence[str]) -> None:
        """Know what a worker has collected. One that has collected something else would wait for ever."""
        super().add_node_collection(node, collection)
        if node not in self.registered_collections:
            raise RuntimeError(f"{node.gateway.id}, which replaces a crashed worker, has collected other tests than it")

    def _reschedule(self, node: Worker) -> None:
        if node in self.registered_collections:  # else it still collects, and gets its part when it is done
            super()._reschedule(node)

    def _deal(self) -> None:
        for node in self.nodes:
            self._reschedule(node)
