"""The end of a job, read from its record: a value, or the reason why there is none."""

from typing import Any

from holdfast.errors import JobCancelled, JobExpired, JobFailed, JobNotFound, ResultGone
from holdfast.model.job import JobRecord
from holdfast.model.states import FINAL
from holdfast.policy.moments import as_datetime
from holdfast.wire.codec import Codec
from holdfast.wire.payload import unpack_value
from holdfast.wire.seal import KeyRing, open_result


def is_over(record: JobRecord | None) -> bool:
    """Tell whether there is nothing more to wait for."""
    return record is None or record.state in FINAL


def value_of(job_id: str, record: JobRecord | None, now_us: int, codec: Codec, ring: KeyRing | None) -> Any:
    """Give the result of a job that is over, or raise why it has none. The result's seal is verified."""
    if record is None:
        raise JobNotFound(
            f"no job {job_id} is in the store: it was never enqueued here, or its record is past its retention"
        )
    if record.state != "succeeded":
        raise _why_not(record)
    if record.result_until_us is not None and record.result_until_us <= now_us:
        raise ResultGone(
            f"the result of job {job_id} ({record.task}) was kept until {as_datetime(record.result_until_us):%F %T} UTC; "
            "give the task a longer result_ttl"
        )
    if record.result is None:
        return None
    return unpack_value(open_result(ring, job_id, record.result), codec)


def _why_not(record: JobRecord) -> Exception:
    job = f"job {record.id} ({record.task})"
    if record.state == "cancelled":
        return JobCancelled(f"{job} was cancelled: {record.reason or 'by request'}")
    if record.state == "expired":
        return JobExpired(f"{job} was not started before it expired")
    return JobFailed(f"{job} failed: {record.error or record.reason}", record.reason, record.traceback)
