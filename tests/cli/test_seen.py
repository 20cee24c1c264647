"""`holdfast seen`: which keys were seen in a queue, and how to mark, forget and clear them."""

import subprocess
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.policy.seen import expected_error, sketch
from tests.cli.conftest import Shop, command, environment, run_apart
from tests.cli.terminal import Terminal

KEYS = {"queue", "count", "is_approximate", "capacity", "error", "error_now", "most_bytes"}


def add(store: Shop, *keys: str, queue: str = "mail", **options: int) -> None:
    with store.app as app:
        app.seen(queue).add(keys, **options)


def shape(store: Shop, capacity: int, error: float = 0.001, queue: str = "mail") -> None:
    with Holdfast(store.url) as app:
        app.seen(queue, capacity=capacity, error=error).record()


def known(store: Shop, *keys: str, queue: str = "mail", version: str | None = None) -> list[str]:
    with store.app as app:
        return app.seen(queue).known(keys, version=version)


# --- looking ----------------------------------------------------------------------------------------------------------


def test_json_tells_every_queue_that_has_a_set(store: Shop) -> None:
    assert store.json("seen", "list") == []
    add(store, "a", "b", queue="default")
    shape(store, 1_000_000)
    default, mail = store.json("seen", "list")
    assert default.keys() == mail.keys() == KEYS
    assert default == {
        "queue": "default", "count": 2, "is_approximate": False, "capacity": None, "error": None, "error_now": None,
        "most_bytes": None,
    }  # fmt: skip
    assert mail == {
        "queue": "mail", "count": 0, "is_approximate": True, "capacity": 1_000_000, "error": 0.001, "error_now": 0.0,
        "most_bytes": sketch(1_000_000, 0.001).blocks * 4096,
    }  # fmt: skip


def test_people_see_a_line_per_set(store: Shop) -> None:
    assert (
        store.run("seen", "list").out == "no key was seen in any queue: once=True and `holdfast seen add` mark them\n"
    )
    add(store, "a", "b", queue="default")
    shape(store, 1_000_000)
    heading, _, default, mail = store.run("seen", "list").out.splitlines()
    assert heading.split("  ")[0] == "queue"
    assert default.split() == ["default", "2", "exact", "–", "–", "–"]
    assert mail.split() == ["mail", "0", "approximate", "up", "to", "1.8", "MiB", "never", "1,000,000"]


def test_one_set_is_told_as_in_the_list(store: Shop) -> None:
    shape(store, 20, 0.01)
    add(store, *(f"k{number}" for number in range(20_000)))
    told = store.json("seen", "show", "mail")
    assert told == store.json("seen", "list")[0]
    assert told["error_now"] == expected_error(sketch(20, 0.01), told["count"])
    shown = store.run("seen", "show", "mail").out
    for words in ("approximate", "20 keys", "1 in 100", "up to 4 KiB", f"{told['error_now']:.1%}"):
        assert words in shown


def test_a_set_of_a_queue_that_nobody_used_is_empty_and_exact(store: Shop) -> None:
    assert store.json("seen", "show", "mail")["count"] == 0
    assert "exact" in store.run("seen", "show", "mail").out


def test_keys_are_asked_for(store: Shop, form: tuple[str, ...]) -> None:
    add(store, "a", "b")
    answer = store.run("seen", "has", "mail", "b", "a", "b", *form)
    assert (answer.code, answer.err) == (0, "")
    assert (
        answer.json == {"queue": "mail", "seen": ["b", "a"], "new": []} if form else answer.out == "seen  b\nseen  a\n"
    )
    answer = store.run("seen", "has", "mail", "x", "a", *form)
    assert (answer.code, answer.err) == (1, "error: 1 of 2 keys not seen in queue mail: x\n")
    assert answer.json == {"queue": "mail", "seen": ["a"], "new": ["x"]} if form else answer.out == "new   x\nseen  a\n"


