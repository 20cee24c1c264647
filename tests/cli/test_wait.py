"""`holdfast wait`: until jobs are over, and how they ended."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.conftest import PretendedWorker, Shop, command, environment
from tests.cli.shop import ESCAPES
from tests.cli.terminal import Terminal
from tests.cli.test_jobs import KEYS
from tests.cli.test_terminal import is_harmless
from tests.process.processes import Workers
from tests.process.tasks import told


@contextmanager
def waiting(store: Shop, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `holdfast wait` beside the test."""
    arguments = command("--url", store.url, "wait", *words)
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe, env=environment(), text=True) as process:
        try:
            yield process
        finally:
            process.kill()


class TestTheEnd:
    def test_all_have_succeeded(self, store: Shop) -> None:
        ids = [store.done("shop.add", 1, number) for number in range(2)]
        answer = store.run("wait", *ids)
        assert answer.code == 0
        assert answer.out.splitlines() == [f"{job_id}  shop.add  succeeded" for job_id in ids]

    def test_one_has_failed(self, store: Shop) -> None:
        good, bad = store.done("shop.add", 1, 2), store.done("shop.fail", "no such customer")
        answer = store.run("wait", good, bad)
        assert answer.code == 1
        assert f"{bad}  shop.fail  failed  ValueError: no such customer" in answer.out
        assert answer.err == f"error: 1 of 2 jobs did not succeed: {bad} is failed; see `holdfast show`\n"

    def test_one_was_cancelled(self, store: Shop) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        store.run("cancel", job_id)
        assert store.run("wait", job_id).code == 1

    def test_the_time_is_over(self, store: Shop) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        answer = store.run("wait", job_id, "--timeout", "0.05")
        assert (answer.code, answer.out) == (124, "")
        assert answer.err == f"error: not over after 50 ms: 1 of 1 job: {job_id} is ready\n"

    def test_a_job_that_is_not_over_outweighs_one_that_has_failed(self, store: Shop) -> None:
        failed, ready = store.done("shop.fail"), store.enqueue("shop.add", 1, 2)
        assert store.run("wait", failed, ready, "--timeout", "0").code == 124

    @pytest.mark.parametrize(("task", "code"), [("shop.add", 0), ("shop.fail", 1)])
    def test_json_tells_the_jobs_and_whether_all_are_over(self, task: str, code: int, store: Shop) -> None:
        job_id = store.done(task, 1, 2) if task == "shop.add" else store.done(task)
        answer = store.run("wait", job_id, "--json")
        assert answer.code == code
        assert answer.json.keys() == {"is_over", "jobs"}
        (job,) = answer.json["jobs"]
        assert job.keys() == KEYS
        assert (answer.json["is_over"], job["id"]) == (True, job_id)

    def test_json_of_one_that_is_not_over(self, store: Shop) -> None:
        answer = store.run("wait", store.enqueue("shop.add", 1, 2), "--timeout", "0", "--json")
        assert (answer.code, answer.json["is_over"], answer.json["jobs"][0]["state"]) == (124, False, "ready")

    def test_parts_of_ids_will_do_and_the_same_job_twice_is_one(self, store: Shop) -> None:
        job_id = store.done("shop.add", 1, 2)
        assert store.run("wait", job_id, job_id[-12:]).out == f"{job_id}  shop.add  succeeded\n"


class TestWaiting:
    def test_it_ends_with_the_last_job(self, store: Shop, pretended: PretendedWorker) -> None:
        ids = [store.enqueue("shop.add", 1, number) for number in range(2)]
        with waiting(store, *ids) as process:
            pretended.claim(pretended.enlist())
            pretended.finish(ids[0])
            assert process.stdout is not None
            assert process.stdout.readline() == f"{ids[0]}  shop.add  succeeded\n"
            assert process.poll() is None
            pretended.finish(ids[1])
            assert process.wait(20) == 0

    def test_a_job_that_is_deleted_meanwhile_has_not_succeeded(self, store: Shop, pretended: PretendedWorker) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        with waiting(store, job_id, "--follow") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{job_id}  shop.add  ready\n"
            pretended.store.operator.delete([job_id])
            assert process.wait(20) == 1
            assert process.stdout.read() == f"{job_id}  shop.add  gone\n"


class TestFollowing:
    def test_without_a_terminal_every_change_is_a_line(self, store: Shop, pretended: PretendedWorker) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        with waiting(store, job_id, "--follow") as process:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert next(lines) == f"{job_id}  shop.add  ready\n"
            pretended.claim(pretended.enlist())
            assert next(lines) == f"{job_id}  shop.add  running\n"
            pretended.note(job_id, 0.25, "a quarter")
            assert next(lines) == f"{job_id}  shop.add  running  ━━━━━─────────────── 25%  a quarter\n"
            pretended.note(job_id, 0.5)
            assert next(lines) == f"{job_id}  shop.add  running  ━━━━━━━━━━────────── 50%\n"
            pretended.finish(job_id)
            assert list(lines) == [f"{job_id}  shop.add  succeeded\n"]
            assert process.wait(20) == 0

    def test_with_json_the_lines_go_to_standard_error(self, store: Shop) -> None:
        job_id = store.done("shop.add", 1, 2)
        answer = store.run("wait", job_id, "--follow", "--json")
        assert answer.json["is_over"]
        assert answer.err == f"{job_id}  shop.add  succeeded\n"

    def test_on_a_terminal_a_real_job_has_a_bar(self, workers: Workers, store: Shop) -> None:
        gate = workers.folder / "gate"
        job = told.enqueue(4, str(gate))
        with Terminal("--url", store.url, "wait", job.id, "--follow", columns=160) as terminal:
            terminal.until("ready")
            workers.start()
            terminal.until("running")
            terminal.until("100%")
            terminal.until("step 4")
            gate.touch()
            terminal.until("succeeded")
            assert terminal.end() == 0
            assert terminal.seen.rfind("\x1b[?25h") > terminal.seen.rfind("\x1b[?25l")

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 1)])
    def test_told_to_stop_it_gives_the_cursor_back(self, number: int, code: int, store: Shop) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        with Terminal("--url", store.url, "wait", job_id, "--follow") as terminal:
            terminal.until("\x1b[?25l")
            terminal.until("ready")
            terminal.process.send_signal(number)
            assert terminal.end() == code
            assert "\x1b[?25h" in terminal.seen
            assert "Traceback" not in terminal.seen

    def test_what_a_job_says_does_not_steer_the_terminal(self, store: Shop, pretended: PretendedWorker) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        pretended.claim(pretended.enlist())
        pretended.note(job_id, 0.5, ESCAPES)
        answer = store.run("wait", job_id, "--follow", "--timeout", "0")
        assert "\\x1b[31mred" in answer.out
        assert is_harmless(answer.out)
        with Terminal("--url", store.url, "wait", job_id, "--follow", "--timeout", "0.5", columns=200) as terminal:
            assert terminal.end() == 124
            assert "\\x1b[31mred" in terminal.seen
            assert "[bold]x[/bold]" in terminal.seen
            assert "\x9b" not in terminal.seen


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "Missing argument 'JOB...'"),
        (["no-such-job"], 1, "no job no-such-job is in this store"),
        (["x", "--timeout", "soon"], 2, "expected a duration like 90 (seconds), 30s, 5m, 1h or 2d, got: 'soon'"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    words: list[str], code: int, sentence: str, store: Shop, form: tuple[str, ...]
) -> None:
    answer = store.run("wait", *words, *form)
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err
