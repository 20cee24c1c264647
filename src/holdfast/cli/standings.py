"""How a queue or a lane stands, and what limits it, for people."""

from typing import Any

from holdfast.cli.documents import Document
from holdfast.cli.output import cell
from holdfast.cli.times import span
from holdfast.model.queue import LaneRecord, Limits, QueuePolicy, QueueRecord
from holdfast.policy.moments import SECOND
from holdfast.policy.rates import shown_breaker, shown_rate


def standing_cell(record: QueueRecord | LaneRecord, now_us: int) -> Any:
    """Give the cell that tells whether a queue or a lane is open, else what holds it back, and for how long still."""
    if isinstance(record, QueueRecord) and record.is_paused:
        return cell("paused", "bold yellow")
    if record.standing == "open":
        return cell("open", "green")
    left = "" if record.until_us is None else f" ({span(max(0, record.until_us - now_us) / SECOND)} left)"
    return cell(f"{record.standing}{left}", "bold yellow")


def limits_of(policy: QueuePolicy) -> str:
    """Tell all limits of a queue in one line: `100/m, burst 20, 8 at once; each lane 1/s`."""
    own, each = _said(policy.limits), _said(policy.lane_limits)
    return "; ".join(part for part in (own, each and f"each lane {each}") if part)


def setting_of(name: str, settings: Document) -> str:
    """Give one of the settings of `documents.settings_document`."""
    value = settings[name]
    if isinstance(value, dict):
        return ", ".join(f"{lane or '–'}={share}" for lane, share in value.items()) or "none"
    return "none" if value is None else str(value)


def spaced(name: str) -> str:
    return name.replace("_", " ")


def _said(limits: Limits) -> str:
    burst = limits.rate.burst if limits.rate is not None else 1
    parts = (
        shown_rate(limits.rate),
        f"burst {burst}" if burst > 1 else None,
        None if limits.max_running is None else f"{limits.max_running:,} at once",
        None if limits.breaker is None else f"breaker {shown_breaker(limits.breaker)}",
    )
    return ", ".join(part for part in parts if part)
