"""What the app knows and the store does not: the user's types, and the keys that sign."""

import os

import click

from holdfast.cli.shared import given
from holdfast.cli.source import app_target, load
from holdfast.errors import HoldfastError
from holdfast.wire.codec import Codec
from holdfast.wire.keyring import KeyRing


def codec() -> Codec:
    """Give the app's codec, or without an app one that reads plain values."""
    target = app_target()
    if target is None:
        return Codec()
    try:
        return load(target).codec()
    except HoldfastError as error:
        if given("app"):
            raise
        # The app was named by the environment only, and what is asked for can be had without it.
        click.echo(f"note: HOLDFAST_APP could not be loaded, the app's own types are not shown: {error}", err=True)
        return Codec()


def key_ring() -> KeyRing | None:
    """Give the keys of the app, or those of HOLDFAST_SECRET; None if jobs are not signed."""
    target = app_target()
    if target is not None:
        return load(target).bench().ring
    secret = os.environ.get("HOLDFAST_SECRET")
    return KeyRing.parse(secret) if secret else None
