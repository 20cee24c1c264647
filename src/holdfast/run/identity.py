"""Who a worker is: a new id for every start, since an id whose lease has ended is dead for ever."""

import os
import re
import secrets
from collections.abc import Sequence

from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND


def new_worker(tasks: Sequence[str], queues: Sequence[str] | None, lease_s: float) -> WorkerRecord:
    """Describe a worker of this process, under an id that was never used: `web-3-412-9f3c21ab`."""
    host = os.uname().nodename
    readable = re.sub(r"[^A-Za-z0-9_.-]", "_", host)[:24]
    return WorkerRecord(
        id=f"{readable}-{os.getpid()}-{secrets.token_hex(4)}",
        host=host,
        pid=os.getpid(),
        tasks=tuple(tasks),
        queues=tuple(queues or ()),
        lease_us=round(lease_s * SECOND),
    )
