"""Steps told as questions and answers, so that they can be put through any connection: ours, or a user's, sync or async."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from holdfast.store.postgres.schema import Connection

T = TypeVar("T")
Question = tuple[str, Mapping[str, object]]
"""A statement and its parameters."""
Rows = list[tuple[Any, ...]]
Talk = Generator[Question, Rows, T]
"""Questions, the answers to which are sent back as rows."""


def put(talk: Talk[T], ask: Callable[[Question], Rows]) -> T:
    """Put the questions to someone, until all are answered."""
    try:
        question = next(talk)
        while True:
            question = talk.send(ask(question))
    except StopIteration as end:
        result: T = end.value
        return result


def put_to(connection: Connection, talk: Talk[T]) -> T:
    """Put the questions to a connection of ours."""
    return put(talk, lambda question: answer(connection.execute(*question)))


def answer(cursor: Any) -> Rows:
    """Give the rows of a statement, of which some have none."""
    rows: Rows = cursor.fetchall() if cursor.description else []
    return rows
