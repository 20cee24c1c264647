"""What the demo enqueues: a few thousand jobs of six kinds, mixed."""

import random
from typing import Any, Final

from holdfast.app.call import Call
from holdfast.cli import demo_tasks as tasks

KINDS: Final = {
    "quick": 4000,
    "slow": 80,
    "flaky": 300,
    "waiting": 400,
    "later": 300,
    "urgent": 200,
}
TOTAL: Final = sum(KINDS.values())

TOLD: Final = {
    "quick": "do next to nothing",
    "slow": "take 150 ms each",
    "flaky": "fail twice, then succeed",
    "waiting": "async, wait 300 ms",
    "later": "due in 2 to 7 seconds",
    "urgent": "enqueued last, priority 10",
}


def calls() -> list[Call[Any]]:
    """Give all calls in the order they are enqueued: mixed, with the urgent ones last."""
    mixed: list[Call[Any]] = [tasks.quick.s(number) for number in range(KINDS["quick"])]
    mixed += [tasks.slow.s() for _ in range(KINDS["slow"])]
    mixed += [tasks.flaky.s() for _ in range(KINDS["flaky"])]
    mixed += [tasks.waiting.s() for _ in range(KINDS["waiting"])]
    mixed += [tasks.later.using(delay=2 + 5 * place / KINDS["later"]).s() for place in range(KINDS["later"])]
    random.Random(7).shuffle(mixed)  # noqa: S311  # a mix, the same every time
    return mixed + [tasks.urgent.s() for _ in range(KINDS["urgent"])]
