"""The front of the command line: how anything that goes wrong leaves it.

    0   it was done
    1   it could not be done, or was not (`doctor` found a failure, a job has failed): one line `error: …` on stderr.
        Also, without a word, if whoever read the output has closed it (`| head -1`)
    2   it was not understood: click's usage error

`worker` has an exit code of its own besides: 3, if running jobs had to be handed back; and `wait` has 124, if its time was
over. Commands that tidy up when SIGTERM ends them (`demo`, `top`, `wait`) have 143.

A HoldfastError is a sentence written for a person, so it is shown without a traceback; so is what the operating system
refuses (a full disk, a folder that may not be read). `--debug` shows the traceback too. Any other exception is a bug here
and keeps its traceback always.
"""

import errno
import os
import sys
from typing import IO, Any

import click

from holdfast.cli.shared import is_debug
from holdfast.errors import HoldfastError
from holdfast.run.evidence import visible


class Complaint(click.ClickException):
    """One clear line on stderr, and exit code 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.secho(f"error: {visible(self.message)}", fg="red", err=True, file=file, color=self.show_color)


class Front(click.Group):
    """A group that turns errors into complaints, and lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if os.environ.get("NO_COLOR"):
            extra.setdefault("color", False)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # here, and not at the interpreter's end, where nobody could say what went wrong
        except HoldfastError as error:
            if is_debug(ctx):
                raise
            raise Complaint(str(error)) from error
        except OSError as error:
            # A closed pipe is for click, which ends without a word.
            if is_debug(ctx) or error.errno == errno.EPIPE:
                raise
            _drop_output()
            raise Complaint(f"the system refused: {error}") from error


def _drop_output() -> None:
    """Let go of what could not be written: the interpreter would try again at its end, and fail with its own words."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
