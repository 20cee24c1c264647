"""`holdfast queue set` and `holdfast queue unset`: what goes before the declared policy until it is taken back.

The overlay is read, changed and written as a whole: of two people who do so in the same instant, the later one's counts.
"""

from typing import Any, Final

import click
from msgspec import UNSET
from msgspec.structs import asdict, replace

from holdfast.cli.documents import overlay_document, settings_document
from holdfast.cli.limits import BREAKER, RATE, WEIGHT
from holdfast.cli.output import print_json, say
from holdfast.cli.picking import get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.standings import setting_of, spaced
from holdfast.cli.times import DURATION
from holdfast.errors import InvalidInput
from holdfast.model.queue import QueueOverlay, QueueRecord, Rate
from holdfast.policy.ageing import check_order, parse_ageing
from holdfast.store.protocol import Store

_LIMITS: Final = ("rate", "max-running", "breaker", "lane-rate", "lane-max-running", "lane-breaker", "max-size")
_FIELDS: Final = ("order", "ageing", *_LIMITS, "weights", "on-full")
_PLAIN: Final = ("order", "max_running", "breaker", "lane_max_running", "lane_breaker", "max_size", "on_full")
_BURST: Final = click.IntRange(1, 1_000_000)


@click.command("set")
@click.argument("name")
@click.option("--rate", type=RATE, metavar="RATE", help="Starts over a time: 100/m, 5/s, 1/10s; 0/s stops it.")
@click.option("--burst", type=_BURST, metavar="N", help="How many may start at once after a rest.")
@click.option("--max-running", type=_BURST, metavar="N", help="How many may run at once.")
@click.option(
    "--breaker", type=BREAKER, metavar="N:TIME:M", help="After N failures pause so long, then try M: 10:5m:3."
)
@click.option("--lane-rate", type=RATE, metavar="RATE", help="As --rate, for each lane.")
@click.option("--lane-burst", type=_BURST, metavar="N", help="As --burst, for each lane.")
@click.option("--lane-max-running", type=_BURST, metavar="N", help="As --max-running, for each lane.")
@click.option("--lane-breaker", type=BREAKER, metavar="N:TIME:M", help="As --breaker, for each lane.")
@click.option("--weight", "weights", type=WEIGHT, multiple=True, metavar="LANE=N", help="A lane's share. Repeatable.")
@click.option("--order", type=click.Choice(["fifo", "lifo"]), help="Which goes first among equals.")
@click.option(
    "--ageing", type=DURATION, metavar="TIME", help="A job that is due gains a point of priority in it: 60, 5m."
)
@click.option("--no-ageing", is_flag=True, help="Priorities do not age.")
@click.option("--max-size", type=click.IntRange(0), metavar="N", help="How many jobs may wait to start.")
@click.option(
    "--on-full", type=click.Choice(["reject", "block", "spill"]), help="What becomes of a push that finds no room."
)
@click.option("--no-limit", "no_limits", type=click.Choice(_LIMITS), multiple=True, help="Lift this limit. Repeatable.")
@shared
def set_(name: str, **wishes: Any) -> None:
    """Set limits, shares, the bound or the order of a queue, before what the program declares.

    It takes effect at once, on all workers, and stays until `holdfast queue unset`. What is not given stays as it is.

    \b
    Examples:
      holdfast queue set mail --rate 100/m --burst 20 --max-running 8
      holdfast queue set crawl --lane-rate 1/s --lane-breaker 10:5m:3 --weight gold=4
      holdfast queue set mail --no-limit rate --json
    """
    with opened() as store:
        record = get_queue(store, name)
        _change(store, record, _with(record, wishes))


