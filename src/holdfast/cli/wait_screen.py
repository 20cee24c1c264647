"""What is seen while jobs are waited for: bars on a terminal, lines without one, nothing but the ends unless asked."""

import sys
from typing import TYPE_CHECKING, Any, Protocol, Self

import click

from holdfast.cli.output import console
from holdfast.cli.progress import how_far, note
from holdfast.run.evidence import visible

if TYPE_CHECKING:
    from rich.progress import TaskID

    from holdfast.cli.wait import Awaited


class Screen(Protocol):
    """Where jobs that are waited for are shown."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, one: "Awaited") -> None:
        """Show how a job is now."""
        ...


def screen(*, follows: bool, quiet: bool) -> Screen:
    """Give bars or lines; on stderr if stdout is for JSON, and then only to follow."""
    if not follows:
        return Lines(stderr=quiet, only=() if quiet else ("ends",))
    is_terminal = (sys.stderr if quiet else sys.stdout).isatty()
    return Bars(stderr=quiet) if is_terminal else Lines(stderr=quiet, only=("ends", "changes"))


class Lines:
    """One line whenever something is different. `only` says what is told at all."""

    def __init__(self, *, stderr: bool, only: tuple[str, ...]) -> None:
        self._stderr = stderr
        self._only = only
        self._last: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, one: "Awaited") -> None:
        line = _line(one)
        if ("ends" if one.is_over else "changes") in self._only and self._last.get(one.job.id) != line:
            self._last[one.job.id] = line
            click.echo(line, err=self._stderr)


class Bars:
    """One bar for each job that is not over; the others are lines above."""

    def __init__(self, *, stderr: bool) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[share]:>4}", markup=False),
            TextColumn("{task.fields[words]}", style="dim", markup=False),
        )
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console(stderr=stderr), refresh_per_second=8)
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, one: "Awaited") -> None:
        if one.is_over:
            self._end(one)
            return
        job = one.job
        share = "" if job.progress is None else f"{int(job.progress * 100)}%"
        fields: Any = {"state": one.state, "share": share, "words": visible(note(job))}
        if job.id not in self._bars:
            self._bars[job.id] = self._progress.add_task(visible(f"{job.task} {job.id}"), total=None, **fields)
        total = None if job.progress is None else 1.0  # without a total the bar only moves: nothing is known
        self._progress.update(self._bars[job.id], total=total, completed=job.progress or 0.0, **fields)

    def _end(self, one: "Awaited") -> None:
        bar = self._bars.pop(one.job.id, None)
        if bar is not None:
            self._progress.remove_task(bar)
        self._progress.console.print(_line(one), style="green" if one.state == "succeeded" else "red")


def _line(one: "Awaited") -> str:
    told = _why(one) if one.is_over else how_far(one.job)
    return visible(f"{one.job.id}  {one.job.task}  {one.state}  {told}".rstrip())


def _why(one: "Awaited") -> str:
    """Give the first line of what went wrong."""
    return "" if one.state == "succeeded" else next(iter((one.job.error or one.job.reason or "").splitlines()), "")