def test_a_version_makes_another_key(store: Shop) -> None:
    assert store.json("seen", "add", "mail", "a", "--of-version", "2") == {"queue": "mail", "added": 1, "known": 0}
    assert (known(store, "a"), known(store, "a", version="2")) == ([], ["a"])
    assert store.run("seen", "has", "mail", "a").code == 1
    assert store.run("seen", "has", "mail", "a", "--of-version", "2").code == 0
    assert store.json("seen", "forget", "mail", "a", "--of-version", "2")["forgotten"] == ["a"]


# --- marking ----------------------------------------------------------------------------------------------------------


def test_keys_are_added(store: Shop) -> None:
    assert store.json("seen", "add", "mail", "a", "b", "a") == {"queue": "mail", "added": 2, "known": 1}
    assert store.run("seen", "add", "mail", "a", "c").out == (
        "added 1 key to the seen-set of queue mail; 1 was there already\n"
    )
    assert store.run("seen", "add", "mail", "d", "e").out == "added 2 keys to the seen-set of queue mail\n"
    assert known(store, *"abcdef") == list("abcde")


def from_stdin(store: Shop, given: bytes, *arguments: str) -> tuple[int, str, str]:
    whole = command("--url", store.url, "seen", "add", "mail", "-", *arguments)
    done = subprocess.run(whole, input=given, capture_output=True, timeout=60, check=False, env=environment())
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_keys_are_read_from_standard_input_one_a_line(store: Shop) -> None:
    lines = [*(f"k{number}" for number in range(1200)), "", "ä b", "k0"]
    assert from_stdin(store, "\r\n".join(lines).encode()) == (
        0, "added 1,201 keys to the seen-set of queue mail; 1 was there already\n", "",
    )  # fmt: skip
    assert known(store, "k0", "k1199", "ä b", "k1200") == ["k0", "k1199", "ä b"]
    assert from_stdin(store, b"")[:2] == (0, "added 0 keys to the seen-set of queue mail\n")


@pytest.mark.parametrize("bad", [b"x\x00", b"\xff\xfe", b"y" * 513])
def test_a_line_that_is_no_key_is_named_and_nothing_is_marked(store: Shop, bad: bytes) -> None:
    code, out, err = from_stdin(store, b"a\n" * 2000 + bad + b"\nb\n")
    assert (code, out) == (1, "")
    assert err.startswith("error: line 2,001: expected a key to be printable text of 1 to 512 characters")
    assert err.endswith("; nothing was marked\n")
    assert known(store, "a", "b") == []


