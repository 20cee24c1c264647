"""How a worker tells how it is: real workers, asked over HTTP, and heard by a socket that stands for systemd's."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from holdfast.cli.main import main
from holdfast.store.sqlite.store import SqliteStore
from holdfast.worker import door as doors
from holdfast.worker import vitals
from holdfast.worker.checkup import Reply
from tests.process.faults import POINTS, wrap
from tests.process.processes import Workers, children_of, until
from tests.process.tasks import app, die, fail, flaky, hold, note

LEASE_S = 2
PATIENCE_S = 3.0

# --- asking -----------------------------------------------------------------------------------------------------------

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)+)\})? (-?[0-9.e+-]+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\n"])*)"')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


class Metrics:
    """A page of metrics, read strictly: every sample belongs to the family above it, and none comes twice."""

    def __init__(self, text: str) -> None:
        assert text.endswith("\n")
        self.values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self.kinds: dict[str, str] = {}
        for line in text.splitlines():
            if line.startswith("# HELP "):
                family = line.split(" ")[2]
                assert family not in self.kinds
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name == family
                assert (kind == "counter") == name.endswith("_total")
                self.kinds[name] = kind
            else:
                self._take(line, family)

    def _take(self, line: str, family: str) -> None:
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] in [family + suffix for suffix in SUFFIXES[self.kinds[family]]], line
        key = (match[1], frozenset(LABEL.findall(match[2] or "")))
        assert key not in self.values, line
        self.values[key] = float(match[3])

    def get(self, name: str, **labels: str) -> float | None:
        return self.values.get((name, frozenset(labels.items())))

    def labels(self, name: str) -> list[dict[str, str]]:
        return [dict(labels) for found, labels in self.values if found == name]


class Door(msgspec.Struct):
    """The door of one worker."""

    process: subprocess.Popen[str]
    port: int = 0
    path: str = ""

    def ask(self, path: str, method: str = "GET") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            if self.path:
                connection.sock = socket.socket(socket.AF_UNIX)
                connection.sock.connect(self.path)
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metrics(self) -> Metrics:
        code, text = self.ask("/metrics")
        assert code == 200
        return Metrics(text)


def open_door(workers: Workers) -> Door:
    """Start a worker with a door, and wait until it has said where that is."""
    return Door(workers.start("--health", "0"), _port(workers))


def open_door_of_troubled(workers: Workers) -> Door:
    """Start a worker in whose store there is an outage, or a stall, while a file of that name exists."""
    command = [sys.executable, "-m", "tests.process.test_health", "worker", "tests.process.tasks:app"]
    options = ["--health", "0", "--lease", str(LEASE_S)]
    with (workers.folder / "output").open("a") as output:
        process = subprocess.Popen(
            [*command, *options], env=workers.environment, stdout=output, stderr=output, text=True
        )
    workers.started.append(process)
    return Door(process, _port(workers))


def _port(workers: Workers) -> int:
    until(lambda: "health    http" in workers.output, "the banner names the door")
    return int(re.findall(r"health    http://127\.0\.0\.1:(\d+)", workers.output)[-1])


def not_ready(door: Door, reason: str) -> bool:
    code, text = door.ask("/ready")
    assert (code == 200) == (text == "ready\n")
    return code == 503 and reason in text


# --- live and ready ---------------------------------------------------------------------------------------------------


def test_a_worker_is_live_at_once_and_ready_when_it_can_take_jobs(workers: Workers) -> None:
    path, gate = str(workers.folder / "door"), workers.folder / "gate"
    (workers.folder / "slow_shop.py").write_text(
        "import pathlib, threading\n"
        f"while not pathlib.Path({str(gate)!r}).exists(): threading.Event().wait(0.01)\n"
        "from tests.process.tasks import app\n"
    )
    workers.environment["PYTHONPATH"] += os.pathsep + str(workers.folder)
    door = Door(workers.start("--health", f"unix:{path}", target="slow_shop:app"), path=path)
    until(lambda: Path(path).exists() and door.ask("/live") == (200, "live\n"), "it is live")
    assert door.ask("/ready") == (503, "no child is ready\n")
    assert door.metrics().get("holdfast_store_up") == 0
    gate.touch()
    until(lambda: door.ask("/ready") == (200, "ready\n"), "it is ready")


def test_a_worker_that_stops_is_live_and_not_ready_until_it_has_ended(workers: Workers) -> None:
    gate = workers.folder / "gate"
    hold.enqueue(str(gate))
    door = open_door(workers)
    until(lambda: workers.lines("holding"), "the job runs")
    assert door.ask("/ready")[0] == 200
    door.process.terminate()
    until(lambda: not_ready(door, "the worker is stopping"), "it is not ready")
    assert door.ask("/live")[0] == 200
    gate.touch()
    assert door.process.wait(20) == 0
    with pytest.raises(ConnectionRefusedError):
        door.ask("/live")


def test_a_worker_cut_off_from_its_store_answers_says_so_and_recovers(workers: Workers) -> None:
    door = open_door_of_troubled(workers)
    until(lambda: door.metrics().get("holdfast_store_up") == 1, "the store is up")
    outage = workers.folder / "outage"
    outage.touch()
    over = time.monotonic() + PATIENCE_S + 2
    until(lambda: not_ready(door, "the worker holds no live lease"), "the lease has ended")
    metrics = door.metrics()
    assert metrics.get("holdfast_store_up") == 0
    assert metrics.get("holdfast_lease_seconds_left") == 0
    assert (metrics.get("holdfast_store_errors_total") or 0) > 0
    assert (metrics.get("holdfast_lease_renewal_failures_total") or 0) > 0
    until(lambda: time.monotonic() > over, "it has lasted for longer than a thread may hang")
    assert door.ask("/live")[0] == 200, "a restart would not bring the store back"
    before = metrics.labels("holdfast_worker_info")
    outage.unlink()
    until(lambda: door.metrics().labels("holdfast_worker_info") != before, "it has enlisted under another id")
    until(lambda: door.metrics().get("holdfast_store_up") == 1, "the store is up again")
    assert door.ask("/ready")[0] == 200


def test_a_worker_whose_store_thread_hangs_is_not_live_and_feeds_no_watchdog(workers: Workers) -> None:
    with Ear(workers, "notify") as ear:
        workers.environment["WATCHDOG_USEC"] = "400000"
        door = open_door_of_troubled(workers)
        ear.until("WATCHDOG=1")
        (workers.folder / "stall").touch()
        until(lambda: door.ask("/live")[0] == 503, "it is not live")
        assert re.fullmatch(r"the store thread has not turned for \d+ s\n", door.ask("/live")[1])
        assert door.ask("/ready")[0] == 503
        assert door.metrics().get("holdfast_children", state="ready") == 1
        ear.hear_for(0.1)  # what was on its way
        assert not [words for words in ear.hear_for(1.0) if "WATCHDOG=1" in words]
        (workers.folder / "stall").unlink()
        until(lambda: door.ask("/live")[0] == 200, "it is live again")
        ear.until("WATCHDOG=1")


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_the_figures_agree_with_what_ran(workers: Workers) -> None:
    jobs = [*app.enqueue_many(note.s(number) for number in range(40)), fail.enqueue(), flaky.enqueue(1), die.enqueue()]
    note.using(delay=3600).enqueue(0)
    app.store.queues.pause("still")
    note.using(queue="still").enqueue(0)
    door = open_door(workers)
    for job in jobs:
        until(lambda job=job: job.state() in ("succeeded", "failed"), "it has ended")
    gate = workers.folder / "gate"
    held = hold.enqueue(str(gate))
    until(lambda: workers.lines("holding"), "the job runs")
    until(lambda: _depth(door, "running") == 1, "the queue is read anew")
    metrics = door.metrics()
    ran = Counter((job.record().task, run.outcome) for job in jobs for run in job.history())
    told = {
        (labels["task"], labels["outcome"]): metrics.get("holdfast_runs_total", **labels)
        for labels in metrics.labels("holdfast_runs_total")
    }
    assert ran["tests.process.tasks.note", "done"] == 40
    assert told == ran
    assert metrics.get("holdfast_child_crashes_total") == 3
    assert metrics.get("holdfast_jobs_held") == 1
    assert metrics.get("holdfast_children", state="ready") == 1
    assert 0 < (metrics.get("holdfast_lease_seconds_left") or 0) <= 10
    assert (metrics.get("holdfast_lease_renewals_total") or 0) > 0
    for queue, state, number in (
        ("default", "succeeded", 41),
        ("default", "failed", 2),
        ("default", "scheduled", 1),
        ("still", "ready", 1),
    ):
        assert metrics.get("holdfast_queue_jobs", queue=queue, state=state) == number, state
    assert metrics.get("holdfast_queue_oldest_ready_seconds", queue="default") == 0
    assert (metrics.get("holdfast_queue_oldest_ready_seconds", queue="still") or 0) > 0
    assert metrics.get("holdfast_queue_paused", queue="still") == 1
    assert not metrics.get("holdfast_store_errors_total")
    (about,) = metrics.labels("holdfast_worker_info")
    assert about["worker"] == held.record().worker
    assert about["pid"] == str(door.process.pid)
    gate.touch()


def test_the_histogram_holds_every_timed_run_once(workers: Workers) -> None:
    jobs = app.enqueue_many(note.s(number) for number in range(20))
    door = open_door(workers)
    for job in jobs:
        job.result(timeout=20)
    task = jobs[0].record().task
    until(lambda: door.metrics().get("holdfast_run_seconds_count", task=task) == 20, "all are counted")
    metrics = door.metrics()
    rows = [labels for labels in metrics.labels("holdfast_run_seconds_bucket") if labels["task"] == task]
    counts = [metrics.get("holdfast_run_seconds_bucket", **row) or 0 for row in rows]
    assert counts == sorted(counts), "buckets add up"
    assert counts[-1] == 20
    assert 0 < (metrics.get("holdfast_run_seconds_sum", task=task) or 0) < 20


def test_a_killed_child_is_counted_and_the_worker_is_ready_again(workers: Workers) -> None:
    door = open_door(workers)
    (child,) = children_of(door.process.pid)
    os.kill(child, signal.SIGKILL)
    until(lambda: door.metrics().get("holdfast_child_crashes_total") == 1, "the crash is counted")
    until(lambda: door.ask("/ready")[0] == 200, "another one is ready")


def test_a_stopped_child_holds_up_no_answer(workers: Workers) -> None:
    gate = workers.folder / "gate"
    hold.enqueue(str(gate))
    door = open_door(workers)
    until(lambda: workers.lines("holding"), "the job runs")
    (child,) = children_of(door.process.pid)
    os.kill(child, signal.SIGSTOP)
    try:
        assert door.ask("/live")[0] == 200
        assert door.metrics().get("holdfast_jobs_held") == 1
    finally:
        os.kill(child, signal.SIGCONT)
        gate.touch()


def _depth(door: Door, state: str) -> float | None:
    return door.metrics().get("holdfast_queue_jobs", queue="default", state=state)


# --- clients ----------------------------------------------------------------------------------------------------------


def test_clients_that_send_nothing_hinder_nobody_and_are_cut_off(workers: Workers) -> None:
    door = open_door(workers)
    assert note.enqueue(0).result(timeout=20) == 0, "all its own threads are there"
    threads = _threads(door.process.pid)
    silent = [socket.create_connection(("127.0.0.1", door.port)) for _ in range(30)]
    try:
        for client in silent[::2]:
            client.sendall(b"GET /metr")
        began = time.monotonic()
        assert door.ask("/live")[0] == 200
        assert time.monotonic() - began < doors.DEADLINE_S / 2
        assert note.enqueue(1).result(timeout=20) == 1
        assert _threads(door.process.pid) <= threads + 2 * doors.MOST_CLIENTS + 1
        for client in silent:
            client.settimeout(2 * doors.DEADLINE_S)
            assert _is_cut_off(client)
        until(lambda: _threads(door.process.pid) <= threads + 1, "their threads have ended")
    finally:
        for client in silent:
            client.close()


def test_a_client_that_talks_without_end_is_cut_off(workers: Workers) -> None:
    door = open_door(workers)
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        client.sendall(b"GET /live HTTP/1.1\r\n" + b"X-Long: " + b"x" * 20_000)
        began = time.monotonic()
        assert _is_cut_off(client)
        assert time.monotonic() - began < doors.DEADLINE_S / 2
    assert door.ask("/live")[0] == 200


def test_answers_that_hang_take_up_no_more_than_a_few_threads() -> None:
    goes_on, asked, clients = threading.Event(), threading.Semaphore(0), []
    door = doors.Door("0")

    def answer(_path: str) -> Reply:
        asked.release()
        goes_on.wait(60)
        return Reply(200, "at last")

    def ask() -> socket.socket:
        client = socket.create_connection((door.address.host, door.address.port), timeout=5)
        clients.append(client)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        return client

    door.start(answer)
    try:
        for _ in range(2 * doors.MOST_CLIENTS):
            ask()
            assert asked.acquire(timeout=10)
        assert _is_cut_off(ask()), "there is no thread for it"
        goes_on.set()
        assert ask().recv(1000).startswith(b"HTTP/1.1 200 OK"), "now there is"
    finally:
        goes_on.set()
        for client in clients:
            client.close()
        door.close()


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("GET", "/live?x=1", 200), ("HEAD", "/ready", 200), ("POST", "/ready", 405), ("GET", "/", 404)],
)
def test_only_what_is_there_is_answered(workers: Workers, method: str, path: str, code: int) -> None:
    door = open_door(workers)
    until(lambda: door.ask("/ready")[0] == 200, "it is ready")
    assert door.ask(path, method)[0] == code


def test_what_is_no_request_is_refused(workers: Workers) -> None:
    door = open_door(workers)
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as client:
        client.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def _threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def _is_cut_off(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


# --- addresses --------------------------------------------------------------------------------------------------------


def test_an_address_that_is_taken_ends_the_worker_before_it_starts(workers: Workers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = workers.burst("--health", str(other.getsockname()[1]))
    assert done.returncode == 1
    assert "for --health: Address already in use" in done.stderr
    assert not (workers.folder / "jobs.db").exists()


@pytest.mark.parametrize("address", ["", "x", "localhost", "127.0.0.1:70000", "::1:80", ":80", "unix:"])
def test_an_address_that_is_none_is_refused(workers: Workers, address: str) -> None:
    done = workers.burst("--health", address)
    if address:
        assert done.returncode == 1
        assert (
            f"expected the address of the health door as PORT, HOST:PORT or unix:/path, got: {address!r}" in done.stderr
        )
    else:
        assert done.returncode == 0, "nothing was asked for"


def test_the_socket_of_a_killed_worker_is_taken_over(workers: Workers) -> None:
    path = str(workers.folder / "door")
    first = Door(workers.start("--health", f"unix:{path}"), path=path)
    until(lambda: _answers(first), "it is ready")
    first.process.kill()
    first.process.wait()
    second = Door(workers.start("--health", f"unix:{path}"), path=path)
    until(lambda: _answers(second), "the other one answers")
    second.process.terminate()
    assert second.process.wait(20) == 0
    assert not Path(path).exists()


def test_the_socket_of_a_living_worker_is_left_alone(workers: Workers) -> None:
    path = str(workers.folder / "door")
    door = Door(workers.start("--health", f"unix:{path}"), path=path)
    until(lambda: _answers(door), "it is ready")
    done = workers.burst("--health", f"unix:{path}")
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
    assert door.ask("/ready")[0] == 200


def _answers(door: Door) -> bool:
    try:
        return door.ask("/ready")[0] == 200
    except OSError:
        return False


# --- systemd ----------------------------------------------------------------------------------------------------------


class Ear:
    """A socket that hears what systemd would."""

    def __init__(self, workers: Workers, name: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = name if name.startswith("@") else str(workers.folder / name)
        self._socket.bind(address.replace("@", "\0", 1) if name.startswith("@") else address)
        workers.environment["NOTIFY_SOCKET"] = address
        self.heard: list[str] = []

    def __enter__(self) -> "Ear":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def until(self, word: str) -> None:
        """Listen until a word is said."""
        deadline = time.monotonic() + 20
        while word not in self._next(deadline):
            continue

    def hear_for(self, seconds: float) -> list[list[str]]:
        """Listen for so long, and give what was said."""
        deadline, words = time.monotonic() + seconds, []
        while True:
            try:
                words.append(self._next(deadline))
            except TimeoutError:
                return words

    def _next(self, deadline: float) -> list[str]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"heard only {self.heard}")
        self._socket.settimeout(left)
        words = self._socket.recv(4096).decode().split("\n")
        self.heard += words
        return words


@pytest.mark.parametrize("name", ["notify", f"@holdfast-test-{os.getpid()}"], ids=["file", "abstract"])
def test_systemd_hears_ready_status_watchdog_and_stopping(workers: Workers, name: str) -> None:
    gate = workers.folder / "gate"
    hold.enqueue(str(gate))
    workers.environment["WATCHDOG_USEC"] = "400000"
    with Ear(workers, name) as ear:
        process = workers.start()
        ear.until("READY=1")
        until(lambda: workers.lines("holding"), "the job runs")
        ear.until("STATUS=ready: 1 child, 1 job held")
        for _ in range(3):
            ear.until("WATCHDOG=1")
        (child,) = children_of(process.pid)
        environment = Path(f"/proc/{child}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in environment, "a task's programs are not the service"
        assert b"WATCHDOG" not in environment
        process.terminate()
        ear.until("STOPPING=1")
        ear.until("STATUS=the worker is stopping")
        gate.touch()
        assert process.wait(20) == 0
    assert ear.heard.count("READY=1") == 1
    assert ear.heard.count("STOPPING=1") == 1


def test_a_watchdog_of_another_process_is_not_fed(workers: Workers) -> None:
    workers.environment |= {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": str(os.getpid())}
    with Ear(workers, "notify") as ear:
        workers.start()
        ear.until("READY=1")
        ear.hear_for(1.0)
    assert "WATCHDOG=1" not in ear.heard


def test_a_worker_without_anyone_to_tell_works(workers: Workers) -> None:
    workers.environment["NOTIFY_SOCKET"] = str(workers.folder / "nobody")
    note.enqueue(1)
    assert workers.burst().returncode == 0
    assert workers.lines("note") == ["note 1"]


# --- a worker in trouble: see `open_door_of_troubled` -----------------------------------------------------------------


def _hang_while_told(*_: object, **__: object) -> None:
    stall = Path(os.environ["DIARY"]).with_name("stall")
    while stall.exists():
        threading.Event().wait(0.01)


if __name__ == "__main__":
    vitals._LEAST_PATIENCE_S = PATIENCE_S  # type: ignore[misc]
    wrap(SqliteStore, "rescue", _hang_while_told, None)
    POINTS["outage"]()
    main()
