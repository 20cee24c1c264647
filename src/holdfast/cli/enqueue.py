"""`holdfast enqueue`: make a job from the shell.

Each argument is JSON where it can be read as JSON, and text where it cannot: `42` is a number, `'"42"'` a text, `ada` a
text. `name=value` is a keyword argument, its value read in the same way.
"""

import json
import re
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from holdfast.cli.output import print_json
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import app_target, load
from holdfast.cli.times import DURATION, MOMENT
from holdfast.errors import InvalidInput, UnknownTask
from holdfast.policy.seen import SEEN

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast
    from holdfast.app.task import Task

_PAIR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@click.command()
@click.argument("task")
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT | NAME=VALUE]...")
@click.option("--kwargs", metavar="JSON", help='Keyword arguments as one JSON object, e.g. \'{"subject": "Hi"}\'.')
@click.option("--queue", metavar="NAME", help="Another queue than the task's own.")
@click.option("--priority", type=int, help="Higher runs first.")
@click.option("--delay", type=DURATION, metavar="TIME", help="Not before so long from now: 90, 5m, 1h, 2d.")
@click.option("--at", type=MOMENT, metavar="MOMENT", help="Not before this moment: 2030-01-31T09:00+01:00.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag to find it by. May be repeated.")
@shared
def enqueue(task: str, arguments: tuple[str, ...], kwargs: str | None, **options: Any) -> None:
    """Enqueue one job of a task, and print its id.

    Arguments are JSON; what is not JSON is text. Negative numbers go behind `--`. TASK may be the last part of a
    name, if one task only ends so. Needs the app, by --app or HOLDFAST_APP.

    \b
    Examples:
      holdfast --app shop.tasks:app enqueue shop.tasks.send ada@example.com subject=Hi --delay 5m
      holdfast --app shop.tasks:app enqueue add --priority 5 --tag order:17 -- 2 -3
    """
    target = app_target()
    if target is None:
        raise InvalidInput("enqueue needs the app, to know the task: give --app MODULE:APP, or set HOLDFAST_APP")
    positional, named = _read(arguments, kwargs)
    with load(target) as app:
        chosen = _find(app, task).using(**_chosen(**options))
        job = chosen.enqueue(*positional, **named)
    if job.reason == SEEN:
        click.echo(f"note: not stored, {SEEN}: there is no job {job.id}", err=True)
    if is_json():
        print_json({"id": job.id, "decision": job.decision, "task": chosen.name, "queue": chosen.queue})
    else:
        click.echo(job.id)


def _find(app: "Holdfast", name: str) -> "Task[..., Any]":
    """Give a task by its name, an alias, or the last part of its name where only one task ends so."""
    known = {alias: task for task in app.tasks.values() for alias in (task.name, *task.spec().aliases)}
    ending = [task for full, task in known.items() if full.endswith(f".{name}")]
    if name in known or len(ending) == 1:
        return known.get(name) or ending[0]
    near = get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(sorted(known)) or 'none'}"
    raise UnknownTask(f"this app has no task {name!r}; {hint}")


def _read(arguments: tuple[str, ...], kwargs: str | None) -> tuple[list[object], dict[str, object]]:
    """Part the arguments into positional and named ones."""
    positional: list[object] = []
    named = _object(kwargs)
    for text in arguments:
        pair = _PAIR.fullmatch(text)
        if pair is None:
            positional.append(_value(text))
        elif pair[1] in named:
            raise InvalidInput(f"the argument {pair[1]!r} is given twice; give it once")
        else:
            named[pair[1]] = _value(pair[2])
    return positional, named


def _value(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError:
        return text
    except RecursionError as error:
        raise InvalidInput(f"expected an argument that is nested less deeply, got: {text[:20]!r} …") from error


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON, though Python reads it: here it is a word like any other")


def _object(text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"expected --kwargs to be a JSON object, got {text!r}: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f'expected --kwargs to be a JSON object, e.g. \'{{"subject": "Hi"}}\', got: {text!r}')
    return value


def _chosen(
    queue: str | None, priority: int | None, delay: float | None, at: datetime | None, tags: tuple[str, ...]
) -> dict[str, Any]:
    """Give the options that were set; the others are the task's own."""
    if delay is not None and at is not None:
        raise InvalidInput(f"expected --delay or --at, got both: --delay {delay:g} and --at {at.isoformat()}; give one")
    given = {"queue": queue, "priority": priority, "delay": delay, "at": at, "tags": tags or None}
    return {name: value for name, value in given.items() if value is not None}
