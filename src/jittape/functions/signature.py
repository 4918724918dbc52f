"""What a call of a function is given: its arguments taken apart, and what of them makes another trace.

A *leaf* is an argument or a part of one that no container is. Arrays and numbers are dynamic: of an array, shape and
dtype are in the key, of a number its type. Everything else is static: the key has the object itself.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import math
import re
from array import array
from collections.abc import Callable, Collection, Sequence
from types import CodeType
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import function_name
from jittape.errors import DTypeError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "GUARD_FAILED",
    "STEADY",
    "Call",
    "TensorSpec",
    "asks_for_identity",
    "aval_of_leaf",
    "checked_signature",
    "difference",
    "distance",
    "fitted",
    "flatten_call",
    "is_array_like",
    "is_one",
    "key_of",
    "keys_of",
    "leaf_names",
    "parameters_of",
    "shared",
    "shown",
    "static_value",
]

GUARD_FAILED: Any = object()
"""Instead of a result: a trace does not hold for these arguments."""

NUMBERS = (bool, int, float, complex)
STEADY = (bool, int, np.bool_, np.integer)
"""Types of numbers for one value of which a trace may hold."""
_PLAIN = frozenset((np.ndarray, Tensor, str, type(None), *NUMBERS))
"""Types that are leaves for certain: 60 ms for importing optree are saved where all arguments are of these."""


class TensorSpec:
    """The shape and dtype of an argument.

    Parameters
    ----------
    shape : sequence of int or None
        None stands for any extent; each new one is traced anew, but shares the machine code.
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    name : str, optional

    Examples
    --------
    >>> import jittape as jt
    >>> jt.TensorSpec([None, 3], jt.float64)
    TensorSpec(shape=(None, 3), dtype=float64, name=None)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Sequence[int | None] = (), dtype: Any = None, name: str | None = None) -> None:
        self.shape: tuple[int | None, ...] = tuple(shape)
        self.dtype = as_dtype(config.default_float if dtype is None else dtype)
        self.name = name

    @property
    def aval(self) -> Aval:
        """Shape and dtype together.

        Raises
        ------
        ValueError
            If an extent is not known.
        """
        if None in self.shape:
            raise ValueError(f"{self} has an unknown extent; give all of them, or an array")
        return Aval(tuple([int(n) for n in self.shape if n is not None]), self.dtype)

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of that shape fits."""
        return len(shape) == len(self.shape) and all(
            n is None or n == m for n, m in zip(self.shape, shape, strict=True)
        )

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name}, name={self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


class Call:
    """Arguments taken apart.

    Attributes
    ----------
    leaves : tuple
    structure : int or PyTreeSpec
        The number of arguments where all of them are leaves; else how optree took (args, kwargs) apart.
    """

    __slots__ = ("leaves", "structure")

    def __init__(self, leaves: tuple[Any, ...], structure: Any) -> None:
        self.leaves = leaves
        self.structure = structure

    def rebuilt(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments with other leaves."""
        if isinstance(self.structure, int):
            return tuple(leaves), {}
        import optree

        rebuilt: Any = optree.tree_unflatten(self.structure, leaves)
        args, kwargs = rebuilt
        return args, kwargs


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The leaves of the arguments, and what puts them together again."""
    if not kwargs and all([type(a) in _PLAIN for a in args]):
        return Call(args, len(args))
    import optree

    given: Any = (args, kwargs)
    leaves: list[Any]
    leaves, structure = optree.tree_flatten(given, none_is_leaf=True, namespace="jittape")
    if not kwargs and len(leaves) == len(args) and all(map(_same, leaves, args)):
        return Call(args, len(args))
    return Call(tuple(leaves), structure)


def _same(a: Any, b: Any) -> bool:
    return a is b


def is_array_like(value: Any) -> bool:
    """Whether `value` is no array but has an array's values, which may change: a pandas object, an `array.array`."""
    if isinstance(value, (Operators, np.ndarray, np.generic, TracedScalar)):
        return False
    return hasattr(type(value), "__array__") or isinstance(value, (array, memoryview))


class _Identity:
    """An object that counts as equal to nothing but itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value


def aval_of_leaf(leaf: Any) -> Aval | None:
    """Shape and dtype of an array, None for what is none."""
    if isinstance(leaf, Tensor):
        return leaf.aval
    if isinstance(leaf, np.ndarray):
        return Aval(leaf.shape, as_dtype(leaf.dtype))
    if isinstance(leaf, TensorSpec):
        return leaf.aval
    return None


def keys_of(function: Callable[..., Any], call: Call, skip: int) -> tuple[Any, ...]:
    """The keys of all leaves of a call of `function`, which is bound to its first `skip` parameters.

    Leaves that are array-like become tensors: what they hold now is a value of this call.

    Raises
    ------
    DTypeError
        If an array is of a dtype that tensors do not have.
    """
    try:
        if not _PLAIN.issuperset(map(type, call.leaves)):
            call.leaves = tuple([convert_to_tensor(x) if is_array_like(x) else x for x in call.leaves])
        return tuple([key_of(leaf) for leaf in call.leaves])
    except DTypeError as error:
        names = leaf_names(function, call, skip)
        name = next(n for n, leaf in zip(names, call.leaves, strict=True) if _refused(leaf))
        text = re.sub(r"^\[.*?\] ", "", str(error))
        raise DTypeError(f"{function_name(function)}: the argument {name}: {text}") from None


def _refused(leaf: Any) -> bool:
    try:
        key_of(leaf)
    except DTypeError:
        return True
    return False


def key_of(leaf: Any) -> Any:
    """What of `leaf` makes another trace: hashable."""
    aval = aval_of_leaf(leaf)
    if aval is not None:
        return aval
    kind = type(leaf)
    if kind in NUMBERS or isinstance(leaf, np.generic):
        return kind
    if isinstance(leaf, Operators):
        return _Identity(leaf)
    try:
        hash(leaf)
    except TypeError:
        return _Identity(leaf)
    return kind, leaf


def asks_for_identity(function: Callable[..., Any]) -> bool:
    """Whether the text of `function` has ``is True`` or ``is False`` in it, which no traced number can answer."""
    codes: list[Any] = [getattr(inspect.unwrap(function), "__code__", None)]
    while codes:
        code = codes.pop()
        if isinstance(code, CodeType):
            codes += code.co_consts
            steps = list(dis.get_instructions(code))
            for value, step in itertools.pairwise(steps):
                if step.opname == "IS_OP" and isinstance(value.argval, bool):
                    return True
    return False


def static_value(key: Any) -> Any:
    """The object that a static leaf's key stands for."""
    return key.value if isinstance(key, _Identity) else key[1]


