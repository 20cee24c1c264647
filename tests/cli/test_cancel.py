"""`holdfast cancel`: by id at once, by filter after asking."""

import pytest

from tests.cli.conftest import Shop


def test_a_job_that_has_not_started_is_cancelled(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    answer = store.run("cancel", job_id)
    assert (answer.code, answer.out) == (0, "1 job cancelled\n")
    assert store.state(job_id) == "cancelled"


def test_json_tells_what_became_of_each(store: Shop) -> None:
    over, ready = store.done("shop.add", 1, 2), store.enqueue("shop.add", 1, 2)
    assert store.json("cancel", over, ready, ready) == {over: "final", ready: "cancelled"}


def test_an_unknown_id_is_an_error_and_the_others_are_cancelled(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    answer = store.run("cancel", job_id, "no-such-job", *form)
    assert answer.code == 1
    assert "error: not in this store: no-such-job; give whole ids" in answer.err
    assert store.state(job_id) == "cancelled"


def test_a_part_of_an_id_cancels_nothing(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    assert store.run("cancel", job_id[:20]).code == 1
    assert store.state(job_id) == "ready"


def test_by_filter_all_that_match_and_no_others_are_cancelled(store: Shop) -> None:
    mine = {store.enqueue("shop.add", number, 0, tags=["order:17"]) for number in range(3)}
    other = store.enqueue("shop.add", 1, 2, tags=["order:18"])
    assert store.json("cancel", "--tag", "order:17", "--yes") == dict.fromkeys(mine, "cancelled")
    assert store.state(other) == "ready"


def test_by_filter_nothing_is_cancelled_where_nobody_can_be_asked(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    answer = store.run("cancel", "--task", "shop.add", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "Cancel 1 job? Nobody is there to answer (no terminal), so nothing was done; add --yes" in answer.err
    assert store.state(job_id) == "ready"


def test_a_filter_that_matches_nothing_asks_nothing(store: Shop) -> None:
    assert store.run("cancel", "--tag", "order:17").out == "no job matches; nothing was cancelled\n"
    assert store.json("cancel", "--tag", "order:17") == {}


def test_more_jobs_than_one_step_takes_are_all_cancelled(store: Shop) -> None:
    with store.app as app:
        app.enqueue_many(app.tasks["shop.add"].s(number, 0) for number in range(1100))
    assert store.run("cancel", "--task", "shop.add", "--yes").out == "1,100 jobs cancelled\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "expected job ids or filters (--tag, --queue, --task, --state, --since), one of the two"),
        (["some-job", "--tag", "a"], "expected job ids or filters"),
        (["--state", "failed"], "a job that is failed cannot be cancelled; --state takes waiting, scheduled, ready"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], sentence: str, store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("cancel", *words, *form)
    assert (answer.code, answer.out) == (1, "")
    assert sentence in answer.err
