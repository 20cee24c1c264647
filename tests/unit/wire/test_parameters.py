import functools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar

import msgspec
import pytest

from holdfast.errors import ArgumentMismatch
from holdfast.wire.parameters import Parameters

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers

T = TypeVar("T")
UserId = NewType("UserId", int)


class Colour(Enum):
    RED = "red"


class Link(NamedTuple):
    url: str
    colour: Colour


class Site(msgspec.Struct):
    links: dict[str, tuple[Link, ...]]


@dataclass
class Page:
    url: str
    site: "Site | None" = None
    next: "Page | None" = None


@dataclass
class RichPage(Page):
    rank: int = 0


@dataclass
class Box(Generic[T]):
    held: T


def send(to: str, subject: str = "", /, *, copies: int = 1, tags: Sequence[str] = ()) -> Page: ...  # type: ignore[empty-body]


def mail(to: str, subject: str) -> None: ...


def anything(*args: int, **options: str) -> None: ...


def refused(function: Callable[..., object], *args: object, **kwargs: object) -> str:
    with pytest.raises(ArgumentMismatch) as caught:
        Parameters.of(function).check(args, kwargs)
    return str(caught.value)


def arrived(annotation: object, value: object) -> object:
    def task(x): ...  # type: ignore[no-untyped-def]

    task.__annotations__["x"] = annotation
    ((back,), _) = Parameters.of(task).arrive((value,), {})
    return back


def test_a_call_that_fits_passes() -> None:
    Parameters.of(mail).check(("a", "b"), {})
    Parameters.of(mail).check(("a",), {"subject": "b"})
    Parameters.of(mail).check((), {"subject": "b", "to": "a"})
    Parameters.of(send).check(("a",), {"copies": 2, "tags": ("x",)})
    Parameters.of(anything).check((1, 2, 3), {"a": "b"})


def test_an_argument_of_another_type_is_named_with_both_types() -> None:
    assert refused(mail, "a", subject=5) == "mail() got subject=5: expected str, got int"
    assert refused(mail, None, "b") == "mail() got to=None: expected str, got NoneType"
    assert refused(anything, 1, "b") == "anything() got 2='b': expected int, got str"
    assert refused(anything, n=1) == "anything() got n=1: expected str, got int"


def test_a_fault_inside_an_argument_is_named_with_its_place() -> None:
    assert refused(send, "a", tags=["x", 1]) == "send() got tags=['x', 1]: expected str, got int - at tags[1]"


def test_a_call_that_does_not_fit_the_signature_says_why() -> None:
    assert refused(mail, "a") == "mail() needs 'subject', which the call does not give"
    assert refused(mail) == "mail() needs 'subject', 'to', which the call does not give"
    assert refused(mail, "a", "b", "c") == "mail() takes 2 arguments by position, got 3"
    assert refused(mail, "a", "b", to="c") == "mail() got 'to' twice: by position and by name"
    assert refused(mail, "a", subjct="b") == "mail() has no parameter 'subjct': did you mean 'subject'?"
    assert refused(mail, "a", zzz="b") == "mail() has no parameter 'zzz': it takes 'to', 'subject'"
    assert refused(send, to="a") == "send() takes 'to' by position only: pass it without its name"
    assert refused(lambda: None, 1) == "<lambda>() takes no arguments by position, got 1"


def test_every_call_that_python_would_refuse_is_refused_and_no_other() -> None:
    def shapes() -> list[Callable[..., object]]:
        return [
            lambda: 0, lambda a: 0, lambda a, b=1: 0, lambda a, /, b: 0, lambda a, *, b: 0, lambda *a, b=1: 0,
            lambda a=1, /, **b: 0, lambda a, /, **k: 0, lambda *, a, **k: 0, lambda a, *b, c, **k: 0,
        ]  # fmt: skip

    calls: list[tuple[tuple[int, ...], dict[str, int]]] = [
        (args, dict.fromkeys(names, 0))
        for args in ((), (0,), (0, 0), (0, 0, 0))
        for names in ("", "a", "b", "ab", "c", "abc")
    ]
    for function in shapes():
        for args, kwargs in calls:
            assert _fits(function, args, kwargs) == _runs(function, args, kwargs)


def _fits(function: Callable[..., object], args: tuple[int, ...], kwargs: dict[str, int]) -> bool:
    try:
        Parameters.of(function).check(args, kwargs)
    except ArgumentMismatch:
        return False
    return True


def _runs(function: Callable[..., object], args: tuple[int, ...], kwargs: dict[str, int]) -> bool:
    try:
        function(*args, **kwargs)
    except TypeError:
        return False
    return True


