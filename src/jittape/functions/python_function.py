"""The Python function below a `jt.function`, as it is run: once on placeholders, or on tensors at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.core.primitive import active_recorder
from jittape.functions.signature import Call, parameters_of
from jittape.recording.handles import own_handles
from jittape.recording.nested import flatten
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["call_python", "run_python"]


def call_python(
    python: Callable[..., Any], name: str, owner: tuple[Any, ...], call: Call, leaves: Sequence[Any]
) -> Any:
    """Call `python` on `leaves` in the structure of `call`; a Variable among the results becomes its value.

    Raises
    ------
    ValueError
        If the function changes a list or dict that it was given. The caller's own is as it was.
    """
    args, kwargs = call.rebuilt(leaves)
    result = python(*owner, *args, **kwargs)
    if not isinstance(call.structure, int):
        given, given_by_name = call.rebuilt(leaves)
        names = [*parameters_of(python)[len(owner) :], *map(str, range(len(args)))]
        pairs = {name: (a, b) for name, a, b in zip(names, given, args, strict=False)}
        pairs |= {key: (given_by_name[key], kwargs[key]) for key in kwargs}
        for argument, (before, after) in pairs.items():
            if _differ(before, after):
                raise ValueError(
                    f"{name}() should not modify its Python input arguments, but changes the list or dict {argument}: "
                    "modify a copy, or return the new one"
                )
    return _with_values(result)


def run_python(python: Callable[..., Any], name: str, owner: tuple[Any, ...], call: Call) -> Any:
    """Call `python` on the arguments themselves; neither writes to them nor results reach the caller's tensors."""
    result = call_python(python, name, owner, call, own_handles(call.leaves))
    if active_recorder().traced_in is not None:
        return result
    leaves, rebuild = flatten(result)
    return rebuild(own_handles(leaves))


def _differ(before: Any, after: Any) -> bool:
    """Whether one of two structures, made of the same leaves, has been changed."""
    import optree

    old: list[Any]
    new: list[Any]
    old, old_tree = optree.tree_flatten(before, none_is_leaf=True, namespace="jittape")
    new, new_tree = optree.tree_flatten(after, none_is_leaf=True, namespace="jittape")
    return old_tree != new_tree or any([a is not b for a, b in zip(old, new, strict=True)])


def _with_values(result: Any) -> Any:
    if result is None or result.__class__ is Tensor:
        return result
    leaves, rebuild = flatten(result)
    if not any([isinstance(leaf, Variable) for leaf in leaves]):
        return result
    return rebuild([leaf.value() if isinstance(leaf, Variable) else leaf for leaf in leaves])
