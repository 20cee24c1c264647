"""The grammar of names. Names become table columns, Redis keys, file names and HTML: odd characters stop here."""

import re
from typing import Final

from holdfast.errors import InvalidName

_QUEUE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")
_TASK: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,254}")
_NAMESPACE: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")
_JOB_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_TAG_LENGTH: Final = 128


def check_queue(name: object) -> str:
    return _check(name, _QUEUE, "a queue name", "letters, digits and _ . : - , at most 128, e.g. 'mail'")


def check_task(name: object) -> str:
    return _check(
        name,
        _TASK,
        "a task name",
        "letters, digits and _ . : - , at most 255, e.g. 'shop.mail.send'; set it with name=",
    )


def check_namespace(name: object) -> str:
    return _check(name, _NAMESPACE, "a namespace", "lower-case letters, digits and _ , at most 30, e.g. 'holdfast'")


def check_job_id(name: object) -> str:
    return _check(name, _JOB_ID, "a job id", "letters, digits and _ . : - , at most 64; leave it out to get a UUID")


def check_tag(tag: object) -> str:
    if isinstance(tag, str) and 0 < len(tag) <= _TAG_LENGTH and tag.isprintable():
        return tag
    raise InvalidName(f"expected a tag to be printable text of 1 to {_TAG_LENGTH} characters, got: {tag!r}")


def _check(name: object, grammar: re.Pattern[str], what: str, rule: str) -> str:
    if isinstance(name, str) and grammar.fullmatch(name):
        return name
    raise InvalidName(f"expected {what} to be made of {rule}, got: {name!r}")
