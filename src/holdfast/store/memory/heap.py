"""A min-heap that knows where everything is, so that any entry can leave or change its rank in O(log n).

Nothing is marked dead and left behind: a heap holds its live entries and no more, however many were removed.
Ranks are compared, keys never; whoever wants a total order ends the rank with an arrival number.
"""

from collections.abc import Iterator
from typing import Any

Rank = tuple[Any, ...]
"""Numbers or texts, of the same kinds in every rank of one heap."""


class IndexedHeap:
    """Keys, lowest rank first. Every operation is O(log n); `peek`, `len` and `in` are O(1)."""

    __slots__ = ("_nodes", "_places")

    def __init__(self) -> None:
        self._nodes: list[tuple[Rank, str]] = []
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[tuple[Rank, str]]:
        """Give all entries, in no particular order. O(n): for readers, never on the job path."""
        return iter(self._nodes)

    def push(self, key: str, rank: Rank) -> None:
        """Add a key that is not there yet."""
        assert key not in self._places, f"{key} is in the heap already"
        self._nodes.append((rank, key))
        self._rise(len(self._nodes) - 1)

    def peek(self) -> tuple[Rank, str] | None:
        """Give the lowest entry without taking it."""
        return self._nodes[0] if self._nodes else None

    def pop(self) -> tuple[Rank, str]:
        """Take the lowest entry. An empty heap raises IndexError."""
        lowest = self._nodes[0]
        self.remove(lowest[1])
        return lowest

    def remove(self, key: str) -> None:
        """Take a key out, wherever it stands. A key that is not there raises KeyError."""
        place = self._places.pop(key)
        last = self._nodes.pop()
        if place < len(self._nodes):
            self._nodes[place] = last
            self._settle(place)

    def update(self, key: str, rank: Rank) -> None:
        """Give a key another rank. A key that is not there raises KeyError."""
        place = self._places[key]
        self._nodes[place] = (rank, key)
        self._settle(place)

    def _settle(self, place: int) -> None:
        # A substitute may have to go either way: it can come from another branch of the tree, where ranks
        # may be lower than that of the parent it has now.
        parent = (place - 1) >> 1
        if place and self._nodes[place][0] < self._nodes[parent][0]:
            self._rise(place)
        else:
            self._sink(place)

    def _rise(self, place: int) -> None:
        nodes, places = self._nodes, self._places
        node = nodes[place]
        while place:
            parent = (place - 1) >> 1
            if not node[0] < nodes[parent][0]:
                break
            nodes[place] = nodes[parent]
            places[nodes[place][1]] = place
            place = parent
        nodes[place] = node
        places[node[1]] = place

    def _sink(self, place: int) -> None:
        nodes, places = self._nodes, self._places
        node = nodes[place]
        child = 2 * place + 1
        while child < len(nodes):
            if child + 1 < len(nodes) and nodes[child + 1][0] < nodes[child][0]:
                child += 1
            if not nodes[child][0] < node[0]:
                break
            nodes[place] = nodes[child]
            places[nodes[place][1]] = place
            place, child = child, 2 * child + 1
        nodes[place] = node
        places[node[1]] = place
