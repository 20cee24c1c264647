"""The policy in force: what the program declares, and over it what an operator has set."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET

from holdfast.model.queue import Limits, QueueOverlay, QueuePolicy


def overlaid(declared: QueuePolicy, overlay: QueueOverlay) -> QueuePolicy:
    """Give the policy in force. In a lifo queue priorities do not age, whoever wanted either."""
    order = _of(overlay.order, declared.order)
    return QueuePolicy(
        order=order,
        limits=Limits(
            _of(overlay.rate, declared.limits.rate),
            _of(overlay.max_running, declared.limits.max_running),
            _of(overlay.breaker, declared.limits.breaker),
        ),
        lane_limits=Limits(
            _of(overlay.lane_rate, declared.lane_limits.rate),
            _of(overlay.lane_max_running, declared.lane_limits.max_running),
            _of(overlay.lane_breaker, declared.lane_limits.breaker),
        ),
        weights=_of(overlay.weights, declared.weights),
        max_size=_of(overlay.max_size, declared.max_size),
        on_full=_of(overlay.on_full, declared.on_full),
        spill_ttl_us=_of(overlay.spill_ttl_us, declared.spill_ttl_us),
        block_us=_of(overlay.block_us, declared.block_us),
        ageing_us=None if order == "lifo" else _of(overlay.ageing_us, declared.ageing_us),
        tells_drained=declared.tells_drained,
    )


def _of(overlay: Any, declared: Any) -> Any:
    return declared if overlay is UNSET else overlay


_encode = msgspec.json.Encoder(order="sorted").encode
_policy = msgspec.json.Decoder(QueuePolicy).decode
_overlay = msgspec.json.Decoder(QueueOverlay).decode


def packed(value: QueuePolicy | QueueOverlay) -> str:
    """Give a policy or an overlay as text that a store can keep, the same for equals."""
    return _encode(value).decode()


@lru_cache(maxsize=1024)
def unpacked(declared: str | None, overlay: str | None) -> tuple[QueuePolicy, QueueOverlay]:
    """Give the policy in force and the overlay, from the texts that a store has kept."""
    changes = _overlay(overlay) if overlay else QueueOverlay()
    return overlaid(_policy(declared) if declared else QueuePolicy(), changes), changes