@click.command()
@click.argument("name")
@click.argument("fields", nargs=-1, type=click.Choice(_FIELDS), metavar="[FIELD]...")
@click.option("--all", "is_all", is_flag=True, help="All that was set.")
@shared
def unset(name: str, fields: tuple[str, ...], is_all: bool) -> None:
    """Take back what was set about a queue: what the program declares holds again.

    FIELD is order, ageing, rate (with its burst), max-running, breaker, lane-rate, lane-max-running, lane-breaker, weights,
    max-size or on-full.

    \b
    Examples:
      holdfast queue unset mail rate max-running
      holdfast queue unset mail --all --json
    """
    if bool(fields) == is_all:
        raise InvalidInput(f"expected fields to unset ({', '.join(_FIELDS)}) or --all, one of the two")
    with opened() as store:
        record = get_queue(store, name)
        kept = {} if is_all else asdict(record.overlay) | dict.fromkeys(map(_attribute, fields), UNSET)
        _change(store, record, QueueOverlay(**kept))


def _with(record: QueueRecord, wishes: dict[str, Any]) -> QueueOverlay:
    """Give the overlay with the wishes in it."""
    policy = record.policy
    lifted = {_attribute(field) for field in wishes["no_limits"]}
    named = {field: wishes[field] for field in _PLAIN}
    rates = {
        "rate": _rate("", policy.limits.rate, wishes),
        "lane_rate": _rate("lane-", policy.lane_limits.rate, wishes),
    }
    weights = {"weights": policy.weights | dict(wishes["weights"]) if wishes["weights"] else None}
    given = {field: value for field, value in (named | rates | weights).items() if value is not None}
    if both := sorted(lifted & given.keys()):
        option = both[0].replace("_", "-")
        raise InvalidInput(f"expected either --{option} or --no-limit {option}, got both")
    changes = given | dict.fromkeys(lifted) | _ageing(wishes)
    if not changes:
        raise InvalidInput("nothing to set: give a limit such as --rate 100/m, or --order, --weight or --no-limit")
    in_force = (changes.get("order", policy.order), changes.get("ageing_us", policy.ageing_us))
    check_order(*in_force, "give --order fifo or --no-ageing as well")
    return replace(record.overlay, **changes)


def _ageing(wishes: dict[str, Any]) -> dict[str, int | None]:
    if wishes["no_ageing"] and wishes["ageing"] is not None:
        raise InvalidInput("expected either --ageing or --no-ageing, got both")
    if wishes["no_ageing"]:
        return {"ageing_us": None}
    return {} if wishes["ageing"] is None else {"ageing_us": parse_ageing(wishes["ageing"], "--ageing")}


def _rate(prefix: str, in_force: Rate | None, wishes: dict[str, Any]) -> Rate | None:
    """Put a rate and a burst together; the one that is not given stays as it is."""
    rate, burst = wishes[_attribute(f"{prefix}rate")], wishes[_attribute(f"{prefix}burst")]
    if rate is None and burst is None:
        return None
    base = rate or in_force
    if base is None:
        raise InvalidInput(f"expected --{prefix}rate to go with --{prefix}burst: there is no rate yet, e.g. 100/m")
    return Rate(base.interval_us, burst or (in_force.burst if in_force else 1))


def _change(store: Store, record: QueueRecord, overlay: QueueOverlay) -> None:
    changed = store.queues.set_overlay(record.name, overlay)
    after = get_queue(store, record.name)
    if is_json():
        settings = {"before": settings_document(record.policy), "after": settings_document(after.policy)}
        print_json({"queue": record.name, "changed": changed, **settings, "overlay": overlay_document(after)})
    elif not changed:
        say(f"queue {record.name}: nothing changed")
    else:
        for line in _differences(record, after):
            say(f"queue {record.name}: {line}")


def _differences(before: QueueRecord, after: QueueRecord) -> list[str]:
    old, new = settings_document(before.policy), settings_document(after.policy)
    lines = [
        f"{spaced(name)} {setting_of(name, old)} → {setting_of(name, new)}" for name in new if old[name] != new[name]
    ]
    return lines or [f"holds as before, {_basis(after)}"]


def _basis(after: QueueRecord) -> str:
    by_hand = ", ".join(map(spaced, overlay_document(after)))
    return f"with {by_hand} set by hand" if by_hand else "by what the program declares"


def _attribute(field: str) -> str:
    return "ageing_us" if field == "ageing" else field.replace("-", "_")
