from collections.abc import Callable

import pytest

from holdfast.errors import InvalidName
from holdfast.policy.names import check_job_id, check_namespace, check_queue, check_tag, check_task

GOOD = [
    (check_queue, ["default", "a", "9", "_x", "a.b:c-d", "a" * 128]),
    (check_task, ["send", "shop.mail.send", "_x", "a:b-c", "a" * 255]),
    (check_namespace, ["holdfast", "a", "a_1", "a" * 30]),
    (check_job_id, ["a", "0192-abc", "a:b.c_d", "-", "a" * 64]),
    (check_tag, ["order:17", "zwölf", "two words", "a" * 128]),
]
ODD = [
    "",
    " ",
    "a b",
    "a\n",
    "\na",
    "a\x00",
    "a/b",
    "a'b",
    'a"b',
    "a;b",
    "a{b}",
    "zwölf",
    "😀",
    "\ud800",
    None,
    5,
    b"a",
]
BAD = [
    (check_queue, [*ODD, "-a", ".a", "a" * 129]),
    (check_task, [*ODD, "9a", "<lambda>", "f.<locals>.g", "a" * 256]),
    (check_namespace, [*ODD, "A", "1a", "a-b", "a.b", "a" * 31]),
    (check_job_id, [*ODD, "a" * 65]),
    (check_tag, ["", "a\n", "\x00", "\ud800", "a" * 129, None, 5, b"a"]),
]


@pytest.mark.parametrize(("check", "names"), GOOD)
def test_a_good_name_passes_unchanged(check: Callable[[object], str], names: list[str]) -> None:
    assert [check(name) for name in names] == names


@pytest.mark.parametrize(("check", "names"), BAD)
def test_an_odd_name_is_refused_and_shown(check: Callable[[object], str], names: list[object]) -> None:
    for name in names:
        with pytest.raises(InvalidName, match="expected a") as caught:
            check(name)
        assert f"got: {name!r}" in str(caught.value)
