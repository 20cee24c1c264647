"""What can be said of a queue, by the program that declares it and by whoever changes it while it runs: checked here, with
one clear sentence for what is wrong, and turned into a policy or an overlay.

The same names mean the same in both places. Those that begin with `lane_` hold for each lane by itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

import msgspec
from msgspec import UNSET

from holdfast.app.breaker import Breaker
from holdfast.app.option_types import Seconds
from holdfast.app.options import nearest, whole_number
from holdfast.errors import InvalidInput, UnknownOption
from holdfast.model import queue as model
from holdfast.model.queue import Limits, OnFull, Order, QueueOverlay, QueuePolicy, QueueRecord, Rate
from holdfast.policy.ageing import check_order, parse_ageing
from holdfast.policy.moments import duration_us
from holdfast.policy.rates import parse_breaker, parse_rate
from holdfast.policy.shares import lane_weights


class QueueOptions(TypedDict, total=False):
    """Options of `app.queue(…)` and of `queue.set(…)`. None is no limit."""

    order: Order
    ageing: Seconds | None
    rate: str | None
    burst: int | None
    max_running: int | None
    breaker: Breaker | None
    lane_rate: str | None
    lane_burst: int | None
    lane_max_running: int | None
    lane_breaker: Breaker | None
    weights: Mapping[str, int]
    max_size: int | None
    on_full: OnFull
    spill_ttl: Seconds
    block_timeout: Seconds | None


def policy_of(given: Mapping[str, object], *, tells_drained: bool = False) -> QueuePolicy:
    """Check the options of a queue's declaration, and give the policy that they come to."""
    checked = _checked(given, "a queue")
    order = checked.get("order", "fifo")
    check_order(order, checked.get("ageing_us"), "leave one of them out")
    return QueuePolicy(
        order,
        Limits(checked.get("rate"), checked.get("max_running"), checked.get("breaker")),
        Limits(checked.get("lane_rate"), checked.get("lane_max_running"), checked.get("lane_breaker")),
        checked.get("weights", {}),
        **{name: checked[name] for name in _BY_NAME if name in checked},
        tells_drained=tells_drained,
    )


def overlay_with(record: QueueRecord, given: Mapping[str, object]) -> QueueOverlay:
    """Give a queue's overlay in which these options are set as well. A limit that is set to None is taken away."""
    if not given:
        raise InvalidInput("expected something to set, e.g. set(rate='100/m'), got nothing")
    if "on_drained" in given:
        raise UnknownOption("on_drained belongs to the program and cannot be set by hand; give it to app.queue(…)")
    checked = _checked(given, "a queue")
    check_order(
        checked.get("order", record.policy.order),
        checked.get("ageing_us", record.policy.ageing_us),
        "set order='fifo' or ageing=None as well",
    )
    return msgspec.structs.replace(record.overlay, **checked)


def overlay_without(overlay: QueueOverlay, names: Iterable[str]) -> QueueOverlay:
    """Give an overlay in which these options are not set; without names, the empty one."""
    names = tuple(names)
    for name in names:
        if name not in _FIELDS:
            raise UnknownOption(f"nothing called {name!r} can be unset of a queue{nearest(name, _FIELDS)}")
    fields = [_KEPT_AS.get(name, name) for name in names or _FIELDS]
    return msgspec.structs.replace(overlay, **dict.fromkeys(fields, UNSET))


_FIELDS: Final = (
    "order", "rate", "max_running", "breaker", "lane_rate", "lane_max_running", "lane_breaker", "weights",
    "max_size", "on_full", "spill_ttl", "block_timeout", "ageing",
)  # fmt: skip
_KEPT_AS: Final = {"ageing": "ageing_us", "spill_ttl": "spill_ttl_us", "block_timeout": "block_us"}
_BY_NAME: Final = ("max_size", "on_full", "spill_ttl_us", "block_us", "ageing_us")
_KNOWN: Final = (*_FIELDS, "burst", "lane_burst")


def _checked(given: Mapping[str, object], where: str) -> dict[str, Any]:
    for name in given:
        if name not in _KNOWN:
            raise UnknownOption(f"{where} has no option {name!r}{nearest(name, _KNOWN)}")
    checked: dict[str, Any] = {}
    for prefix in ("", "lane_"):
        if f"{prefix}rate" in given or given.get(f"{prefix}burst") is not None:
            checked[f"{prefix}rate"] = _rate(given, prefix)
        if (name := f"{prefix}max_running") in given:
            checked[name] = None if given[name] is None else whole_number(given[name], name, 1)
        if (name := f"{prefix}breaker") in given:
            checked[name] = _breaker(given[name], name)
    if "order" in given:
        checked["order"] = _order(given["order"])
    if "ageing" in given:
        checked["ageing_us"] = None if given["ageing"] is None else parse_ageing(given["ageing"])
    if "weights" in given:
        checked["weights"] = lane_weights(given["weights"])
    return checked | _bound(given)


def _bound(given: Mapping[str, object]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    if "max_size" in given:
        size = given["max_size"]
        checked["max_size"] = None if size is None else whole_number(size, "max_size")
    if "on_full" in given:
        if given["on_full"] not in ("reject", "block", "spill"):
            raise InvalidInput(f"expected on_full to be 'reject', 'block' or 'spill', got: {given['on_full']!r}")
        checked["on_full"] = given["on_full"]
    if "spill_ttl" in given:
        checked["spill_ttl_us"] = duration_us(given["spill_ttl"], "spill_ttl")
    if "block_timeout" in given:
        timeout = given["block_timeout"]
        checked["block_us"] = None if timeout is None else duration_us(timeout, "block_timeout")
    return checked


def _rate(given: Mapping[str, object], prefix: str) -> Rate | None:
    return parse_rate(given.get(f"{prefix}rate"), given.get(f"{prefix}burst"), f"{prefix}rate")


def _breaker(value: object, what: str) -> model.Breaker | None:
    if value is None:
        return None
    if not isinstance(value, Breaker):
        raise InvalidInput(
            f"expected {what} to be a Breaker, e.g. Breaker(failures=10, pause=300, probes=3), got: {value!r}"
        )
    return parse_breaker(value.failures, value.pause, value.probes, what)


def _order(value: object) -> Order:
    if value == "fifo" or value == "lifo":  # noqa: PLR1714 - so that the type is known
        return value
    raise InvalidInput(f"expected order to be 'fifo' or 'lifo', got: {value!r}")
