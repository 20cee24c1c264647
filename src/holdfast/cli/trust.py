"""What the app knows and the store does not: the user's types, and the keys that sign."""

import click
import msgspec

from holdfast.app.settings import Settings
from holdfast.cli.shared import given
from holdfast.cli.source import app_target, load
from holdfast.errors import HoldfastError
from holdfast.run.evidence import visible
from holdfast.wire.codec import Codec
from holdfast.wire.keyring import KeyRing


class Trust(msgspec.Struct, frozen=True):
    """How payloads are read, and by which keys they are believed; no ring if jobs are not signed."""

    codec: Codec
    ring: KeyRing | None


def trust() -> Trust:
    """Give the app's codec and keys, or without an app plain values and the keys of HOLDFAST_SECRET."""
    target = app_target()
    if target is None:
        return _without_app()
    try:
        app = load(target)
    except HoldfastError as error:
        if given("app"):
            raise
        # The app was named by the environment only, and most of what is asked for can be had without it.
        click.echo(
            f"note: HOLDFAST_APP could not be loaded, so its own types are not shown: {visible(str(error))}", err=True
        )
        return _without_app()
    return Trust(app.codec(), app.bench().ring)


def _without_app() -> Trust:
    return Trust(Codec(), Settings().ring())
