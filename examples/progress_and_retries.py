"""A task that tells how far it has come, one that is tried again, and one that gives up.

Prints:
    half way: 50 % of 4 pages
    fetched after 3 attempts
    the runs: retry, retry, done
    failed: ValueError: no such page: 404
"""

from holdfast import Holdfast, JobFailed, Retry, current_job

app = Holdfast("memory://")


@app.task
def crawl(pages: int) -> None:
    run = current_job()
    for page in range(pages // 2):
        run.progress((page + 1) / pages, f"of {pages} pages")
    raise Retry("the site is slow", delay=3600)  # it goes on in an hour, and counts as a failure


@app.task(retries=5, retry_delay=0, give_up_on=ValueError)
def fetch(page: str) -> str:
    if page == "404":
        raise ValueError(f"no such page: {page}")  # never worth another try
    attempt = current_job().attempt
    if attempt < 3:
        raise ConnectionError("the line was cut")  # tried again, at once
    return f"fetched after {attempt} attempts"


def main() -> None:
    with app:
        slow = crawl.using(retries=1).enqueue(4)
        fetched = fetch.enqueue("home")
        missing = fetch.enqueue("404")
        app.drain()

        fraction, note = slow.progress()
        print(f"half way: {fraction or 0:.0%} {note}".replace("%", " %"))
        print(fetched.result())
        print("the runs:", ", ".join(run.outcome for run in fetched.history()))
        try:
            missing.result()
        except JobFailed as error:
            print("failed:", error.message.partition(" failed: ")[2])


if __name__ == "__main__":
    main()
