"""Looking into a SQLite file before it is opened, so that a command which only reads never makes anything.

Opening a store makes what is missing: the file, the tables, the folder beside it. For a worker and for `enqueue` that is
right. `jobs` on a misspelt namespace, or on the database of another program, must change nothing and say so.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

_META = "_meta"


def namespaces_in(path: Path) -> list[str] | None:
    """List the namespaces in a file; None if it cannot be looked into, which opening it will explain."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.Error:
        return None
    named = (table.removesuffix(_META) for table in sorted(tables) if table.endswith(_META))
    return [name for name in named if f"{name}_job" in tables]
