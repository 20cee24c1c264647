"""Lines that break at the worst moment: between us and a server stands a proxy that cuts, stalls and refuses.

I1, I3, I10, I32: an error is loud, nothing is half done, whoever repeats a step finds the truth, and service resumes by
itself.
"""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.errors import StoreError
from holdfast.model.claim import Claim
from holdfast.model.query import Query
from holdfast.model.verdict import Verdict
from holdfast.model.worker import WorkerRecord
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import job
from tests.support.proxy import MOMENTS, Moment, Proxy
from tests.support.servers_postgres import empty_url, server
from tests.support.servers_valkey import new_namespace, shared_server

LEASE_US = 60_000_000


class Site(NamedTuple):
    """A store behind a proxy, and the same store reached directly."""

    kind: str
    proxy: Proxy
    store: Store
    direct: Store

    def request(self, operation: str) -> bytes:
        """Give bytes that the request of this operation contains: for PostgreSQL that which makes it count."""
        if self.kind == "valkey":
            return b"EVALSHA"
        return b"insert into" if operation == "push" else b"COMMIT"


@pytest.fixture(params=["postgres", "valkey"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "postgres":
        straight, namespace, path = empty_url(), "holdfast", str(Path(server().folder) / ".s.PGSQL.5432")
    else:
        straight, namespace, path = shared_server().url, new_namespace(), str(shared_server().socket)
    with Proxy(path) as proxy:
        scheme = "postgresql://holdfast@{}/postgres" if request.param == "postgres" else "redis://{}/0"
        store = connect(scheme.format(f"127.0.0.1:{proxy.port}"), namespace=namespace)
        direct = connect(straight, namespace=namespace)
        yield Site(request.param, proxy, store, direct)
        proxy.flow()
        store.close()
        direct.close()


def until_it_works(step: Callable[[], object], deadline_s: float = 10.0) -> int:
    """Repeat a step, as a caller does that lost the answer. Give how often it failed, loudly."""
    deadline, failures = time.monotonic() + deadline_s, 0
    while True:
        try:
            step()
        except StoreError:
            failures += 1
            assert time.monotonic() < deadline, "service did not resume"
            time.sleep(0.01)
        else:
            return failures


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_push_whose_answer_was_lost_may_be_repeated(moment: Moment, site: Site) -> None:
    """I3: stored once, whether or not the first attempt was."""
    site.store.push([job("first")])
    new = job("mail")
    site.proxy.strike(moment, site.request("push"))
    until_it_works(lambda: site.store.push([new]))
    assert site.proxy.struck.is_set()
    assert site.direct.inspector.count(Query(queue="mail")) == 1
    assert site.direct.inspector.get(new.id) is not None


def claimed(store: Store, worker: str = "w1") -> Claim:
    store.enlist(WorkerRecord(worker, "here", 1, ("shop.send",), lease_us=LEASE_US))
    store.push([job("mail")])
    (claim,) = store.claim(worker, ["mail"], 1)
    return claim


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_verdict_whose_answer_was_lost_counts_once(moment: Moment, site: Site) -> None:
    """I6, I10: the job has ended once, with one run."""
    claim = claimed(site.store)
    site.proxy.strike(moment, site.request("settle"))
    verdict = Verdict(claim.id, claim.token, "mail", "done", took_us=5)
    until_it_works(lambda: site.store.settle([verdict]))
    assert site.proxy.struck.is_set()
    stored = site.direct.inspector.get(claim.id)
    assert stored is not None
    assert stored.state == "succeeded"
    assert [run.outcome for run in site.direct.inspector.history(claim.id)] == ["done"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_claim_whose_answer_was_lost_comes_back_with_the_lease(moment: Moment, site: Site) -> None:
    """I1, I9: what nobody knows to hold is handed back when the worker leaves, and runs."""
    site.store.enlist(WorkerRecord("w1", "here", 1, ("shop.send",), lease_us=LEASE_US))
    ids = {new.id for new in (job("mail"), job("mail"), job("mail")) if site.store.push([new])}
    site.proxy.strike(moment, site.request("claim"))
    until_it_works(lambda: site.store.claim("w1", ["mail"], 1))
    assert site.proxy.struck.is_set()
    site.store.leave("w1")
    site.direct.enlist(WorkerRecord("w2", "there", 2, ("shop.send",), lease_us=LEASE_US))
    assert {claim.id for claim in site.direct.claim("w2", ["mail"], 10)} == ids


def test_a_refused_line_is_an_error_and_service_resumes_by_itself(site: Site) -> None:
    """I32."""
    site.proxy.refuse()
    with pytest.raises(StoreError):
        site.store.push([job("mail")])
    site.proxy.refuse(False)
    until_it_works(lambda: site.store.push([job("mail")]))
    assert site.direct.inspector.count(Query(queue="mail")) == 1


def test_cut_lines_are_replaced(site: Site) -> None:
    for _ in range(5):
        site.store.push([job("mail")])
        site.proxy.cut()
        until_it_works(lambda: site.store.push([job("mail")]))
    assert site.direct.inspector.count(Query(queue="mail")) == 10


def test_a_stalled_line_delays_and_loses_nothing(site: Site) -> None:
    site.store.push([job("mail")])
    site.proxy.stall()
    thread = threading.Thread(target=until_it_works, args=(lambda: site.store.push([job("mail")]),))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    site.proxy.flow()
    thread.join(10)
    assert site.direct.inspector.count(Query(queue="mail")) == 2


def test_a_waiter_whose_line_is_cut_still_finds_what_was_pushed(site: Site) -> None:
    site.store.push([job("other")])
    woken = threading.Event()

    def wait() -> None:
        until_it_works(lambda: site.store.wait(["mail"], 20))
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    site.proxy.cut()
    site.direct.push([job("mail")])
    assert woken.wait(5), "the waiter was never woken"
    thread.join(5)
