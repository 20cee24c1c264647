"""Which store a command speaks to: --url, --app, environment, in this order; and what is not there is not made."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli import shop
from tests.cli.conftest import APP, Shop, run, run_apart

READING = [
    ("jobs",),
    ("queues",),
    ("show", "some-job"),
    ("result", "some-job"),
    ("cancel", "some-job"),
    ("retry", "some-job"),
    ("retry", "--state", "failed"),
    ("queue", "show", "mail"),
    ("queue", "pause", "mail"),
    ("queue", "resume", "mail"),
    ("queue", "purge", "mail", "--yes"),
    ("unpark", "--all"),
    ("doctor",),
]


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Shop]:
    """Stores that each have a queue of their own name."""
    made: dict[str, Shop] = {}
    for name in ("option", "variable", "own"):
        made[name] = Shop(tmp_path)
        made[name].url = f"sqlite:///{name}.db"
        with shop.make(made[name].url) as app:
            app.tasks["shop.add"].using(queue=name).enqueue(1, 2)
    return made


def seen(*arguments: str) -> str:
    """Tell which store was looked at, by its only queue."""
    answer = run(*arguments, "queues", "--json")
    assert answer.code == 0, answer.err
    (queue,) = answer.json
    return str(queue["name"])


@pytest.mark.usefixtures("stores")
class TestPrecedence:
    def test_url_beats_app_and_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOLDFAST_URL", "sqlite:///variable.db")
        monkeypatch.setenv("HOLDFAST_APP", "tests.cli.shop:own")
        assert seen("--url", "sqlite:///option.db", "--app", "tests.cli.shop:own") == "option"

    def test_app_beats_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOLDFAST_URL", "sqlite:///variable.db")
        assert seen("--app", "tests.cli.shop:own") == "own"

    def test_an_app_without_a_store_of_its_own_takes_that_of_the_environment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOLDFAST_URL", "sqlite:///variable.db")
        assert seen("--app", APP) == "variable"

    def test_the_url_of_the_environment_is_taken_without_loading_its_app(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOLDFAST_URL", "sqlite:///variable.db")
        monkeypatch.setenv("HOLDFAST_APP", "tests.cli.shop:broken")
        assert seen() == "variable"

    def test_the_app_of_the_environment_comes_last(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOLDFAST_APP", "tests.cli.shop:own")
        assert seen() == "own"

    def test_enqueue_goes_to_the_url_though_the_app_names_its_own(self) -> None:
        answer = run("--url", "sqlite:///option.db", "--app", "tests.cli.shop:own", "enqueue", "add", "1", "2")
        assert answer.code == 0, answer.err
        assert len(run("--url", "sqlite:///option.db", "jobs", "--json").json) == 2
        assert len(run("--url", "sqlite:///own.db", "jobs", "--json").json) == 1

    def test_an_option_may_stand_behind_the_command_and_the_nearest_wins(self) -> None:
        answer = run("--url", "sqlite:///nothing.db", "queues", "--url", "sqlite:///option.db")
        assert answer.code == 0, answer.err

    def test_an_option_may_stand_inside_a_group(self) -> None:
        answer = run("queue", "--url", "sqlite:///option.db", "--json", "show", "option")
        assert answer.json["name"] == "option"


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_without_any_store_the_remedies_are_named(arguments: tuple[str, ...]) -> None:
    answer = run(*arguments)
    assert answer.code == 1
    assert "no store was named: give --url" in answer.out + answer.err


@pytest.mark.parametrize("variable", ["HOLDFAST_URL", "HOLDFAST_APP"])
def test_an_empty_variable_is_as_good_as_none(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "")
    assert "no store was named" in run("jobs").err
    assert "enqueue needs the app" in run("enqueue", "add").err
    assert "no app was named" in run("worker").err


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_file_that_is_not_there_is_named_and_not_made(arguments: tuple[str, ...], tmp_path: Path) -> None:
    answer = run("--url", "sqlite:///misspelt.db", *arguments)
    assert answer.code == 1
    assert f"there is no file {tmp_path}/misspelt.db; check the path" in answer.out + answer.err
    assert "(named by --url)" in answer.out + answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_a_database_of_another_program_is_left_as_it_is(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with closing(sqlite3.connect("theirs.db")) as connection:
        connection.execute("create table theirs (a)")
        connection.commit()
    before = Path("theirs.db").read_bytes()
    answer = run("--url", "sqlite:///theirs.db", *arguments)
    assert answer.code == 1
    assert "theirs.db holds no jobs of Holdfast" in answer.out + answer.err
    assert Path("theirs.db").read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "theirs.db"]


def test_a_misspelt_namespace_is_told_and_not_made(store: Shop) -> None:
    answer = store.run("--namespace", "misspelt", "jobs")
    assert answer.code == 1
    assert "has no namespace 'misspelt'; it has: holdfast" in answer.err
    assert not Path(f"{store.path}-misspelt").exists()


def test_a_namespace_is_found_by_option_and_by_environment(store: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop.make(store.url, namespace="second") as app:
        app.tasks["shop.add"].using(queue="theirs").enqueue(1, 2)
    assert [queue["name"] for queue in store.json("--namespace", "second", "queues")] == ["theirs"]
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "second")
    assert [queue["name"] for queue in store.json("queues")] == ["theirs"]


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("jobs.db", "memory://, got: 'jobs.db'; e.g. sqlite:///jobs.db"),
        ("mysql://here", "got: 'mysql'; e.g. sqlite:///jobs.db"),
        ("memory://", "memory:// lives inside one process, and this is another; use sqlite:///jobs.db"),
        ("sqlite://jobs.db", "expected sqlite:///jobs.db (three slashes), got: 'sqlite://jobs.db'"),
        ("sqlite:///text.db", "text.db is not a SQLite database; name another file"),
        ("sqlite:///folder", "it is a folder; name a file in it"),
        ("sqlite:///jobs.db?teir=fast", "the URL of this store has no option 'teir'; it takes tier, trust_filesystem"),
    ],
)
def test_a_wrong_url_is_answered_with_one_sentence(url: str, sentence: str, store: Shop) -> None:
    Path("text.db").write_text("some notes of mine, longer than the head of a database is " * 3)
    Path("folder").mkdir()
    answer = run("--url", url, "jobs")
    assert answer.code == 1
    assert answer.out == ""
    assert sentence in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("shop", "expected the app as MODULE:APP, e.g. shop.tasks:app, got: 'shop'"),
        ("no.such:app", "no.such:app cannot be imported: ModuleNotFoundError: No module named 'no'; see --debug"),
        ("tests.cli.shop:aap", "tests.cli.shop:aap cannot be found"),
        ("tests.cli.shop:not_an_app", "is not a Holdfast app, nor a function that gives one: 42"),
        ("tests.cli.shop:broken", "cannot be imported: RuntimeError: the app's own mistake; see --debug"),
    ],
)
@pytest.mark.parametrize("arguments", [("jobs",), ("enqueue", "add", "1", "2")], ids=" ".join)
def test_a_wrong_app_is_answered_with_one_sentence(target: str, sentence: str, arguments: tuple[str, ...]) -> None:
    answer = run("--app", target, *arguments)
    assert answer.code == 1
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_debug_shows_the_traceback_of_the_apps_own_mistake() -> None:
    answer = run_apart("--app", "tests.cli.shop:broken", "jobs", "--debug")
    assert answer.code == 1
    assert "in broken" in answer.err
