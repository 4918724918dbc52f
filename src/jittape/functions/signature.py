"""Signatures of calls: flattened arguments, and the keys that select a trace.

A *leaf* is an argument, or a part of one, that is not a container. Arrays, numbers and Variables are dynamic: the key
of an array has its shape and dtype, the key of a number its type, that of a Variable is a `VariableKind`. All other
leaves are static: the key has the object itself.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from array import array
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype
from jittape.core.program import Aval
from jittape.core.tensor_shape import TensorShape
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import function_name, named, refuse_masked
from jittape.errors import DTypeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.functions.variable_arguments import VariableKind, kind_of_variable, with_repeats
from jittape.numpy_api.dtype_objects import dtype_object
from jittape.recording.convert import convert_to_tensor, value_for_dtype
from jittape.recording.nested import key_orders
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "GUARD_FAILED",
    "NUMBERS",
    "SPECIALIZABLE",
    "Call",
    "TensorSpec",
    "aval_of_leaf",
    "checked_signature",
    "declared_parameters",
    "describe_key",
    "distance",
    "flatten_call",
    "is_array_like",
    "is_same_array",
    "key_changes",
    "key_of",
    "keys_of",
    "leaf_names",
    "match_signature",
    "open_axes",
    "parameters_of",
    "shared_leaves",
    "static_value",
]

GUARD_FAILED: Any = object()
"""Returned in place of a result if a trace does not hold for the arguments."""

NUMBERS = (bool, int, float, complex)
SPECIALIZABLE = (bool, int, np.bool_, np.integer)
"""Types of numbers that a trace may be specialized for."""
_PLAIN = frozenset((np.ndarray, Tensor, Variable, str, type(None), *NUMBERS))
"""Types that are always leaves. A call whose arguments all have these types needs no optree, which imports in 60 ms."""


@with_foreign_names(ATTRIBUTES_LEFT_OUT["TensorSpec"])
class TensorSpec:
    """The shape and dtype of an argument.

    Parameters
    ----------
    shape : TensorShape, sequence of int or None, or None
        Extents; None accepts any extent, or any shape if it replaces all of them. Each new extent is traced separately
        but shares the machine code.
    dtype : dtype, optional
        The default is `jt.config.default_float`.
    name : str, optional
        Name shown in the representation.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.TensorSpec([None, 3], jt.float64)
    TensorSpec(shape=(None, 3), dtype=float64, name=None)
    >>> jt.TensorSpec([None, 3]).is_compatible_with(jt.ones([2, 3]))
    True
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any = (), dtype: Any = None, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype = dtype_object(as_dtype(config.default_float if dtype is None else dtype))
        self.name = name

    @property
    def aval(self) -> Aval:
        """Shape and dtype.

        Raises
        ------
        ValueError
            If an extent is unknown.
        """
        if not self.shape.is_fully_defined():
            raise ValueError(f"{self} has an unknown extent; specify all extents, or pass an array")
        return Aval(tuple(self.shape), self.dtype.dtype)

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether `shape` matches."""
        return self.shape.is_compatible_with(shape)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the shape and dtype of a tensor or Variable."""
        return cls(tensor.shape, tensor.dtype, name)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a tensor, an array or another specification has this dtype and a shape that matches."""
        if not isinstance(spec_or_value, TensorSpec):
            spec_or_value = TensorSpec.from_tensor(convert_to_tensor(spec_or_value))
        return self.dtype == spec_or_value.dtype and self.shape.is_compatible_with(spec_or_value.shape)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name}, name={self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


class Call:
    """Flattened arguments.

    Attributes
    ----------
    leaves : tuple
        The leaves.
    structure : int or PyTreeSpec
        Number of arguments if all of them are positional leaves; otherwise optree's structure of ``(args, kwargs)``.
    orders : tuple of tuples
        Keys of each dict in their order, which the comparison of two structures leaves out.
    """

    __slots__ = ("leaves", "orders", "structure")

    def __init__(self, leaves: tuple[Any, ...], structure: Any, orders: tuple[Any, ...] = ()) -> None:
        self.leaves = leaves
        self.structure = structure
        self.orders = orders

    def unflatten(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments with the given leaves."""
        if isinstance(self.structure, int):
            return tuple(leaves), {}
        args, kwargs = self.structure.unflatten(leaves)
        return args, kwargs


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Flatten the arguments of a call."""
    if not kwargs and all([type(a) in _PLAIN for a in args]):
        return Call(args, len(args))
    import optree

    given: Any = (args, kwargs)
    leaves, structure = optree.tree_flatten(given, none_is_leaf=True, namespace="jittape")
    if not kwargs and len(leaves) == len(args) and all(map(operator.is_, leaves, args)):
        return Call(args, len(args))
    return Call(tuple(leaves), structure, key_orders(given))


def is_array_like(value: Any) -> bool:
    """Return whether `value` is not an array but contains mutable array data: a pandas object, an `array.array`."""
    if isinstance(value, (Operators, np.ndarray, np.generic, TracedScalar)):
        return False
    return hasattr(type(value), "__array__") or isinstance(value, (array, memoryview))


class _Identity:
    """Key that compares an object by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value


