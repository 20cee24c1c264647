"""The scripts: one operation a file, put together with the parts that it names in its header.

The first line of a file is its flags, which Redis wants to stay the first; a line `-- include: a, b` names the
parts.
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
    found = _INCLUDE.search(rest)
    assert found is not None, f"{name}.lua names no parts"
    parts = found[1].split(", ")
    included = [(_FOLDER / "parts" / f"{part}.lua").read_text(encoding="utf-8") for part in parts]
    text = "\n".join([flags, *included, rest])
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script(name, text, sha, "house" in parts, "no-writes" not in flags, "bell" in parts)
