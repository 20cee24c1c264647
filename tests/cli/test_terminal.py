"""What reaches a screen, a pipe or a file: nothing that steers, nothing that breaks, no traceback."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Shop, command, environment, run_apart
from tests.cli.shop import ESCAPES
from tests.cli.terminal import on_terminal

STYLE = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])m")


def is_harmless(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


class TestEscapeCodes:
    @pytest.fixture
    def job_id(self, store: Shop) -> str:
        return store.done("shop.fail", ESCAPES)

    @pytest.mark.parametrize("words", [["show"], ["result"], ["retry", "--dry-run"]], ids=" ".join)
    def test_a_jobs_own_text_does_not_steer_the_terminal(
        self, words: list[str], store: Shop, job_id: str, form: tuple[str, ...]
    ) -> None:
        answer = store.run(words[0], job_id, *words[1:], *form)
        assert is_harmless(answer.out)
        assert is_harmless(answer.err)

    def test_the_list_spells_them_out(self, store: Shop, job_id: str, form: tuple[str, ...]) -> None:
        answer = store.run("jobs", *form)
        assert is_harmless(answer.out)
        assert "\\x1b[31mred" in answer.out or "\\u001b[31mred" in answer.out
        assert "[bold]x[/bold]" in answer.out

    def test_json_holds_the_exact_text_all_the_same(self, store: Shop, job_id: str) -> None:
        told = store.json("show", job_id)
        assert told["arguments"]["args"] == [ESCAPES]
        assert told["error"] == f"ValueError: {ESCAPES}"

    @pytest.mark.parametrize(
        "value", [ESCAPES, [ESCAPES], {ESCAPES: 1}, (ESCAPES,)], ids=["text", "list", "key", "tuple"]
    )
    def test_a_result_does_not_steer_the_terminal(self, value: object, store: Shop, form: tuple[str, ...]) -> None:
        answer = store.run("result", store.done("shop.give", value), *form)
        assert answer.code == 0
        assert is_harmless(answer.out)
        assert "red" in answer.out

    def test_neither_does_a_row_that_someone_else_wrote(self, store: Shop, job_id: str, form: tuple[str, ...]) -> None:
        store.change("update holdfast_job set id = ?, task = ?, reason = ?", ESCAPES, ESCAPES, ESCAPES)
        store.change("update holdfast_queue set name = ? where name = 'default'", ESCAPES)
        for words in (["jobs"], ["jobs", "--limit", "1"], ["show", ESCAPES], ["queues"], ["queue", "show", ESCAPES]):
            answer = store.run(*words, *form)
            assert answer.code == 0
            assert is_harmless(answer.out)

    def test_neither_does_what_is_complained_about(self, store: Shop) -> None:
        answer = store.run("show", ESCAPES)
        assert answer.code == 1
        assert is_harmless(answer.err)


class TestPipes:
    @pytest.mark.parametrize("words", [["jobs"], ["jobs", "--json"], ["doctor"], ["queues"]], ids=" ".join)
    def test_a_closed_pipe_ends_the_command_without_a_word(self, words: list[str], store: Shop) -> None:
        store.enqueue("shop.add", 1, 2)
        reader, writer = os.pipe()
        os.close(reader)
        try:
            arguments = command("--url", store.url, *words)
            done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, env=environment(), check=False)
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (1, b"")

    @pytest.mark.parametrize("words", [["jobs"], ["jobs", "--json"]], ids=" ".join)
    def test_a_full_disk_is_one_sentence(self, words: list[str], store: Shop) -> None:
        store.enqueue("shop.add", 1, 2)
        arguments = command("--url", store.url, *words)
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
        assert done.returncode == 1
        assert done.stderr == b"error: the system refused: [Errno 28] No space left on device\n"

    def test_output_that_knows_ascii_only_ends_no_command(
        self, store: Shop, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.enqueue("shop.give", "ä")
        monkeypatch.setenv("PYTHONIOENCODING", "ascii")
        assert run_apart("--url", store.url, "jobs", *form).code == 0

    def test_there_are_no_colours_without_a_terminal(self, store: Shop) -> None:
        store.done("shop.fail")
        assert "\x1b" not in run_apart("--url", store.url, "jobs").out

    def test_nothing_is_cut_without_a_terminal(self, store: Shop) -> None:
        store.enqueue("shop.give", "a" * 500)
        (job,) = store.json("jobs")
        assert "a" * 500 in store.run("show", job["id"]).out


class TestColours:
    @pytest.mark.parametrize("words", [["jobs"], ["doctor"], ["show", "no-such-job"]], ids=" ".join)
    def test_a_terminal_has_them_unless_no_color_is_set(self, words: list[str], store: Shop) -> None:
        store.done("shop.fail")
        assert COLOUR.search(on_terminal("--url", store.url, *words)[1])
        assert not COLOUR.search(on_terminal("--url", store.url, *words, NO_COLOR="1")[1])


class TestWidth:
    @pytest.mark.parametrize("columns", [80, 100, 140])
    def test_a_row_is_one_line_that_fits(self, columns: int, store: Shop) -> None:
        job_id = store.done("shop.fail", "a long story " * 10)
        store.enqueue("shop.add", 1, 2, priority=5)
        _, seen = on_terminal("--url", store.url, "jobs", columns=columns)
        lines = STYLE.sub("", seen).splitlines()
        assert len(lines) == 5
        assert all(len(line) <= columns for line in lines)
        assert lines[3].startswith(f"{job_id}   failed")

    def test_a_wide_one_has_all_columns(self, store: Shop) -> None:
        store.done("shop.fail")
        _, seen = on_terminal("--url", store.url, "queues")
        assert "oldest ready" in seen
        assert "parked" in seen

    def test_a_narrow_one_keeps_the_columns_that_say_something(self, store: Shop) -> None:
        store.done("shop.fail")
        _, seen = on_terminal("--url", store.url, "queues", columns=60)
        assert "failed" in seen
        assert "parked" not in seen


class TestAsking:
    @pytest.mark.parametrize(
        "words",
        [["queue", "purge", "default"], ["cancel", "--task", "shop.add"]],
        ids=" ".join,
    )
    def test_no_leaves_everything_as_it_is(self, words: list[str], store: Shop) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        code, seen = on_terminal("--url", store.url, *words, typed="n\n")
        assert code == 1
        assert "1 job" in seen
        assert store.state(job_id) == "ready"

    def test_yes_does_it(self, store: Shop) -> None:
        store.enqueue("shop.add", 1, 2)
        code, seen = on_terminal("--url", store.url, "queue", "purge", "default", typed="y\n")
        assert code == 0
        assert "Delete 1 job of queue default for good?" in seen
        assert store.json("jobs") == []
