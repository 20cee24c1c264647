"""The store's SQL: statements by name, and numbered migrations.

Statements are in `sql/NAME.sql` (see `texts`), migrations in `migrations/NNNN_name.sql`. Tables are written `ns_…` there;
the namespace takes the place of `ns`.

Migrations run in one transaction each, under the write lock, so ten processes that open a new file at once make one
schema. A process that dies in the middle leaves the schema as it was.
"""

import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib import resources

from holdfast.errors import SchemaTooNew
from holdfast.store.texts import Texts, read


class Statements(Texts):
    """The statements of one namespace, by file name: `statements["claim_fifo"]`. Tables are `namespace_…`."""

    def __init__(self, namespace: str) -> None:
        super().__init__(__package__, namespace, "{}_")


def migrate(connection: sqlite3.Connection, statements: Statements, where: str) -> None:
    """Bring the schema up to date, or refuse a file that a newer Holdfast has written."""
    newest = len(migrations())
    if _version(connection, statements) == newest:
        return
    connection.execute("begin immediate")
    try:
        connection.execute(statements.of("create table if not exists ns_meta (schema integer not null) strict"))
        version = _version(connection, statements)
        if version > newest:
            raise SchemaTooNew(
                f"{where} has schema {version}, and this version of Holdfast reads up to {newest}; "
                "upgrade Holdfast here, or point it at another file"
            )
        for text in migrations()[version:]:
            for statement in _split(statements.of(text)):
                connection.execute(statement)
        connection.execute(statements.of("delete from ns_meta"))
        connection.execute(statements.of("insert into ns_meta (schema) values (?)"), (newest,))
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


@cache
def migrations() -> tuple[str, ...]:
    """List the texts of all migrations, in order."""
    folder = resources.files(__package__) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(read(__package__, "migrations", name) for name in names)


def _version(connection: sqlite3.Connection, statements: Statements) -> int:
    found = connection.execute(
        "select 1 from sqlite_master where type = 'table' and name = ?", (statements.of("ns_meta"),)
    ).fetchone()
    if found is None:
        return 0
    row = connection.execute(statements.of("select schema from ns_meta")).fetchone()
    return int(row[0]) if row else 0


def _split(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
