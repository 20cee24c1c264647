"""Runs console blocks as a reader would: line by line in one shell, in a folder, with the commands under test."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

_DEADLINE_S = 60
_MARK = "--- the next command ---"


def prompt_lines(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what the page says they print."""
    steps: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        else:
            command, printed = steps.pop()
            steps.append((command, f"{printed}{line}\n"))
    return steps


def run(commands: list[str], folder: Path) -> list[str]:
    """Run the commands in one shell, and give what each of them printed. Every one must succeed."""
    done = subprocess.run(
        ["bash", "-euc", f"\necho '{_MARK}'\n".join(commands)],
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.split(f"{_MARK}\n")


def agrees(printed: str, told: str) -> bool:
    """Tell whether the output is what the page says; `…` stands for anything."""
    pattern = ".*".join(map(re.escape, told.strip().split("…")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def _environment(folder: Path) -> dict[str, str]:
    commands = folder / ".commands"
    commands.mkdir()
    _write_command(commands / "python", [sys.executable])
    _write_command(commands / "holdfast", [sys.executable, "-m", "holdfast"])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**kept, "PATH": f"{commands}:{kept['PATH']}", "NO_COLOR": "1"}


def _write_command(path: Path, words: list[str]) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
    path.chmod(0o755)
