"""What is seen of the demo while it runs: bars on a terminal, a line every two seconds without one."""

import sys
import time
from collections.abc import Mapping
from typing import Protocol, Self

import click

from holdfast.cli.demo_plan import KINDS, TOLD, TOTAL
from holdfast.cli.output import console

_EVERY_S = 2.0


class Screen(Protocol):
    """Where the demo shows how far it is."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def tell(self, text: str) -> None:
        """Say that something has happened."""
        ...

    def show(self, done: Mapping[str, int]) -> None:
        """Show how many jobs of each kind are done."""
        ...


def screen(*, quiet: bool) -> Screen:
    """Give bars on a terminal, else lines; on stderr if stdout is for JSON."""
    return Bars() if sys.stdout.isatty() and not quiet else Lines(stderr=quiet)


class Lines:
    """Plain lines, now and then."""

    def __init__(self, *, stderr: bool) -> None:
        self._stderr = stderr
        self._began = self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def tell(self, text: str) -> None:
        click.echo(f"{time.monotonic() - self._began:5.1f} s  {text}", err=self._stderr)

    def show(self, done: Mapping[str, int]) -> None:
        if time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            kinds = ", ".join(f"{kind} {done.get(kind, 0)}/{number}" for kind, number in KINDS.items())
            self.tell(f"{sum(done.values())}/{TOTAL} done: {kinds}")


class Bars:
    """One bar per kind, and one for all."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.fields[kind]:<8}", style="bold"),
            BarColumn(bar_width=36),
            MofNCompleteColumn(),
            TextColumn("{task.description}", style="dim"),
        )
        self._began = time.monotonic()
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console(), refresh_per_second=12)
        self._bars = {
            kind: self._progress.add_task(TOLD[kind], total=number, kind=kind) for kind, number in KINDS.items()
        }
        self._all = self._progress.add_task("", total=TOTAL, kind="all")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def tell(self, text: str) -> None:
        self._progress.console.print(f"{time.monotonic() - self._began:5.1f} s  {text}")

    def show(self, done: Mapping[str, int]) -> None:
        for kind, bar in self._bars.items():
            self._progress.update(bar, completed=done.get(kind, 0))
        self._progress.update(self._all, completed=sum(done.values()))