def test_a_long_input_draws_a_bar_on_a_terminal(store: Shop, tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("\n".join(f"k{number}" for number in range(3000)))
    with urls.open() as file, Terminal("--url", store.url, "seen", "add", "mail", "-", stdin=file.fileno()) as terminal:
        assert terminal.end() == 0
        assert "adding" in terminal.seen
        assert "added 3,000 keys" in terminal.seen


def test_a_key_may_last_for_a_time(store: Shop) -> None:
    assert store.json("seen", "add", "mail", "a", "--ttl", "1h")["added"] == 1
    answer = store.run("seen", "add", "mail", "b", "--ttl", "0")
    assert (answer.code, answer.err) == (
        1, "error: expected --ttl to be more than 0 seconds, got: 0; leave it out for keys that stay\n",
    )  # fmt: skip
    assert known(store, "a", "b") == ["a"]


def test_nothing_to_add_is_a_mistake(store: Shop) -> None:
    answer = store.run("seen", "add", "mail")
    assert answer.code == 1
    assert "expected keys, or - to read them from standard input, one a line; got none" in answer.err


def test_a_queue_is_made_if_that_is_asked_for(store: Shop) -> None:
    assert store.json("seen", "add", "crawl", "a", "--make-queue")["added"] == 1
    assert known(store, "a", queue="crawl") == ["a"]


# --- forgetting -------------------------------------------------------------------------------------------------------


def test_keys_are_forgotten(store: Shop) -> None:
    add(store, "a", "b", "c")
    assert store.json("seen", "forget", "mail", "a", "x") == {"queue": "mail", "forgotten": ["a"], "new": ["x"]}
    assert store.run("seen", "forget", "mail", "b").out == "forgot 1 key of the seen-set of queue mail\n"
    assert store.run("seen", "forget", "mail", "b").out == (
        "forgot 0 keys of the seen-set of queue mail; 1 had not been seen\n"
    )
    assert known(store, "a", "b", "c") == ["c"]


def test_an_approximate_set_says_why_it_cannot(store: Shop, form: tuple[str, ...]) -> None:
    shape(store, 1000)
    add(store, "a")
    for arguments, words in (
        (("forget", "mail", "a"), "cannot forget one key"),
        (("add", "mail", "b", "--ttl", "5"), "ttl"),
    ):
        answer = store.run("seen", *arguments, *form)
        assert (answer.code, answer.out) == (1, "")
        assert (
            "error: the seen-set of queue mail is approximate (for 1,000 keys at an error of 0.001): it" in answer.err
        )
        assert words in answer.err
    assert known(store, "a", "b") == ["a"]


def test_clearing_forgets_all_and_the_shape(store: Shop) -> None:
    shape(store, 1000)
    add(store, "a", "b")
    add(store, "a", queue="default")
    assert store.json("seen", "clear", "mail", "--yes") == {"queue": "mail", "cleared": 2}
    assert [one["queue"] for one in store.json("seen", "list")] == ["default"]
    assert store.run("seen", "clear", "default", "-y").out == "forgot 1 key of the seen-set of queue default\n"


def test_clearing_does_nothing_where_nobody_can_be_asked(store: Shop, form: tuple[str, ...]) -> None:
    add(store, "a")
    answer = store.run("seen", "clear", "mail", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "Forget the seen-set of queue mail (1 key) for good? Nobody is there to answer" in answer.err
    assert known(store, "a") == ["a"]


def test_clearing_an_empty_set_asks_nothing(store: Shop) -> None:
    assert store.run("seen", "clear", "mail").out == "forgot 0 keys of the seen-set of queue mail\n"


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["show", "has", "add", "forget", "clear"])
def test_a_queue_that_is_not_there_is_answered_with_the_nearest(verb: str, store: Shop, form: tuple[str, ...]) -> None:
    keys = () if verb in ("show", "clear") else ("a",)
    answer = store.run("seen", verb, "mial", *keys, *form)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "error: there is no queue 'mial' in this store; did you mean mail?\n"
    assert len(store.json("queues")) == 2


@pytest.mark.parametrize("verb", ["has", "add", "forget"])
def test_a_key_that_is_none_is_refused(verb: str, store: Shop) -> None:
    answer = store.run("seen", verb, "mail", "a", "b\n")
    assert answer.code == 1
    assert "expected a key to be printable text of 1 to 512 characters" in answer.err
    assert known(store, "a") == []


# --- a push that asks -------------------------------------------------------------------------------------------------


def test_a_call_that_is_not_stored_is_told(tmp_path: Path, form: tuple[str, ...]) -> None:
    (tmp_path / "crawler.py").write_text(
        "from holdfast import Holdfast\n"
        "app = Holdfast('sqlite:///jobs.db')\n"
        "@app.task(name='visit', key='k', once=True)\n"
        "def visit(): ...\n"
    )
    words = ["--app", "crawler:app"]
    assert run_apart(*words, "enqueue", "visit").err == ""
    assert run_apart(*words, "worker", "--burst", "--log-level", "error").code == 0
    again = run_apart(*words, "enqueue", "visit", *form)
    job_id = again.json["id"] if form else again.out.strip()
    assert (again.code, again.err) == (0, f"note: not stored, its key was seen before: there is no job {job_id}\n")
    assert run_apart(*words, "seen", "has", "default", "k").code == 0
    assert run_apart(*words, "show", job_id).code == 1
