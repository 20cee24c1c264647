"""A crawl that worker processes run in these tests: pages lead to pages, and its hook tells when all are fetched."""

import os
import time

from holdfast import Holdfast, current_job
from tests.process.tasks import write_down

app = Holdfast()


@app.task(queue="crawl", lane=lambda depth: f"site{depth % 2}")
def fetch(depth: int) -> None:
    if depth:
        app.enqueue_many(fetch.s(depth - 1) for _ in range(2))
        time.sleep(0.005)  # the children may be over before it is
    write_down(f"fetched {depth}")


@app.task
def finish(what: str) -> None:
    job = current_job()
    write_down(f"finished {what} {job.id} {os.getpid()}")


app.queue("crawl", on_drained=finish.s("crawl"), lane_max_running=3)
