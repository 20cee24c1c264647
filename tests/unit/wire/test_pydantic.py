"""Pydantic models, where pydantic is installed. Holdfast does not depend on it, and neither does this suite."""

import pytest

from holdfast.wire.codec import Codec
from holdfast.wire.parameters import Parameters

pydantic = pytest.importorskip("pydantic")


class Address(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    city: str
    zip: str = "0"


class Person(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    model_config = pydantic.ConfigDict(extra="allow")

    name: str
    homes: list[Address] = pydantic.Field(default_factory=list)


def test_a_model_comes_back_with_what_was_given_and_what_was_not() -> None:
    codec = Codec()
    codec.register(*Parameters.of(visit).types())
    person = Person(name="Ada", homes=[Address(city="London")], age=36)

    back = codec.decode(codec.encode(person, "it"))

    assert back == person
    assert back.model_fields_set == person.model_fields_set
    assert back.homes[0].model_fields_set == {"city"}
    assert back.age == 36


def test_a_dict_arrives_as_the_annotated_model() -> None:
    args, _ = Parameters.of(visit).arrive(({"name": "Ada"},), {})

    assert args == (Person(name="Ada"),)


def test_a_root_model_travels_too() -> None:
    class Names(pydantic.RootModel[list[str]]):  # type: ignore[misc, name-defined]
        pass

    codec = Codec()
    codec.register(Names)

    assert codec.decode(codec.encode(Names(["a"]), "it")) == Names(["a"])


def visit(person: Person) -> None: ...
