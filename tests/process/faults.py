"""Workers with a fault built in: `python -m tests.process.faults POINT… -- worker …`.

Runs the command line as usual, having put a fault into the supervisor's own code at named points. Points in a child are put
there by `tests.process.tasks`, which the child imports, from the variable FAULT.

| point                 | what happens there                                                          |
|-----------------------|-----------------------------------------------------------------------------|
| after-claim           | the supervisor dies: jobs are claimed, and nobody has been sent any         |
| before-settle         | the supervisor dies: runs have ended, and the store has not heard of it     |
| in-settle             | the supervisor dies inside the transaction                                  |
| after-settle          | the supervisor dies: the store knows, and nothing else does                 |
| outage                | beats and exchanges fail while the file `outage` exists                     |
| bug                   | the store thread fails, in a way nobody thought of, once a job is claimed   |
| child: before-run     | the child dies: it has received the claim and not begun                     |
| child: after-run      | the child dies: the task has returned, and the verdict is not sent          |
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.cli.main import main
from holdfast.errors import StoreUnavailable
from holdfast.store.sqlite import settling
from holdfast.store.sqlite.store import SqliteStore
from holdfast.worker.storekeeper import Storekeeper


def die(*_: object) -> None:
    """Die on the spot, the first time this is reached by anyone."""
    mark = Path(os.environ["DIARY"]).with_name("died")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def wrap(owner: Any, name: str, before: Callable[..., None] | None, after: Callable[..., None] | None) -> None:
    """Let something happen before or after each call of a function."""
    inner = getattr(owner, name)

    def outer(*args: Any, **kwargs: Any) -> Any:
        if before is not None:
            before(*args, **kwargs)
        answer = inner(*args, **kwargs)
        if after is not None:
            after(answer, *args, **kwargs)
        return answer

    setattr(owner, name, outer)


def _die_if_claimed(claims: list[object], *_: object) -> None:
    if claims:
        die()


def _die_if_verdicts(_keeper: Storekeeper, inbox: Any) -> None:
    if any(verdict.outcome == "done" for verdict in inbox.verdicts):
        die()


def _die_if_settled(_answer: object, _keeper: Storekeeper, inbox: Any) -> None:
    _die_if_verdicts(_keeper, inbox)


def _die_if_any(_answer: object, _connection: object, _statements: object, verdicts: list[Any], *_: object) -> None:
    if verdicts:
        die()


def _fail(*_: object, **__: object) -> None:
    if Path(os.environ["DIARY"]).with_name("outage").exists():
        raise StoreUnavailable("there is an outage")


def _fail_if_claimed(claims: list[object], *_: object) -> None:
    if claims:
        raise ZeroDivisionError("a bug of ours")


def _outage() -> None:
    for name in ("beat", "exchange", "push", "rescue", "tidy", "leave", "enlist", "settle"):
        wrap(SqliteStore, name, _fail, None)


POINTS: dict[str, Callable[[], None]] = {
    "after-claim": lambda: wrap(Storekeeper, "_exchange", None, _die_if_claimed),
    "before-settle": lambda: wrap(Storekeeper, "_exchange", _die_if_verdicts, None),
    "in-settle": lambda: wrap(settling, "settle", None, _die_if_any),
    "after-settle": lambda: wrap(Storekeeper, "_exchange", None, _die_if_settled),
    "outage": _outage,
    "bug": lambda: wrap(Storekeeper, "_exchange", None, _fail_if_claimed),
}

if __name__ == "__main__":
    split = sys.argv.index("--")
    for point in sys.argv[1:split]:
        POINTS[point]()
    sys.argv = ["holdfast", *sys.argv[split + 1 :]]
    main()
