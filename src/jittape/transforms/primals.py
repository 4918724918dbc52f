"""Shared parts of the transforms: varied arguments, and conversion of results.

The input types determine the output types. If all varied arguments are NumPy arrays or Python numbers, the results are
NumPy arrays and scalars. If one is a tensor or a Variable, or a tape, an accumulator or a traced function records the
call, the results are tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import is_differentiable, is_floating
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import as_function, as_int
from jittape.errors import ShapeError
from jittape.functions.function import Function
from jittape.functions.trace_report import Signature
from jittape.primitives.identity import identity
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten, flatten_like
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.trace import current_trace

__all__ = [
    "Argnums",
    "Primals",
    "Transformed",
    "as_host",
    "as_result",
    "is_host",
    "is_recorded",
    "scalar",
    "tape_of",
    "value_and_aux",
]

Argnums = int | Sequence[int]


def _argument_numbers(argnums: Any) -> list[int]:
    """Return `argnums` as a list; raise `TypeError` if it is neither an int nor a sequence of ints."""
    return [as_int("argnums", number) for number in (argnums if _are_several(argnums) else (argnums,))]


def _are_several(argnums: Any) -> bool:
    return isinstance(argnums, Sequence) and not isinstance(argnums, (str, bytes))


class Transformed:
    """Function returned by a transform of `f`. It binds as a method like `f`, and pickles if `f` does.

    If `f` is a `jt.function`, the transformed function is compiled as a `jt.function` too. The types of the arguments
    `varied` (None: all positional ones) determine whether results are arrays or tensors.
    """

    def __init__(
        self,
        apply: Callable[..., Any],
        f: Callable[..., Any],
        varied: Argnums | None,
        whole: bool = True,
        **options: Any,
    ) -> None:
        as_function("f", f)
        functools.update_wrapper(self, f, updated=())
        self._apply = apply
        self._name_in_messages = apply.__name__.strip("_")
        self._f = f
        self._varied = None if varied is None else _argument_numbers(varied)
        self._options = options
        self._compiled: Function | None = None
        if whole and isinstance(f, Function):
            self._compiled = Function(Transformed(apply, f, varied, False, **options))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._compiled is None or is_recorded():
            return self._apply(self._f, args, kwargs, **self._options)
        result = self._compiled(*args, **kwargs)
        varied = args if self._varied is None else [args[i] for i in self._varied]
        return as_host(result) if all([is_host(a) for a in varied]) else result

    def _function(self, name: str) -> Function:
        """Return the compiled function; raise `AttributeError` for a transform of a plain function."""
        if self._compiled is None:
            raise AttributeError(
                f"{self!r} has no {name}: only transforms of a jt.function are compiled as functions"
            )
        return self._compiled

    @property
    def trace_count(self) -> int:
        """Number of times the transform has been traced, if it is one of a `jt.function`."""
        return self._function("trace_count").trace_count

    def signatures(self) -> tuple[Signature, ...]:
        """Return the traced signatures of the transform of a `jt.function`, oldest first."""
        return self._function("signatures").signatures()

    def explain(self) -> str:
        """Return a report that states for each signature of the transform of a `jt.function` why it was traced."""
        return self._function("explain").explain()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._name_in_messages} of {self._f!r}>"


def is_host(argument: Any) -> bool:
    """Return whether `argument` contains no tensor, Variable or traced number."""
    if type(argument) in (np.ndarray, float):
        return True
    return not any(isinstance(leaf, (Operators, TracedScalar)) for leaf in flatten(argument)[0])


def tape_of(f: Callable[..., Any], persistent: bool = False) -> GradientTape:
    """Return a tape for the derivative of `f`; its trace is identified by the code of `f`."""
    tape = GradientTape(persistent, watch_accessed_variables=False)
    while isinstance(f, Transformed):
        f = f._f
    tape._interval.function = getattr(f, "__code__", type(f))
    return tape


def is_recorded() -> bool:
    """Return whether a tape, an accumulator or a traced function is recording."""
    return bool(current_trace().intervals)


class Primals:
    """The varied arguments of a call, as tensors.

    Create it after entering the tape or accumulator of the transform. Each varied tensor gets a new slot: the same
    tensor in a closure or in another argument is constant.

    Parameters
    ----------
    name : str
        Name of the transform, for errors.
    args : tuple
        Arguments of the call.
    argnums : int or sequence of int
        Numbers of the varied arguments.
    recorded : bool
        Whether a tape, an accumulator or a traced function was recording before the transform began.

    Attributes
    ----------
    args : tuple
        Arguments of the call, with tensors in place of the varied leaves.
    leaves : list of Tensor
        The varied tensors.
    host : bool
        Whether results are returned as NumPy arrays and scalars.
    """

    def __init__(self, name: str, args: tuple[Any, ...], argnums: Argnums, recorded: bool = False) -> None:
        self.args = args
        self.leaves: list[Any] = []
        self._single = not _are_several(argnums)
        self._parts: list[tuple[Any, int, Any, list[int]]] = []
        given: list[Any] = []
        numbers = _argument_numbers(argnums)
        changed = list(args)
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"[{name}] argnums={argnums} requires argument {number}, "
                    f"but the function was called with {len(args)} positional arguments"
                )
            number = int(number) % len(args)
            leaves, rebuild = flatten(args[number])
            given += leaves
            tensors = [None if leaf is None else self._tensor(name, number, leaf) for leaf in leaves]
            present = [i for i, t in enumerate(tensors) if t is not None]
            self.leaves += [tensors[i] for i in present]
            changed[number] = rebuild(tensors)
            self._parts.append((changed[number], len(leaves), rebuild, present))
        self.args = tuple(changed)
        self.host = not recorded and is_host(given)

    @staticmethod
    def _tensor(name: str, number: int, leaf: Any) -> Tensor:
        try:
            tensor = identity(leaf) if isinstance(leaf, Operators) else convert_to_tensor(leaf)
        except TypeError:
            raise TypeError(
                f"[{name}] argument {number} is varied but contains {type(leaf).__name__} {leaf!r}: it must be an "
                "array, a number, a tensor, a Variable or a nested structure of them"
            ) from None
        if not is_differentiable(tensor.aval.dtype):
            raise TypeError(
                f"[{name}] argument {number} is {tensor.aval}: only floating and complex values can be varied; "
                f"pass floats, or select other arguments with argnums"
            )
        return tensor

    def structured(self, results: Sequence[Any]) -> Any:
        """Return one result per leaf in the structure of the varied argument, or as a tuple of such structures."""
        remaining = iter(results)
        parts = []
        for _, count, rebuild, present in self._parts:
            leaves: list[Any] = [None] * count
            for i in present:
                leaves[i] = next(remaining)
            parts.append(rebuild(leaves))
        return parts[0] if self._single else tuple(parts)

    def matching_leaves(self, name: str, others: Sequence[Any]) -> list[Any]:
        """Return the entry of `others`, structures like the varied arguments, for each leaf.

        `name` is the name of `others` in errors. If they contain tensors, results are tensors.
        """
        entries: list[Any] = []
        for (part, _, _, present), other in zip(self._parts, others, strict=True):
            leaves = flatten_like(name, part, other)
            entries += [leaves[i] for i in present]
        self.host = self.host and is_host(entries)
        return entries

    def as_output(self, result: Any) -> Any:
        """Return `result`, a nested structure, with NumPy arrays instead of tensors if `host` is set."""
        return as_host(result) if self.host else result


def as_host(structure: Any) -> Any:
    """Return `structure` with NumPy arrays and scalars in place of tensors.

    The arrays are copies: the caller may write to them, and the next call reuses the memory of the tensors. Value and
    gradient of a compiled function of 10 numbers take 3.3 µs per call with copies and 5.4 µs with views; for a million
    numbers, 2.5 ms with copies and 2.2 ms with views.
    """
    leaves, rebuild = flatten(structure)
    return rebuild(
        [leaf._computed().array.copy()[()] if isinstance(leaf, Operators) else leaf for leaf in leaves]
    )


def value_and_aux(name: str, returned: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return the value to differentiate and the auxiliary result (None without `has_aux`)."""
    if not has_aux:
        return returned, None
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise TypeError(
            f"[{name}] with has_aux=True the function must return (value, aux), got {type(returned).__name__}"
        )
    return returned[0], returned[1]


def as_result(name: str, value: Any) -> Tensor:
    """Return a result of the function as a tensor; errors name the transform."""
    if value is None:
        raise TypeError(f"[{name}] the function must return tensors, got None")
    return convert_to_tensor(value)


def scalar(name: str, value: Any) -> Tensor:
    """Return `value` as a tensor; raise if it is not a real scalar."""
    if isinstance(value, (tuple, list, dict)) or value is None:
        remedy = "; with has_aux=True it may return (value, aux)" if isinstance(value, tuple) else ""
        raise TypeError(f"[{name}] the function must return a scalar, got {type(value).__name__}{remedy}")
    tensor = convert_to_tensor(value)
    if tensor.aval.shape != ():
        raise ShapeError(
            f"[{name}] the function must return a scalar, got shape {tensor.shape}: "
            "reduce it with jt.reduce_sum or jt.reduce_mean, or use jt.jacobian or jt.vjp"
        )
    if not is_floating(tensor.aval.dtype):
        raise TypeError(
            f"[{name}] the function must return a real floating number, got {tensor.dtype.name}: "
            + ("take jt.abs or jt.math.real of it" if tensor.dtype.kind == "c" else "cast it")
        )
    return tensor
