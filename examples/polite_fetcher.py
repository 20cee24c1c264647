"""A crawler that is polite: each site is a lane with its own rate, one that says "slow down" is left alone, and no page is
fetched twice, however often its address is found.

The site is made up and runs inside this program. It keeps count of how fast it was asked.

Prints:
    queued 30 of 36 links: 6 were known already
    fetched 30 pages of 3 sites
    slow.example said "slow down" 1 time, and was left alone
    no site was asked too often
    a second look: 0 of 30 pages queued, 30 were seen before
    one page was forgotten: 1 of 30 pages queued, 29 were seen before
"""

from collections import defaultdict
from itertools import pairwise
from urllib.parse import urlsplit

from holdfast import Holdfast, Job, RateLimited

SITES = ("fast.example", "calm.example", "slow.example")

app = Holdfast("memory://")
app.queue("crawl", lane_rate="20/s", lane_max_running=2)  # per site, over all workers

asked: dict[str, int] = defaultdict(int)


def host(url: str) -> str:
    return urlsplit(url).netloc


@app.task(queue="crawl", lane=host, key=lambda url: url, once=True)
def fetch(url: str) -> str:
    site = host(url)
    asked[site] += 1
    if site == "slow.example" and asked[site] == 3:
        raise RateLimited(retry_after=0.3, reason="429 Too Many Requests")  # costs no retry
    return f"<title>{url}</title>"


def main() -> None:
    links = [f"https://{site}/{page}" for site in SITES for page in [*range(10), 0, 1]]
    with app, app.worker(threads=8):
        jobs = app.enqueue_many(fetch.s(url) for url in links)
        created = [job for job in jobs if job.decision == "created"]
        print(f"queued {len(created)} of {len(links)} links: {len(links) - len(created)} were known already")

        app.wait_drained("crawl", timeout=20)
        pages = {job.result(timeout=0) for job in created}
        print(f"fetched {len(pages)} pages of {len(asked)} sites")
        look_back(created)

        print(f"a second look: {find_again(links)}")
        app.seen("crawl").discard(links[:1])
        print(f"one page was forgotten: {find_again(links)}")


def find_again(links: list[str]) -> str:
    """Queue the same links once more, and tell what became of them."""
    jobs = app.enqueue_many(fetch.s(url) for url in dict.fromkeys(links))
    new = sum(job.decision == "created" for job in jobs)
    return f"{new} of {len(jobs)} pages queued, {len(jobs) - new} were seen before"


def look_back(jobs: list[Job[str]]) -> None:
    """Tell from the history of all runs whether everybody was asked politely."""
    runs = defaultdict(list)
    for job in jobs:
        runs[job.record().lane].extend(job.history())
    told_off = [run for run in runs["slow.example"] if run.outcome == "snoozed"]
    ended = told_off[0].ended_us
    if not [run for run in runs["slow.example"] if ended < run.claimed_us < ended + 300_000]:
        print(f'slow.example said "slow down" {len(told_off)} time, and was left alone')
    starts = [sorted(run.claimed_us for run in lane) for lane in runs.values()]
    if all(later - earlier >= 50_000 for lane in starts for earlier, later in pairwise(lane)):
        print("no site was asked too often")


if __name__ == "__main__":
    main()
