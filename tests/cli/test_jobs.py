"""`holdfast jobs`: filters, pages, both forms of output."""

import pytest

from tests.cli.conftest import Shop

KEYS = {
    "id", "task", "queue", "state", "reason", "priority", "tags", "lane", "key", "version", "created", "due",
    "claimed", "finished", "expires", "kept_until", "result_until", "generation", "deliveries", "failures", "crashes",
    "crash_budget", "worker", "progress", "progress_note", "cancel_asked", "is_signed", "error", "traceback",
}  # fmt: skip


def test_every_job_is_told_with_all_keys(store: Shop) -> None:
    store.done("shop.fail")
    store.enqueue("shop.add", 1, 2)
    for job in store.json("jobs"):
        assert job.keys() == KEYS


def test_people_see_a_line_per_job_and_the_count(store: Shop) -> None:
    failed, ready = store.done("shop.fail"), store.enqueue("shop.send", "ada", priority=5)
    lines = store.run("jobs").out.splitlines()
    assert lines[0].split() == ["job", "state", "task", "queue", "prio", "tries", "when", "why"]
    assert lines[2].split()[:5] == [ready, "ready", "shop.send", "mail", "5"]
    assert lines[3].split()[:3] == [failed, "failed", "shop.fail"]
    assert lines[3].split()[-4:] == ["ValueError:", "it", "went", "wrong"]
    assert lines[4] == "2 jobs"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--state", "failed"], ["fail"]),
        (["--state", "failed", "--state", "scheduled"], ["later", "fail"]),
        (["--queue", "mail"], ["mail"]),
        (["--task", "shop.add"], ["later"]),
        (["--tag", "order:17"], ["later"]),
        (["--since", "1h"], ["later", "mail", "fail"]),
        (["--since", "0"], []),
        (["--state", "failed", "--queue", "mail"], []),
        ([], ["later", "mail", "fail"]),
    ],
)
def test_filters_find_what_they_say(filters: list[str], found: list[str], store: Shop) -> None:
    names = {
        store.done("shop.fail"): "fail",
        store.done("shop.send", "ada"): "mail",
        store.enqueue("shop.add", 1, 2, delay=3600, tags=["order:17"]): "later",
    }
    assert [names[job["id"]] for job in store.json("jobs", *filters)] == found


def test_pages_follow_one_another_until_there_is_no_more(store: Shop) -> None:
    ids = [store.enqueue("shop.add", number, 0) for number in range(5)][::-1]
    first = store.run("jobs", "--limit", "2").out
    assert f"2 of 5 jobs; more with --after {ids[1]}" in first
    second = store.run("jobs", "--limit", "2", "--after", ids[1]).out
    assert ids[2] in second
    assert f"2 of 5 jobs; more with --after {ids[3]}" in second
    last = store.run("jobs", "--limit", "2", "--after", ids[3]).out
    assert ids[4] in last
    assert last.endswith("1 of 5 jobs\n")


def test_json_is_cut_to_the_limit(store: Shop) -> None:
    ids = [store.enqueue("shop.add", number, 0) for number in range(3)][::-1]
    assert [job["id"] for job in store.json("jobs", "--limit", "2")] == ids[:2]
    assert [job["id"] for job in store.json("jobs", "--limit", "2", "--after", ids[1])] == ids[2:]


def test_continuing_behind_a_job_that_is_not_there_is_an_error(store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("jobs", "--after", "no-such-job", *form)
    assert answer.code == 1
    assert "no job no-such-job is in this store" in answer.err


def test_no_jobs_are_no_error(store: Shop) -> None:
    assert store.run("jobs").out == "0 jobs\n"
    assert store.json("jobs") == []


def test_a_queue_that_is_not_there_is_remarked_upon(store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("jobs", "--queue", "mial", *form)
    assert answer.code == 0
    assert answer.err == "note: there is no queue 'mial' in this store; there are: default, mail\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--state", "broken"], "'broken' is not one of 'waiting', 'scheduled'"),
        (["--since", "yesterday"], "expected a duration like 90 (seconds), 30s, 5m, 1h or 2d, got: 'yesterday'"),
        (["--limit", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_filter_is_named(words: list[str], sentence: str, store: Shop) -> None:
    answer = store.run("jobs", *words)
    assert answer.code == 2
    assert sentence in answer.err
