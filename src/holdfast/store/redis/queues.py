"""The door to queues: policy, pause, purge, lanes.

What is declared and what an operator has set over it are kept side by side, with a revision. The policy in force follows
from both and is worked out here. So a change reads them, and is refused by the queue if another one was faster; then it
is worked out anew. Of two changes at one moment both take effect.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from holdfast.errors import StoreUnavailable
from holdfast.model.queue import Drained, LaneRecord, Limits, QueueOverlay, QueuePolicy, QueueRecord
from holdfast.policy.ageing import most_priority
from holdfast.policy.flow import HELD, standing
from holdfast.policy.overlay import packed, unpacked
from holdfast.store.redis import rows
from holdfast.store.redis.link import Call, Link, answered
from holdfast.store.redis.relay import forget
from holdfast.store.redis.rows import mark

SLICE: Final = 1000
_NOTHING: Final = (packed(QueuePolicy()), packed(QueueOverlay()))


class Terms(NamedTuple):
    """What is kept of a queue's policy."""

    revision: str
    declared: str
    overlay: str
    is_new: bool


class RedisQueues:
    """Queues and their policies; see `protocol.Queues`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def names(self) -> list[str]:
        return sorted(name.decode() for name in self._link.ask(("SMEMBERS", self._registry))[0])

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        is_new = self._register(name)
        return self._change(name, declared=packed(policy)) or is_new

    def set_overlay(self, name: str, overlay: QueueOverlay) -> bool:
        self._register(name)
        return self._change(name, overlay=packed(overlay))

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        if not self._is_there(name):
            return None
        answer = self._link.call("stats", name, now_us=now_us)
        now, terms, is_paused, live, ended, oldest, next_due, flow, refused = answer
        policy, overlay = unpacked(*_texts(terms))
        counts = {
            state.decode(): int(number)
            for pairs in (live, ended)
            for state, number in zip(pairs[::2], pairs[1::2], strict=True)
        }
        remembered = rows.flow_of(flow)
        how, until_us = standing(remembered, policy.limits, counts["running"], int(now))
        return QueueRecord(
            name=name,
            policy=policy,
            is_paused=bool(is_paused),
            counts={state: number for state, number in counts.items() if number},
            oldest_ready_us=int(oldest) if oldest else None,
            next_due_us=int(float(next_due)) if next_due else None,
            standing=how,
            until_us=until_us,
            overlay=overlay,
            refused=int(refused),
            drains=remembered.drains,
        )

    def pause(self, name: str, lane: str | None = None) -> bool:
        self._register(name)  # a queue may be paused before its first job
        return bool(self._link.call("pause", name, *_lane(lane), now_us=None))

    def resume(self, name: str, lane: str | None = None) -> bool:
        return self._is_there(name) and bool(self._link.call("resume", name, *_lane(lane), now_us=None))

    def lanes(self, name: str, now_us: int | None = None) -> list[LaneRecord]:
        """Read in slices, so that many lanes do not stop the server. Each slice is as it was at its moment."""
        if not self._is_there(name):
            return []
        texts = self._link.ask(("HMGET", self._link.keys.in_queue(name, "meta"), "declared", "overlay"))[0]
        limits = unpacked(*_texts(texts))[0].lane_limits
        names = iter(sorted({b"", *self._ready_lanes(name), *self._known_lanes(name)}))
        found: list[LaneRecord] = []
        while part := list(islice(names, SLICE)):
            now, answer = self._link.call("read_lanes", name, *part, now_us=now_us)
            pairs = zip(part, answer[::2], answer[1::2], strict=True)
            found += [_lane_record(lane.decode(), ready, flow, limits, int(now)) for lane, ready, flow in pairs]
        return [one for one in found if one.ready or one.running or one.standing in HELD]

    def find_drained(self, names: Iterable[str]) -> list[Drained]:
        """Look at each in a step of its own. A queue whose node is down is left for the next time."""
        asked = list(dict.fromkeys(names))
        numbers = answered(self._link.try_run([Call("find_drained", name) for name in asked], None))
        known = [pair for pair in zip(asked, numbers, strict=True) if not isinstance(pair[1], StoreUnavailable)]
        return [Drained(name, number) for name, number in known if number]

    def tell_drained(self, name: str, number: int) -> None:
        self._link.call("tell_drained", name, number, now_us=None)

    def purge(self, name: str, now_us: int | None = None) -> int:
        """Delete in slices, so that a long queue does not stop the server: each slice is a step of its own."""
        purged = 0
        while marks := self._link.call("purge", name, SLICE, now_us=now_us):
            forget(self._link, [mark(one) for one in marks])
            purged += len(marks)
            if len(marks) < SLICE:
                break
        return purged

    def _change(self, name: str, declared: str | None = None, overlay: str | None = None) -> bool:
        """Change what is declared, or what is set over it. Return whether it was anything else before."""
        while True:
            old = self._terms(name)
            texts = (old.declared if declared is None else declared, old.overlay if overlay is None else overlay)
            if not old.is_new and texts == (old.declared, old.overlay):
                return False
            if self._link.call("set_policy", name, old.revision, *texts, *_in_force(*texts), now_us=None):
                return texts != (old.declared, old.overlay)

    def _terms(self, name: str) -> Terms:
        fields = ("order", "revision", "declared", "overlay")
        order, revision, *texts = self._link.ask(("HMGET", self._link.keys.in_queue(name, "meta"), *fields))[0]
        return Terms((revision or b"0").decode(), *_texts(texts), is_new=order is None)

    def _ready_lanes(self, name: str) -> Iterator[bytes]:
        behind = b""
        while True:
            part: list[bytes] = self._link.call("walk_lanes", name, behind, SLICE, now_us=None)
            yield from part
            if len(part) < SLICE:
                return
            behind = part[-1]

    def _known_lanes(self, name: str) -> Iterator[bytes]:
        cursor = b"0"
        while True:
            command = ("HSCAN", self._link.keys.in_queue(name, "lanes"), cursor, "COUNT", SLICE)
            cursor, found = self._link.ask(command)[0]
            yield from found
            if int(cursor) == 0:
                return

    @property
    def _registry(self) -> bytes:
        return self._link.keys.in_house("queues")

    def _is_there(self, name: str) -> bool:
        return bool(self._link.ask(("SISMEMBER", self._registry, name))[0])

    def _register(self, name: str) -> bool:
        return bool(self._link.ask(("SADD", self._registry, name))[0])


def _texts(kept: list[bytes | None]) -> tuple[str, str]:
    """Give what is declared and what is set over it. What was never set is nothing in particular."""
    declared, overlay = (None if one is None else one.decode() for one in kept)
    return declared or _NOTHING[0], overlay or _NOTHING[1]


def _in_force(declared: str, overlay: str) -> tuple[Any, ...]:
    """Give order, whether the queue is to flow, policy, weights and bounds, as `set_policy.lua` takes them."""
    policy = unpacked(declared, overlay)[0]
    rules = (
        _limits(policy.limits), _limits(policy.lane_limits), policy.is_limited, bool(policy.weights), _ageing(policy),
        policy.tells_drained,
    )  # fmt: skip
    weights = rows.pack(list(policy.weights.items()))
    return policy.order, "" if policy.is_plain else "1", rows.pack(rules), weights, _bounds(policy)


def _bounds(policy: QueuePolicy) -> bytes:
    if policy.max_size is None:
        return b""
    return rows.pack((policy.max_size, policy.on_full == "spill", policy.spill_ttl_us))


def _ageing(policy: QueuePolicy) -> tuple[int, int] | bool:
    return policy.ageing_us is not None and (policy.ageing_us, most_priority(policy.ageing_us))


def _limits(limits: Limits) -> tuple[Any, ...]:
    rate, breaker = limits.rate, limits.breaker
    return (
        rate is not None and (rate.interval_us, rate.burst),
        limits.max_running is not None and limits.max_running,
        breaker is not None and (breaker.failures, breaker.pause_us, breaker.probes),
    )


def _lane(lane: str | None) -> tuple[str, str]:
    return ("", "") if lane is None else ("1", lane)


def _lane_record(lane: str, ready: int, packed_flow: bytes, limits: Limits, now_us: int) -> LaneRecord:
    flow = rows.flow_of(packed_flow)
    return LaneRecord(lane, ready, flow.running, *standing(flow, limits, flow.running, now_us))
