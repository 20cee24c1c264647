"""Mail for many tenants: each is a lane, so one that sends a newsletter to everybody does not delay the others.

A tenant that pays has a larger share. A tenant whose mail server is down is paused by a breaker, and tried again later.

Prints:
    of the first 8 mails: 6 of gold, 2 of small
    the mail of a new tenant: number 4 of the next 4
    the lane is broken: 3 of 20 were tried, 17 wait
    it is up again: 17 sent, 3 failed
    the newsletter went out: 40 mails
"""

from collections import Counter

from holdfast import Breaker, Holdfast

app = Holdfast("memory://")
app.queue(
    "mail",
    weights={"gold": 3},  # three mails of gold to one of anybody else
    lane_max_running=2,
    lane_breaker=Breaker(failures=3, pause=60, probes=1),
)

sent: list[str] = []
down: set[str] = set()


@app.task(queue="mail", lane=lambda tenant, to: tenant)
def send(tenant: str, to: str) -> None:
    if tenant in down:
        raise ConnectionError(f"the server of {tenant} does not answer")
    sent.append(tenant)


def main() -> None:
    with app:
        app.enqueue_many(send.s("gold", f"{number}@gold.example") for number in range(40))
        app.enqueue_many(send.s("small", f"{number}@small.example") for number in range(10))
        app.drain(limit=8)
        print(f"of the first 8 mails: {sent.count('gold')} of gold, {sent.count('small')} of small")

        send.enqueue("new", "ada@new.example")
        app.drain(limit=4)
        print(f"the mail of a new tenant: number {sent.index('new') - 7} of the next 4")

        down.add("unlucky")
        jobs = app.enqueue_many(send.s("unlucky", f"{number}@unlucky.example") for number in range(20))
        app.drain()
        (lane,) = app.queues["mail"].lanes()
        tried = sum(job.state() == "failed" for job in jobs)
        print(f"the lane is {lane.standing}: {tried} of {len(jobs)} were tried, {lane.ready} wait")

        down.clear()
        app.queues["mail"].resume(lane="unlucky")  # or wait a minute: then one job is tried
        app.drain()
        states = Counter(job.state() for job in jobs)
        print(f"it is up again: {states['succeeded']} sent, {states['failed']} failed")
        print(f"the newsletter went out: {sent.count('gold')} mails")


if __name__ == "__main__":
    main()
