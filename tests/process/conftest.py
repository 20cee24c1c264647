"""A folder, a store and workers for each test; whatever it started is ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.processes import Workers
from tests.process.tasks import app


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    crew = Workers(tmp_path)
    try:
        with app.override(url=crew.url):
            yield crew
    finally:
        crew.end()
        if (tmp_path / "output").exists():
            print(crew.output)  # shown beside a test that fails
