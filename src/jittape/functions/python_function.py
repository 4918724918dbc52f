"""The Python function of a `jt.function`: calls with placeholders or with tensors, and tests of its code.

A function whose code tests the identity of objects gets some arguments themselves: placeholders answer otherwise.
"""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, MappingProxyType
from typing import Any

import numpy as np

from jittape.core.dtypes import KINDS, int64
from jittape.core.primitive import active_recorder, apply
from jittape.core.program import Aval
from jittape.core.symbolic.extents import Extent, plain_of
from jittape.core.traced_scalar import TracedScalar
from jittape.functions.signature import NUMBERS, Call, aval_of_leaf, is_array_like, parameters_of
from jittape.primitives.elementwise.bits import bitcast_op
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.nested import flatten, own_handles
from jittape.recording.shapes.extent_tensor import ExtentTensor
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "call_python",
    "is_array",
    "placeholders_of",
    "run_python",
    "tests_bool_identity",
    "tests_object_identity",
]

_SINGLETONS = (bool, type(None), type(...))


def is_array(leaf: Any) -> bool:
    """Return whether a leaf of the arguments is a tensor, an array or an object that becomes one."""
    return isinstance(leaf, (np.ndarray, Tensor)) or is_array_like(leaf)


def call_python(
    python: Callable[..., Any],
    name: str,
    owner: tuple[Any, ...],
    call: Call,
    leaves: Sequence[Any],
    converts: bool = True,
) -> Any:
    """Call `python` with `leaves` in the structure of `call`; replace Variables among the results by their values.

    Numbers and arrays among the results become tensors if `converts` is True.

    Raises
    ------
    ValueError
        If the function changes a list or dict argument. The caller's own object is unchanged.
    """
    args, kwargs = call.unflatten(leaves)
    result = python(*owner, *args, **kwargs)
    if not isinstance(call.structure, int):
        given, given_by_name = call.unflatten(leaves)
        names = [*parameters_of(python)[len(owner) :], *map(str, range(len(args)))]
        pairs = {name: (a, b) for name, a, b in zip(names, given, args, strict=False)}
        pairs |= {key: (given_by_name[key], kwargs[key]) for key in kwargs}
        for argument, (before, after) in pairs.items():
            if _differ(before, after):
                raise ValueError(
                    f"{name}() should not modify its Python input arguments, but changes the list or dict {argument}: "
                    "modify a copy, or return the new one"
                )
    return _with_tensors(result, converts)


def placeholders_of(
    tracing: FunctionTrace,
    call: Call,
    names: Sequence[str],
    numbers: Mapping[int, bool],
    plain: Sequence[int],
    same: Mapping[int, int],
    general: Mapping[int, Aval] = MappingProxyType({}),
) -> list[Any]:
    """Return the leaves of `call` with placeholders in place of arrays and numbers.

    `numbers` maps the positions of numbers to whether the trace may be specialized for their values. The numbers at the
    positions `plain` get no placeholder. The arrays at positions in `general` get the avals there.
    """
    avals = [(i, general.get(i) or aval_of_leaf(leaf)) for i, leaf in enumerate(call.leaves)]
    arrays = [(i, aval) for i, aval in avals if aval is not None]
    leaves: list[Any] = list(call.leaves)
    for i, tensor in tracing.placeholders(arrays, same).items():
        leaves[i] = tensor
    for i, specializable in numbers.items():
        number = tracing.number(i, call.leaves[i], names[i])
        if i not in plain:
            leaves[i] = number
        elif specializable:
            leaves[i] = number.concretize()
    return leaves


def run_python(
    python: Callable[..., Any], name: str, owner: tuple[Any, ...], call: Call, converts: bool = True
) -> Any:
    """Call `python` with the arguments themselves. Writes to tensors do not change the caller's tensors."""
    result = call_python(python, name, owner, call, own_handles(call.leaves), converts)
    if active_recorder().traced_in is not None:
        return result
    leaves, rebuild = flatten(result)
    return rebuild(own_handles(leaves))


def _differ(before: Any, after: Any) -> bool:
    """Return whether two structures that were created from the same leaves differ."""
    import optree

    old: list[Any]
    new: list[Any]
    old, old_tree = optree.tree_flatten(before, none_is_leaf=True, namespace="jittape")
    new, new_tree = optree.tree_flatten(after, none_is_leaf=True, namespace="jittape")
    return old_tree != new_tree or any([a is not b for a, b in zip(old, new, strict=True)])


def _with_tensors(result: Any, converts: bool) -> Any:
    if result is None or result.__class__ is Tensor:
        return result
    leaves, rebuild = flatten(result)
    tensors = [_as_tensor(leaf, converts) for leaf in leaves]
    if all([new is old for new, old in zip(tensors, leaves, strict=True)]):
        return result
    return rebuild(tensors)


def _as_tensor(leaf: Any, converts: bool) -> Any:
    """Return a result as TensorFlow's functions do: the value of a Variable, and a tensor for a number or an array."""
    if leaf.__class__ is ExtentTensor:
        return leaf.plain_tensor()
    if leaf.__class__ is Extent:
        return convert_to_tensor(leaf) if converts else plain_of(leaf)
    if isinstance(leaf, Variable):
        return leaf.value()
    if not converts:
        return leaf
    if type(leaf) is TracedScalar:
        # A trace holds for one of the dtypes.
        narrow = leaf.kind is not int or (leaf >= -(2**31) and leaf < 2**31)
        tensor = convert_to_tensor(leaf, None if narrow else int64)
        return apply(_copied, (tensor,)) if leaf.kind in (int, float) else tensor
    if isinstance(leaf, (np.ndarray, np.generic)):
        return convert_to_tensor(leaf) if leaf.dtype.kind in KINDS else leaf
    return convert_to_tensor(leaf) if type(leaf) in NUMBERS else leaf


def _copied(x: Any) -> Any:
    """Return a copy that simplification keeps. A call with an input as result takes 33 µs instead of 2.4."""
    return bitcast_op.bind(x, dtype=x.dtype)


def tests_bool_identity(function: Callable[..., Any]) -> bool:
    """Return whether the code of `function` contains ``is True`` or ``is False``; traced numbers support neither."""
    return any(step.opname == "IS_OP" and isinstance(value.argval, bool) for value, step in _pairs(function))


def tests_object_identity(function: Callable[..., Any]) -> bool:
    """Return whether the code of `function` contains ``a is b`` or ``id(a)``."""
    return any(
        (
            step.opname == "IS_OP"
            and not (value.opname == "LOAD_CONST" and isinstance(value.argval, _SINGLETONS))
        )
        or (step.opname.startswith("LOAD_GLOBAL") and step.argval == "id")
        for value, step in _pairs(function)
    )


def _pairs(function: Callable[..., Any]) -> Iterator[tuple[dis.Instruction, dis.Instruction]]:
    """Yield all pairs of instructions that follow each other, those of inner functions too."""
    codes: list[Any] = [getattr(inspect.unwrap(function), "__code__", None)]
    while codes:
        code = codes.pop()
        if isinstance(code, CodeType):
            codes += code.co_consts
            yield from itertools.pairwise(dis.get_instructions(code))
