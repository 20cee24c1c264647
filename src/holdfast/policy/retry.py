"""Whether a run that raised is tried again, and when."""

from typing import Final

import msgspec

from holdfast.errors import InvalidInput
from holdfast.policy.moments import SECOND, duration_us

FIRST_US: Final = 10 * SECOND
CAP_US: Final = 3600 * SECOND
JITTER: Final = 0.25


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often a failing job is tried again, and how long it waits before each try.

    With `table_us` the n-th retry waits the n-th entry, the last entry serving for all that follow. Without it the
    wait starts at `first_us` and doubles up to `cap_us`. Jitter only ever shortens a wait, by at most that share, so
    the cap is a cap. `retry_on` (default: every Exception) is asked after `give_up_on`.
    """

    retries: int = 0
    first_us: int = FIRST_US
    cap_us: int = CAP_US
    factor: float = 2.0
    jitter: float = JITTER
    table_us: tuple[int, ...] = ()
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    give_up_on: tuple[type[BaseException], ...] = ()


def wants_retry(policy: RetryPolicy, error: BaseException, failures: int) -> bool:
    """Tell whether to try again after `error`, when `failures` runs had failed before this one."""
    if failures >= policy.retries or isinstance(error, policy.give_up_on):
        return False
    return isinstance(error, policy.retry_on)


def wait_us(policy: RetryPolicy, failures: int, chance: float) -> int:
    """Give the wait before the next try; `chance` is a random number in [0, 1)."""
    if policy.table_us:
        return policy.table_us[min(failures, len(policy.table_us) - 1)]
    full = _grown(policy, failures)
    return round(full * (1 - policy.jitter * chance))


def _grown(policy: RetryPolicy, failures: int) -> float:
    # The exponent is bounded before it is used: 2.0 ** 5000 is an OverflowError, not a long wait.
    return min(policy.first_us * policy.factor ** min(failures, 64), policy.cap_us)


def delay_table(value: object) -> tuple[int, ...]:
    """Check a `retry_delay` given as a table of waits, one per retry."""
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput(f"expected retry_delay to be seconds, a timedelta or a list of them, got: {value!r}")
    return tuple(duration_us(entry, f"retry_delay[{place}]") for place, entry in enumerate(value))
