"""The hook of a drained queue, with real workers: once for each drain, whoever looks and whoever dies."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.model.query import Query
from tests.process import crawling
from tests.process.kill_loop import durable_server
from tests.process.processes import Workers, children_of, until

FETCHES = 2**5 - 1


@contextmanager
def workers_on(store: str, folder: Path) -> Iterator[Workers]:
    if store == "sqlite":
        workers = Workers(folder)
        try:
            yield workers
        finally:
            workers.end()
        return
    with durable_server(store) as (url, _):
        workers = Workers(folder, url)
        try:
            yield workers
        finally:
            workers.end()


def is_told(workers: Workers, times: int) -> Callable[[], bool]:
    return lambda: len(workers.lines("finished")) >= times


@pytest.mark.parametrize("store", ["sqlite", "postgres", "valkey"])
def test_a_crawl_is_told_as_finished_once_when_all_is_fetched_and_once_more_after_the_next(
    store: str, tmp_path: Path
) -> None:
    with workers_on(store, tmp_path) as workers, crawling.app.override(url=workers.url):
        for _ in range(2):
            workers.start("-p", "2", target="tests.process.crawling:app")
        for batch in (1, 2):
            crawling.fetch.enqueue(4)
            until(is_told(workers, batch), f"the hook of batch {batch}")
            diary = workers.diary.read_text().splitlines()
            assert [line.split(" ")[0] for line in diary].index("finished") == FETCHES, "not before the last page"
            assert len(diary) == batch * (FETCHES + 1), "once, and behind all pages"
        ids = {line.split(" ")[2] for line in workers.lines("finished")}
        assert len(ids) == 2
        assert crawling.app.store.inspector.count(Query(task=crawling.finish.name)) == 2
        assert crawling.app.queues["crawl"].record().drains == 2
        assert crawling.app.wait_drained("crawl", timeout=0, lane="site1")


def test_a_burst_ends_with_the_hook_and_not_before(tmp_path: Path) -> None:
    workers = Workers(tmp_path)
    with crawling.app.override(url=workers.url):
        crawling.fetch.enqueue(3)
        assert workers.burst(target="tests.process.crawling:app").returncode == 0
        assert len(workers.lines("finished")) == 1
        assert workers.burst(target="tests.process.crawling:app").returncode == 0
        assert len(workers.lines("finished")) == 1


def test_a_child_that_is_killed_while_the_queue_drains_costs_no_hook_and_makes_no_second(tmp_path: Path) -> None:
    workers = Workers(tmp_path)
    try:
        with crawling.app.override(url=workers.url):
            process = workers.start(target="tests.process.crawling:app")
            until(lambda: children_of(process.pid), "a child")
            crawling.fetch.enqueue(4)
            until(lambda: len(workers.lines("fetched")) > FETCHES // 2, "half of the crawl")
            for child in children_of(process.pid):
                os.kill(child, signal.SIGKILL)
            until(is_told(workers, 1), "the hook")
            assert crawling.app.queues["crawl"].record().drains == 1
            assert len({line.split(" ")[2] for line in workers.lines("finished")}) == 1
    finally:
        workers.end()
