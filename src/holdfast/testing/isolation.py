"""An app of its own for each test: the real one, on an empty memory store and a clock that the test moves."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.app.app import Holdfast
from holdfast.testing.clock import VirtualClock


@contextmanager
def isolated(app: Holdfast, clock: VirtualClock | None = None) -> Iterator[VirtualClock]:
    """Put the app on a fresh memory store for as long as the block lasts, and give the clock it goes by.

    Tasks, options and the secret stay what they are; so does everything else, afterwards. Workers inside the block
    wake when the clock moves. What they hold by a lease ends by this clock too: give a worker that is to live through
    days a lease as long, `app.worker(lease=…)`.
    """
    clock = clock or VirtualClock()

    def rouse() -> None:
        app.store.wake()  # looked up at each move: the app may have been closed, and opened again, in between

    with app.override(url="memory://", clock=clock), clock.telling(rouse):
        yield clock
