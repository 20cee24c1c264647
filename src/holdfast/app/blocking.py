"""Calls that would block an event loop are refused where one runs, with the name of the twin that does not."""

from holdfast.errors import HoldfastError


def refuse_inside_a_loop(what: str, remedy: str) -> None:
    """Raise if this thread runs an event loop, which `what` would hold up."""
    import sys

    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        raise HoldfastError(f"{what} would block the event loop that runs here; use {remedy}")
