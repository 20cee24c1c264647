"""What children print."""

import os
from collections.abc import Iterator

import pytest

from holdfast.worker.output import LINES, Output


@pytest.fixture
def output() -> Iterator[Output]:
    made = Output()
    made.start()
    yield made
    made.close()


def said(output: Output, *words: bytes) -> list[str]:
    """Let a child say this and die; give its last lines."""
    child, pipes = output.add()
    for word in words:
        os.write(pipes.out, word)
    pipes.close()
    return output.last_lines(child)


def test_the_last_lines_are_there_when_the_child_is_dead(output: Output) -> None:
    assert said(output, b"one\ntwo\n", b"three") == ["one", "two", "three"]


def test_only_the_last_lines_are_kept(output: Output) -> None:
    lines = said(output, b"".join(b"line %d\n" % number for number in range(100)))
    assert lines == [f"line {number}" for number in range(100 - LINES, 100)]


def test_a_line_in_pieces_is_one_line(output: Output) -> None:
    assert said(output, b"be", b"gun", b" and ended\n") == ["begun and ended"]


def test_what_is_no_text_and_what_is_endless_is_kept_in_bounds(output: Output) -> None:
    odd, endless = said(output, b"\xff\xfe\n", b"x" * 50_000)
    assert odd == "\ufffd\ufffd"
    assert len(endless) <= 500


def test_each_child_has_lines_of_its_own(output: Output) -> None:
    first, its_pipes = output.add()
    second, other_pipes = output.add()
    os.write(its_pipes.err, b"from the first\n")
    os.write(other_pipes.err, b"from the second\n")
    its_pipes.close()
    other_pipes.close()
    assert output.last_lines(second) == ["from the second"]
    assert output.last_lines(first) == ["from the first"]


def test_what_is_printed_is_passed_on(output: Output, capfd: pytest.CaptureFixture[str]) -> None:
    child, pipes = output.add()
    os.write(pipes.out, b"to standard output\n")
    os.write(pipes.err, b"to standard error\n")
    pipes.close()
    output.last_lines(child)
    told = capfd.readouterr()
    assert told.out == "to standard output\n"
    assert told.err == "to standard error\n"


def test_a_child_that_leaves_its_output_to_another_process_can_be_buried(output: Output) -> None:
    """The pipe stays open: its end is not waited for."""
    child, pipes = output.add()
    os.write(pipes.out, b"last words\n")
    assert output.last_lines(child) == ["last words"]
    pipes.close()
