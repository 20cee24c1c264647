"""The documentation as the tests see it: its pages, their code blocks and their links."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


class Block(NamedTuple):
    """One fenced block. `title` is the file name in the line before it, if that ends with a colon."""

    language: str
    text: str
    title: str | None


def pages() -> list[Path]:
    """List every page that a user reads."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """List the fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        before = text[: found.start()].rstrip().rpartition("\n")[2]
        named = re.search(r"`([\w./-]+)`:$", before)
        yield Block(found[1], found[2], named[1] if named else None)


def links(page: Path) -> list[str]:
    """List the relative links of a page, outside of its code."""
    prose = _BLOCK.sub("", page.read_text("utf-8"))
    return [link for link in _LINK.findall(prose) if "://" not in link and not link.startswith("mailto:")]


def anchors(page: Path) -> set[str]:
    """List the places in a page that a link can point to, spelt as code hosts spell them."""
    prose = _BLOCK.sub("", page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(prose)}
