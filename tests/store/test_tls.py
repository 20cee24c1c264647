"""rediss://: a real handshake, a certificate that is checked, and one sentence when it is not trusted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import InvalidInput, StoreUnavailable
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.store.connect import connect
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, pushed, state
from tests.support.servers_valkey import new_namespace, shared_server
from tests.support.tls import Authority, Terminator


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def terminator(authority: Authority) -> Iterator[Terminator]:
    with Terminator(str(shared_server().socket), authority.server_context()) as opened:
        yield opened


def _url(terminator: Terminator, authority: Authority) -> str:
    return f"rediss://127.0.0.1:{terminator.port}/0?ssl_ca_certs={authority.path}"


def test_jobs_go_their_way_over_tls(terminator: Terminator, authority: Authority) -> None:
    store = connect(_url(terminator, authority), namespace=new_namespace())
    job_id = pushed(store)
    assert store.settle([done(claimed(store, enlisted(store)))]) == []
    assert state(store, job_id) == "succeeded"
    assert terminator.handshakes > 0
    store.close()


def test_a_push_over_tls_wakes_a_waiter(terminator: Terminator, authority: Authority) -> None:
    store = connect(_url(terminator, authority), namespace=new_namespace())
    store.push([job("q")])
    store.wait(["q"], 5.0)
    assert store.inspector.count(Query(queue="q")) == 1
    store.close()


def test_a_certificate_of_another_authority_is_refused_in_one_sentence(terminator: Terminator, tmp_path: Path) -> None:
    stranger = Authority(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"certificate that is not trusted: .*Name the authority.*ssl_ca_certs="):
        connect(_url(terminator, stranger))


def test_a_certificate_for_another_host_is_refused(authority: Authority) -> None:
    context = authority.server_context("elsewhere.example.com")
    with (
        Terminator(str(shared_server().socket), context) as terminator,
        pytest.raises(StoreUnavailable, match=r"certificate that is not trusted: .*127\.0\.0\.1"),
    ):
        connect(_url(terminator, authority))


def test_a_file_of_authorities_that_is_not_there_is_named(terminator: Terminator, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ssl_ca_certs names no file that can be found: .*nowhere\.pem"):
        connect(f"rediss://127.0.0.1:{terminator.port}/0?ssl_ca_certs={tmp_path}/nowhere.pem")
