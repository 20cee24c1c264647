"""When the next job of a queue, or of one of its lanes, may start; and whose turn it is.

A queue has a `Flow`, and so has each of its lanes: what the limits remember. A job starts if both let it. The rules are
here, as functions of the flow, the limits and the moment; every store carries them out inside `claim` and `settle`.

**Rate** (GCRA, a token bucket told by one number). `tat_us` is the moment at which the bucket would be full again, had it
room for one start only. A start moves it on by one interval; `burst` starts fit between now and it. A rate that is
lowered or raised takes effect at once: at the last start the bucket was empty at worst, and has been filling since then at
the rate that holds now.

**Breaker.** Failures in a row open the circuit; for `pause_us` nothing starts. Then it is probing: `probes` jobs may start.
One success closes it. As many failures as there are probes open it again. A probe that ends with no result (it was
handed back, snoozed, cancelled) gives its place back, so a circuit cannot hang in between.

    closed ── failures in a row ──► open ── pause over, at the next start ──► probing ── a success ──► closed
                                      ▲                                          │
                                      └────────────── all probes failed ─────────┘

A day after the last failure, or after the end of the pause, all of that is forgiven. So a lane that rests can be forgotten
altogether, and nobody can tell (`is_forgettable`).

**Turns** (weighted fair queueing, all jobs of one size). The lane with the lowest `turn` goes next, by name among equals;
a start moves its turn on by `STRIDE` over its weight. The queue's own `turn` is that of the lane served last, so no lane in
the round is behind it. One that is (it is new, had nothing ready or was held back) joins at the end of the round: behind all
that wait for their turn, just before those that have had it. It comes within one round and claims nothing that it missed;
and however many newcomers there are, they overtake nobody.

**Drains.** A queue whose policy wants it told is busy from the first start on, until somebody looks and finds that it holds
no job that runs or has yet to (`look_for_drain`). Each time that this is found has a number. Who acts on it says so
(`tell_of_drain`); if nobody did, the next who looks is given the number again. Drains of which nobody was told are told as
one, the last.

    resting ── a start ──► busy ── looked at, and found empty ──► resting, and one more to tell of
"""

from typing import Final, Literal

import msgspec

from holdfast.model.queue import Breaker, Limits, Rate, Standing
from holdfast.model.verdict import Outcome
from holdfast.policy.moments import SECOND

STRIDE: Final = 10_000
"""How far one start moves a lane of weight 1."""
HELD: Final[frozenset[Standing]] = frozenset({"paused", "broken", "probing", "slowed"})
"""How a lane may stand that is shown although it holds no job: somebody, or what happened there, holds it back."""
GRUDGE_US: Final = 86_400 * SECOND
"""How long failures are held against a lane that does nothing."""

Result = Literal["ok", "bad", "void"]
"""What a run tells a breaker. Void: it ended, but says nothing of whether such jobs succeed."""


class Flow(msgspec.Struct, array_like=True):
    """What the limits remember of one queue or one lane. Changed by the functions below and by nothing else."""

    turn: int = 0
    """Of a lane: when it is to be served, relative to others; 0 before it has joined for the first time."""
    tat_us: int = 0
    started_us: int = 0
    """When the last start was, if a rate was in force."""
    slow_until_us: int = 0
    is_paused: bool = False
    circuit: Literal["closed", "open", "probing"] = "closed"
    misses: int = 0
    """Failures in a row; while probing, those of probes."""
    until_us: int = 0
    """While the circuit is open or probing: when the pause ends or ended. While it is closed: when it last failed."""
    probes: int = 0
    """While probing: how many may still start."""
    is_busy: bool = False
    """Of a queue: whether something has started since it was last found drained."""
    drains: int = 0
    """Of a queue: how often it was found drained, having been busy."""
    told: int = 0
    """Of a queue: the number of the last drain that somebody has acted on."""


def standing(  # noqa: PLR0911 - a list of reasons, the first that holds
    flow: Flow, limits: Limits, running: int, now_us: int
) -> tuple[Standing, int | None]:
    """Tell whether a job may start now, else what holds it back and until when (None: until something happens)."""
    if flow.is_paused:
        return "paused", None
    rate = limits.rate
    if rate is not None and rate.interval_us == 0:
        return "stopped", None
    if limits.breaker is not None and not _is_forgiven(flow, now_us):
        if flow.circuit == "open" and flow.until_us > now_us:
            return "broken", flow.until_us
        if flow.circuit == "probing" and flow.probes <= 0:
            return "probing", None
    if limits.max_running is not None and running >= limits.max_running:
        return "full", None
    if flow.slow_until_us > now_us:
        return "slowed", flow.slow_until_us
    if rate is not None:
        next_us = _owed_us(flow, rate) - (rate.burst - 1) * rate.interval_us
        if next_us > now_us:
            return "limited", next_us
    return "open", None


