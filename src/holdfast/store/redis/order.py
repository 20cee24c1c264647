"""A command on its way to a server, with what those who deliver it have to know."""

from typing import Any, NamedTuple

from holdfast.store.redis.scripts import Script


class Order(NamedTuple):
    """One command. The key decides which node of a cluster it is for."""

    words: tuple[Any, ...]
    key: bytes
    is_write: bool
    script: Script | None = None
    """What it calls, if it calls a script."""
    mark: int = 0
    """The place among the words where a script looks whether it is sent again."""

    def again(self) -> "Order":
        """Give the order as it is sent when nobody knows whether an earlier one was carried out."""
        if self.script is None:
            return self  # plain commands are such that repeating them is harmless
        return self._replace(words=(*self.words[: self.mark], "1", *self.words[self.mark + 1 :]))
