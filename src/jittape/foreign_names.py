"""Attributes of other libraries' tensors, variables and optimizers, whose use says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["TENSOR_ATTRIBUTES", "ForeignName", "with_foreign_names"]


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


TENSOR_ATTRIBUTES = {
    "backward": "use `with jt.GradientTape() as tape:` and tape.gradient(loss, variables)",
    "grad": "a gradient is the result of tape.gradient(loss, variables) or of jt.grad(f)",
    "requires_grad": "use a jt.Variable, or tape.watch(x)",
    "requires_grad_": "use a jt.Variable, or tape.watch(x)",
    "grad_fn": "tape.explain(target, source) says how they are connected",
    "detach": "use jt.stop_gradient(x)",
    "cpu": "all tensors are in main memory; use x.numpy() for an array",
    "cuda": "all tensors are in main memory",
    "to": "use jt.cast(x, dtype); all tensors are in main memory",
    "at": "use x[i] = value, or jt.tensor_scatter_nd_update",
    "numel": "use x.size",
    "unsqueeze": "use jt.expand_dims(x, axis)",
    "permute": "use jt.transpose(x, axes)",
    "block_until_ready": "use x.numpy(), which runs pending operations",
}
"""Attributes of PyTorch and JAX, and what to use instead."""
