"""Steps told as questions and answers, so that they can be put through any connection: ours, or a user's, sync or async.

Questions of which none hangs on the answer to another are put together, as a list, and answered by a list: on a connection
of ours they share a round trip, and the server still carries them out one after the other.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

from holdfast.store.postgres.schema import Connection
from holdfast.store.postgres.session import is_pooled

T = TypeVar("T")
Question = tuple[str, Mapping[str, object]]
"""A statement and its parameters."""
Rows = list[tuple[Any, ...]]
Talk = Generator[Question | list[Question], Any, T]
"""Questions, the answers to which are sent back as rows; to a list of questions, a list of them."""


def put(talk: Talk[T], ask: Callable[[Sequence[Question]], list[Rows]]) -> T:
    """Put the questions to someone, until all are answered."""
    try:
        asked = next(talk)
        while True:
            asked = talk.send(ask(asked) if isinstance(asked, list) else ask([asked])[0])
    except StopIteration as end:
        result: T = end.value
        return result


def put_to(connection: Connection, talk: Talk[T]) -> T:
    """Put the questions to a connection of ours."""
    return put(talk, lambda questions: _ask(connection, questions))


def _ask(connection: Connection, questions: Sequence[Question]) -> list[Rows]:
    # A pooler in between may not know what to do with several questions at a time.
    if len(questions) == 1 or is_pooled(connection):
        return [answer(connection.execute(*question)) for question in questions]
    with connection.pipeline():
        cursors = [connection.execute(*question) for question in questions]
    return [answer(cursor) for cursor in cursors]


def answer(cursor: Any) -> Rows:
    """Give the rows of a statement, of which some have none."""
    rows: Rows = cursor.fetchall() if cursor.description else []
    return rows
