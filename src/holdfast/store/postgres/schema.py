"""The store's SQL: statements by name, and numbered migrations.

Statements are in `sql/NAME.sql` (see `texts`), migrations in `migrations/NNNN_name.sql`. Tables are written `ns_…` there;
each namespace is a schema of the database, and `"namespace".` takes the place of `ns_`.

**Two steps.** A migration is `NNNN_name.sql`, which only adds: programs of the version before go on beside it. What
takes something away from them is in `NNNN_name.after.sql`, and runs only when someone says so (`holdfast migrate`),
after the last of them is gone. `ns_meta` has two numbers: `schema`, the last migration that was begun, and `finished`,
the last whose second step is done. A program that does not know the first goes on; one that does not know the second is
refused.

Each runs in one transaction, behind an advisory lock of the namespace, so ten processes that open a new database at once
make one schema. A process that dies in the middle leaves the schema as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import psycopg

from holdfast.errors import SchemaTooNew
from holdfast.store.texts import Texts, read

Connection = psycopg.Connection[tuple[Any, ...]]


class Statements(Texts):
    """The statements of one namespace, by file name: `statements["claim_fifo"]`. Each namespace is a schema."""

    def __init__(self, namespace: str) -> None:
        super().__init__(__package__, namespace, '"{}".')  # quoted: a namespace may be a word of SQL


class Migration(NamedTuple):
    """One migration: its name, what it adds, and what it takes away from those that do not know it."""

    name: str
    before: str
    after: str


def migrate(connection: Connection, statements: Statements, where: str) -> None:
    """Add what is missing of the schema, or refuse a database that this version cannot work with any more."""
    begun, _ = _progress(connection, statements, where)
    if begun >= len(migrations()):
        return
    with _locked(connection, statements):
        # Not `if not exists`: that asks for the right to make schemas also where there is nothing to make.
        if not _is_there(connection, "to_regnamespace", f'"{statements.namespace}"'):
            connection.execute(f'create schema "{statements.namespace}"')
        begun, finished = _progress(connection, statements, where)
        for migration in migrations()[begun:]:
            connection.execute(statements.of(migration.before))
            if not begun and migration.after:  # a new schema: there is nobody from whom something is taken away
                connection.execute(statements.of(migration.after))
        newest = len(migrations())
        _note(connection, statements, max(begun, newest), finished if begun else newest)


def finish(connection: Connection, statements: Statements, where: str) -> list[str]:
    """Do the second steps that are left. Give the names of their migrations."""
    with _locked(connection, statements):
        begun, finished = _progress(connection, statements, where)
        left = migrations()[finished:]
        for migration in left:
            if migration.after:
                connection.execute(statements.of(migration.after))
        _note(connection, statements, begun, len(migrations()))
    return [migration.name for migration in left]


@cache
def migrations() -> tuple[Migration, ...]:
    """List all migrations, in order."""
    folder = resources.files(__package__) / "migrations"
    names = sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(
            name,
            read(__package__, "migrations", f"{name}.sql"),
            read(__package__, "migrations", f"{name}.after.sql") if f"{name}.after" in names else "",
        )
        for name in names
        if not name.endswith(".after")
    )


@contextmanager
def _locked(connection: Connection, statements: Statements) -> Iterator[None]:
    """One transaction, in which nobody else changes this namespace's schema."""
    with connection.transaction():
        lock = f"holdfast {statements.namespace}"
        connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (lock,))
        yield


def _progress(connection: Connection, statements: Statements, where: str) -> tuple[int, int]:
    """Tell which migration was begun last, and which was finished last."""
    if not _is_there(connection, "to_regclass", statements.of("ns_meta")):
        return 0, 0
    row = connection.execute(statements.of("select schema, finished from ns_meta")).fetchone()
    begun, finished = row or (0, 0)
    if finished > len(migrations()):
        raise SchemaTooNew(
            f"{where} has schema {finished}, and this version of Holdfast reads up to {len(migrations())}; "
            "upgrade Holdfast here, or point it at another database or namespace"
        )
    return begun, finished


def _note(connection: Connection, statements: Statements, begun: int, finished: int) -> None:
    connection.execute(
        statements.of("create table if not exists ns_meta (schema integer not null, finished integer not null)")
    )
    connection.execute(statements.of("delete from ns_meta"))
    connection.execute(statements.of("insert into ns_meta (schema, finished) values (%s, %s)"), (begun, finished))


def _is_there(connection: Connection, function: str, name: str) -> bool:
    row = connection.execute(f"select {function}(%s) is not null", (name,)).fetchone()
    return bool(row and row[0])
