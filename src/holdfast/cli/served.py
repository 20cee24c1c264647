"""The app of `holdfast worker --url …`: the one that was named, on the store that was named.

The children of a worker import the app by themselves, and an app may name a store of its own. So what the options say
reaches them by the environment, and they load the app through this module.
"""

import os
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast

SERVED: Final = "holdfast.cli.served:app"
_VARIABLE: Final = "HOLDFAST_SERVED"


class _Choice(msgspec.Struct, frozen=True):
    target: str
    settings: dict[str, str]


def serve(target: str, settings: dict[str, str]) -> str:
    """Give the target for a worker's children; another than `target` if settings are to hold for it."""
    if not settings:
        return target
    os.environ[_VARIABLE] = msgspec.json.encode(_Choice(target, settings)).decode()
    return SERVED


def app() -> "Holdfast":
    """Load the app, with the settings of the options. Called in a child."""
    from holdfast.app.target import load_app  # imports the user's modules

    choice = msgspec.json.decode(os.environ[_VARIABLE], type=_Choice)
    found = load_app(choice.target)
    found.configure(**choice.settings)
    return found
