"""What an exception leaves behind: bounded text, whatever the exception is like.

Exceptions are users' objects. Their `__str__` may raise, or give a hundred megabytes; their causes may form a ring;
their text may hold what no database stores. None of that may cost a run its verdict: a worker that cannot describe a
failure would lose it. So nothing in here raises, and everything is cut to size.
"""

from types import TracebackType
from typing import Final

LONGEST_ERROR: Final = 4_000
LONGEST_TRACEBACK: Final = 16_000

_HEAD: Final = 4_000
_OWN: Final = __file__.removesuffix("run/evidence.py")


def spelled(error: BaseException) -> str:
    """Name the exception's type as a person would look for it: `ValueError`, `shop.mail.Bounced`."""
    kind = type(error)
    return storable(kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}")


def summary(error: BaseException) -> str:
    """Give type and message in one piece of text."""
    message = said(error)
    return f"{spelled(error)}: {message}"[:LONGEST_ERROR] if message else spelled(error)


def said(error: BaseException) -> str:
    """Give the message alone."""
    try:
        return storable(str(error)[:LONGEST_ERROR])[:LONGEST_ERROR]
    except Exception as trouble:  # noqa: BLE001  # a user's __str__
        return f"<no message: its __str__ raised {spelled(trouble)}>"


def trace(error: BaseException) -> str:
    """Give the traceback, with causes, from the first frame that is not Holdfast's own."""
    import traceback  # wanted only when something went wrong

    try:
        told = traceback.TracebackException(type(error), error, _beyond_us(error.__traceback__), compact=True)
        text = "".join(told.format())
    except Exception as trouble:  # noqa: BLE001  # users' objects are being formatted: see above
        text = f"{summary(error)}\n(its traceback could not be formatted: {spelled(trouble)})"
    return _cut(storable(text))


def storable(text: str) -> str:
    """Spell out what not every store can keep: lone surrogates and NUL."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def visible(text: str) -> str:
    """Spell out everything but printable characters, spaces and line ends: nothing in it can steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _beyond_us(tb: TracebackType | None) -> TracebackType | None:
    """Skip the frames in which Holdfast led up to the task. If there are no others, show them: it is our bug."""
    own = tb
    while own is not None and own.tb_frame.f_code.co_filename.startswith(_OWN):
        own = own.tb_next
    return own or tb


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TRACEBACK:
        return text
    tail = LONGEST_TRACEBACK - _HEAD - 100
    left_out = len(text) - _HEAD - tail
    return f"{text[:_HEAD]}\n… {left_out:,} characters left out …\n{text[-tail:]}"