ID = uuid.UUID("0192f0c1-2b3c-7d4e-8f5a-6b7c8d9e0f10")


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (uuid.UUID, str(ID), ID),
        (Optional[uuid.UUID], str(ID), ID),  # noqa: UP045  # the old spelling is in use
        (Page, {"url": "x"}, Page("x")),
        (list[Page], [{"url": "x"}, Page("y")], [Page("x"), Page("y")]),
        (Colour, "red", Colour.RED),
        (float, 1, 1.0),
        (datetime, "2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5)),
        (tuple[int, ...], [1, 2], (1, 2)),
        (set[int], [1], {1}),
        (Path, "a/b", Path("a/b")),
        (list[Path], ["a"], [Path("a")]),
        (Link, ["u", "red"], Link("u", Colour.RED)),
        (UserId, 5, 5),
        (Annotated[int, "a note"], 5, 5),
        (Annotated[int, msgspec.Meta(ge=2)], 5, 5),
        (Literal["a", 1], 1, 1),
        (Any, len, len),
        (object, len, len),
        (T, len, len),
        (None, None, None),
    ],
)
def test_a_value_arrives_as_the_annotated_type(annotation: object, value: object, expected: object) -> None:
    back = arrived(annotation, value)

    assert back == expected
    assert type(back) is type(expected)


RICH = RichPage("x", rank=3)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Sequence[int], (1, 2)),
        (Mapping[str, int], {"a": 1}),
        (Iterable[int], (1,)),
        (Page, RICH),
        (Page | Box[int], RICH),
        (date, datetime(2026, 1, 1)),
        (int, True),
        (Box[int], Box(1)),
        (Page | Colour, Colour.RED),
        (list[Any], [1, "a"]),
    ],
)
def test_a_value_that_is_already_what_was_asked_for_arrives_unchanged(annotation: object, value: object) -> None:
    assert arrived(annotation, value) is value


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (bytes, "aGk=", "expected bytes, got str"),
        (int, "5", "expected int, got str"),
        (str, 5, "expected str, got int"),
        (int | None, "5", "expected int | None, got str"),
        (list[int], ["a"], "expected int, got str - at x[0]"),
        (Page, {"url": 1}, "expected str, got int - at x.url"),
        (Page, {}, "object missing required field url"),
        (Page, 5, f"expected {__name__}.Page, got int"),
        (Colour, "green", "invalid enum value 'green'"),
        (Literal["a"], "b", "invalid enum value 'b'"),
        (Annotated[int, msgspec.Meta(ge=2)], 1, "expected int >= 2"),
        (Path, 5, ".Path, got int"),
        (Page | Link, 5, f"expected {__name__}.Page | {__name__}.Link, got int"),
        (uuid.UUID, "no", "invalid UUID"),
        (None, 1, "expected NoneType, got int"),
    ],
)
def test_a_value_that_cannot_be_what_was_asked_for_is_refused(annotation: object, value: object, said: str) -> None:
    with pytest.raises(ArgumentMismatch) as caught:
        arrived(annotation, value)

    assert said in str(caught.value)


def test_an_annotation_that_cannot_be_resolved_leaves_only_its_own_parameter_unchecked() -> None:
    def pay(amount: "OnlyForCheckers", to: "str", odd: "1 +") -> None: ...  # type: ignore[valid-type]  # noqa: F722

    Parameters.of(pay).check((object(), "a", object()), {})
    assert "expected str, got int" in refused(pay, object(), 5, object())


def test_none_fits_where_it_is_the_default() -> None:
    def find(name: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013  # as users write it

    Parameters.of(find).check((None,), {})
    assert "expected Optional[str], got int" in refused(find, 1).replace("str | None", "Optional[str]")


def test_an_error_in_a_users_own_check_is_a_mismatch() -> None:
    @dataclass
    class Even:
        n: int

        def __post_init__(self) -> None:
            if self.n % 2:
                raise LookupError("odd")

    with pytest.raises(ArgumentMismatch, match="odd"):
        arrived(Even, {"n": 1})


def test_a_long_value_is_shown_short_and_a_broken_repr_hides_nothing() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    assert len(refused(mail, "a", subject=[1] * 10_000)) < 150
    assert refused(mail, "a", subject=Mute()).endswith("Mute")


def test_the_types_in_the_annotations_are_found_at_every_depth() -> None:
    def crawl(pages: list[Page | None], boxes: Annotated[dict[str, Box[Colour]], "x"], n: UserId) -> RichPage: ...  # type: ignore[empty-body]

    assert Parameters.of(crawl).types() == {Page, Site, Link, Colour, Box, RichPage}


def test_the_types_of_an_async_task_and_of_its_result_are_found() -> None:
    async def fetch(url: str) -> Page: ...  # type: ignore[empty-body]

    assert Page in Parameters.of(fetch).types()


def test_an_argument_is_named_by_its_parameter() -> None:
    assert Parameters.of(mail).place(0) == "argument 'to' of mail()"
    assert Parameters.of(mail).place("subject") == "argument 'subject' of mail()"
    assert Parameters.of(anything).place(2) == "argument 3 of anything()"


def test_callables_without_a_name_or_a_signature_are_taken_as_they_are() -> None:
    half = functools.partial(mail, "a")

    Parameters.of(half).check(("b",), {})
    Parameters.of(dict).check((), {"a": 1})
    assert refused(half, "b", "c").startswith("partial() ")


def test_names_that_come_into_being_after_the_declaration_are_checked() -> None:
    space: dict[str, Any] = {}
    exec("def later(x: 'Thing') -> None: ...", space)
    parameters = Parameters.of(space["later"])
    assert parameters.types() == set()
    space["Thing"] = Page

    assert Page in parameters.types()
    with pytest.raises(ArgumentMismatch):
        parameters.check((5,), {})
