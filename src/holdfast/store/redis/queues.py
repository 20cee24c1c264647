"""The door to queues: policy, pause, purge."""

from typing import Final

from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.store.redis.link import Link
from holdfast.store.redis.relay import forget
from holdfast.store.redis.rows import mark

SLICE: Final = 1000


class RedisQueues:
    """Queues and their policies; see `protocol.Queues`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def names(self) -> list[str]:
        return sorted(name.decode() for name in self._link.ask(("SMEMBERS", self._registry))[0])

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        is_new = self._register(name)
        has_changed = self._link.call("arrange", name, "order", policy.order, now_us=None)
        return is_new or bool(has_changed)

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        if not self._is_there(name):
            return None
        order, is_paused, live, ended, oldest, next_due = self._link.call("stats", name, now_us=now_us)
        counts = {
            state.decode(): int(number)
            for pairs in (live, ended)
            for state, number in zip(pairs[::2], pairs[1::2], strict=True)
        }
        return QueueRecord(
            name=name,
            policy=QueuePolicy(order.decode()),
            is_paused=bool(is_paused),
            counts={state: number for state, number in counts.items() if number},
            oldest_ready_us=int(oldest) if oldest else None,
            next_due_us=int(float(next_due)) if next_due else None,
        )

    def pause(self, name: str) -> bool:
        self._register(name)  # a queue may be paused before its first job
        return bool(self._link.call("arrange", name, "paused", "1", now_us=None))

    def resume(self, name: str) -> bool:
        return self._is_there(name) and bool(self._link.call("arrange", name, "paused", "0", now_us=None))

    def purge(self, name: str, now_us: int | None = None) -> int:
        """Delete in slices, so that a long queue does not stop the server: each slice is a step of its own."""
        purged = 0
        while marks := self._link.call("purge", name, SLICE, now_us=now_us):
            forget(self._link, [mark(one) for one in marks])
            purged += len(marks)
            if len(marks) < SLICE:
                break
        return purged

    @property
    def _registry(self) -> bytes:
        return self._link.keys.in_house("queues")

    def _is_there(self, name: str) -> bool:
        return bool(self._link.ask(("SISMEMBER", self._registry, name))[0])

    def _register(self, name: str) -> bool:
        return bool(self._link.ask(("SADD", self._registry, name))[0])
