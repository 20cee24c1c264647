"""Values as bytes: what goes in comes out again with the same types throughout, or is refused with its place.

No schema is needed on either side. Plain values are plain MessagePack, which any language reads; what
MessagePack does not know is tagged (`tags`), and the user's own types travel by name and fields (`shapes`).

Bytes are read as if an enemy had written them: nothing is imported, nothing is built but the registered
types, and whatever is wrong with them becomes one error, `DecodingFailed`.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from holdfast.errors import DecodingFailed, InvalidInput, NotEncodable
from holdfast.wire.kinds import spell
from holdfast.wire.refusal import Refusal, shown
from holdfast.wire.shapes import Shape, shape_of
from holdfast.wire.tags import NAMED, TOGETHER
from holdfast.wire.wrapping import DEEPEST, Wrapper, pack

Where = Callable[[int | str], str]
"""Names an argument for an error, given its position or its keyword: "argument 'to' of send()"."""

_LEVELS: Final = DEEPEST + 2  # the deepest container, and a tagged value in it


_STARTED: Final = ("__main__", "__mp_main__")
"""What the module that was started is called: by itself, and in a process that multiprocessing has spawned."""


class Codec:
    """Encodes and decodes; knows the types that were registered with it. Safe to share between threads.

    `main` is what the module `__main__` is called by everyone else, if that is known: a type defined in the
    script that was started must have the same name in the worker that imports it.
    """

    def __init__(self, main: str | None = None) -> None:
        self._main = main
        self._by_type: dict[type, Shape] = {}
        self._by_name: dict[str, Shape] = {}
        self._quick = Wrapper(self._by_type, is_thorough=False)
        self._thorough = Wrapper(self._by_type, is_thorough=True)
        # One decoder per level of tags: a level is known without being counted, whichever thread decodes.
        self._levels = [msgspec.msgpack.Decoder(ext_hook=partial(self._untag, n + 1)) for n in range(_LEVELS)]

    def register(self, *types: type) -> None:
        """Let the values of these types travel. Of two with one name (a reloaded module) the last stands."""
        for kind in types:
            shape = shape_of(kind, self._name(kind)) if isinstance(kind, type) else None
            if shape is None:
                raise InvalidInput(
                    "expected a dataclass, an Enum, a Struct, a NamedTuple or a pydantic model "
                    f"to register, got: {kind!r}"
                )
            if former := self._by_name.get(shape.name):
                self._by_type.pop(former.kind, None)
            self._by_name[shape.name] = self._by_type[kind] = shape

    def knows(self, kind: type) -> bool:
        """Tell whether values of exactly this type were registered to travel."""
        return kind in self._by_type

    def encode(self, value: object, where: str) -> bytes:
        """Give the bytes of one value; `where` says in an error what it is, e.g. "the result of send()"."""
        try:
            return self._encode(lambda wrapper: wrapper.wrap(value))
        except Refusal as refusal:
            raise NotEncodable(f"{where}{refusal.path()} {refusal.why}") from refusal

    def encode_call(self, args: tuple[object, ...], kwargs: Mapping[str, object], where: Where) -> bytes:
        """Give the bytes of a call's arguments."""
        try:
            return self._encode(lambda wrapper: (wrapper.items(args, 0), wrapper.mapping(kwargs, 0)))
        except Refusal as refusal:
            _, outermost = refusal.steps.pop()
            name = where(outermost)  # type: ignore[arg-type]  # the place in args, or the key in kwargs
            raise NotEncodable(f"{name}{refusal.path()} {refusal.why}") from refusal

    def decode(self, data: bytes) -> Any:
        """Give the value back, or raise DecodingFailed."""
        try:
            return self._levels[0].decode(data)
        except DecodingFailed:
            raise
        except Exception as error:  # forged bytes and users' __post_init__ may raise anything
            raise DecodingFailed(f"these bytes cannot be read as a value: {error}") from error

    def decode_call(self, data: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give the arguments of a call back, or raise DecodingFailed."""
        match self.decode(data):
            case [list() as args, dict() as kwargs] if all(type(name) is str for name in kwargs):
                return tuple(args), kwargs
            case other:
                raise DecodingFailed(f"expected the arguments of a call, got: {shown(other)}")

    def _encode(self, wrapped_by: Callable[[Wrapper], object]) -> bytes:
        try:
            return pack(wrapped_by(self._quick))
        except (OverflowError, UnicodeEncodeError):
            return pack(wrapped_by(self._thorough))

    def _untag(self, level: int, code: int, data: memoryview) -> object:
        if level >= _LEVELS:
            raise DecodingFailed(f"these bytes hold a value nested more than {DEEPEST} levels deep: refused")
        body = self._levels[level].decode(data)
        if code == NAMED:
            return self._put_together(body)
        together = TOGETHER.get(code)
        if together is None:
            raise DecodingFailed(
                f"these bytes hold a value with the unknown tag {code}: "
                "if a newer Holdfast wrote them, upgrade this one"
            )
        return together(body)

    def _put_together(self, body: Any) -> object:
        name, content = body
        shape = self._by_name.get(name)
        if shape is None:
            raise DecodingFailed(
                f"these bytes hold a value of the type {shown(name)}, which is not registered here: "
                "annotate a task's parameter with it, or register it with app.register(…)"
            )
        return shape.together(content)

    def _name(self, kind: type) -> str:
        module, dot, rest = spell(kind).partition(".")
        if module not in _STARTED:
            return module + dot + rest
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        return (self._main or (spec.name if spec else "__main__")) + dot + rest