def aval_of_leaf(leaf: Any) -> Aval | None:
    """Return shape and dtype of an array; None for other leaves."""
    if isinstance(leaf, Tensor):
        return leaf.aval
    if isinstance(leaf, np.ndarray):
        refuse_masked(leaf)
        return Aval(leaf.shape, as_dtype(leaf.dtype))
    if isinstance(leaf, TensorSpec):
        return leaf.aval
    return None


def keys_of(function: Callable[..., Any], call: Call, skip: int) -> tuple[Any, ...]:
    """Return the keys of all leaves of a call of `function`, whose first `skip` parameters are bound.

    Array-like leaves of `call` are replaced by tensors with their current values.

    Raises
    ------
    DTypeError
        If the dtype of an array is not supported.
    """
    try:
        if not _PLAIN.issuperset(map(type, call.leaves)):
            call.leaves = tuple([_leaf(function, x) if is_array_like(x) else x for x in call.leaves])
        keys = tuple([key_of(leaf) for leaf in call.leaves])
        return with_repeats(keys, call.leaves) if Variable in map(type, call.leaves) else keys
    except DTypeError as error:
        names = leaf_names(function, call, skip)
        name = next(n for n, leaf in zip(names, call.leaves, strict=True) if _has_bad_dtype(leaf))
        text = re.sub(r"^\[.*?\] ", "", str(error))
        raise DTypeError(f"{function_name(function)}: the argument {name}: {text}") from None


def _leaf(function: Callable[..., Any], x: Any) -> Any:
    try:
        return convert_to_tensor(x)
    except TypeError as error:
        raise named(error, function_name(function)) from None


def _has_bad_dtype(leaf: Any) -> bool:
    try:
        key_of(leaf)
    except DTypeError:
        return True
    return False


def key_of(leaf: Any) -> Any:
    """Return the hashable key of `leaf`: leaves with different keys need different traces."""
    aval = aval_of_leaf(leaf)
    if aval is not None:
        return aval
    cls = type(leaf)
    if cls in NUMBERS or isinstance(leaf, np.generic):
        return cls
    if isinstance(leaf, Variable):
        return kind_of_variable(leaf)
    try:
        hash(leaf)
    except TypeError:
        return _Identity(leaf)
    return cls, leaf


def static_value(key: Any) -> Any:
    """Return the object of a static leaf's key."""
    return key.value if isinstance(key, _Identity) else key[1]


def is_same_array(a: Any, b: Any) -> bool:
    """Return whether two leaves are the same tensor or array."""
    return a is b and isinstance(a, (Tensor, np.ndarray))


def shared_leaves(leaves: Sequence[Any], distinct: Collection[int]) -> dict[int, int]:
    """Return leaves that are the same array as an earlier leaf, by position, if either is among `distinct`."""
    pairs = {(min(i, j), max(i, j)) for i in distinct for j in range(len(leaves)) if i != j}
    earlier = {j: i for i, j in sorted(pairs, reverse=True) if is_same_array(leaves[i], leaves[j])}
    return {j: earlier.get(i, i) for j, i in earlier.items()}


# ---- input signatures ------------------------------------------------------------------------------------------------


