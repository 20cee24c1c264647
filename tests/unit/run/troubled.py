"""A store that fails when told to: everything else is the real store behind it."""

from collections import Counter
from typing import Any

from holdfast.store.protocol import Store


class TroubledStore:
    """Raises `trouble[operation]` in place of that operation, as often as it is called, and counts all calls."""

    def __init__(self, store: Store) -> None:
        self.real = store
        self.trouble: dict[str, BaseException] = {}
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        if name in ("queues", "operator", "inspector", "seen"):
            return found

        def act(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            if name in self.trouble:
                raise self.trouble[name]
            return found(*args, **kwargs)

        return act
