"""What a look at the installation or at a store has found."""

from typing import Literal

import msgspec

Level = Literal["ok", "warn", "FAIL"]


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor's report. What is not ok comes with what to do about it."""

    level: Level
    what: str
    detail: str
    remedy: str = ""
