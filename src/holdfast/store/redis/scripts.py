"""The scripts: one operation a file, put together with the parts that it names in its header.

The first line of a file is its flags, which Redis wants to stay the first; a line `-- include: a, b` names the parts. A part
names those that it needs itself; each comes once, before the first that needs it.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_FOLDER: Final = Path(__file__).with_name("lua")
_INCLUDE: Final = re.compile(r"^-- include: (.+)$", re.MULTILINE)


class Script(NamedTuple):
    """A script as the server is to know it."""

    name: str
    text: str
    sha: str
    is_of_house: bool
    is_write: bool
    has_bell: bool
    """Whether it tells waiters or watchers, and so has to be given their channels."""


@cache
def script(name: str) -> Script:
    """Give the script of an operation."""
    flags, _, rest = (_FOLDER / f"{name}.lua").read_text(encoding="utf-8").partition("\n")
    parts = _parts(rest)
    text = "\n".join([flags, *parts.values(), rest])
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script(name, text, sha, "house" in parts, "no-writes" not in flags, "bell" in parts)


def _parts(text: str) -> dict[str, str]:
    """Give the parts that a text needs, by name, each behind those that it needs itself."""
    found = _INCLUDE.search(text)
    parts: dict[str, str] = {}
    for name in found[1].split(", ") if found else ():
        part = (_FOLDER / "parts" / f"{name}.lua").read_text(encoding="utf-8")
        parts |= {one: its for one, its in _parts(part).items() if one not in parts}
        parts.setdefault(name, part)
    return parts
