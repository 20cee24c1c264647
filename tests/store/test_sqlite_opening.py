"""What only the SQLite store has to get right when it opens: places, files and schemas that it must refuse."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.errors import InvalidInput, InvalidName, SchemaTooNew, StoreClosed, StoreUnavailable, StoreUnsafe
from holdfast.model.queue import LaneRecord, QueuePolicy
from holdfast.model.worker import WorkerRecord
from holdfast.store.sqlite.location import check_filesystem, filesystem_of
from holdfast.store.sqlite.schema import migrations
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.contract.sample_jobs import job


def test_a_folder_that_does_not_exist_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"nowhere does not exist; create it"):
        SqliteStore.open(tmp_path / "nowhere" / "jobs.db")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="it is a folder"):
        SqliteStore.open(tmp_path)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes\n" * 400)
    with pytest.raises(StoreUnavailable, match="is not a SQLite database"):
        SqliteStore.open(path)
    assert path.read_text() == "these are my notes\n" * 400


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """As another user in a child process: root may write anywhere."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    code = (
        "import os, sys\n"
        "from holdfast.errors import StoreUnavailable\n"
        "from holdfast.store.sqlite.store import SqliteStore\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "else: os.chmod(sys.argv[1], 0o500)\n"
        "try: SqliteStore.open(sys.argv[1] + '/jobs.db')\n"
        "except StoreUnavailable as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
    )
    assert "make it writable" in done.stdout, done.stderr


def test_a_schema_of_a_newer_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    SqliteStore.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("update holdfast_meta set schema = 99")
    connection.close()
    with pytest.raises(SchemaTooNew, match=r"has schema 99, and this version of Holdfast reads up to 2; upgrade"):
        SqliteStore.open(path)


def test_a_file_of_the_former_version_is_brought_up_to_date_with_its_jobs(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    _of_version(path, 1)
    with sqlite3.connect(path) as connection:
        connection.execute("insert into holdfast_queue (name, is_lifo) values ('stack', 1), ('plain', 0)")
        for number, queue in enumerate(("stack", "stack", "plain", "plain")):
            connection.execute(
                "insert into holdfast_job (id, queue, task, state, priority, due_us, created_us, crash_budget, "
                "keep_done_s, keep_dead_s, result_ttl_s, envelope) values (?, ?, 't', 'ready', 0, ?, 0, 3, 9, 9, 9, x'00')",
                (f"j{number}", queue, number),
            )
    connection.close()
    store = SqliteStore.open(path)
    store.enlist(WorkerRecord("w", "here", 1, ("t",)))
    assert [store.queues.get(name).policy.order for name in ("stack", "plain")] == ["lifo", "fifo"]  # type: ignore[union-attr]
    assert not store.queues.set_policy("stack", QueuePolicy("lifo")), "it is what it was"
    assert [claim.id for claim in store.claim("w", ["stack", "plain"], 10)] == ["j1", "j0", "j2", "j3"]
    store.push([job("plain", id="laned", lane="a")])
    store.leave("w")
    assert store.queues.lanes("plain") == [LaneRecord("", 2, 0, "open"), LaneRecord("a", 1, 0, "open")]


def _of_version(path: Path, version: int) -> None:
    """Make a file as that version of the schema left it."""
    with sqlite3.connect(path) as connection:
        connection.executescript(re.sub(r"\bns_", "holdfast_", "".join(migrations()[:version])))
        connection.execute("create table holdfast_meta (schema integer not null) strict")
        connection.execute("insert into holdfast_meta (schema) values (?)", (version,))
    connection.close()


def test_many_processes_that_open_a_new_file_at_once_make_one_schema(tmp_path: Path) -> None:
    code = (
        "import sys; from holdfast.store.sqlite.store import SqliteStore; from holdfast.model.job import NewJob\n"
        "SqliteStore.open(sys.argv[1]).push([NewJob(sys.argv[2], 'q', 't', b'')])"
    )

    def start(number: int) -> int:
        return subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "jobs.db"), f"j{number}"], timeout=60, check=False
        ).returncode

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(start, range(6))) == {0}
    assert SqliteStore.open(tmp_path / "jobs.db").queues.get("q").counts == {"ready": 6}  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused_with_its_kind(kind: str) -> None:
    with pytest.raises(StoreUnsafe, match=rf"network file system \({kind}\)"):
        check_filesystem(Path("/mnt/share/jobs.db"), kind)


def test_the_innermost_mount_decides_the_file_system() -> None:
    mounts = (
        "21 1 254:0 / / rw - ext4 /dev/root rw\n"
        "30 21 0:50 / /mnt/share rw - nfs4 server:/x rw\n"
        "31 30 0:51 / /mnt/share/local\\040disk rw - xfs /dev/sdb rw\n"
    )
    assert filesystem_of(Path("/home"), mounts) == "ext4"
    assert filesystem_of(Path("/mnt/share/a"), mounts) == "nfs4"
    assert filesystem_of(Path("/mnt/shared"), mounts) == "ext4"
    assert filesystem_of(Path("/mnt/share/local disk/a"), mounts) == "xfs"


def test_an_unknown_tier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="'durable' or 'fast', got: 'turbo'"):
        SqliteStore.open(tmp_path / "jobs.db", tier="turbo")


def test_a_namespace_with_odd_characters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidName, match="namespace"):
        SqliteStore.open(tmp_path / "jobs.db", namespace="x; drop table")


def test_two_namespaces_in_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    shop = SqliteStore.open(tmp_path / "jobs.db", namespace="shop")
    blog = SqliteStore.open(tmp_path / "jobs.db", namespace="blog")
    shop.push([job("q")])
    assert shop.queues.names() == ["q"]
    assert blog.queues.names() == []


@pytest.mark.parametrize(("tier", "level"), [("durable", 2), ("fast", 1)])
def test_the_tier_is_what_sqlite_was_told(tmp_path: Path, tier: str, level: int) -> None:
    store = SqliteStore.open(tmp_path / "jobs.db", tier=tier)
    assert store.describe().tier == tier
    with store._db.write() as connection:
        assert connection.execute("pragma synchronous").fetchone()[0] == level
        assert connection.execute("pragma wal_autocheckpoint").fetchone()[0] == 0
        assert connection.execute("pragma mmap_size").fetchone() in ((0,), None)


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path / "jobs.db")
    assert stat.S_IMODE((tmp_path / "jobs.db").stat().st_mode) == 0o600


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "jobs.db")
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="was closed"):
        store.push([job()])
