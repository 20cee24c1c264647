"""With a secret set, what runs is what was signed; everything else is parked and shown (I33)."""

from typing import Any

import msgspec
import pytest

from holdfast import Holdfast, SealBroken
from holdfast.app.call import Call
from holdfast.app.clerk import Clerk
from holdfast.model.job import NewJob
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.virtual_clock import VirtualClock
from holdfast.wire.envelope import open_envelope, seal_in

OLD = "old-secret-of-some-length"
NEW = "new-secret-of-some-length"


@pytest.fixture
def ran() -> list[Any]:
    return []


def app_of(store: MemoryStore, secret: Any, ran: list[Any]) -> Holdfast:
    app = Holdfast("memory://", secret=secret)
    app.attach(store)
    app.task(name="note")(ran.append)
    return app


@pytest.fixture
def store(clock: VirtualClock) -> MemoryStore:
    return MemoryStore(clock)


def written(app: Holdfast, value: Any, **options: Any) -> NewJob:
    """A job as the app would store it, before it is stored."""
    call: Call[Any] = app.tasks["note"].using(**options).s(value)
    return Clerk(app, app.store, app.connection().ring).write(call)


def fate(app: Holdfast, job_id: str) -> tuple[str, str | None]:
    record = app.job(job_id).record()
    return record.state, record.reason


PARKED = ("parked", "bad signature")


def test_a_signed_job_runs_and_its_result_is_signed(store: MemoryStore, ran: list[Any]) -> None:
    app = app_of(store, NEW, ran)
    job = app.enqueue("note", 1)
    app.drain()
    assert (ran, job.result(0)) == ([1], None)


@pytest.mark.parametrize("secret", [None, OLD])
def test_an_unsigned_or_wrongly_signed_job_is_parked_and_never_run(
    store: MemoryStore, ran: list[Any], secret: str | None
) -> None:
    job = app_of(store, secret, ran).enqueue("note", 1)
    app = app_of(store, NEW, ran)
    assert app.drain() == 1
    assert app.drain() == 0
    assert (ran, fate(app, job.id)) == ([], PARKED)
    assert "HOLDFAST_SECRET" in (app.job(job.id).record().error or "")


def test_a_secret_is_rotated_without_stopping_anything(store: MemoryStore, ran: list[Any]) -> None:
    before = app_of(store, OLD, ran).enqueue("note", 1)
    rotating = app_of(store, [NEW, OLD], ran)
    rotating.enqueue("note", 2)
    assert rotating.drain() == 2
    assert rotating.job(before.id).result(0) is None
    after = app_of(store, NEW, ran)
    assert after.enqueue("note", 3).decision == "created"
    after.drain()
    assert ran == [1, 2, 3]


def test_a_job_signed_by_a_key_that_was_taken_away_is_parked(store: MemoryStore, ran: list[Any]) -> None:
    job = app_of(store, OLD, ran).enqueue("note", 1)
    app = app_of(store, [NEW], ran)
    app.drain()
    assert (ran, fate(app, job.id)) == ([], PARKED)


def test_a_revoked_secret_counts_nowhere_even_where_it_is_still_listed(
    store: MemoryStore, ran: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = app_of(store, OLD, ran).enqueue("note", 1)
    monkeypatch.setenv("HOLDFAST_REVOKED", OLD)
    app = app_of(store, [NEW, OLD], ran)
    app.drain()
    assert (ran, fate(app, job.id)) == ([], PARKED)
    assert "revoked" in (app.job(job.id).record().error or "")
    assert OLD not in (app.job(job.id).record().error or "")


@pytest.mark.parametrize("change", [
    {"payload": b"\x01\x92\x91\x07\x80"}, {"task": "other"}, {"priority": 9}, {"delay_us": 1}, {"retries": 5},
    {"timeout_us": 1}, {"expires_us": 1}, {"headers": {"a": "b"}},
])  # fmt: skip
def test_a_job_that_was_tampered_with_is_parked(store: MemoryStore, ran: list[Any], change: Any) -> None:
    app = app_of(store, NEW, ran)
    job = written(app, 1)
    envelope = seal_in(msgspec.structs.replace(open_envelope(job.envelope), **change))
    store.push([msgspec.structs.replace(job, envelope=envelope)])
    app.drain()
    assert (ran, fate(app, job.id)) == ([], PARKED)


def test_an_old_signed_job_does_not_run_again_under_its_id(store: MemoryStore, ran: list[Any]) -> None:
    """Trap 40"""
    app = app_of(store, NEW, ran)
    job = written(app, 1)
    store.push([job])
    app.drain()
    assert [pushed.decision for pushed in store.push([job])] == ["duplicate"]
    assert app.drain() == 0
    assert ran == [1]


@pytest.mark.parametrize("change", [{"id": "another-id"}, {"id": "another-id", "queue": "another-queue"}])
def test_an_old_signed_job_does_not_run_under_another_id(store: MemoryStore, ran: list[Any], change: Any) -> None:
    """Trap 40: an envelope and its seal, copied into another row."""
    app = app_of(store, NEW, ran)
    job = written(app, 1)
    store.push([job])
    app.drain()
    store.push([msgspec.structs.replace(job, **change)])
    app.drain()
    assert (ran, fate(app, "another-id")) == ([1], PARKED)


def test_a_copied_job_does_not_run_unsigned_either(store: MemoryStore, ran: list[Any]) -> None:
    """Trap 40, against mistakes: without a secret there is nobody to keep out."""
    app = app_of(store, None, ran)
    job = written(app, 1)
    store.push([job, msgspec.structs.replace(job, id="another-id")])
    app.drain()
    assert (ran, fate(app, "another-id")) == ([1], ("failed", "payload cannot be read"))


def test_a_result_that_was_tampered_with_is_not_believed(store: MemoryStore, ran: list[Any]) -> None:
    forged = app_of(store, None, ran)
    job = forged.enqueue("note", 1)
    forged.drain()
    with forged.consumer("default") as consumer:
        other = forged.enqueue("note", 2)
        consumer.claim()[0].done("forged")
    app = app_of(store, NEW, ran)
    with pytest.raises(SealBroken, match="signature is missing"):
        app.job(other.id).result(0)
    assert app.job(job.id).result(0) is None


def test_a_parked_job_runs_once_it_was_sealed_anew(store: MemoryStore, ran: list[Any]) -> None:
    from holdfast.wire.seal import seal_job

    job = app_of(store, OLD, ran).enqueue("note", 1)
    app = app_of(store, NEW, ran)
    app.drain()
    record = job.record()
    assert store.operator.unpark({job.id: seal_job(app.connection().ring, job.id, record.envelope)}) == [job.id]
    app.drain()
    assert (ran, job.state()) == ([1], "succeeded")
