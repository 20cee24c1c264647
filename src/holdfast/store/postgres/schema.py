"""The store's SQL: statements by name, and numbered migrations.

A statement lives in `sql/NAME.sql`, a migration in `migrations/NNNN_name.sql`. Tables are written `ns_…` there; each
namespace is a schema of the database, and `"namespace".` takes the place of `ns_`. It is the only thing ever
substituted, and only after its grammar was checked.

Migrations run in one transaction, behind an advisory lock of the namespace, so ten processes that open a new database
at once make one schema. A process that dies in the middle leaves the schema as it was.
"""

import re
from functools import cache
from importlib import resources
from typing import Any, Final

import psycopg

from holdfast.errors import SchemaTooNew
from holdfast.policy.names import check_namespace

Connection = psycopg.Connection[tuple[Any, ...]]

_TABLE: Final = re.compile(r"\bns_")


class Statements:
    """The statements of one namespace, by file name: `statements["claim_fifo"]`."""

    def __init__(self, namespace: str) -> None:
        self.namespace = check_namespace(namespace)
        self._texts: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        text = self._texts.get(name)
        if text is None:
            text = self._texts[name] = self.of(_read("sql", f"{name}.sql"))
        return text

    def of(self, text: str) -> str:
        """Put the namespace into a statement that was assembled from constant parts."""
        whole = self._texts.get(text)
        if whole is None:
            # Quoted: a namespace may be a word of SQL.
            whole = self._texts[text] = _TABLE.sub(f'"{self.namespace}".', text)
        return whole


def migrate(connection: Connection, statements: Statements, where: str) -> None:
    """Bring the schema up to date, or refuse a database that a newer Holdfast has written."""
    newest = len(migrations())
    if _checked_version(connection, statements, where) == newest:
        return
    with connection.transaction():
        connection.execute(
            "select pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"holdfast {statements.namespace}",)
        )
        # Not `if not exists`: that asks for the right to make schemas also where there is nothing to make.
        if not _is_there(connection, "to_regnamespace", f'"{statements.namespace}"'):
            connection.execute(f'create schema "{statements.namespace}"')
        version = _checked_version(connection, statements, where)
        for text in migrations()[version:]:
            connection.execute(statements.of(text))
        connection.execute(statements.of("create table if not exists ns_meta (schema integer not null)"))
        connection.execute(statements.of("delete from ns_meta"))
        connection.execute(statements.of("insert into ns_meta (schema) values (%s)"), (newest,))


@cache
def migrations() -> tuple[str, ...]:
    """List the texts of all migrations, in order."""
    folder = resources.files(__package__) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(_read("migrations", name) for name in names)


def _checked_version(connection: Connection, statements: Statements, where: str) -> int:
    if not _is_there(connection, "to_regclass", statements.of("ns_meta")):
        return 0
    row = connection.execute(statements.of("select schema from ns_meta")).fetchone()
    version = int(row[0]) if row else 0
    if version > len(migrations()):
        raise SchemaTooNew(
            f"{where} has schema {version}, and this version of Holdfast reads up to {len(migrations())}; "
            "upgrade Holdfast here, or point it at another database or namespace"
        )
    return version


def _is_there(connection: Connection, function: str, name: str) -> bool:
    row = connection.execute(f"select {function}(%s) is not null", (name,)).fetchone()
    return bool(row and row[0])


def _read(folder: str, name: str) -> str:
    return (resources.files(__package__) / folder / name).read_text("utf-8")
