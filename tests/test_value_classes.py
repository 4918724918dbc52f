"""`value_class` makes the same classes as ``dataclass(frozen=True)``, without the check at run time."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from typing import Any, ClassVar, Self

import pytest

from jittape.value_classes import NamedTuple, value_class


@value_class
class Pair:
    first: object
    second: object = 2


@value_class
class Single:
    only: object


@value_class
class Nothing:
    pass


@value_class
class Longer(Pair):
    third: object = 3


@value_class
class Named:
    name: str

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def __repr__(self):
        return "own"


@pytest.mark.parametrize("value", [Pair(1), Single("a"), Nothing(), Longer(1, third=[])])
def test_values_are_compared_hashed_and_shown_by_their_fields(value):
    as_dataclass = dataclasses.make_dataclass(
        type(value).__name__, [f.name for f in dataclasses.fields(value)], frozen=True
    )(**vars(value))
    same = copy.copy(value)
    assert value == same
    assert value == pickle.loads(pickle.dumps(value))
    assert value != as_dataclass
    assert repr(value) == repr(as_dataclass)
    if not isinstance(value, Longer):
        assert hash(value) == hash(same) == hash(as_dataclass)


def test_values_differ_by_class_and_by_field():
    assert Pair(1) != Longer(1)
    assert Pair(1) != Pair(1, 3)
    assert Single(1) != 1
    assert Single(float("nan")) != Single(float("nan"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Longer(1, third=[]))
    assert dataclasses.replace(Longer(1), third=4) == Longer(1, 2, 4)


def test_methods_of_the_class_stay():
    assert Named("a") == Named("b")
    assert hash(Named("a")) == 1
    assert repr(Named("a")) == "own"


class Ours(NamedTuple):
    """A named tuple of ours."""

    first: int
    second: tuple[str, ...] = ("a",)

    @property
    def both(self) -> tuple[Any, ...]:
        return self.first, self.second

    @classmethod
    def of(cls, first: int) -> Self:
        return cls(first)


class Pythons(typing.NamedTuple):
    """A named tuple of ours."""

    first: int
    second: tuple[str, ...] = ("a",)


def test_named_tuples_are_those_of_typing():
    for one, other in ((Ours(1), Pythons(1)), (Ours(2, second=()), Pythons(2, ()))):
        assert one == other
        assert repr(one) == repr(other).replace("Pythons", "Ours")
        assert one._asdict() == other._asdict()
        assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one
    assert Ours.of(3).both == (3, ("a",))
    for name in ("_fields", "_field_defaults", "__doc__", "__module__", "__bases__"):
        assert getattr(Ours, name) == getattr(Pythons, name), name
    assert Ours.__qualname__ == "Ours"
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Pythons)
    assert str(inspect.signature(Ours)).replace("'", "") == "(first: int, second: tuple[str, ...] = (a,))"
    with pytest.raises(TypeError):
        Ours()


Item = typing.TypeVar("Item")


class Cell(NamedTuple, typing.Generic[Item]):
    first: Item
    second: Item | None = None


def test_a_generic_named_tuple_is_a_tuple_with_type_arguments():
    assert Cell[int].__origin__ is Cell
    assert Cell(1) == (1, None)
    assert Cell[int](1, 2)._replace(first=3) == Cell(3, 2)
    assert pickle.loads(pickle.dumps(Cell(1, 2))) == Cell(1, 2)


@value_class
class Compared:
    """Objects compared by identity."""

    own: int
    of_class: ClassVar[int] = 3
    defaulted: str = "a"

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def test_a_value_class_is_a_dataclass():
    assert [f.name for f in dataclasses.fields(Longer)] == ["first", "second", "third"]
    assert [f.name for f in dataclasses.fields(Pair(1))] == ["first", "second"]
    assert [(f.name, f.type, f.default) for f in dataclasses.fields(Compared)] == [
        ("own", "int", dataclasses.MISSING),
        ("defaulted", "str", "a"),
    ]
    assert dataclasses.asdict(Longer(1, 2)) == {"first": 1, "second": 2, "third": 3}
    assert Compared.__match_args__ == ("own", "defaulted")
    assert str(inspect.signature(Compared)).replace("'", "") == "(own: int, defaulted: str = a) -> None"
    assert typing.get_type_hints(Compared.__init__) == {"own": int, "defaulted": str, "return": type(None)}
    assert Compared(1) != Compared(1)
    assert vars(Compared(defaulted="b", own=2)) == {"own": 2, "defaulted": "b"}
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        Compared(1, other=2)
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'own'"):
        Compared()


def test_unknown_names_are_no_changes_of_a_named_tuple():
    with pytest.raises(ValueError, match="other"):
        Ours(1)._replace(other=2)
    with pytest.raises(TypeError, match="other"):
        Ours(1, other=2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'first'"):
        Ours()
