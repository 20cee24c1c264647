"""Jobs in a file: they are there when the program that enqueued them is gone.

`drain` runs what is due in this very thread, which is handy in scripts and tests; in production the same file is served
by `holdfast worker durable_file:app`.

Prints:
    3 jobs wait
    express: order 3
    order 1
    order 2
    drained 3
    order 1 was packed as box-1
"""

import tempfile
from pathlib import Path

from holdfast import Holdfast

app = Holdfast()


@app.task(queue="orders", retries=3)
def pack(order: int, *, is_express: bool = False) -> str:
    print(f"express: order {order}" if is_express else f"order {order}")
    return f"box-{order}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, app:
        app.configure(url=f"sqlite:///{Path(folder) / 'jobs.db'}")
        first, _ = app.enqueue_many([pack.s(1), pack.s(2)])  # one commit for both
        pack.using(priority=10).enqueue(3, is_express=True)  # higher priority runs first
        app.close()  # as if the program had ended: the next use opens the file again

        print(app.queues["orders"].size(), "jobs wait")
        print("drained", app.drain())
        print("order 1 was packed as", app.job(first.id).result())


if __name__ == "__main__":
    main()
