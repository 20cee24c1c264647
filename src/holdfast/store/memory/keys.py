"""Who has which key on one shelf: the holder, the successor that waits for it, and the last success.

A key is let go in the step in which its holder ends or goes; the successor takes it over in that same step, and is scheduled
for the time it was pushed for. Successes are forgotten by upkeep; one that is past its term counts for nothing before.
"""

from holdfast.model.job import NewJob
from holdfast.policy.identity import Holder, KeyState, Success, remembered_until_us
from holdfast.store.memory.entry import Entry
from holdfast.store.memory.heap import IndexedHeap


class KeyBook:
    """The keys of one shelf. Every use is made with the shelf's lock held."""

    def __init__(self) -> None:
        self._holders: dict[str, Entry] = {}
        self._successors: dict[str, Entry] = {}
        self._successes: dict[str, Success] = {}
        self._terms = IndexedHeap()

    def known(self, key: str) -> KeyState:
        """Tell all that is known of a key."""
        return KeyState(_shown(self._holders.get(key)), _shown(self._successors.get(key)), self._successes.get(key))

    def is_free(self, key: str | None) -> bool:
        return key is None or key not in self._holders

    def successor(self, holder: Entry) -> Entry | None:
        """Give the job that waits for this one."""
        key = holder.new.key
        return self._successors.get(key) if key is not None and self._holders.get(key) is holder else None

    def hold(self, entry: Entry) -> None:
        """Give the job the key it asks for: as its holder, or, if it waits, as the successor."""
        key = entry.new.key
        if key is not None:
            (self._successors if entry.state == "waiting" else self._holders)[key] = entry

    def let_go(self, entry: Entry) -> Entry | None:
        """Take the key from a job that has ended or goes. Give the successor, which has the key now."""
        key = entry.new.key
        if key is None:
            return None
        if self._successors.get(key) is entry:
            del self._successors[key]
        if self._holders.get(key) is not entry:
            return None
        del self._holders[key]
        heir = self._successors.pop(key, None)
        if heir is not None:
            self._holders[key] = heir
        return heir

    def succeed(self, new: NewJob, now_us: int) -> None:
        """Remember a success."""
        if new.key is not None:
            until_us = remembered_until_us(new, now_us)
            self._forget(new.key)
            self._successes[new.key] = Success(new.id, now_us, until_us, new.version)
            self._terms.push(new.key, (until_us,))

    def forget_old(self, limit: int, now_us: int) -> None:
        """Drop up to `limit` successes that are past their term."""
        for _ in range(limit):
            first = self._terms.peek()
            if first is None or first[0][0] > now_us:
                return
            self._forget(first[1])

    def _forget(self, key: str) -> None:
        if self._successes.pop(key, None) is not None:
            self._terms.remove(key)


def _shown(entry: Entry | None) -> Holder | None:
    return None if entry is None else Holder(entry.id, entry.state == "running", entry.new.version)