def start(flow: Flow, limits: Limits, now_us: int) -> None:
    """Charge a flow that is open for one start."""
    if limits.rate is not None:
        flow.tat_us = max(_owed_us(flow, limits.rate), now_us) + limits.rate.interval_us
        flow.started_us = now_us
    if limits.breaker is not None:
        _forgive(flow, now_us)
        if flow.circuit == "open":
            flow.circuit, flow.misses, flow.probes = "probing", 0, limits.breaker.probes
        if flow.circuit == "probing":
            flow.probes -= 1


def end(flow: Flow, limits: Limits, result: Result, now_us: int) -> None:
    """Tell a flow how one of its runs ended."""
    breaker = limits.breaker
    if breaker is None:
        return
    _forgive(flow, now_us)
    if flow.circuit == "open":
        return  # a straggler of before: it is the probes that decide
    if result == "ok":
        flow.circuit, flow.misses, flow.probes = "closed", 0, 0
    elif result == "bad":
        _miss(flow, breaker, now_us)
    elif flow.circuit == "probing":
        flow.probes = min(flow.probes + 1, breaker.probes)


def slow(flow: Flow, until_us: int) -> None:
    """Leave a flow alone until then."""
    flow.slow_until_us = max(flow.slow_until_us, until_us)


def release(flow: Flow, now_us: int) -> bool:
    """Undo, by a person's wish, all that holds a flow back but its rate and its number. Return whether that changed it.

    What is over by now changes nothing: it may have been forgotten, and nobody shall be able to tell.
    """
    is_clean = _is_forgiven(flow, now_us) or (flow.circuit == "closed" and flow.misses == 0)
    was_held = flow.is_paused or flow.slow_until_us > now_us or not is_clean
    flow.is_paused, flow.circuit, flow.misses, flow.slow_until_us = False, "closed", 0, 0
    return was_held


def join(lane: Flow, queue: Flow, weight: int) -> None:
    """Let a lane that has something to start take its place in the round, or keep the one it has.

    Only a claim does this: until then a lane that comes and goes leaves no trace.
    """
    if is_outside(lane, queue):
        lane.turn = queue.turn + STRIDE // weight - 1


def is_outside(lane: Flow, queue: Flow) -> bool:
    """Tell whether a lane has no place in the round, and none that it left lately."""
    return lane.turn == 0 or lane.turn < queue.turn


def serve(lane: Flow, queue: Flow, weight: int) -> None:
    """Move a lane on behind the others, for one start."""
    queue.turn = lane.turn
    lane.turn += STRIDE // weight
    queue.is_busy = True


def begin_to_tell(queue: Flow) -> None:
    """Count drains from now on: what has started before is of no concern, unless it still runs when somebody looks."""
    queue.is_busy, queue.told = False, queue.drains


def look_for_drain(queue: Flow, *, has_running: bool, has_open: bool) -> int | None:
    """Note whether a queue has drained. Give the number of its last drain, if somebody has yet to act on it.

    `has_open` is whether any of its jobs has yet to start; those that are parked wait for a person, and do not count.
    """
    if has_running:
        queue.is_busy = True
    elif queue.is_busy and not has_open:
        queue.is_busy = False
        queue.drains += 1
    return queue.drains if queue.drains > queue.told else None


def tell_of_drain(queue: Flow, number: int) -> None:
    """Note that somebody has acted on this drain, and so on all before it. One that never was is none."""
    queue.told = max(queue.told, min(number, queue.drains))


def is_forgettable(lane: Flow, queue: Flow, now_us: int) -> bool:
    """Tell whether a lane that holds no jobs would be the same if it were made anew."""
    rests_us = rests_from_us(lane)
    return is_outside(lane, queue) and rests_us is not None and rests_us <= now_us


def rests_from_us(flow: Flow) -> int | None:
    """Tell from when on a flow has nothing to remember but its turn, if nothing happens to it. None: from never on."""
    if flow.is_paused:
        return None
    is_clean = flow.circuit == "closed" and flow.misses == 0
    return max(flow.tat_us, flow.slow_until_us, 0 if is_clean else flow.until_us + GRUDGE_US)


def result_of(outcome: Outcome) -> Result:
    """Tell what an outcome means to a breaker."""
    if outcome == "done":
        return "ok"
    return "bad" if outcome in ("failed", "retry", "crashed") else "void"


def _owed_us(flow: Flow, rate: Rate) -> int:
    return min(flow.tat_us, flow.started_us + rate.burst * rate.interval_us)


def _miss(flow: Flow, breaker: Breaker, now_us: int) -> None:
    is_probing = flow.circuit == "probing"
    flow.misses += 1
    if flow.misses >= (breaker.probes if is_probing else breaker.failures):
        flow.circuit, flow.misses, flow.until_us = "open", 0, now_us + breaker.pause_us
    elif not is_probing:
        flow.until_us = now_us


def _is_forgiven(flow: Flow, now_us: int) -> bool:
    return flow.until_us + GRUDGE_US <= now_us


def _forgive(flow: Flow, now_us: int) -> None:
    if _is_forgiven(flow, now_us):
        flow.circuit, flow.misses, flow.probes = "closed", 0, 0