def is_one(a: Any, b: Any) -> bool:
    """Whether two leaves are one tensor or array."""
    return a is b and isinstance(a, (Tensor, np.ndarray))


def shared(leaves: Sequence[Any], distinct: Collection[int]) -> dict[int, int]:
    """The leaves that are an earlier one, with its number, if one of both is among `distinct`."""
    pairs = {(min(i, j), max(i, j)) for i in distinct for j in range(len(leaves)) if i != j}
    found = {j: i for i, j in sorted(pairs, reverse=True) if is_one(leaves[i], leaves[j])}
    return {j: found.get(i, i) for j, i in found.items()}


# ---- input signatures ------------------------------------------------------------------------------------------------


def checked_signature(name: str, signature: Any) -> Sequence[Any] | None:
    """`signature` if it is one.

    Raises
    ------
    TypeError
        If it is no sequence of `TensorSpec`, or of nested structures of them.
    """
    if signature is None:
        return None
    import optree

    leaves: list[Any] = optree.tree_leaves(signature, none_is_leaf=True, namespace="jittape")
    wrong = [leaf for leaf in leaves if not isinstance(leaf, TensorSpec)]
    if not isinstance(signature, (list, tuple)) or wrong:
        found = f"{wrong[0]!r} in it" if wrong else f"{signature!r}"
        raise TypeError(
            f"{name}: input_signature must be a list with a jt.TensorSpec, or a nested structure of them, for each "
            f"argument; got {found}"
        )
    return signature


def fitted(name: str, args: tuple[Any, ...], signature: Sequence[Any]) -> tuple[Any, ...]:
    """`args` as `signature` says.

    Raises
    ------
    TypeError
        If their number, structure, shapes or dtypes are others.
    """
    import optree

    wanted: Any = tuple(signature)
    given: Any = args
    specs: list[Any]
    specs, structure = optree.tree_flatten(wanted, none_is_leaf=True, namespace="jittape")
    try:
        leaves: list[Any] = structure.flatten_up_to(given)
    except ValueError as error:
        raise TypeError(f"{name}: the arguments do not fit the input_signature {wanted}: {error}") from None
    fits = [_fit(name, leaf, spec) for leaf, spec in zip(leaves, specs, strict=True)]
    rebuilt: Any = optree.tree_unflatten(structure, fits)
    return tuple(rebuilt)


def _fit(name: str, leaf: Any, spec: TensorSpec) -> Any:
    if isinstance(leaf, TensorSpec):
        return leaf
    value = leaf if isinstance(leaf, (np.ndarray, Tensor)) else convert_to_tensor(leaf, dtype_hint=spec.dtype)
    found = Aval(tuple(value.shape), value.dtype.newbyteorder("="))  # a call converts the byte order
    if found.dtype != spec.dtype or not spec.takes(found.shape):
        raise TypeError(
            f"{name}: an argument is {found}, but the input_signature says {spec}; cast or reshape it"
        )
    return value


# ---- saying what was given -------------------------------------------------------------------------------------------


def leaf_names(function: Callable[..., Any], call: Call, skip: int) -> list[str]:
    """What to call each leaf: the parameter, with the way to the part of it."""
    parameters = parameters_of(function)[skip:]

    def parameter(number: int) -> str:
        return parameters[number] if number < len(parameters) else f"argument {number}"

    if isinstance(call.structure, int):
        return [parameter(i) for i in range(call.structure)]
    names = []
    for keyword, first, *rest in call.structure.paths():
        way = "".join([f"[{step!r}]" for step in rest])
        names.append((first if keyword else parameter(first)) + way)
    return names


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def shown(key: Any) -> str:
    """A leaf's key as text."""
    if isinstance(key, Aval):
        return str(key)
    if isinstance(key, type):
        return key.__name__
    value = static_value(key)
    text = f"<Variable {value.name!r}>" if isinstance(value, Variable) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def difference(names: Sequence[str], old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """What differs between the keys of two calls of the same structure."""
    return [
        f"{name} changed from {shown(a)} to {shown(b)}"
        for name, a, b in zip(names, old, new, strict=True)
        if a != b
    ]


def distance(old: Sequence[Any], new: Sequence[Any]) -> float:
    """In how many keys two calls differ."""
    return sum(a != b for a, b in zip(old, new, strict=True)) if len(old) == len(new) else math.inf
