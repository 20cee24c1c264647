"""What `policy.identity` rules on a push that has a key, worked out before the script runs.

The rule depends on what only the server knows: whether a job has the key, whether it runs, and of which version it is. So
it is asked for all cases, and the script chooses. It then tells what it knew of the key, from which the rule gives the
answer.
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from holdfast.model.job import Conflict, NewJob
from holdfast.policy.identity import Holder, KeyState, Ruling, Success, fresh_for_us, remembered_until_us, rule

_OTHER: Final = "another version"


class _Holder(msgspec.Struct, array_like=True):
    id: str
    is_running: bool
    version: str | bool


class _Success(msgspec.Struct, array_like=True):
    id: str
    at_us: int
    until_us: int
    version: str | bool


class _Known(msgspec.Struct, array_like=True):
    now_us: int
    holder: _Holder | bool
    successor: _Holder | bool
    success: _Success | bool


_known: Final = msgspec.msgpack.Decoder(_Known).decode


def identity(job: NewJob) -> tuple[Any, ...]:
    """Give key, version and rulings as `push.lua` takes them."""
    cases = _cases(job.on_conflict, job.version is not None, job.is_forced, job.runs_after, job.fresh_for_us)
    return job.key, job.version, remembered_until_us(job.keep_done_s, job.fresh_for_us, 0), *cases


def ruling(job: NewJob, packed: bytes) -> Ruling:
    """Give what was done with a push, from what the script knew of its key."""
    known = _known(packed)
    state = KeyState(_holder(known.holder), _holder(known.successor), _success(known.success))
    return rule(job, state, known.now_us)


@lru_cache(maxsize=1024)
def _cases(
    on_conflict: Conflict, has_version: bool, is_forced: bool, runs_after: bool, fresh_us: int | None
) -> tuple[Any, ...]:
    version = "" if has_version else None
    job = NewJob(
        "", "", "", b"", key="", on_conflict=on_conflict, fresh_for_us=fresh_us, version=version, is_forced=is_forced,
        runs_after=runs_after,
    )  # fmt: skip
    waits = rule(job, KeyState(Holder("it")), 0)
    same, other = (rule(job, KeyState(Holder("it", True, its)), 0) for its in (version, _OTHER))
    assert same.target == other.target or same.act != other.act, (
        "whoever follows asks the one before to stop, or does not"
    )
    asks = any(one.act == "follow" and one.target is not None for one in (same, other))
    return waits.act, same.act, other.act, asks, fresh_for_us(job, version), fresh_for_us(job, _OTHER)


def _holder(known: _Holder | bool) -> Holder | None:
    return Holder(known.id, known.is_running, _version(known.version)) if isinstance(known, _Holder) else None


def _success(known: _Success | bool) -> Success | None:
    if not isinstance(known, _Success):
        return None
    return Success(known.id, known.at_us, known.until_us, _version(known.version))


def _version(known: str | bool) -> str | None:
    return known if isinstance(known, str) else None
