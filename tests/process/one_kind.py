"""An app whose tasks all run in one kind of slot: how many claims a worker takes is exact then."""

import time

from holdfast import Holdfast
from tests.process.tasks import write_down

app = Holdfast()


@app.task
def nap(ms: float) -> None:
    time.sleep(ms / 1000)


@app.task
def stamp() -> None:
    write_down(f"stamp {time.time():.6f}")
