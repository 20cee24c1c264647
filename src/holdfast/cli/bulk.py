"""Many jobs or keys, a chunk at a time: each chunk is one step of the store, so an interrupted command has done whole
chunks.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from holdfast.cli.output import console
from holdfast.cli.picking import CHUNK, chunks

_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")


def in_chunks(items: list[_Item], act: Callable[[list[_Item]], _Answer], doing: str) -> list[_Answer]:
    """Give each chunk to `act` and return its answers, with a progress bar on a terminal if there are several."""
    if len(items) <= CHUNK or not sys.stderr.isatty():
        return [act(chunk) for chunk in chunks(items)]
    return _with_bar(items, act, doing)


def _with_bar(items: list[_Item], act: Callable[[list[_Item]], _Answer], doing: str) -> list[_Answer]:
    from rich.progress import Progress  # only for commands that draw

    answers: list[_Answer] = []
    with Progress(console=console(stderr=True), transient=True) as progress:
        bar = progress.add_task(doing, total=len(items))
        for chunk in chunks(items):
            answers.append(act(chunk))
            progress.advance(bar, len(chunk))
    return answers
