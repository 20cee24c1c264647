"""Why a value cannot travel: the place in it, the reason, and what to do instead.

A refusal starts where the offending value is found and gathers the way to it while it rises, so that encoding
what is fine pays nothing for the words of an error. `Codec` turns it into `NotEncodable`.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.wire.kinds import is_describable, spell

_PLAIN_BASES: Final = (bool, int, float, complex, str, bytes, bytearray, list, dict, tuple, set, frozenset)
_SHOWN: Final = 60
_STEPS_SHOWN: Final = 8


class Refusal(Exception):
    """Raised inside the wire layer only. `steps` lead from the offending value outwards."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.steps: list[tuple[str, object]] = []

    def step(self, spelling: str, key: object) -> None:
        """Add the place of the refused value in what holds it, e.g. ("[{}]", 3)."""
        self.steps.append((spelling, key))

    def path(self) -> str:
        """Spell the way from the outermost value to the refused one, e.g. ['lines'][3].price"""
        spelled = [spelling.format(key) for spelling, key in reversed(self.steps)]
        return "".join(spelled) if len(spelled) <= _STEPS_SHOWN else "".join(spelled[:_STEPS_SHOWN]) + "…"


def refuse(value: object) -> Refusal:
    """Give the refusal of a value whose type does not travel, with the remedy that fits it."""
    kind = type(value)
    if is_describable(kind):
        return Refusal(
            f"is a {spell(kind)}, which is not registered: annotate the task's parameter with it, "
            f"or register it with app.register({kind.__name__})"
        )
    base = next((plain for plain in _PLAIN_BASES if issubclass(kind, plain)), None)
    if base is not None:
        return Refusal(
            f"is a {spell(kind)}, which would arrive as a plain {base.__name__}: "
            f"pass {base.__name__}(…) of it if that is what you want"
        )
    return Refusal(_why_foreign(value, spell(kind)))


def shown(value: object) -> str:
    """Show a value in an error, cut short: errors end in logs, and a log is no place for a megabyte."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # a user's __repr__ may raise anything, and must not hide the real error
        text = f"<{spell(type(value))}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _why_foreign(value: object, kind: str) -> str:
    if isinstance(value, Iterator):
        return f"is a {kind}, which can be read only once and only here: pass list(…) of it"
    if callable(value):
        return f"is {shown(value)}, and code does not travel: pass the facts, and let the task choose the code"
    return (
        f"is a {kind}, which cannot travel: "
        "pass plain values (numbers, text, bytes, lists, dicts, dates …) or a dataclass"
    )
