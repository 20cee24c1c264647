"""From a URL to a backend: one door for our stores and for others'."""

from importlib.metadata import EntryPoint, entry_points
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.errors import InvalidInput, StoreUnavailable, UnknownOption
from holdfast.store import connect as door
from holdfast.store.backend import GROUP
from holdfast.store.connect import OURS, backend_of, connect, describe_url
from holdfast.store.urls import taken_out


def test_our_stores_are_offered_through_the_same_door_as_others() -> None:
    offered = {point.name: point.value for point in entry_points(group=GROUP)}
    assert offered == OURS


@pytest.mark.parametrize("scheme", OURS)
def test_every_backend_of_ours_can_be_loaded_by_its_entry_point(scheme: str) -> None:
    (point,) = entry_points(group=GROUP, name=scheme)
    backend = point.load()
    assert backend is backend_of(f"{scheme}://")
    assert all(callable(getattr(backend, name)) for name in ("open_url", "shown", "missing"))


def offer(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = [EntryPoint("mongodb", value, GROUP) for value in values]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)


def test_a_store_of_another_package_is_found_by_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(
        door, "stranger", SimpleNamespace(open_url=lambda *a, **k: opened.append((a, k))), raising=False
    )
    offer(monkeypatch, "holdfast.store.connect:stranger")
    connect("mongodb://there", tier="durable", namespace="mine")
    assert opened == [(("mongodb://there",), {"tier": "durable", "namespace": "mine", "clock": None})]


def test_two_packages_for_one_scheme_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "one.backend", "two.backend")
    with pytest.raises(
        InvalidInput, match=r"offered by several packages: one\.backend, two\.backend; uninstall all but one"
    ):
        backend_of("mongodb://there")


def test_an_unknown_scheme_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match=r"begins with one of sqlite://, postgresql://.*got: 'mysql'"):
        connect("mysql://there")


def test_a_missing_driver_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    monkeypatch.setattr(door, "import_module", refuse)
    with pytest.raises(StoreUnavailable, match=r"needs the package psycopg.*pip install 'holdfast\[postgres\]'"):
        connect("postgresql://there/jobs")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:secret@db:5432/jobs", "postgresql://ada:***@db:5432/jobs"),
        (
            "postgresql://ada@db/jobs?password=secret&sslmode=require",
            "postgresql://ada@db/jobs?password=***&sslmode=require",
        ),
        ("redis://:secret@cache:6379/0", "redis://:***@cache:6379/0"),
        ("postgresql://ada:12?secret@db/jobs", "postgresql://ada:***@db/jobs"),
        ("postgresql://ada:1/secret@db/jobs", "postgresql://ada:***@db/jobs"),
        ("rediss://cache:6379/0", "rediss://cache:6379/0"),
        ("unix:///run/valkey.sock?password=secret", "unix:///run/valkey.sock?password=***"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert describe_url(url) == shown


def test_our_option_is_taken_out_and_the_drivers_stay() -> None:
    rest, ours = taken_out("postgresql://db/jobs?sslmode=require&tier=durable", "tier")
    assert (rest, ours) == ("postgresql://db/jobs?sslmode=require", {"tier": "durable"})


@pytest.mark.parametrize("url", ["sqlite:///jobs.db?teir=fast", "memory://?tier=fast", "redis://localhost?colour=red"])
def test_an_option_that_a_store_does_not_have_is_refused(url: str) -> None:
    with pytest.raises(UnknownOption, match=r"has (no|an) option"):
        connect(url)


@pytest.mark.parametrize("url", ["postgresql://db/jobs?tier=fast", "sqlite:///jobs.db?tier=quick"])
def test_a_tier_that_a_store_does_not_have_is_refused(url: str) -> None:
    with pytest.raises(Exception, match="tier"):
        connect(url)
