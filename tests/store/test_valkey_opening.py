"""What only the Redis/Valkey store has to get right when it opens: servers and settings that it must refuse."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import InvalidInput, InvalidName, StoreClosed, StoreUnavailable, StoreUnsafe
from holdfast.model.query import StoreInfo
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.sample_jobs import job
from tests.support.servers_valkey import ValkeyServer, new_namespace, shared_server

SECRET = "open-sesame-4711"


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    """A server that keeps everything, with a user of a hosting company: it may not read the configuration."""
    opened = ValkeyServer("--appendonly", "yes", "--appendfsync", "always")
    with opened.client() as client:
        client.execute_command("ACL", "SETUSER", "hosted", "on", f">{SECRET}", "~*", "&*", "+@all", "-config")
    yield opened
    opened.stop()


@pytest.fixture
def settings(server: ValkeyServer) -> Iterator[dict[str, str]]:
    """The server's settings, to be added to; afterwards they are as before."""
    yield {}
    _set(server, {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"})


def _set(server: ValkeyServer, settings: dict[str, str]) -> None:
    with server.client() as client:
        for name, value in settings.items():
            client.config_set(name, value)


def _open(url: str, **options: object) -> StoreInfo:
    """Open a store, close it, and give what it said of itself."""
    store = RedisStore.open(url, where="redis://shown", **options)  # type: ignore[arg-type]
    try:
        return store.describe()
    finally:
        store.close()


def _findings(url: str) -> str:
    """Give all that the doctor would say of a server."""
    store = RedisStore.open(url, where="redis://shown")
    try:
        return " ".join(finding.detail for finding in store.inspector.examine())
    finally:
        store.close()


# --- reaching it --------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_told_as_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"redis://shown cannot be reached: .*Is the server running"):
        _open(f"unix://{tmp_path}/nobody")


def test_a_port_that_nobody_listens_on_is_told_as_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else gets it meanwhile
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            _open(f"redis://127.0.0.1:{taken.getsockname()[1]}/0")


def test_a_wrong_password_is_told_and_not_shown(server: ValkeyServer) -> None:
    with pytest.raises(StoreUnavailable, match=r"does not let us in: .*Check user and password") as caught:
        _open(f"unix://hosted:not-{SECRET}@{server.socket}")
    assert SECRET not in repr(caught.value)
    assert SECRET not in repr(caught.value.__cause__)


def test_a_url_that_cannot_be_read_does_not_show_its_password() -> None:
    with pytest.raises(InvalidInput, match="in a password as %2F") as caught:
        _open("redis://:open/sesame@localhost:6379/0")
    assert "open" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_password_is_in_nothing_that_the_store_says(server: ValkeyServer) -> None:
    store = RedisStore.open(f"unix://hosted:{SECRET}@{server.socket}", where="unix://hosted:***@")
    assert SECRET not in repr([store.describe(), store.inspector.examine(), store, vars(store)])
    store.close()


def test_a_closed_store_says_so() -> None:
    url = shared_server().url
    store = RedisStore.open(url, where=url, namespace=new_namespace())
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="was closed"):
        store.push([job()])


# --- what it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["6.2.14", "5.0.7"])
def test_a_server_older_than_seven_is_refused_by_its_version(version: str) -> None:
    with (
        _PretendServer(version) as url,
        pytest.raises(StoreUnsafe, match=f"Redis {version} is too old: .*7.0 or later"),
    ):
        _open(url)


def test_a_replica_is_refused(server: ValkeyServer) -> None:
    replica = ValkeyServer("--appendonly", "no", "--replicaof", "127.0.0.1", "1")
    try:
        with pytest.raises(StoreUnavailable, match=r"is a replica and takes no writes. Let the URL name the primary"):
            _open(replica.url)
    finally:
        replica.stop()


def test_a_node_of_a_cluster_is_not_reached_by_its_socket() -> None:
    node = ValkeyServer("--cluster-enabled", "yes", "--port", "0", "--cluster-port", "0")
    try:
        with pytest.raises(InvalidInput, match=r"is a node of a cluster.*Name its nodes by host and port: redis://"):
            _open(node.url)
    finally:
        node.stop()


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "allkeys-random"])
def test_a_server_that_may_evict_jobs_is_refused(server: ValkeyServer, settings: dict[str, str], policy: str) -> None:
    _set(server, settings | {"maxmemory-policy": policy})
    with pytest.raises(StoreUnsafe, match=f"maxmemory-policy {policy}: .* Set maxmemory-policy noeviction"):
        _open(server.url)


