"""Asking before what cannot be undone. Without a terminal nobody can answer, so nothing is done unasked."""

import sys
from collections.abc import Callable
from typing import Any

import click

from holdfast.errors import InvalidInput

yes_option: Callable[..., Any] = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


def ask(question: str, *, yes: bool) -> None:
    """Return if the person agrees (or has, by `--yes`); end the command otherwise."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody is there to answer (no terminal), so nothing was done; add --yes")
    click.confirm(question, abort=True, err=True)
