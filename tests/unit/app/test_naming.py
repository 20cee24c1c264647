"""What a task is called when its module is the program that was started."""

import os
import subprocess
import sys
from pathlib import Path


def said_by(folder: Path, *command: str) -> str:
    """Start a program in this folder and give what it prints."""
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )  # fmt: skip
    return done.stdout + done.stderr


PROGRAM = """
from holdfast import Holdfast
app = Holdfast("memory://")
@app.task
def send(): ...
if __name__ == "__main__":
    print(send.name)
"""


def test_the_program_that_was_started_is_called_as_others_import_it(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PROGRAM)
    assert said_by(tmp_path, "shop.py").strip() == "shop.send"


def test_a_program_in_a_package_is_called_by_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "mail.py").write_text(PROGRAM)
    assert said_by(tmp_path, "pkg/mail.py").strip() == "pkg.mail.send"
    assert said_by(tmp_path, "-m", "pkg.mail").strip() == "pkg.mail.send"


def test_a_program_that_cannot_be_imported_is_refused_with_the_remedy(tmp_path: Path) -> None:
    said = said_by(tmp_path, "-c", PROGRAM)
    assert "DeclarationError: the task send is defined in a program that cannot be imported under a name" in said
    assert "@app.task(name='shop.send')" in said
    (tmp_path / "not-a-name.py").write_text(PROGRAM)
    assert "cannot be imported under a name" in said_by(tmp_path, "not-a-name.py")


SPAWNING = """
import multiprocessing
from holdfast import Holdfast
app = Holdfast("memory://")
@app.task
def send(): ...
def tell(queue):
    queue.put(send.name)
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    child = context.Process(target=tell, args=(queue,))
    child.start()
    print(send.name, queue.get())
    child.join()
"""


def test_a_process_that_was_spawned_calls_its_tasks_as_its_parent_does(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SPAWNING)
    assert said_by(tmp_path, "shop.py").split() == ["shop.send", "shop.send"]