def checked_signature(name: str, signature: Any) -> Sequence[Any] | None:
    """Return `signature` if it is a valid input signature.

    Raises
    ------
    TypeError
        If it is not a sequence of `TensorSpec` or of nested structures of them.
    """
    if signature is None:
        return None
    import optree

    leaves: list[Any] = optree.tree_leaves(signature, none_is_leaf=True, namespace="jittape")
    wrong = [leaf for leaf in leaves if not isinstance(leaf, TensorSpec)]
    if not isinstance(signature, (list, tuple)) or wrong:
        got = f"{wrong[0]!r} in it" if wrong else f"{signature!r}"
        raise TypeError(
            f"{name}: input_signature must be a list with a jt.TensorSpec, or a nested structure of them, for each "
            f"argument; got {got}"
        )
    return signature


def open_axes(signature: Any) -> list[tuple[int, int | None]]:
    """Return the extents that an input signature leaves open: leaf and axis, which is None for an unknown rank."""
    if signature is None:
        return []
    import optree

    leaves: list[Any] = optree.tree_leaves(signature, none_is_leaf=True, namespace="jittape")
    return [
        (i, axis)
        for i, spec in enumerate(leaves)
        if isinstance(spec, TensorSpec)
        for axis, n in ([(None, None)] if spec.shape.rank is None else enumerate(spec.shape))
        if n is None
    ]


def match_signature(name: str, args: tuple[Any, ...], signature: Sequence[Any]) -> tuple[Any, ...]:
    """Return `args`, converted to tensors, if they match `signature`.

    Raises
    ------
    TypeError
        If their number, structure, shapes or dtypes differ from `signature`.
    """
    import optree

    expected: Any = tuple(signature)
    given: Any = args
    specs: list[Any]
    specs, tree = optree.tree_flatten(expected, none_is_leaf=True, namespace="jittape")
    try:
        leaves: list[Any] = tree.flatten_up_to(given)
    except ValueError as error:
        raise TypeError(
            f"{name}: the arguments do not match the input_signature {expected}: {error}"
        ) from None
    matched: Any = tree.unflatten([_match(name, *pair) for pair in zip(leaves, specs, strict=True)])
    return tuple(matched)


def _match(name: str, leaf: Any, spec: TensorSpec) -> Any:
    if isinstance(leaf, TensorSpec):
        return leaf
    value = value_for_dtype(leaf, spec.dtype)
    aval = Aval(tuple(value.shape), value.dtype.newbyteorder("="))  # a call converts the byte order
    if aval.dtype != spec.dtype or not spec.takes(aval.shape):
        raise TypeError(
            f"{name}: an argument is {aval}, but the input_signature requires {spec}; cast or reshape it"
        )
    return value


# ---- descriptions for messages ---------------------------------------------------------------------------------------


def leaf_names(function: Callable[..., Any], call: Call, skip: int) -> list[str]:
    """Return the name of each leaf: its parameter, and its path in the argument."""
    parameters = parameters_of(function)[skip:]

    def parameter(number: int) -> str:
        return parameters[number] if number < len(parameters) else f"argument {number}"

    if isinstance(call.structure, int):
        return [parameter(i) for i in range(call.structure)]
    names = []
    for keyword, first, *rest in call.structure.paths():
        path = "".join([f"[{step!r}]" for step in rest])
        names.append((first if keyword else parameter(first)) + path)
    return names


def declared_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function; none if it has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Return the names of the positional parameters."""
    return [
        p.name
        for p in declared_parameters(function)
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]


def describe_key(key: Any) -> str:
    """Return a leaf's key as text of at most 60 characters."""
    if isinstance(key, (Aval, VariableKind)):
        return str(key)
    if isinstance(key, type):
        return key.__name__
    text = repr(static_value(key))
    return text if len(text) <= 60 else text[:57] + "..."


def key_changes(names: Sequence[str], old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """Return descriptions of the keys that differ between two calls of the same structure."""
    return [
        f"{name} changed from {describe_key(a)} to {describe_key(b)}"
        for name, a, b in zip(names, old, new, strict=True)
        if a != b
    ]


def distance(old: Sequence[Any], new: Sequence[Any]) -> float:
    """Return the number of keys in which two calls differ; infinity if their numbers of leaves differ."""
    return sum(a != b for a, b in zip(old, new, strict=True)) if len(old) == len(new) else math.inf
