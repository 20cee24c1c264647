"""`holdfast queues` and `holdfast queue`: see, pause, resume, purge."""

import pytest

from tests.cli.conftest import Shop

KEYS = {"name", "is_paused", "order", "size", "counts", "oldest_ready", "next_due"}


def test_json_tells_every_queue_with_its_counts(store: Shop) -> None:
    store.done("shop.fail")
    store.enqueue("shop.add", 1, 2)
    store.enqueue("shop.send", "ada", delay=3600)
    default, mail = store.json("queues")
    assert default.keys() == mail.keys() == KEYS
    assert (default["name"], default["counts"], default["size"]) == ("default", {"failed": 1, "ready": 1}, 1)
    assert (mail["name"], mail["counts"], mail["size"]) == ("mail", {"scheduled": 1}, 1)
    assert mail["next_due"] is not None


def test_people_see_a_line_per_queue(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    store.run("queue", "pause", "mail")
    lines = store.run("queues").out.splitlines()
    assert lines[2].split()[:4] == ["default", "open", "fifo", "1"]
    assert lines[3].split()[:4] == ["mail", "paused", "fifo", "–"]


def test_one_queue_is_told_as_in_the_list(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    assert store.json("queue", "show", "default") == store.json("queues")[0]
    assert "yet to start" in store.run("queue", "show", "default").out


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(store: Shop) -> None:
    assert store.run("queue", "pause", "mail").out == "queue mail is paused\n"
    job_id = store.done("shop.send", "ada")
    assert store.state(job_id) == "ready"
    assert store.run("queue", "resume", "mail").out == "queue mail is resumed\n"
    store.drain()
    assert store.state(job_id) == "succeeded"


def test_json_tells_whether_anything_changed(store: Shop) -> None:
    assert store.json("queue", "pause", "mail") == {"queue": "mail", "is_paused": True, "changed": True}
    assert store.json("queue", "pause", "mail") == {"queue": "mail", "is_paused": True, "changed": False}
    assert store.json("queue", "resume", "mail") == {"queue": "mail", "is_paused": False, "changed": True}
    assert store.run("queue", "resume", "mail").out == "queue mail is not paused; nothing changed\n"
    store.run("queue", "pause", "mail")
    assert store.run("queue", "pause", "mail").out == "queue mail was paused already; nothing changed\n"


def test_purging_deletes_what_has_not_started_and_nothing_else(store: Shop) -> None:
    over = store.done("shop.send", "ada")
    store.enqueue("shop.send", "bob")
    store.enqueue("shop.send", "eve", delay=3600)
    other = store.enqueue("shop.add", 1, 2)
    assert store.json("queue", "purge", "mail", "--yes") == {"queue": "mail", "purged": 2}
    assert {job["id"] for job in store.json("jobs")} == {over, other}


def test_purging_does_nothing_where_nobody_can_be_asked(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.enqueue("shop.send", "ada")
    answer = store.run("queue", "purge", "mail", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "Delete 1 job of queue mail for good? Nobody is there to answer" in answer.err
    assert "add --yes" in answer.err
    assert store.state(job_id) == "ready"


def test_purging_an_empty_queue_asks_nothing(store: Shop) -> None:
    assert store.run("queue", "purge", "mail").out == "deleted 0 jobs of queue mail\n"


@pytest.mark.parametrize("verb", ["show", "pause", "resume", "purge"])
def test_a_queue_that_is_not_there_is_answered_with_the_nearest(verb: str, store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("queue", verb, "mial", *form)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "error: there is no queue 'mial' in this store; did you mean mail?\n"
    assert len(store.json("queues")) == 2


def test_a_queue_unlike_any_is_answered_with_all(store: Shop) -> None:
    assert "there are: default, mail" in store.run("queue", "show", "xyz").err
