"""`holdfast seen has`, `add` and `forget`: ask for keys, mark them, make them new again.

Keys from standard input are all checked before the first is marked; of them only digests are kept in memory.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import click

from holdfast.cli.bulk import in_chunks
from holdfast.cli.front import Complaint
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.picking import chunks, get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION
from holdfast.errors import InvalidInput, InvalidName
from holdfast.policy.moments import duration_us
from holdfast.policy.names import check_key, check_queue, check_version
from holdfast.policy.seen import check_can_forget, check_can_have_ttl, digest

_NAMED: Final = 3
_version_option: Callable[..., Any] = click.option(
    "--of-version", "version", metavar="VERSION", help="Of this version: a key with a version is another one."
)


@click.command()
@click.argument("queue")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@_version_option
@shared
def has(queue: str, keys: tuple[str, ...], version: str | None) -> None:
    """Tell which keys were seen in a queue.

    Exit code 1 if one of them was not.

    \b
    Examples:
      holdfast seen has crawl https://a.example/ https://b.example/
      holdfast seen has crawl https://a.example/ && echo seen
    """
    given = list(dict.fromkeys(keys))
    digests = _digests(given, version)
    with opened() as store:
        get_queue(store, queue)
        answers = [answer for chunk in chunks(digests) for answer in store.seen.has(queue, chunk)]
    new = [key for key, was_seen in zip(given, answers, strict=True) if not was_seen]
    if is_json():
        print_json({"queue": queue, "seen": [key for key in given if key not in set(new)], "new": new})
    else:
        for key, was_seen in zip(given, answers, strict=True):
            say(f"{'seen' if was_seen else 'new ':4}  {key}")
    if new:
        named = ", ".join(new[:_NAMED]) + (" …" if len(new) > _NAMED else "")
        raise Complaint(f"{len(new)} of {plural(len(given), 'key')} not seen in queue {queue}: {named}")


@click.command()
@click.argument("queue")
@click.argument("keys", nargs=-1, metavar="[KEY... | -]")
@click.option("--ttl", type=DURATION, metavar="TIME", help="Only for so long: 90, 5m, 1h, 2d. Default: for ever.")
@click.option("--make-queue", is_flag=True, help="Make the queue if it is not there yet.")
@_version_option
@shared
def add(queue: str, keys: tuple[str, ...], ttl: float | None, make_queue: bool, version: str | None) -> None:
    """Mark keys as seen in a queue.

    With - they are read from standard input, one a line; all are checked before the first is marked.

    \b
    Examples:
      holdfast seen add crawl https://a.example/
      holdfast seen add crawl - < urls.txt
    """
    ttl_us = _ttl_us(ttl)
    digests = _read(version) if keys == ("-",) else _digests(list(keys), version)
    if not digests and keys != ("-",):
        raise InvalidInput("expected keys, or - to read them from standard input, one a line; got none")
    with opened() as store:
        check_queue(queue) if make_queue else get_queue(store, queue)
        if ttl_us is not None:
            check_can_have_ttl(queue, store.seen.shape(queue))
        answers = in_chunks(digests, lambda chunk: sum(store.seen.add(queue, chunk, ttl_us)), "adding")
    added = sum(answers)
    known = len(digests) - added
    if is_json():
        print_json({"queue": queue, "added": added, "known": known})
    else:
        say(f"added {plural(added, 'key')} to the seen-set of queue {queue}{_beside(known)}")


@click.command()
@click.argument("queue")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@_version_option
@shared
def forget(queue: str, keys: tuple[str, ...], version: str | None) -> None:
    """Forget keys of a queue, so that they are new again. An approximate set forgets nothing.

    \b
    Examples:
      holdfast seen forget crawl https://a.example/
      holdfast seen forget crawl https://a.example/ --of-version 2 --json
    """
    given = list(dict.fromkeys(keys))
    digests = _digests(given, version)
    with opened() as store:
        get_queue(store, queue)
        check_can_forget(queue, store.seen.shape(queue))
        answers = in_chunks(digests, lambda chunk: store.seen.discard(queue, chunk), "forgetting")
    was_there = [answer for chunk in answers for answer in chunk]
    forgotten = [key for key, was_seen in zip(given, was_there, strict=True) if was_seen]
    new = [key for key, was_seen in zip(given, was_there, strict=True) if not was_seen]
    if is_json():
        print_json({"queue": queue, "forgotten": forgotten, "new": new})
    else:
        beside = f"; {len(new):,} had not been seen" if new else ""
        say(f"forgot {plural(len(forgotten), 'key')} of the seen-set of queue {queue}{beside}")


def _read(version: str | None) -> list[bytes]:
    """Give the digests of all keys on standard input, or raise for the first that is wrong."""
    return list(_lines(None if version is None else check_version(version)))


def _lines(version: str | None) -> Iterator[bytes]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        key = line.decode("utf-8", "surrogateescape").rstrip("\r\n")  # what is no text is refused with its line
        if not key:
            continue
        try:
            yield digest(check_key(key), version)
        except InvalidName as error:
            raise InvalidInput(f"line {number:,}: {error}; nothing was marked") from error


def _digests(keys: list[str], version: str | None) -> list[bytes]:
    checked = None if version is None else check_version(version)
    return [digest(check_key(key), checked) for key in keys]


def _ttl_us(ttl: float | None) -> int | None:
    if ttl == 0:
        raise InvalidInput("expected --ttl to be more than 0 seconds, got: 0; leave it out for keys that stay")
    return None if ttl is None else duration_us(ttl, "--ttl")


def _beside(known: int) -> str:
    return f"; {known:,} {'was' if known == 1 else 'were'} there already" if known else ""
