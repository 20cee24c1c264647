"""`holdfast health`: one line and an exit code."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.model.worker import WorkerRecord
from holdfast.worker.checkup import Reply
from holdfast.worker.door import Door
from tests.cli.conftest import Answer, Shop, run


class TestStore:
    def test_nothing_to_do_is_healthy_without_a_worker(self, store: Shop) -> None:
        assert store.run("health") == Answer(0, "healthy: 0 live workers, 0 ready jobs\n", "")

    def test_a_ready_job_without_a_worker_is_unhealthy(self, store: Shop) -> None:
        store.enqueue("shop.send", "ada")
        answer = store.run("health")
        assert answer == Answer(1, "unhealthy: queue mail holds 1 ready job, and no live worker serves it\n", "")

    def test_json_tells_the_figures(self, store: Shop) -> None:
        store.enqueue("shop.send", "ada")
        answer = store.run("health", "--json")
        assert answer.code == 1
        assert answer.json == {
            "is_healthy": False,
            "detail": "queue mail holds 1 ready job, and no live worker serves it",
            "workers": 0,
            "ready": 1,
            "oldest_ready_s": answer.json["oldest_ready_s"],
        }
        assert 0 < answer.json["oldest_ready_s"] < 60

    def test_a_worker_of_another_queue_does_not_help(self, store: Shop) -> None:
        store.enqueue("shop.send", "ada")
        with store.app as app, app.worker(threads=1, queues=["default"]):
            answer = store.run("health")
        assert (answer.code, "queue mail holds 1 ready job" in answer.out) == (1, True)

    def test_a_worker_of_all_queues_serves_them(self, store: Shop) -> None:
        with store.app as app, app.worker(threads=1):
            answer = store.run("health")
        assert answer == Answer(0, "healthy: 1 live worker, 0 ready jobs\n", "")

    def test_a_paused_queue_and_a_job_that_is_not_due_need_no_worker(self, store: Shop) -> None:
        store.run("queue", "pause", "mail")
        store.enqueue("shop.send", "ada")
        store.enqueue("shop.add", 1, 2, delay=3600)
        assert store.run("health", "--max-age", "0").code == 0

    def test_a_job_that_has_waited_too_long_is_unhealthy(self, store: Shop) -> None:
        store.enqueue("shop.send", "ada")
        store.change("update holdfast_job set due_us = due_us - 600000000")
        with store.app as app:
            app.store.enlist(WorkerRecord("w", "here", 1, queues=("mail",)))
            impatient, patient = (store.run("health", "--max-age", age) for age in ("5m", "1h"))
        assert impatient == Answer(1, "unhealthy: the oldest ready job of queue mail has waited for 10 min\n", "")
        assert patient == Answer(0, "healthy: 1 live worker, 1 ready job, the oldest for 10 min\n", "")

    def test_a_store_that_is_not_there_is_unhealthy(self, form: tuple[str, ...]) -> None:
        answer = run("--url", "sqlite:///other.db", "health", *form)
        assert (answer.code, answer.err) == (1, "")
        assert "there is no file" in answer.out
        assert not form or answer.json["is_healthy"] is False
        assert not Path("other.db").exists()

    def test_no_store_named_is_an_error(self) -> None:
        answer = run("health")
        assert (answer.code, answer.out) == (1, "")
        assert "no store was named" in answer.err


Opening = Callable[[str, Reply], str]


@pytest.fixture
def opening() -> Iterator[Opening]:
    """Open doors behind which somebody gives one reply, and tell where they are."""
    doors: list[Door] = []

    def open_door(address: str, reply: Reply) -> str:
        doors.append(Door(address))
        doors[-1].start(lambda path: reply if path == "/ready" else Reply(200, f"this is {path}"))
        return doors[-1].address.url

    yield open_door
    for door in doors:
        door.close()


class TestWorker:
    def test_a_ready_worker_is_healthy(self, opening: Opening) -> None:
        url = opening("0", Reply(200, "ready"))
        expected = Answer(0, "healthy: ready\n", "")
        assert [run("health", form) for form in (url, f"{url}/", f"{url}/ready", url[7:], url[17:])] == [expected] * 5

    def test_a_worker_that_is_not_ready_is_unhealthy_with_its_reason(self, opening: Opening) -> None:
        url = opening("0", Reply(503, "the worker is stopping"))
        assert run("health", url) == Answer(1, "unhealthy: the worker is stopping\n", "")
        assert run("health", url, "--json").json == {
            "is_healthy": False, "detail": "the worker is stopping", "url": f"{url}/ready", "code": 503,
        }  # fmt: skip

    def test_another_path_can_be_asked(self, opening: Opening) -> None:
        url = opening("0", Reply(503, "no"))
        assert run("health", f"{url}/live") == Answer(0, "healthy: this is /live\n", "")

    def test_a_socket_in_the_file_system_can_be_asked(self, opening: Opening, tmp_path: Path) -> None:
        url = opening(f"unix:{tmp_path}/door", Reply(200, "ready"))
        assert run("health", url).code == 0

    @pytest.mark.parametrize("where", ["port", "unix"])
    def test_nobody_there_is_unhealthy(self, opening: Opening, where: str, tmp_path: Path) -> None:
        door = Door("0")
        door.close()
        url = door.address.url if where == "port" else f"unix:{tmp_path}/nothing"
        answer = run("health", url)
        assert (answer.code, answer.err) == (1, "")
        assert answer.out.startswith(f"unhealthy: {url}/ready does not answer: ")

    def test_a_worker_that_does_not_answer_is_unhealthy_in_time(self) -> None:
        door = Door("0")  # it listens, and nobody serves it
        try:
            answer = run("health", door.address.url, "--timeout", "0.1")
        finally:
            door.close()
        assert (answer.code, "timed out" in answer.out) == (1, True)

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["x"], "expected the address of the health door as PORT, HOST:PORT or unix:/path, got: 'x'"),
            (["http://"], "expected a URL like http://127.0.0.1:9100/ready"),
            (["http://h:x"], "expected a URL like http://127.0.0.1:9100/ready"),
            (["80", "--max-age", "5"], "--max-age is about the store"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, words: list[str], sentence: str) -> None:
        answer = run("health", *words)
        assert (answer.code, answer.out) == (1, "")
        assert sentence in answer.err
