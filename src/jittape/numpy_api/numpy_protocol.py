"""NumPy's protocols: ``np.exp(x)`` and ``np.sum(x, axis=0)`` on tensors.

``__array_ufunc__`` and ``__array_function__`` of Tensor and Variable call `array_ufunc` and `array_function`. Two
tables map NumPy functions to user-level functions: `UFUNCS` in this module, `FUNCTIONS` in `numpy_functions`. Functions
in neither table raise a TypeError: converting a tensor to an ndarray silently would lose the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import as_dtype
from jittape.core.primitive import apply
from jittape.core.user_calls import ufunc_name
from jittape.errors import DTypeError
from jittape.numpy_api import numpy_ufuncs
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_operands import (
    array_like,
    dtype_of,
    has_core,
    initial_beside,
    is_mask,
    numpy_function,
    on_values,
    reject,
    values_of,
    with_out,
    write,
)
from jittape.numpy_api.numpy_support import REFUSED
from jittape.numpy_api.numpy_ufunc_methods import LOGICAL, combined_dtype, dtype_beside, ufunc_method
from jittape.numpy_api.one_call import one_call, one_method_call
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise import (
    arithmetic,
    bits,
    comparison,
    complex_numbers,
    division,
    exponential,
    hyperbolic,
    piecewise,
    powers,
    truncation,
)
from jittape.primitives.elementwise import trigonometric as trig
from jittape.primitives.identity import identity
from jittape.primitives.linalg import matmul
from jittape.primitives.linalg.matrix_products import vecdot

__all__ = ["UFUNCS", "VALUE_FUNCTIONS", "Recorded", "array_function", "array_ufunc", "in_one_dtype"]


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return division.floor_divide(x, y), division.mod(x, y)


@lru_cache(maxsize=1024)
def _loop(ufunc: np.ufunc, dtypes: tuple[Any, ...], dtype: Any, casting: Any) -> tuple[np.dtype[Any], ...]:
    """Return the operand dtypes of NumPy's loop for operands of these dtypes or Python scalar types."""
    options: dict[str, Any] = (
        {} if dtype is None else {"signature": (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)}
    )
    # NumPy 2.4 crashes if the rule 'equiv' refuses a Python scalar. All our dtypes have the machine's byte order.
    rule: Any = "no" if casting == "equiv" else casting
    try:
        resolved = ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout), casting=rule, **options)
        for own, found in zip(dtypes, resolved, strict=False):
            if casting == "equiv" and isinstance(own, type) and not _is_equivalent(ufunc, own, found):
                raise TypeError(
                    f"cannot cast Python {own.__name__} to {found} under the casting rule 'equiv'"
                )
    except TypeError as error:
        raise DTypeError(f"[np.{ufunc.__name__}] {error}") from None
    return resolved[: ufunc.nin]


def _is_equivalent(ufunc: np.ufunc, own: type, found: np.dtype[Any]) -> bool:
    """Return whether NumPy takes a Python number for an operand of dtype `found` with ``casting="equiv"``."""
    is_exact = ufunc in _TO_BOOL and own is int and found.kind in "iu"  # compared without a cast
    return ufunc in LOGICAL or is_exact or np.dtype(own) == found


