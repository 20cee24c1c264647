"""The app of these tests: made anew for each command, on the store that the options or the environment name."""

from typing import Any

from holdfast import Holdfast

ESCAPES = "\x1b[31mred\x1b[0m \x9b2J [bold]x[/bold] \x07 \u202e"
"""What would steer a terminal: codes of seven and eight bits, a bell, a reversal of the writing; and rich's own marks."""


def make(url: str | None = None, **settings: Any) -> Holdfast:
    """Give a new app."""
    app = Holdfast(url, **settings)
    for name, function in _TASKS.items():
        app.task(name=name, queue="mail" if name == "shop.send" else "default")(function)
    return app


def own() -> Holdfast:
    """Give an app that names a store of its own."""
    return make("sqlite:///own.db")


def broken() -> Holdfast:
    raise RuntimeError("the app's own mistake")


not_an_app = 42


def add(a: int, b: int) -> int:
    return a + b


def send(to: str, subject: str = "Hi") -> str:
    return f"sent {subject} to {to}"


def give(value: object) -> object:
    return value


def fail(text: str = "it went wrong") -> None:
    raise ValueError(text)


def other_add(a: int) -> int:
    return a


_TASKS = {"shop.add": add, "shop.send": send, "shop.give": give, "shop.fail": fail, "shop.other.fail": other_add}