# --- what it promises ---------------------------------------------------------------------------------------


def test_a_server_that_syncs_every_write_is_durable(server: ValkeyServer) -> None:
    assert _open(server.url, tier="durable") == StoreInfo("redis", "redis://shown", "durable")


@pytest.mark.parametrize(
    ("given", "tier", "said"),
    [
        ({"appendfsync": "everysec"}, "fast", "about two seconds"),
        ({"appendfsync": "no"}, "fast", "about two seconds"),
        ({"appendonly": "no"}, "volatile", "Set appendonly yes"),
    ],
)
def test_a_server_that_promises_less_says_so(
    server: ValkeyServer, settings: dict[str, str], given: dict[str, str], tier: str, said: str
) -> None:
    _set(server, settings | given)
    assert _open(server.url).tier == tier
    assert said in _findings(server.url)


@pytest.mark.parametrize(
    ("given", "asked", "remedy"),
    [
        ({"appendfsync": "everysec"}, "durable", "Set appendonly yes and appendfsync always, or ask for tier='fast'"),
        ({"appendonly": "no"}, "durable", "Set appendonly yes and appendfsync always, or ask for tier='volatile'"),
        ({"appendonly": "no"}, "fast", "Set appendonly yes and appendfsync everysec, or ask for tier='volatile'"),
    ],
)
def test_a_tier_that_is_asked_for_and_not_met_is_refused(
    server: ValkeyServer, settings: dict[str, str], given: dict[str, str], asked: str, remedy: str
) -> None:
    _set(server, settings | given)
    with pytest.raises(StoreUnsafe, match=remedy):
        _open(server.url, tier=asked)


def test_a_server_that_hides_its_settings_is_not_believed_to_be_durable(server: ValkeyServer) -> None:
    url = f"unix://hosted:{SECRET}@{server.socket}"
    assert _open(url).tier == "fast"
    assert "CONFIG GET is not allowed here" in _findings(url)
    with pytest.raises(StoreUnsafe, match="appendfsync unknown"):
        _open(url, tier="durable")


def test_an_unknown_tier_is_refused(server: ValkeyServer) -> None:
    with pytest.raises(InvalidInput, match="durable, fast, volatile, got: 'turbo'"):
        _open(server.url, tier="turbo")


def test_the_doctor_is_told_of_version_memory_and_disk(server: ValkeyServer) -> None:
    store = RedisStore.open(server.url, where=server.url)
    findings = {finding.what: finding for finding in store.inspector.examine()}
    store.close()
    assert {"server", "memory", "disk"} <= findings.keys()
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert "Valkey" in findings["server"].detail


# --- namespaces ---------------------------------------------------------------------------------------------


def test_two_namespaces_of_one_server_do_not_see_each_other() -> None:
    url = shared_server().url
    shop, blog = (RedisStore.open(url, where=url, namespace=new_namespace()) for _ in range(2))
    new = job("q")
    assert shop.push([new])[0].decision == "created"
    assert blog.queues.names() == []
    assert blog.inspector.get(new.id) is None
    assert blog.push([new])[0].decision == "created"
    shop.close()
    blog.close()


@pytest.mark.parametrize("name", ["a b", "{x}", "x:y", ""])
def test_a_namespace_with_odd_characters_is_refused(name: str) -> None:
    with pytest.raises(InvalidName, match="namespace"):
        _open(shared_server().url, namespace=name)


class _PretendServer:
    """Answers INFO as a server of some version would, and OK to all else: such a server is not to be had here."""

    def __init__(self, version: str) -> None:
        info = f"redis_version:{version}\r\nrole:master\r\n".encode()
        self._info = b"$%d\r\n%s\r\n" % (len(info), info)
        self._listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> str:
        threading.Thread(target=self._serve, daemon=True).start()
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._listener.accept()
                with line, line.makefile("rb") as heard:
                    while head := heard.readline():
                        words = [heard.read(int(heard.readline()[1:]) + 2).strip() for _ in range(int(head[1:]))]
                        line.sendall(self._info if words[0] == b"INFO" else b"+OK\r\n")
