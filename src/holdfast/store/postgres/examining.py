"""What the doctor asks about a PostgreSQL store: the server, its promises, room for sessions, what holds up vacuum."""

from collections.abc import Iterator
from typing import Final

from holdfast.errors import StoreError
from holdfast.model.finding import Finding
from holdfast.store.postgres.database import SESSIONS, Database
from holdfast.store.postgres.schema import Connection

_MIB: Final = 1024 * 1024
_LONG_S: Final = 600
_ASK: Final = """
select current_setting('server_version'), pg_total_relation_size(%(job)s::regclass),
       current_setting('max_connections')::bigint,
       (select count(*) from pg_stat_activity where backend_type = 'client backend'),
       current_setting('autovacuum'),
       (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::bigint
          from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
           and backend_type = 'client backend'),
       (select coalesce(n_live_tup, 0) from pg_stat_user_tables where relid = %(job)s::regclass),
       (select coalesce(n_dead_tup, 0) from pg_stat_user_tables where relid = %(job)s::regclass)
"""
_DEAD_MANY: Final = 100_000


def examine(connection: Connection, database: Database) -> Iterator[Finding]:
    """Examine an open store. Others' transactions are seen only as far as this user's rights go."""
    row = connection.execute(_ASK, {"job": database.statements.of("ns_job")}).fetchone()
    assert row is not None
    version, size, most, used, autovacuum, oldest_s, live, dead = row
    yield Finding("ok", "postgres", f"server {version}; {database.where}, jobs take {size / _MIB:,.1f} MiB")
    for note in database.notes:
        yield Finding("warn", "durability", note, "set full_page_writes = on in postgresql.conf")
    if database.is_pooled:
        yield _pooler(database)
    yield _sessions(most, used)
    yield _vacuum(autovacuum, oldest_s)
    yield _bloat(live, dead)
    yield _migrations(connection, database)


def _pooler(database: Database) -> Finding:
    detail = "a pooler stands between: every step is a transaction of its own, with nothing prepared"
    if not database.can_listen:
        slower = f"{detail}; a job may wait half a second for an idle worker"
        return Finding("warn", "pooler", slower, "name the server itself in the URL: ?direct=host:port")
    try:
        database.end(database.listening_session())
    except StoreError as error:
        return Finding("warn", "pooler", f"{detail}; no notices are heard: {error}", "correct direct= in the URL")
    return Finding("ok", "pooler", f"{detail}; notices are heard past it")


def _sessions(most: int, used: int) -> Finding:
    detail = f"{used} of {most} connections are in use"
    if most - used > SESSIONS + 1:  # one listens
        return Finding("ok", "connections", detail)
    remedy = f"a process of Holdfast uses up to {SESSIONS + 1}: raise max_connections, or put fewer processes to work"
    return Finding("warn", "connections", detail, remedy)


def _vacuum(autovacuum: str, oldest_s: int) -> Finding:
    if autovacuum != "on":
        return Finding("warn", "vacuum", "autovacuum is off: tables grow and claims slow down", "set autovacuum = on")
    if oldest_s > _LONG_S:
        detail = f"a transaction has been open for {oldest_s:,} s: what jobs leave behind cannot be cleared away"
        return Finding("warn", "vacuum", detail, "find it in pg_stat_activity (xact_start) and end it")
    return Finding("ok", "vacuum", f"autovacuum is on; the oldest transaction is {oldest_s} s old")


def _bloat(live: int, dead: int) -> Finding:
    detail = f"the table of jobs has about {live:,} live and {dead:,} dead rows"
    if dead < max(_DEAD_MANY, live):
        return Finding("ok", "bloat", detail)
    remedy = (
        "autovacuum does not keep up: end long transactions, then vacuum the table, or give autovacuum more to do with"
    )
    return Finding("warn", "bloat", detail, remedy)


def _migrations(connection: Connection, database: Database) -> Finding:
    row = connection.execute(database.statements.of("select schema, finished from ns_meta")).fetchone()
    begun, finished = row or (0, 0)
    if finished >= begun:
        return Finding("ok", "migrations", f"all {begun} are finished")
    detail = f"{begun} are begun and {finished} finished: programs of an older version can still use this database"
    return Finding("warn", "migrations", detail, "when the last of them is upgraded: holdfast migrate")
