"""What becomes of a push under a key that is known already.

In one queue at most one unfinished job holds a key, and at most one more, its *successor*, waits for it to end (I23). The
key is free in the step in which its holder ends or goes; the successor then takes it over. A success is remembered for a
time, so that a push can find that it is still fresh.

| the key is                 | the push                                                                              |
|----------------------------|---------------------------------------------------------------------------------------|
| free                       | is stored; unless a success is fresh enough, or of the same version: then `duplicate`   |
| held by a job that waits   | merge: the job takes the higher priority and the earlier time: `merged`               |
|                            | keep: nothing changes: `duplicate`                                                    |
|                            | replace: that job is cancelled, this one is stored in its place: `created`            |
|                            | reject: `refused`                                                                     |
| held by a job that runs    | is a successor, if asked for (`runs_after`), if it is to replace, or if its version is |
|                            | another: stored as `waiting`, or, if there is a successor, treated as above by that    |
|                            | else it changes nothing: `duplicate`, or `refused` if it is to be rejected             |

What would be stored by these rules is stored only if its key has not been *seen*, where the push asks for that: then it is
needless (`duplicate`), and names no other job, for that may be gone for long. The key is marked in the step that stores the
job; what is not stored marks nothing.

`is_forced` passes by freshness, version and the seen-set, and by nothing else. Every answer says why, and names the job that
stands, if it is known.
"""

from typing import Final, Literal

import msgspec

from holdfast.model.job import NewJob, Pushed
from holdfast.policy.seen import SEEN

Act = Literal["create", "follow", "merge", "replace", "nothing"]

FOR_EVER: Final = 2**52


class Holder(msgspec.Struct, frozen=True):
    """An unfinished job that has the key, or waits for it."""

    id: str
    is_running: bool = False
    version: str | None = None


class Success(msgspec.Struct, frozen=True):
    """The last success under a key, remembered until `until_us`."""

    id: str
    at_us: int
    until_us: int
    version: str | None = None


class KeyState(msgspec.Struct, frozen=True):
    """What is known of a key at the moment of a push."""

    holder: Holder | None = None
    successor: Holder | None = None
    success: Success | None = None


class Ruling(msgspec.Struct, frozen=True):
    """What is to be done with a push, and the answer to it.

    create    store it; it holds the key
    follow    store it as waiting; it is the successor. `target` is set if the running holder is to be asked to stop
    merge     give `target` its priority and its time, where they are better
    replace   cancel `target`, and store it in that place: holder or successor
    nothing   leave all as it is
    """

    act: Act
    answer: Pushed
    target: str | None = None


def rule(new: NewJob, known: KeyState, now_us: int) -> Ruling:
    """Decide what becomes of a push of a job that has a key. Its id is new."""
    holder = known.holder
    if holder is None:
        return _rule_on_success(new, known.success, now_us)
    if not holder.is_running:
        return _rule_on_waiting(new, holder)
    if not _wants_to_follow(new, holder):
        return _stand_back(new, holder, "is running now")
    if known.successor is not None:
        return _rule_on_waiting(new, known.successor)
    asked = holder.id if new.on_conflict == "replace" else None
    return Ruling("follow", Pushed(new.id, "created", f"it runs after job {holder.id}, which is running now"), asked)


def is_needless(new: NewJob, was_seen: bool) -> bool:
    """Tell whether a push that would be stored is not, because its key was seen before."""
    return new.seen is not None and was_seen and not new.is_forced


def seen(job_id: str) -> Pushed:
    """Answer a push that is needless because its key was seen."""
    return Pushed(job_id, "duplicate", SEEN)


def fresh_for_us(new: NewJob, version: str | None) -> int:
    """Tell for how long after a success of this version the push is needless. 0: not at all."""
    if new.is_forced or (new.version is not None and new.version != version):
        return 0
    if new.fresh_for_us is None:
        return 0 if new.version is None else FOR_EVER
    return new.fresh_for_us


def remembered_until_us(keep_done_s: int, fresh_us: int | None, ended_us: int) -> int:
    """Tell how long the success of a job is remembered: as long as its record, or as it counts as fresh."""
    return ended_us + max(keep_done_s * 1_000_000, fresh_us or 0)


def _rule_on_success(new: NewJob, success: Success | None, now_us: int) -> Ruling:
    if success is None or success.until_us <= now_us or now_us >= success.at_us + fresh_for_us(new, success.version):
        return Ruling("create", Pushed(new.id, "created"))
    ago_s = (now_us - success.at_us) / 1_000_000
    what = "" if new.version is None else f" with version {new.version!r}"
    return Ruling("nothing", Pushed(success.id, "duplicate", f"job {success.id} succeeded{what} {ago_s:.1f} s ago"))


def _rule_on_waiting(new: NewJob, job: Holder) -> Ruling:
    if new.on_conflict == "merge":
        return Ruling("merge", Pushed(job.id, "merged", f"job {job.id} has this key and has yet to start"), job.id)
    if new.on_conflict == "replace":
        return Ruling("replace", Pushed(new.id, "created", f"it replaced job {job.id}"), job.id)
    return _stand_back(new, job, "has yet to start")


def _stand_back(new: NewJob, job: Holder, how: str) -> Ruling:
    if new.on_conflict == "reject":
        return Ruling("nothing", Pushed(new.id, "refused", f"job {job.id} has the key {new.key!r} and {how}"))
    return Ruling("nothing", Pushed(job.id, "duplicate", f"job {job.id} has this key and {how}"))


def _wants_to_follow(new: NewJob, holder: Holder) -> bool:
    if new.runs_after or new.on_conflict == "replace":
        return True
    return new.on_conflict == "merge" and new.version is not None and new.version != holder.version
