"""The front of the command line: how anything that goes wrong leaves it.

    0   it was done
    1   it could not be done, or was not (`doctor` found a failure, a job has failed): one line `error: …` on stderr
    2   it was not understood: click's usage error

`worker` has an exit code of its own besides: 3, if running jobs had to be handed back.

A HoldfastError is a sentence written for a person, so it is shown without a traceback; `--debug` shows that too. Any
other exception is a bug here and keeps its traceback always.
"""

from typing import IO, Any

import click

from holdfast.cli.output import visible
from holdfast.cli.shared import is_debug
from holdfast.errors import HoldfastError


class Complaint(click.ClickException):
    """One clear line on stderr, and exit code 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.secho(f"error: {visible(self.message)}", fg="red", err=True, file=file)


class Front(click.Group):
    """A group that turns Holdfast's errors into complaints."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HoldfastError as error:
            if is_debug(ctx):
                raise
            raise Complaint(str(error)) from error