def _own_dtypes(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the dtypes of operands, and the types of Python scalars."""
    return tuple([_weak_kind(x) or dtype_of(x) for x in inputs])


def _weak_kind(x: Any) -> Any:
    """Return the type of a Python number, also in a body; None for other operands. A bool is no weak number."""
    kind = x.kind if type(x) is WeakScalar else type(x)
    if kind is bool:
        return np.dtype(np.bool_)
    return kind if kind in (int, float, complex) else None


def _as_in_loop(
    ufunc: np.ufunc, inputs: Sequence[Any], dtype: Any = None, casting: Any = "same_kind"
) -> list[Any]:
    """Cast `inputs` to the dtypes of NumPy's loop; Python scalars stay weak, unless `dtype` names the loop."""
    own = _own_dtypes(inputs)
    loop = _loop(ufunc, own, None if dtype is None else as_dtype(dtype), casting)
    return [
        x if old is new or (dtype is None and isinstance(old, type)) else complex_numbers.cast(x, new)
        for x, old, new in zip(inputs, own, loop, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A function that is recorded as one call of a body, for operands of any dtype."""

    body: Callable[..., Any]
    static: tuple[Any, ...]

    def __call__(self, *inputs: Any) -> Any:
        return apply(self.body, inputs, self.static)


def typed(ufunc: np.ufunc, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with its operands cast to the dtypes of NumPy's loop, recorded as one call."""
    return Recorded(_typed, (ufunc, function))


def _typed(*inputs_and_static: Any) -> Any:
    *inputs, ufunc, function = inputs_and_static
    return function(*_as_in_loop(ufunc, inputs))


def in_one_dtype(ufunc: np.ufunc, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with its operands, Python scalars too, as tensors in the dtypes of NumPy's loop."""
    return Recorded(_strongly_typed, (ufunc, function))


def _strongly_typed(*inputs_and_static: Any) -> Any:
    *inputs, ufunc, function = inputs_and_static
    loop = _loop(ufunc, _own_dtypes(inputs), None, "same_kind")
    return function(*map(complex_numbers.cast, inputs, loop))


def _step(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.floor`` or ``np.ceil``, which leave bools unchanged."""
    return lambda x: identity(x) if dtype_of(x).kind == "b" else function(x)


UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.absolute: piecewise.absolute,
    np.add: arithmetic.add,
    np.arccos: trig.acos,
    np.arccosh: hyperbolic.acosh,
    np.arcsin: trig.asin,
    np.arcsinh: hyperbolic.asinh,
    np.arctan2: trig.atan2,
    np.arctan: trig.atan,
    np.arctanh: hyperbolic.atanh,
    np.bitwise_and: bits.bitwise_and,
    np.bitwise_count: typed(np.bitwise_count, numpy_ufuncs.bitwise_count),
    np.bitwise_or: bits.bitwise_or,
    np.bitwise_xor: bits.bitwise_xor,
    np.cbrt: typed(np.cbrt, numpy_ufuncs.cbrt),
    np.ceil: _step(piecewise.ceil),
    np.conjugate: typed(np.conjugate, complex_numbers.conj),
    np.copysign: in_one_dtype(np.copysign, numpy_ufuncs.copysign),
    np.cos: trig.cos,
    np.cosh: hyperbolic.cosh,
    np.deg2rad: typed(np.deg2rad, numpy_ufuncs.to_radians),
    np.degrees: typed(np.degrees, numpy_ufuncs.to_degrees),
    np.divide: division.divide,
    np.divmod: Recorded(_divmod, ()),
    np.equal: comparison.equal,
    np.exp2: typed(np.exp2, numpy_ufuncs.exp2),
    np.exp: exponential.exp,
    np.expm1: exponential.expm1,
    np.fabs: typed(np.fabs, piecewise.absolute),
    np.float_power: typed(np.float_power, powers.pow),
    np.floor: _step(piecewise.floor),
    np.floor_divide: division.floor_divide,
    np.fmax: in_one_dtype(np.fmax, numpy_ufuncs.fmax),
    np.fmin: in_one_dtype(np.fmin, numpy_ufuncs.fmin),
    np.fmod: typed(np.fmod, truncation.truncatemod),
    np.frexp: typed(np.frexp, numpy_ufuncs.frexp),
    np.gcd: on_values(np.gcd),
    np.greater: comparison.greater,
    np.greater_equal: comparison.greater_equal,
    np.heaviside: in_one_dtype(np.heaviside, numpy_ufuncs.heaviside),
    np.hypot: in_one_dtype(np.hypot, numpy_ufuncs.hypot),
    np.invert: bits.invert,
    np.isfinite: bits.is_finite,
    np.isinf: bits.is_inf,
    np.isnan: bits.is_nan,
    np.lcm: on_values(np.lcm),
    np.ldexp: in_one_dtype(np.ldexp, numpy_ufuncs.ldexp),
    np.left_shift: bits.left_shift,
    np.less: comparison.less,
    np.less_equal: comparison.less_equal,
    np.log10: exponential.log10,
    np.log1p: exponential.log1p,
    np.log2: exponential.log2,
    np.log: exponential.log,
    np.logaddexp: typed(np.logaddexp, lambda x, y: apply(hyperbolic.logaddexp_op, (x, y))),
    np.logaddexp2: in_one_dtype(np.logaddexp2, numpy_ufuncs.logaddexp2),
    np.logical_and: comparison.logical_and,
    np.logical_not: comparison.logical_not,
    np.logical_or: comparison.logical_or,
    np.logical_xor: comparison.logical_xor,
    np.matmul: matmul.matmul,
    np.matvec: Recorded(numpy_ufuncs.matvec, ()),
    np.maximum: piecewise.maximum,
    np.minimum: piecewise.minimum,
    np.modf: typed(np.modf, numpy_ufuncs.modf),
    np.multiply: arithmetic.multiply,
    np.negative: arithmetic.negative,
    np.nextafter: in_one_dtype(np.nextafter, numpy_ufuncs.next_after),
    np.not_equal: comparison.not_equal,
    np.positive: arithmetic.positive,
    np.power: numpy_ufuncs.power,
    np.rad2deg: typed(np.rad2deg, numpy_ufuncs.to_degrees),
    np.radians: typed(np.radians, numpy_ufuncs.to_radians),
    np.reciprocal: typed(np.reciprocal, numpy_ufuncs.reciprocal),
    np.remainder: division.mod,
    np.right_shift: bits.right_shift,
    np.rint: typed(np.rint, numpy_ufuncs.rint),
    np.sign: typed(np.sign, numpy_ufuncs.sign),
    np.signbit: in_one_dtype(np.signbit, numpy_ufuncs.signbit),
    np.sin: trig.sin,
    np.sinh: hyperbolic.sinh,
    np.spacing: typed(np.spacing, numpy_ufuncs.spacing),
    np.sqrt: exponential.sqrt,
    np.square: arithmetic.square,
    np.subtract: arithmetic.subtract,
    np.tan: trig.tan,
    np.tanh: hyperbolic.tanh,
    np.trunc: Recorded(numpy_ufuncs.trunc, ()),
    np.vecdot: Recorded(vecdot, ()),
    np.vecmat: Recorded(numpy_ufuncs.vecmat, ()),
}


_OF_VALUES = (
    "allclose argwhere array2string array_equal array_equiv array_repr array_str flatnonzero may_share_memory "
    "min_scalar_type nonzero save savetxt savez savez_compressed shares_memory"
)
VALUE_FUNCTIONS: frozenset[Callable[..., Any]] = frozenset(map(numpy_function, _OF_VALUES.split()))
"""Functions without gradients: they run in NumPy on the values of tensors."""

_SEQUENCES = (list, tuple)


def array_ufunc(ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
    """Record a call of a NumPy ufunc with a tensor among its `inputs`, as ``__array_ufunc__`` does.

    ``out=`` writes to tensors and Variables, with ``where=`` the elements in the mask.

    Raises
    ------
    TypeError
        For a ufunc or ufunc method without a counterpart, for an array as ``out=``, and for ``where=`` without it.
    """
    if method == "__call__" and not kwargs and ufunc in UFUNCS:
        known = UFUNCS[ufunc]
        if inputs[0].__class__ not in _SEQUENCES and inputs[-1].__class__ not in _SEQUENCES:
            try:
                return known(*inputs)
            except (
                DTypeError,
                OverflowError,
            ):  # an int need only fit the loop's dtype: ``arctan2(uint8, 300)``
                pass
        return _called(ufunc, known, inputs)
    out = kwargs.pop("out", None)
    if out is not None and any(o is not None for o in out):
        if method != "at" and all(o is None or hasattr(o, "aval") for o in out):
            return _into(out, ufunc, method, inputs, kwargs)
        raise TypeError(
            f"{ufunc_name(ufunc)} cannot record into an array (out=, or an in-place operator such as "
            "`array += tensor`): the gradient would be lost. Write `array = array + tensor`, use a jt.Variable, or "
            "add tensor.numpy()"
        )
    if method != "__call__":
        result = one_method_call(ufunc, method, inputs, kwargs)
        if result is not NotImplemented:
            return result
        return ufunc_method(ufunc, method, inputs, kwargs)
    if is_mask(kwargs.get("where")):
        raise TypeError(
            f"{ufunc_name(ufunc)} on a tensor does not support where= without out=, a tensor: the elements outside of "
            "the mask would be undefined. Use np.where, or x.numpy() to leave the tape"
        )
    function = UFUNCS.get(ufunc)
    if function is None:
        return _foreign_ufunc(ufunc, inputs, kwargs)
    if ufunc is np.vecdot and "axis" in kwargs:
        function = Recorded(vecdot, (axis_key(kwargs.pop("axis")),))
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    if dtype is not None and ufunc in _TO_BOOL and as_dtype(dtype) == np.bool_:
        dtype = None  # it says nothing about the operands
    if kwargs.get("order") not in (None, *"CFAK"):
        raise ValueError(f"[{ufunc_name(ufunc)}] order must be 'C', 'F', 'A' or 'K', got {kwargs['order']!r}")
    for name in _WITHOUT_EFFECT:
        kwargs.pop(name, None)
    reject(ufunc.__name__, **kwargs)
    inputs = tuple([array_like(x) for x in inputs])
    if dtype is None and casting != "unsafe":  # the loop is that of a call without `casting`
        _loop(ufunc, _own_dtypes(inputs), None, casting)
        return _called(ufunc, function, inputs)
    return _called(ufunc, function, tuple(_as_in_loop(ufunc, inputs, dtype, casting)))


_TO_BOOL = frozenset((np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal))
"""Ufuncs whose results are bools whatever the operands are: a Python int need not fit the dtype of the other one."""
_WITHOUT_EFFECT = ("order", "subok")
"""Arguments of ufuncs that concern the memory and the class of an ndarray."""


def _into(
    out: tuple[Any, ...], ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call and write its results to the tensors in `out`; return these, and the results without one."""
    where = kwargs.pop("where", True) if method == "__call__" else True
    casting = kwargs.get("casting", "same_kind")
    if method in ("reduce", "accumulate"):
        combined_dtype(ufunc, method, inputs, kwargs | {"out": out[0]})  # raises NumPy's errors
        casting = "unsafe"
        if "dtype" not in kwargs and ufunc not in LOGICAL:
            kwargs |= dtype_beside(ufunc, inputs[0], out[0].aval.dtype)
        kwargs |= initial_beside(kwargs, out[0].aval.dtype)
    found = array_ufunc(ufunc, method, *inputs, **kwargs)
    results = found if isinstance(found, tuple) else (found,)
    written = [
        r if o is None else write(o, r, casting, where, exact=not has_core(ufunc, inputs, o, r))
        for o, r in zip(out, results, strict=True)
    ]
    return tuple(written) if isinstance(found, tuple) else written[0]


def _called(ufunc: np.ufunc, function: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """Record the call of a ufunc; bools become int8 if the op is not defined for them."""
    if inputs[0].__class__ in _SEQUENCES or inputs[-1].__class__ in _SEQUENCES:
        inputs = tuple([array_like(x) for x in inputs])
    try:
        return function(*inputs)
    except DTypeError:
        if ufunc in numpy_ufuncs.COMPLEX_ORDER and any(dtype_of(x).kind == "c" for x in inputs):
            return in_one_dtype(ufunc, numpy_ufuncs.COMPLEX_ORDER[ufunc])(*inputs)
        if not any(isinstance(x, bool) or getattr(x, "dtype", None) == np.bool_ for x in inputs):
            raise
    except OverflowError:
        pass
    return function(*_as_in_loop(ufunc, inputs))


def _foreign_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a ufunc of `scipy.special`; the module with the table is imported at the first call."""
    shown = ufunc_name(ufunc)
    if ufunc in REFUSED:
        raise TypeError(f"{shown} {': '.join(REFUSED[ufunc])}")
    if shown.startswith("np."):
        raise TypeError(f"{shown} is not recorded for a tensor; {LEAVE}")
    calls = import_module("jittape.scipy.special.ufunc_calls")
    name = calls.recorded_name(ufunc)
    if name is None:
        raise TypeError(f"{shown} is not recorded for a tensor; {LEAVE}")
    reject(name, **kwargs)
    return calls.call_ufunc(name, *inputs)


LEAVE = "x.numpy() returns an ndarray, which leaves the tape"


def array_function(
    func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call of a NumPy function with a tensor among its arguments, as ``__array_function__`` does.

    Raises
    ------
    TypeError
        For a function without a counterpart.
    """
    result = one_call(func, types, args, kwargs)
    if result is not NotImplemented:
        return result
    adapter = FUNCTIONS.get(func)
    if adapter is not None:
        return with_out(adapter, *args, **kwargs)
    if func in VALUE_FUNCTIONS:
        tensors = tuple(types)
        return func(
            *_as_arrays(args, tensors), **{name: _as_arrays(a, tensors) for name, a in kwargs.items()}
        )
    if func in REFUSED:
        raise TypeError(f"np.{func.__name__} {': '.join(REFUSED[func])}")
    name = f"{func.__module__.removeprefix('numpy').lstrip('.')}.{func.__name__}".lstrip(".")
    raise TypeError(f"np.{name} is not recorded for a tensor; {LEAVE}")


def _as_arrays(value: Any, tensors: tuple[Any, ...]) -> Any:
    """Return `value` with its tensors replaced by ndarrays; `tensors` are the tensor types."""
    if isinstance(value, (list, tuple)):
        return type(value)([_as_arrays(v, tensors) for v in value])
    return values_of(value) if isinstance(value, tensors) else value
