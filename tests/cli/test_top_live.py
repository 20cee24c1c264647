"""`holdfast top` on a terminal: it lives, it fits, and it leaves the terminal as it found it."""

import os
import signal
import termios
from pathlib import Path

import pytest

from tests.cli.conftest import PretendedWorker, Shop
from tests.cli.terminal import Terminal
from tests.cli.test_terminal import STYLE

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def is_put_back(terminal: Terminal) -> bool:
    """Tell whether the terminal is as before: its modes, its screen, its cursor."""
    is_on_own_screen = terminal.seen.rfind(LEAVE) > terminal.seen.rfind(ENTER)
    is_cursor_seen = terminal.seen.rfind(SHOW) > terminal.seen.rfind(HIDE)
    return terminal.modes_now == terminal.modes and is_on_own_screen and is_cursor_seen


def ended(terminal: Terminal) -> tuple[int, bool]:
    return terminal.end(), is_put_back(terminal)


@pytest.mark.parametrize("keys", ["q", "Q", "\x03", "x\x1b[Aq"], ids=["q", "Q", "Ctrl-C", "other keys first"])
def test_it_quits_on_q_and_ctrl_c_and_puts_the_terminal_back(keys: str, store: Shop) -> None:
    with Terminal("--url", store.url, "top", "--every", "60s") as terminal:
        terminal.until("default")
        assert terminal.modes_now != terminal.modes
        terminal.press(keys)
        assert ended(terminal) == (0, True)
        assert "Traceback" not in terminal.seen


def test_an_impatient_ctrl_c_does_not_leave_the_terminal_half_put_back(store: Shop) -> None:
    with Terminal("--url", store.url, "top", "--every", "60s") as terminal:
        terminal.until("default")
        for _ in range(20):
            terminal.press("\x03")
        terminal.end()
        assert is_put_back(terminal)
        assert "Traceback" not in terminal.seen


def test_it_quits_on_sigterm_and_puts_the_terminal_back(store: Shop) -> None:
    with Terminal("--url", store.url, "top", "--every", "60s") as terminal:
        terminal.until("default")
        terminal.process.send_signal(signal.SIGTERM)
        assert ended(terminal) == (143, True)


def test_an_error_puts_the_terminal_back_and_is_one_sentence(store: Shop) -> None:
    with Terminal("--url", store.url, "top", "--every", "0.1") as terminal:
        terminal.until("default")
        with store.app as app, app.store._db.write() as connection:  # type: ignore[attr-defined]
            connection.execute("drop table holdfast_queue")
        assert ended(terminal) == (1, True)
        assert "error: " in terminal.seen.partition(LEAVE)[2]
        assert "Traceback" not in terminal.seen


def test_ctrl_z_is_no_special_key_meanwhile(store: Shop) -> None:
    """A view that is stopped would leave its screen behind."""
    with Terminal("--url", store.url, "top", "--every", "60s") as terminal:
        terminal.until("default")
        assert terminal.modes_now[6][termios.VSUSP] == b"\x00" != terminal.modes[6][termios.VSUSP]
        terminal.press("\x1aq")
        assert ended(terminal) == (0, True)


def test_the_picture_changes_with_the_store(store: Shop, pretended: PretendedWorker) -> None:
    with Terminal("--url", store.url, "top", "--every", "0.1") as terminal:
        terminal.until("0 workers")
        job_id = store.enqueue("shop.add", 1, 2)
        pretended.claim(pretended.enlist())
        pretended.note(job_id, 0.5, "half way")
        terminal.until("50%")
        terminal.until("half way")
        pretended.finish(job_id)
        terminal.until("succeeded/s")
        terminal.press("q")
        assert ended(terminal) == (0, True)


def picture(text: str) -> list[str]:
    """Give the lines of the last whole picture."""
    shown = text.rpartition("\x1b[H")[2]
    return STYLE.sub("", shown).replace("\r", "").split("\n")


@pytest.mark.parametrize(("columns", "rows"), [(60, 12), (80, 24), (100, 30), (200, 60)])
def test_a_picture_fits_the_terminal(columns: int, rows: int, store: Shop, pretended: PretendedWorker) -> None:
    for _ in range(30):
        store.enqueue("shop.give", "x")
    pretended.claim(pretended.enlist())
    store.done("shop.fail", "a long story " * 20)
    with Terminal("--url", store.url, "top", "--every", "60s", columns=columns, rows=rows) as terminal:
        seen = terminal.until("running 30")
        terminal.press("q")
        terminal.end()
        lines = picture(seen + terminal.seen.partition(SHOW)[0])
    assert len(lines) <= rows
    assert [line for line in lines if len(line) > columns] == []
    assert any("shop.give" in line for line in lines)


def test_it_is_drawn_again_when_the_size_of_the_terminal_changes(store: Shop) -> None:
    with Terminal("--url", store.url, "top", "--every", "60s", columns=120) as terminal:
        terminal.until("oldest ready")
        terminal.until("mail")
        terminal.resize(40, 20)
        terminal.process.send_signal(signal.SIGWINCH)
        redrawn = terminal.until("mail")
        assert "queue" in redrawn
        assert "oldest ready" not in redrawn
        terminal.press("q")
        assert ended(terminal) == (0, True)


def test_without_a_keyboard_signals_end_it(store: Shop) -> None:
    with Path(os.devnull).open() as nothing, Terminal("--url", store.url, "top", stdin=nothing.fileno()) as terminal:
        terminal.until("default")
        terminal.process.send_signal(signal.SIGINT)
        assert ended(terminal) == (0, True)
