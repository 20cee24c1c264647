"""The door to what people do to jobs: cancel, retry, unpark, delete; and to workers: dismiss."""

from collections.abc import Callable, Iterable

from holdfast.model.states import FINAL, RETRIABLE
from holdfast.store.memory import handout
from holdfast.store.memory.entry import Entry, finish, reopen
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import Shelf

Act = Callable[[Shelf, Entry, int], bool]
"""Does something to a job whose shelf's lock is held. Returns whether it took effect."""


class MemoryOperator:
    """What people do to jobs; see `protocol.Operator`."""

    def __init__(self, rack: Rack) -> None:
        self._rack = rack

    def cancel(self, ids: Iterable[str], now_us: int | None = None) -> dict[str, str]:
        answers = dict.fromkeys(ids, "unknown")

        def act(shelf: Shelf, entry: Entry, now: int) -> bool:
            answers[entry.id] = _cancel(shelf, entry, now)
            return True

        self._each(answers, act, now_us)
        return answers

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        return self._each(ids, _retry, now_us)

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        def act(shelf: Shelf, entry: Entry, now: int) -> bool:
            return _unpark(shelf, entry, seals[entry.id])

        return self._each(seals, act, now_us)

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        def act(shelf: Shelf, entry: Entry, now: int) -> bool:
            if entry.state == "running":
                return False
            self._rack.drop(shelf, entry)
            return True

        return self._each(ids, act, now_us)

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        with self._rack.step():
            moment = self._rack.moment(now_us)
            return [worker for worker in dict.fromkeys(workers) if self._rack.roster.dismiss(worker, moment)]

    def _each(self, ids: Iterable[str], act: Act, now_us: int | None) -> list[str]:
        """Do it to each job in turn, each on its own shelf. Return the ids it took effect on."""
        with self._rack.step():
            return [job_id for job_id in list(ids) if self._do(job_id, act, now_us)]

    def _do(self, job_id: str, act: Act, now_us: int | None) -> bool:
        shelf = self._rack.shelf_of(job_id)
        if shelf is None:
            return False
        with self._rack.hold(shelf, now_us) as now:
            entry = shelf.entries.get(job_id)
            return entry is not None and act(shelf, entry, now)


def _cancel(shelf: Shelf, entry: Entry, now_us: int) -> str:
    if entry.state in FINAL:
        return "final"
    if entry.state == "running":
        entry.cancel_asked = True
        return "asked"
    shelf.lift(entry)
    entry.reason = "cancelled"
    finish(entry, now_us, is_success=False)
    shelf.lay(entry, "cancelled")
    return "cancelled"


def _retry(shelf: Shelf, entry: Entry, now_us: int) -> bool:
    if entry.state not in RETRIABLE or not shelf.keys.is_free(entry.new.key):
        return False
    shelf.lift(entry)
    reopen(entry, now_us)
    shelf.lay(entry, "ready")
    shelf.keys.hold(entry)
    return True


def _unpark(shelf: Shelf, entry: Entry, seal: bytes | None) -> bool:
    if entry.state != "parked":
        return False
    if seal is not None:
        entry.seal = seal
    handout.unpark(shelf, entry)
    return True
