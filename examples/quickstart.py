"""A queue inside one program: no other process, no file.

`memory://` keeps the jobs in this process, `app.worker()` runs them in its background. What is enqueued here runs in a
thread or, if the task is async, on an event loop.

Prints:
    Hello, Ada!
    Hello, Grace!
    10 words
"""

import asyncio

from holdfast import Holdfast

app = Holdfast("memory://")


@app.task
def greet(name: str) -> str:
    return f"Hello, {name}!"


@app.task
async def count_words(text: str) -> int:
    await asyncio.sleep(0)  # stands for a call over the network
    return len(text.split())


def main() -> None:
    with app, app.worker(threads=2):
        jobs = [greet.enqueue("Ada"), greet.enqueue("Grace")]
        for job in jobs:
            print(job.result(timeout=10))
        words = count_words.enqueue("a task can be async as well as any other")
        print(words.result(timeout=10), "words")


if __name__ == "__main__":
    main()
