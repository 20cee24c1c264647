"""No connection crosses a fork: whoever holds one is told before the fork, and after it on both sides.

A child that went on with its parent's connection would speak into its parent's conversation, and a lock that another thread
held at the moment of the fork would stay locked in the child for ever. So each store is told before: it lets no new step
begin, and waits for those that run. Afterwards the parent goes on; the child lets go of what is its parent's, without a word
to the server, and opens its own with its next use.

SQLite needs more. It keeps, for each file a process has open, account of the locks it holds. A fork copies that account but
not the locks: the child believes to hold locks that only the parent has. A connection that the child then opens *itself*
trusts the same account. It may wait for ever for a write that was under way in the parent, or, worse, hold no lock on the
file at all, so that the parent, closing, takes itself for the last user and removes the log under the child's feet. The only
cure is that nothing is open at the moment of the fork: a SQLite database closes before, and opens again with its next use.

What starts a program (`subprocess`) is no fork in this sense: it takes nothing along.
"""

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that has to know of forks."""

    def before_fork(self) -> None: ...
    def after_fork_in_parent(self) -> None: ...
    def after_fork_in_child(self) -> None: ...


_told: "WeakSet[Forkable]" = WeakSet()
_telling: list[Forkable] = []
_lock = threading.Lock()


def tell_of_forks(one: Forkable) -> None:
    """Tell it of every fork from now on, for as long as it lives."""
    with _lock:
        _told.add(one)


def _before() -> None:
    _lock.acquire()
    _telling[:] = sorted(_told, key=id)  # in one order, whoever forks
    for one in _telling:
        one.before_fork()


def _after_in_parent() -> None:
    for one in _telling:
        one.after_fork_in_parent()
    _telling.clear()
    _lock.release()


def _after_in_child() -> None:
    for one in _telling:
        one.after_fork_in_child()
    _telling.clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
