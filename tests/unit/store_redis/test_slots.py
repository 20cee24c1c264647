"""The map of slots, as nodes tell it."""

from holdfast.store.redis.slots import SLOTS, read_map, slot_of

ASKED = ("seed", 7000)


def test_keys_of_one_queue_are_in_one_slot() -> None:
    assert slot_of(b"shop:{mail}:head") == slot_of(b"blog:{mail}:ready") != slot_of(b"shop:{post}:head")


def test_each_slot_has_the_primary_that_was_told() -> None:
    found = read_map([[0, 99, [b"a", 1, b"id"], [b"replica", 9, b"id"]], [100, SLOTS - 1, [b"b", 2, b"id"]]], ASKED)
    assert (found.owner(0), found.owner(99), found.owner(100), found.owner(SLOTS - 1)) == (
        ("a", 1), ("a", 1), ("b", 2), ("b", 2),
    )  # fmt: skip
    assert found.hosts == [("a", 1), ("b", 2)]


def test_a_node_that_does_not_know_its_name_is_the_one_that_was_asked() -> None:
    for name in (b"", None, b"?"):
        assert read_map([[5, 5, [name, 7001, b"id"]]], ASKED).owner(5) == ("seed", 7001)


def test_a_slot_that_was_not_told_has_no_node() -> None:
    assert read_map([[5, 6, [b"a", 1, b"id"]]], ASKED).owner(4) is None


def test_a_move_changes_one_slot_of_a_new_map() -> None:
    before = read_map([[5, 7, [b"a", 1, b"id"]]], ASKED)
    after = before.with_move(6, ("b", 2))
    assert [after.owner(slot) for slot in (5, 6, 7)] == [("a", 1), ("b", 2), ("a", 1)]
    assert before.owner(6) == ("a", 1)
