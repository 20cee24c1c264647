"""Arguments and results, read back for people. Bytes that cannot be read are described, never printed.

The app's codec knows the user's own types. Without an app plain values can be read all the same, which is most of them.
The signature is not checked to show arguments: the codec treats all bytes as an enemy's, and nothing here is run.
"""

import math
from typing import TYPE_CHECKING

import msgspec

from holdfast.cli.output import as_json
from holdfast.errors import HoldfastError
from holdfast.model.job import JobRecord
from holdfast.run.evidence import visible
from holdfast.wire.codec import Codec
from holdfast.wire.envelope import open_envelope
from holdfast.wire.payload import unpack

if TYPE_CHECKING:
    from holdfast.cli.documents import Document


class Arguments(msgspec.Struct, frozen=True):
    """The arguments of a job's call, or why they cannot be shown."""

    args: tuple[object, ...] = ()
    kwargs: dict[str, object] = {}
    problem: str | None = None

    def document(self) -> "Document":
        """Tell them for JSON: plain values as they are, all others by their repr."""
        named = {name: plain(value) for name, value in self.kwargs.items()}
        return {"args": [plain(value) for value in self.args], "kwargs": named, "problem": self.problem}

    def __str__(self) -> str:
        if self.problem is not None:
            return f"cannot be shown: {self.problem}"
        shown = [repr(value) for value in self.args] + [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return visible(f"({', '.join(shown)})")


def arguments_of(job: JobRecord, codec: Codec) -> Arguments:
    """Read the arguments of a job."""
    try:
        return Arguments(*unpack(open_envelope(job.envelope).payload, codec))
    except HoldfastError as error:
        return Arguments(problem=str(error))


def plain(value: object) -> object:
    """Give a value that JSON can hold: itself where that loses nothing, else its repr."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [plain(item) for item in value]
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: plain(item) for key, item in value.items()}
    return repr(value)


def as_text(value: object) -> str:
    """Give a result as a shell wants it: text bare, other plain values as JSON, all others by their repr.

    What could steer a terminal is spelt out, in text too; who needs the exact text takes `--json`.
    """
    if type(value) is str:
        return visible(value)
    shown = plain(value)
    is_same = shown is value or type(shown) is type(value)
    return as_json(shown) if is_same else visible(str(shown))
