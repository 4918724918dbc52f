"""Attributes of other libraries' tensors, variables and optimizers, whose use says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["ForeignName", "with_foreign_names"]


class ForeignName:
    """An attribute that other libraries have: reading it raises an `AttributeError` with advice, so `hasattr` is False.

    A method ``__getattr__`` of the class could do the same, and make all attributes of tensors slower.
    """

    __slots__ = ("_advice", "_name")

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__} has no {self._name!r}: {self._advice}")


def with_foreign_names(names: dict[str, str]) -> Callable[[type], type]:
    """Return a decorator that adds `ForeignName` attributes to a class; ``dir`` does not list them."""

    def decorated(cls: type) -> type:
        for name, advice in names.items():
            setattr(cls, name, ForeignName(name, advice))

        def listed(self: Any) -> list[str]:
            return [name for name in object.__dir__(self) if name not in names]

        cls.__dir__ = listed  # type: ignore[method-assign, assignment]
        return cls

    return decorated
