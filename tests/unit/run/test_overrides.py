import msgspec
import pytest

from holdfast.errors import DecodingFailed
from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy
from holdfast.run.overrides import NO_LIMIT_US, retry_headers, retry_policy, timeout_us
from holdfast.wire.envelope import FORMAT, Envelope
from tests.unit.run.making import spec_of

PLAIN = Envelope(FORMAT, "id", "shop.send", "default", 0, 0, None, None, b"")
POLICY = RetryPolicy(retries=5, first_us=SECOND, table_us=(SECOND, 2 * SECOND))


def test_a_call_that_changes_nothing_leaves_the_task_as_it_is() -> None:
    spec = spec_of(len, retry=POLICY, timeout_us=7)
    assert retry_policy(POLICY, PLAIN) is POLICY
    assert timeout_us(spec, PLAIN) == 7


@pytest.mark.parametrize(("given", "limit"), [(None, 7), (5, 5), (NO_LIMIT_US, None)])
def test_a_call_may_change_the_timeout_or_do_away_with_it(given: int | None, limit: int | None) -> None:
    assert timeout_us(spec_of(len, timeout_us=7), msgspec.structs.replace(PLAIN, timeout_us=given)) == limit


@pytest.mark.parametrize(
    ("headers", "changes"),
    [
        (retry_headers(), {}),
        (retry_headers(table_us=(5, 6)), {"table_us": (5, 6)}),
        (retry_headers(first_us=9, table_us=()), {"first_us": 9, "table_us": ()}),
        (retry_headers(cap_us=8), {"cap_us": 8}),
        (retry_headers(table_us=(5,), cap_us=8), {"table_us": (5,), "cap_us": 8}),
    ],
)
def test_waits_travel_in_headers(headers: dict[str, str], changes: dict[str, object]) -> None:
    envelope = msgspec.structs.replace(PLAIN, headers=headers, retries=1)
    assert retry_policy(POLICY, envelope) == msgspec.structs.replace(POLICY, retries=1, **changes)


def test_headers_that_cannot_be_read_are_shown() -> None:
    envelope = msgspec.structs.replace(PLAIN, headers={"retry-cap-us": "soon"})
    with pytest.raises(DecodingFailed, match="soon"):
        retry_policy(POLICY, envelope)
