"""Help: every command explains itself."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from holdfast import __version__
from holdfast.cli.main import holdfast
from tests.cli.conftest import run, run_apart


def commands(
    group: click.Group = holdfast, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """List all commands, with the words that lead to them."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = dict(commands())


def test_the_commands_are_these() -> None:
    words = (
        "worker,workers,top,enqueue,jobs,show,why,wait,result,cancel,retry,"
        "queues,queue,seen,unpark,migrate,doctor,health,demo"
    )
    assert list(holdfast.commands) == words.split(",")
    of_queues = {"show", "lanes", "pause", "resume", "set", "unset", "wait", "purge", "drain"}
    of_seen_sets = {"list", "show", "has", "add", "forget", "clear"}
    below = of_queues | of_seen_sets
    assert {path[1] for path in ALL if len(path) == 2} == below


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_a_sentence_examples_and_a_word_on_every_option(path: tuple[str, ...]) -> None:
    answer = run(*path, "--help")
    assert answer.code == 0
    assert "Examples:" in answer.out
    assert (
        f"holdfast {' '.join(path)}" in answer.out.split("Examples:")[1] or "--app shop.tasks:app enqueue" in answer.out
    )
    options = [option for option in ALL[path].params if isinstance(option, click.Option)]
    assert all(option.help for option in options)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
@pytest.mark.parametrize("option", ["--url", "--app", "--namespace", "--json", "--debug"])
def test_every_command_takes_the_shared_options(path: tuple[str, ...], option: str) -> None:
    assert option in run(*path, "--help").out


def test_the_list_of_commands_is_not_cut_short() -> None:
    answer = run("-h")
    assert "..." not in answer.out.split("Commands:")[1]


def test_without_a_command_the_help_is_shown_and_the_code_is_2() -> None:
    answer = run()
    assert answer.code == 2
    assert "Commands:" in answer.out + answer.err


def test_a_misspelt_command_is_answered_with_the_right_one() -> None:
    answer = run("wroker")
    assert answer.code == 2
    assert "'wroker'" in answer.err
    assert "'worker'" in answer.err


def test_a_misspelt_option_is_answered_with_the_right_one() -> None:
    answer = run("jobs", "--stat", "failed")
    assert answer.code == 2
    assert "--state" in answer.err


def test_the_version_is_told() -> None:
    assert run("--version").out == f"holdfast {__version__}\n"


def test_the_module_is_the_command() -> None:
    assert run_apart("--version") == run("--version")


@pytest.mark.parametrize("module", ["rich", "sqlite3", "asyncio", "termios", "logging"])
def test_help_loads_nothing_that_only_a_command_needs(module: str) -> None:
    program = (
        f"import sys; from holdfast.cli.main import main; sys.argv[1:] = ['--help']; {_LOOKING_FOR.format(module)}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Commands:" in done.stdout
    assert done.stderr == "False"


_LOOKING_FOR = "import atexit; atexit.register(lambda: sys.stderr.write(str('{}' in sys.modules))); main()"
