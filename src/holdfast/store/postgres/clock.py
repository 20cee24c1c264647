"""Which moment a step goes by: the caller's, the test clock's, or, if there is neither, the server's own."""

from holdfast.store.protocol import Clock


class Moments:
    """Gives a moment in microseconds, or None: then the statement asks the server's clock when its locks are held."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock

    def of(self, now_us: int | None) -> int | None:
        if now_us is not None or self._clock is None:
            return now_us
        return self._clock()
