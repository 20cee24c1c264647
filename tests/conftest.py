"""What holds for all tests."""

import signal


def pytest_configure() -> None:
    """Undo what a shell does to programs that it starts in the background: they ignore SIGINT, and so do their children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
