"""One session with the server: how it begins, what it demands, and how it is left behind at a fork.

**Promises.** `synchronous_commit = off` acknowledges what a crash may take back, so a session in which it is off turns
it on. `fsync = off` is the server's own and cannot be turned on from here: such a server is refused.

**Plans.** Every statement on the job path has its index. Whether the planner sees that must not depend on statistics
that are an hour old in a table that fills and empties in seconds: plans are generic, made once, and made of index
scans.

**Stopped clients.** A process that is stopped inside a step holds its locks. The server ends such a session after some
seconds, so that the leases it holds can end too.
"""

import os
import select
from typing import Any, Final

import psycopg
from psycopg.types.numeric import Int8Dumper

from holdfast.errors import StoreUnsafe
from holdfast.store.postgres.schema import Connection

_DEFAULTS: Final = {"connect_timeout": "10", "application_name": "holdfast", "keepalives_idle": "15"}
_SETTINGS: Final = (
    "set session characteristics as transaction isolation level read committed; "
    "set idle_in_transaction_session_timeout = '5s'; "
    "set client_encoding = 'UTF8'; set jit = off; set plan_cache_mode = force_generic_plan; "
    "set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off"
)
_LEAST_VERSION: Final = 140000
_ASK: Final = """
select current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding'),
       current_setting('synchronous_commit')
"""
_left_behind: list[Connection] = []


def begin(conninfo: dict[str, Any]) -> Connection:
    """Open a session with all that the store relies on."""
    connection: Connection = psycopg.connect(**{**_DEFAULTS, **conninfo}, autocommit=True, prepare_threshold=3)
    try:
        connection.prepared_max = 500
        # One type for all whole numbers: else every width would be another statement to prepare.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.execute(_SETTINGS)
        if connection.execute("show synchronous_commit").fetchone() == ("off",):
            connection.execute("set synchronous_commit = on")
    except BaseException:
        connection.close()
        raise
    return connection


def check(connection: Connection, where: str) -> tuple[str, ...]:
    """Refuse a server that cannot keep the promise of the tier `durable`; tell what people should know of it."""
    version = connection.info.server_version
    if version < _LEAST_VERSION:
        raise StoreUnsafe(
            f"{where} runs PostgreSQL {version // 10000}; Holdfast needs {_LEAST_VERSION // 10000} or later"
        )
    row = connection.execute(_ASK).fetchone()
    assert row is not None
    fsync, full_page_writes, encoding, synchronous_commit = row
    if fsync == "off":
        raise StoreUnsafe(
            f"{where} runs with fsync = off, so no job is durable there; set fsync = on in postgresql.conf"
        )
    if synchronous_commit == "off":
        raise StoreUnsafe(f"{where} keeps synchronous_commit = off, so no job is durable there; set it to on")
    if encoding != "UTF8":
        raise StoreUnsafe(f"{where} has the encoding {encoding}; create a database with the encoding UTF8")
    if full_page_writes == "off":
        return ("full_page_writes is off: a crash of the machine may damage pages unless the file system prevents it",)
    return ()


def is_fresh(connection: Connection) -> bool:
    """Tell whether an idle session can be used: a server that ended it has said so, or closed the line."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def leave_behind(connection: Connection) -> None:
    """Let go, in a forked child, of a session that is the parent's: a word to the server would end it."""
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nowhere, connection.fileno(), inheritable=False)
    os.close(nowhere)
    _left_behind.append(connection)  # never collected: its end would be an end of file that is not its own
