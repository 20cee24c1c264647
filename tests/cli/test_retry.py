"""`holdfast retry`: one job, or many by filters; and a rehearsal that changes nothing."""

import pytest

from tests.cli.conftest import Shop


def test_a_failed_job_is_ready_again(store: Shop) -> None:
    job_id = store.done("shop.fail")
    answer = store.run("retry", job_id)
    assert (answer.code, answer.out) == (0, "retried 1 job\n")
    assert store.state(job_id) == "ready"
    assert store.json("show", job_id)["generation"] == 2


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_json_tells_which_were_retried(state: str, store: Shop) -> None:
    job_id = store.enqueue("shop.fail")
    store.drain() if state == "failed" else store.run("cancel", job_id)
    assert store.json("retry", job_id) == {"retried": [job_id], "left_alone": [], "is_dry_run": False}


def test_by_filters_all_that_match_and_no_others_are_retried(store: Shop) -> None:
    mine = {store.done("shop.fail", str(number)) for number in range(3)}
    other = store.done("shop.fail", queue="mail")
    told = store.json("retry", "--state", "failed", "--task", "shop.fail", "--queue", "default", "--since", "1h")
    assert set(told["retried"]) == mine
    assert store.state(other) == "failed"


def test_without_a_state_the_failed_ones_are_meant(store: Shop) -> None:
    failed = store.done("shop.fail")
    cancelled = store.enqueue("shop.fail")
    store.run("cancel", cancelled)
    assert store.json("retry", "--task", "shop.fail")["retried"] == [failed]
    assert store.state(cancelled) == "cancelled"


def test_jobs_that_failed_longer_ago_are_left(store: Shop) -> None:
    old, new = store.done("shop.fail"), store.done("shop.fail")
    store.change("update holdfast_job set finished_us = finished_us - 7200000000 where id = ?", old)
    assert store.json("retry", "--state", "failed", "--since", "1h")["retried"] == [new]


@pytest.mark.parametrize("by", ["id", "filter"])
def test_a_rehearsal_tells_and_changes_nothing(by: str, store: Shop) -> None:
    job_id = store.done("shop.fail")
    chosen = [job_id] if by == "id" else ["--state", "failed"]
    assert store.run("retry", *chosen, "--dry-run").out == f"would retry 1 job\n  {job_id}\n"
    assert store.json("retry", *chosen, "--dry-run") == {"retried": [job_id], "left_alone": [], "is_dry_run": True}
    assert store.state(job_id) == "failed"


def test_a_rehearsal_of_many_shows_ten(store: Shop) -> None:
    for number in range(12):
        store.done("shop.fail", str(number))
    lines = store.run("retry", "--task", "shop.fail", "--dry-run").out.splitlines()
    assert lines[0] == "would retry 12 jobs"
    assert lines[11:] == ["  … and 2 more"]


def test_what_cannot_be_retried_is_told_with_its_state(store: Shop) -> None:
    failed = store.done("shop.fail")
    ready = store.enqueue("shop.add", 1, 2)
    answer = store.run("retry", ready, "no-such-job", failed, "--json")
    assert answer.code == 1
    assert answer.json == {"retried": [failed], "left_alone": [ready, "no-such-job"], "is_dry_run": False}
    assert f"can be retried; not so: {ready} (ready), no-such-job (not in this store)" in answer.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "expected job ids or filters (--state, --task, --queue, --tag, --since), one of the two"),
        (["some-job", "--state", "failed"], "expected job ids or filters"),
        (
            ["--state", "succeeded"],
            "a job that is succeeded cannot be retried; --state takes failed, cancelled, expired",
        ),
        (["--dry-run"], "expected job ids or filters"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], sentence: str, store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("retry", *words, *form)
    assert (answer.code, answer.out) == (1, "")
    assert sentence in answer.err


def test_a_filter_that_matches_nothing_is_no_error(store: Shop) -> None:
    assert store.run("retry", "--state", "failed").out == "retried 0 jobs\n"
