"""What a priority is worth where priorities age: so much time ahead of others, and no more than anybody can count."""

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.queue import QueueOverlay, QueuePolicy
from holdfast.policy.ageing import LONGEST_US, head_start_us, most_priority, parse_ageing
from holdfast.policy.moments import SECOND
from holdfast.policy.overlay import overlaid

HIGHEST, LOWEST = 2**31 - 1, -(2**31)
MINUTE = 60 * SECOND


@pytest.mark.parametrize(("priority", "minutes"), [(0, 0), (1, 1), (-1, -1), (1000, 1000)])
def test_each_point_is_a_head_start(priority: int, minutes: int) -> None:
    assert head_start_us(priority, MINUTE) == minutes * MINUTE


@pytest.mark.parametrize("ageing_us", [1, 7, MINUTE, 86_400 * SECOND, LONGEST_US - 1, LONGEST_US])
@pytest.mark.parametrize("priority", [HIGHEST, LOWEST])
def test_no_head_start_is_longer_than_a_hundred_years(priority: int, ageing_us: int) -> None:
    far = head_start_us(priority, ageing_us)
    assert far == (1 if priority > 0 else -1) * min(abs(priority), most_priority(ageing_us)) * ageing_us
    assert LONGEST_US - ageing_us < abs(far) <= LONGEST_US or abs(far) == abs(priority) * ageing_us


def test_every_sum_is_exact_where_numbers_are_doubles() -> None:
    """Redis counts in them. The year 2150 is far enough."""
    assert 180 * 366 * 86_400 * SECOND + LONGEST_US < 2**53


def test_the_longest_time_in_which_to_gain_a_point_is_the_longest_duration() -> None:
    assert parse_ageing(LONGEST_US / SECOND) == LONGEST_US
    with pytest.raises(InvalidInput, match="less than a hundred years"):
        parse_ageing(LONGEST_US / SECOND + 1)


def test_a_queue_whose_priorities_age_is_not_plain() -> None:
    assert not QueuePolicy(ageing_us=MINUTE).is_plain


@pytest.mark.parametrize(
    ("declared", "overlay", "in_force"),
    [
        (QueuePolicy(ageing_us=1), QueueOverlay(), QueuePolicy(ageing_us=1)),
        (QueuePolicy(ageing_us=1), QueueOverlay(ageing_us=None), QueuePolicy()),
        (QueuePolicy(), QueueOverlay(ageing_us=2), QueuePolicy(ageing_us=2)),
        (QueuePolicy("lifo"), QueueOverlay(ageing_us=2), QueuePolicy("lifo")),
        (QueuePolicy(ageing_us=1), QueueOverlay(order="lifo"), QueuePolicy("lifo")),
        (QueuePolicy("lifo", ageing_us=1), QueueOverlay(), QueuePolicy("lifo")),
        (QueuePolicy("lifo"), QueueOverlay(order="fifo", ageing_us=2), QueuePolicy(ageing_us=2)),
    ],
)
def test_in_a_lifo_queue_nothing_ages(declared: QueuePolicy, overlay: QueueOverlay, in_force: QueuePolicy) -> None:
    assert overlaid(declared, overlay) == in_force
