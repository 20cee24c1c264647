"""Tables of many rows, on screens of any width: a row stays one line, so columns go before words are broken."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from holdfast.cli.output import console, table

if TYPE_CHECKING:
    from rich.table import Table

_BETWEEN: Final = 3
_SOFT: Final = 16
"""How narrow a soft column may get before another one is left out."""

Row = dict[str, Any]
"""Cells by the name of their column."""


def grid(rows: Sequence[Row], *, right: Sequence[str] = (), spare: Sequence[str] = (), soft: str = "") -> "Table":
    """Make a table. If the terminal is too narrow, `spare` columns are left out: empty ones first, else in that order.

    The `soft` column is cut to what room there is.
    """
    columns = _fitting(list(rows[0]), rows, spare, soft)
    drawn = table(*columns, right=right, whole=[name for name in columns if name != soft])
    for row in rows:
        drawn.add_row(*(row[name] for name in columns))
    return drawn


def _fitting(columns: list[str], rows: Sequence[Row], spare: Sequence[str], soft: str) -> list[str]:
    room = console().width
    empty_first = sorted(spare, key=lambda name: any(row[name].plain != "–" for row in rows))
    for name in empty_first:
        if _width(columns, rows, soft) > room:
            columns.remove(name)
    return columns


def _width(columns: list[str], rows: Sequence[Row], soft: str) -> int:
    widths: dict[str, int] = {name: max(len(name), *(row[name].cell_len for row in rows)) for name in columns}
    if soft in widths:
        widths[soft] = min(widths[soft], _SOFT)
    return sum(widths.values()) + _BETWEEN * (len(columns) - 1)
