"""What reaches the screen. Nothing that a job brought along (an error, an argument) can steer the terminal."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast.run.evidence import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE: Final = 10_000
"""The width for pipes and files, where nothing should be cut."""

_STYLES: Final = {
    "succeeded": "green",
    "done": "green",
    "running": "cyan",
    "ready": "blue",
    "scheduled": "blue",
    "retry": "yellow",
    "snoozed": "yellow",
    "released": "yellow",
    "parked": "magenta",
    "failed": "red",
    "crashed": "red",
}


def print_json(document: object) -> None:
    """Print one JSON document."""
    click.echo(as_json(document, indent=2))


def as_json(document: object, indent: int | None = None) -> str:
    """Give JSON that says the same and steers no terminal: what cannot be printed is written as an escape."""
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def say(text: str) -> None:
    """Print one line for a person."""
    click.echo(visible(text))


def console(*, stderr: bool = False) -> "Console":
    """Give what tables and bars are drawn on. Without a terminal it is wide and has no colours."""
    from rich.console import Console  # 40 ms, only for commands that draw

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if is_terminal else _WIDE
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def table(*columns: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> "Table":
    """Make a table. Columns in `right` hold numbers; those in `whole` are not wrapped."""
    from rich import box
    from rich.table import Table  # only for commands that draw

    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        is_whole = name in whole
        drawn.add_column(
            visible(name),
            justify="right" if name in right else "left",
            no_wrap=is_whole,
            overflow="ellipsis" if is_whole else "fold",
        )
    return drawn


def cell(value: object, style: str | None = None, *, is_one_line: bool = False) -> Any:
    """Give a table's cell; nothing is a dash. One that `is_one_line` is cut where it would wrap."""
    from rich.text import Text  # only for commands that draw

    text = "–" if value is None or value == "" else visible(str(value))
    cut: Any = {"no_wrap": True, "overflow": "ellipsis"} if is_one_line else {}
    return Text(text, style=style or _STYLES.get(text, ""), **cut)


def plural(number: int, noun: str = "job") -> str:
    """Give `1 job`, `2,000 jobs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number_bytes: int) -> str:
    """Give an amount of memory: `81.2 MiB`."""
    if number_bytes >= 2**30:
        return f"{number_bytes / 2**30:,.1f} GiB"
    return f"{number_bytes / 2**20:.1f} MiB" if number_bytes >= 2**20 else f"{number_bytes / 2**10:.0f} KiB"


def last_part(job_id: str) -> str:
    """Give the end of an id, by which commands find the job: ids made together differ there."""
    return job_id[-12:]
