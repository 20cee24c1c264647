"""One session with the server: how it begins, what it demands, and how it is left behind at a fork.

**Promises.** `synchronous_commit = off` acknowledges what a crash may take back, so a session in which it is off turns
it on. `fsync = off` is the server's own and cannot be turned on from here: such a server is refused.

**Plans.** Every statement on the job path has its index. Whether the planner sees that must not depend on statistics
that are an hour old in a table that fills and empties in seconds: plans are generic, made once, and made of index
scans.

**Stopped clients.** A process that is stopped inside a step holds its locks. The server ends such a session after some
seconds, so that the leases it holds can end too.

**Poolers.** Behind one that lends sessions by transaction, the next transaction may be another session's, and what is set
in this one is left to strangers. So a pooled session keeps nothing: no prepared statement, no notices; all that the store
relies on is set anew in each transaction, for that transaction. A pooler is found out by itself: it answers a new client
in the server's place, with a process number that is not that of the session which then answers.
"""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg.types.numeric import Int8Dumper

from holdfast.errors import StoreUnsafe
from holdfast.store.postgres.schema import Connection

_DEFAULTS: Final = {"connect_timeout": "10", "application_name": "holdfast", "keepalives_idle": "15"}
_SETTINGS: Final = {
    "idle_in_transaction_session_timeout": "'5s'",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
_FOR_THE_SESSION: Final = "; ".join(
    (
        "set session characteristics as transaction isolation level read committed",
        *(f"set {name} = {value}" for name, value in _SETTINGS.items()),
    )
)
_FOR_ONE_TRANSACTION: Final = "; ".join(
    (
        "begin isolation level read committed read write",
        "select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'",
        *(f"set local {name} = {value}" for name, value in _SETTINGS.items()),
    )
)
_LEAST_VERSION: Final = 140000
_ASK: Final = """
select current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding'),
       current_setting('synchronous_commit')
"""
_left_behind: list[Connection] = []


def begin(conninfo: dict[str, Any], is_pooled: bool | None = None) -> Connection:
    """Open a session with all that the store relies on. Whether it is a pooler's is found out, unless it is given."""
    given = {**_DEFAULTS, **conninfo, "client_encoding": "UTF8"}
    connection: Connection = psycopg.connect(**given, autocommit=True, prepare_threshold=None)
    try:
        # One type for all whole numbers: else every width would be another statement to prepare.
        connection.adapters.register_dumper(int, Int8Dumper)
        row = connection.execute("select pg_backend_pid(), current_setting('synchronous_commit')").fetchone()
        assert row is not None
        if is_pooled is None:
            is_pooled = row[0] != connection.info.backend_pid
        if not is_pooled:
            _furnish(connection, is_careless=row[1] == "off")
    except BaseException:
        connection.close()
        raise
    return connection


def is_pooled(connection: Connection) -> bool:
    """Tell whether this session may be another one in its next transaction. Only one that may not prepares."""
    return connection.prepare_threshold is None


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """One transaction: committed if the block ends well, rolled back if it raises."""
    if not is_pooled(connection):
        with connection.transaction():
            yield
        return
    connection.execute(_FOR_ONE_TRANSACTION)
    try:
        yield
    except BaseException:
        with suppress(psycopg.Error):  # the line is broken: the server rolls back by itself
            connection.rollback()
        raise
    connection.commit()


def _furnish(connection: Connection, *, is_careless: bool) -> None:
    connection.prepare_threshold, connection.prepared_max = 3, 500
    connection.execute(_FOR_THE_SESSION)
    if is_careless:
        connection.execute("set synchronous_commit = on")


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
