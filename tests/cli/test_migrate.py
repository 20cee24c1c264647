"""`holdfast migrate`: makes the store, and is safe to repeat."""

from pathlib import Path

from tests.cli.conftest import run
from tests.support.servers_postgres import empty_url


def test_a_store_is_made_and_a_repetition_does_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        answer = run("--url", "sqlite:///new.db", "migrate")
        assert (answer.code, answer.out) == (0, f"sqlite:///{tmp_path}/new.db is up to date; there was nothing to do\n")
    assert run("--url", "sqlite:///new.db", "jobs").code == 0


def test_a_database_server_tells_as_json() -> None:
    answer = run("--url", empty_url(), "migrate", "--json")
    assert answer.code == 0
    assert (answer.json["namespace"], answer.json["steps"]) == ("holdfast", [])


def test_commands_work_on_a_database_server() -> None:
    """One URL to grow: the same commands, another store."""
    url = empty_url()
    assert run("--url", url, "migrate").code == 0
    for command in (["jobs"], ["queues"], ["workers"], ["doctor"], ["top", "--once", "--every", "0.1"], ["health"]):
        answer = run("--url", url, *command)
        assert answer.code == 0, (command, answer.out, answer.err)
