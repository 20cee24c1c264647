"""The grammar of names. Names become table columns, Redis keys, file names and HTML: odd characters stop here."""

import re
from typing import Final

from holdfast.errors import InvalidName

_QUEUE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")
_TASK: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,254}")
_NAMESPACE: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")
_JOB_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_TAG_LENGTH: Final = 128
_LANE_LENGTH: Final = 256
_KEY_LENGTH: Final = 512
_VERSION_LENGTH: Final = 128


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
    return _check_text(tag, _TAG_LENGTH, "a tag")


def check_lane(lane: object, what: str = "a lane") -> str:
    return _check_text(lane, _LANE_LENGTH, what)


def check_key(key: object, what: str = "a key") -> str:
    return _check_text(key, _KEY_LENGTH, what, "; give a digest of what is longer" if isinstance(key, str) else "")


def check_version(version: object) -> str:
    """Check a version. A whole number is as good as text."""
    is_number = isinstance(version, int) and not isinstance(version, bool)
    return _check_text(str(version) if is_number else version, _VERSION_LENGTH, "a version")


def _check_text(text: object, most: int, what: str, remedy: str = "") -> str:
    if isinstance(text, str) and 0 < len(text) <= most and text.isprintable():
        return text
    raise InvalidName(f"expected {what} to be printable text of 1 to {most} characters{remedy}, got: {text!r}")


def _check(name: object, grammar: re.Pattern[str], what: str, rule: str) -> str:
    if isinstance(name, str) and grammar.fullmatch(name):
        return name
    raise InvalidName(f"expected {what} to be made of {rule}, got: {name!r}")
