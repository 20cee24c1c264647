"""What a URL says, before anybody is reached."""

import pytest

from holdfast.errors import InvalidInput
from holdfast.store.redis.addresses import read, shown


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("redis://", [("localhost", 6379)]),
        ("redis://db", [("db", 6379)]),
        ("redis://db:7000/2", [("db", 7000)]),
        ("redis://ada:secret@a:1,b,[::1]:3", [("a", 1), ("b", 6379), ("::1", 3)]),
        ("redis+sentinel://a,b:2/jobs", [("a", 26379), ("b", 2)]),
    ],
)
def test_every_host_of_a_list_is_read_with_its_port(url: str, hosts: list[tuple[str, int]]) -> None:
    assert list(read(url).hosts) == hosts


def test_user_password_database_and_options_hold_for_every_host() -> None:
    options = read("redis://ada:se%2Fcret@a,b/3?client_name=shop").options
    assert (options["username"], options["password"], options["db"], options["client_name"]) == (
        "ada", "se/cret", 3, "shop",
    )  # fmt: skip
    assert not {"host", "port"} & options.keys()


def test_a_socket_is_no_host() -> None:
    address = read("unix:///run/valkey.sock?db=1")
    assert address.is_socket
    assert (address.options["path"], address.options["db"]) == ("/run/valkey.sock", 1)


@pytest.mark.parametrize("url", ["redis://a,,b", "redis://a,b,/0", "redis://,a"])
def test_an_empty_place_in_a_list_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="empty place in its list of hosts"):
        read(url)


@pytest.mark.parametrize("url", ["redis://:open/sesame@a,b", "redis+sentinel://:open/sesame@a/jobs", "redis://a:port"])
def test_what_cannot_be_read_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"in a password as %2F|names sentinels and no service") as caught:
        read(url)
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_address_of_six_parts_is_shown_in_brackets() -> None:
    assert shown(("::1", 7000)) == "[::1]:7000"
