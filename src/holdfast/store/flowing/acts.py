"""What people do to a queue and its lanes, and what upkeep does: each is one step with the queue's lock held."""

from holdfast.model.queue import QueueOverlay, QueuePolicy
from holdfast.policy import flow as rules
from holdfast.policy.overlay import packed
from holdfast.policy.overlay import unpacked as policies
from holdfast.store.flowing.ledger import Ledger, unpacked
from holdfast.store.flowing.ledger import packed as packed_flow
from holdfast.store.flowing.round import SLICE, Round


def set_policy(ledger: Ledger, policy: QueuePolicy, now_us: int) -> None:
    """Declare a policy. What happened before is judged by the one that was in force."""
    _change(ledger, packed(policy), ledger.load().overlay, now_us)


def set_overlay(ledger: Ledger, overlay: QueueOverlay, now_us: int) -> None:
    """Set what goes before the declared policy."""
    _change(ledger, ledger.load().declared, packed(overlay), now_us)


def pause_lane(ledger: Ledger, name: str, now_us: int) -> bool:
    """Start nothing in this lane until it is released. Return whether that changed anything."""
    ledger.begin_to_flow(now_us)
    round_ = Round(ledger, now_us)
    (lane,) = round_.look_at([name])
    has_changed, lane.flow.is_paused = not lane.flow.is_paused, True
    round_.place(lane)
    round_.save()
    return has_changed


def release_lane(ledger: Ledger, name: str, now_us: int) -> bool:
    """Let a lane go on that was paused, broken or slowed. Return whether that changed anything."""
    round_ = Round(ledger, now_us)
    round_.read_news()
    (lane,) = round_.look_at([name])
    was_held = rules.release(lane.flow, now_us)
    round_.place(lane)
    round_.save()
    return was_held


def release_queue(ledger: Ledger, now_us: int) -> bool:
    """Let the queue as a whole go on. Lanes that are held back themselves stay so."""
    round_ = Round(ledger, now_us)
    round_.read_news()
    was_held = rules.release(round_.flow, now_us)
    round_.save()
    return was_held


def find_drained(ledger: Ledger) -> int | None:
    """Note whether the queue has drained. Give the number of its last drain, if somebody has yet to act on it."""
    book = ledger.load()
    if not policies(book.declared, book.overlay)[0].tells_drained:
        return None
    flow = unpacked(book.flow)
    has_running, has_open = ledger.has_jobs()
    number = rules.look_for_drain(flow, has_running=has_running, has_open=has_open)
    if flow != unpacked(book.flow):
        ledger.keep(packed_flow(flow))
    return number


def tell_drained(ledger: Ledger, number: int) -> None:
    """Note that a drain, and so each before it, has been acted on."""
    flow = unpacked(ledger.load().flow)
    rules.tell_of_drain(flow, number)
    ledger.keep(packed_flow(flow))


def forget_idle(ledger: Ledger, now_us: int) -> int:
    """Forget a slice of the lanes that would be the same if they were made anew. Return how many were looked at."""
    round_ = Round(ledger, now_us)
    idle = round_.look_at(ledger.names_at("idle", now_us, SLICE))
    for lane in idle:
        round_.place(lane)
    round_.save()
    rested = ledger.names_at("rested", max(round_.flow.turn - 1, 0), SLICE)
    ledger.forget(rested)
    return max(len(idle), len(rested))


def _change(ledger: Ledger, declared: str | None, overlay: str | None, now_us: int) -> None:
    book = ledger.load()
    before, policy = policies(book.declared, book.overlay)[0], policies(declared, overlay)[0]
    if book.is_flowing:
        round_ = Round(ledger, now_us)
        round_.read_news()
        if policy.tells_drained and not before.tells_drained:
            rules.begin_to_tell(round_.flow)
        round_.save()
    ledger.put_in_force(declared, overlay, policy)
    if not book.is_flowing and not policy.is_plain:
        ledger.begin_to_flow(now_us)
    elif book.is_flowing and policy != before:
        ledger.stir_all(now_us)
