"""The store of an app: opened at first use, once per process, and again after a fork.

A connection must never be shared between processes: SQLite corrupts its file, sockets mix their answers. So an open
connection belongs to the process that opened it, and a process that finds another's opens its own.
"""

import os
import threading

from holdfast.app.settings import Settings
from holdfast.app.watcher import Watcher
from holdfast.errors import ShapeMismatch
from holdfast.model.queue import QueuePolicy
from holdfast.model.seen import Sketch
from holdfast.policy.seen import mismatch
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from holdfast.wire.seal import KeyRing


class Connection:
    """One process's open store, with what hangs on it."""

    def __init__(self, store: Store, ring: KeyRing | None, *, is_ours: bool = True) -> None:
        self.store = store
        self.ring = ring
        self.watcher = Watcher(store)
        self._is_ours = is_ours
        self._declared: dict[str, QueuePolicy] = {}
        self._shaped: dict[str, Sketch] = {}

    def declare(self, name: str, policy: QueuePolicy) -> None:
        """Write a queue's policy, unless this connection has written it already."""
        if self._declared.get(name) != policy:
            self.store.queues.set_policy(name, policy)
            self._declared[name] = policy

    def settle(self, name: str, shape: Sketch, *, again: bool = False) -> None:
        """Give a queue's seen-set this shape, unless this connection has done so (and it is not to look again).

        Raises ShapeMismatch, having changed nothing, if the set is there in another shape.
        """
        if self._shaped.get(name) == shape and not again:
            return
        seen = self.store.seen
        found = seen.shape(name) or seen.shape(name, shape)
        if why := mismatch(name, shape, found):
            raise ShapeMismatch(why)
        self._shaped[name] = shape

    def unsettle(self, name: str) -> None:
        """Look again at the next use: the shape has been given up."""
        self._shaped.pop(name, None)

    def close(self) -> None:
        self.watcher.stop()
        if self._is_ours:
            self.store.close()


class Connector:
    """Opens connections by one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._by_process: dict[int, _Door] = {}

    @property
    def is_open(self) -> bool:
        return self._door().connection is not None

    def ring(self) -> KeyRing | None:
        """Give the keys, without opening the store if it is not open."""
        connection = self._door().connection
        return self.settings.ring() if connection is None else connection.ring

    def open(self) -> Connection:
        """Give this process's connection."""
        door = self._door()
        if door.connection is None:
            with door.lock:
                if door.connection is None:
                    door.connection = self._connect()
        return door.connection

    def attach(self, store: Store) -> None:
        """Use this store, in this process, instead of opening one. Whoever attaches it closes it."""
        self.close()
        self._door().connection = Connection(store, self.settings.ring(), is_ours=False)

    def close(self) -> None:
        """Close this process's connection. The next use opens another one."""
        door = self._door()
        with door.lock:
            connection, door.connection = door.connection, None
        if connection is not None:
            connection.close()

    def _door(self) -> "_Door":
        pid = os.getpid()
        door = self._by_process.get(pid)
        # Others' connections stay where they are: they are not ours to close, and closing them here would harm theirs.
        return door or self._by_process.setdefault(pid, _Door())

    def _connect(self) -> Connection:
        import logging  # 8 ms that an import of holdfast does not pay

        settings = self.settings
        ring = settings.ring()
        store = connect(settings.url, tier=settings.tier, namespace=settings.namespace, clock=settings.clock)
        info = store.describe()
        words = "jobs are kept in %s (%s, %s)"
        logging.getLogger("holdfast").info(words, info.where, info.kind, info.tier)
        return Connection(store, ring)


class _Door:
    """What one process has: a lock of its own (another's may have been held at the fork) and a connection."""

    __slots__ = ("connection", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: Connection | None = None
