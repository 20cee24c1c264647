"""A worker inside the program: `with app.worker(threads=4): …`. No other process; with memory:// not even a file."""

from types import TracebackType
from typing import TYPE_CHECKING, Any

from holdfast.app.arguments import grace_s
from holdfast.app.blocking import refuse_inside_a_loop
from holdfast.errors import DeclarationError
from holdfast.run.pump import Plan, Pump

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast


class InProcessWorker:
    """Runs the app's jobs in threads of this process, between `start` and `stop`.

    `stop` waits for what runs until the grace is over, then hands the rest back, uncharged. Threads cannot be killed: a
    run that was handed back goes on until it ends by itself, and its verdict is refused.
    """

    def __init__(self, app: "Holdfast", plan: Plan) -> None:
        self._app = app
        self._plan = plan
        self._pump: Pump | None = None

    def start(self) -> "InProcessWorker":
        if self._pump is not None:
            raise DeclarationError("this worker runs already; make another one with app.worker()")
        self._app.load_imports()
        self._app.declare_queues()
        pump = Pump(self._app.store, self._app.bench(), self._plan)
        pump.start()
        self._pump = pump
        return self

    def stop(self, grace: Any = None) -> bool:
        """Stop in order. Return whether everything that ran could finish."""
        seconds = None if grace is None else grace_s(grace)
        pump, self._pump = self._pump, None
        return pump is None or pump.stop(seconds)

    def __enter__(self) -> "InProcessWorker":
        refuse_inside_a_loop("the end of this block", "`async with app.worker():`")
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> "InProcessWorker":
        import asyncio

        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.stop)
