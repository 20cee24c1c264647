"""The reference of the command line names every command and option that exists, and none that does not."""

import re

import click
import pytest

from holdfast.cli.main import holdfast
from tests.cli.conftest import ROOT
from tests.cli.test_help import ALL

PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
OPTION = re.compile(r"`(--?[a-z][a-z-]*)`")

LEAVES = {
    path: command
    for path, command in ALL.items()
    if not isinstance(command, click.Group) or command.invoke_without_command
}


def section(path: tuple[str, ...]) -> str:
    heading = f"holdfast {' '.join(path)}"
    (text,) = [text for found, text in SECTIONS.items() if re.fullmatch(rf"{heading}( [A-Z\[].*)?", found)]
    return text


def documented(text: str) -> set[str]:
    """Give the options that a section explains, in its tables or as filters."""
    rows = [line for line in text.splitlines() if line.startswith("| `-")]
    filters = re.findall(r"\[filters\]\(#filters\):(.*?)\.(?:\s|$)", text, re.DOTALL)
    return set(OPTION.findall("\n".join([row.split("|")[1] for row in rows] + filters)))


def existing(command: click.Command) -> set[str]:
    return {name for option in command.params if isinstance(option, click.Option) for name in option.opts}


SHARED = documented(SECTIONS["Options of all commands"])


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_a_section_explains_the_options_of_its_command(path: tuple[str, ...]) -> None:
    assert documented(section(path)) == existing(LEAVES[path]) - SHARED


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_a_heading_names_the_arguments_of_its_command(path: tuple[str, ...]) -> None:
    (heading,) = [found for found in SECTIONS if re.fullmatch(rf"holdfast {' '.join(path)}( [A-Z\[].*)?", found)]
    takes = any(isinstance(parameter, click.Argument) for parameter in LEAVES[path].params)
    assert (heading.split()[len(path) + 1 :] != []) == takes


def test_every_section_of_a_command_is_of_one_that_exists() -> None:
    headings = [found.removeprefix("holdfast ") for found in SECTIONS if found.startswith("holdfast ")]
    words = {" ".join(word for word in heading.split() if word.islower()) for heading in headings}
    assert words == {" ".join(path) for path in LEAVES}


def test_the_shared_options_are_explained() -> None:
    assert existing(holdfast) | {"-h", "--help"} == SHARED


def test_the_filters_are_explained() -> None:
    shown = documented(SECTIONS["Filters"])
    assert shown == existing(LEAVES["retry",]) - SHARED - {"--dry-run"}
    assert shown < existing(LEAVES["jobs",])


@pytest.mark.parametrize("name", ["HOLDFAST_URL", "HOLDFAST_APP", "HOLDFAST_NAMESPACE", "HOLDFAST_SECRET", "NO_COLOR"])
def test_the_variables_are_explained(name: str) -> None:
    assert f"| `{name}` |" in SECTIONS["Which store"]
