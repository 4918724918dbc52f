"""The names that random programs use, on NumPy arrays and without jittape: the first of the oracles.

A program is Python source that calls ``jt.sin``, ``jt.fori_loop`` and so on. It runs with jittape as `jt`, and with
this module as `jt`: every function here is NumPy's own or some plain lines of Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

Array = np.ndarray[Any, Any]
math = nn = sys.modules[__name__]

float16, float32, float64 = np.float16, np.float32, np.float64
int8, int32, int64 = np.int8, np.int32, np.int64
complex64, complex128 = np.complex64, np.complex128

sin, cos, tanh, exp, log, sqrt = np.sin, np.cos, np.tanh, np.exp, np.log, np.sqrt
square, maximum, minimum, where, abs = np.square, np.maximum, np.minimum, np.where, np.abs
less, greater, logical_not, logical_and = np.less, np.greater, np.logical_not, np.logical_and
real, imag, conj, floor, sign = np.real, np.imag, np.conj, np.floor, np.sign
atan, asinh, log1p, expm1, divide, negative = (
    np.arctan,
    np.arcsinh,
    np.log1p,
    np.expm1,
    np.divide,
    np.negative,
)
expand_dims = np.expand_dims


def _kept(x: Array, values: Any) -> Any:
    """`values` in the dtype of `x`."""
    return np.asarray(values, np.asarray(x).dtype)


def sigmoid(x: Array) -> Array:
    return _kept(x, scipy.special.expit(x))


def softplus(x: Array) -> Array:
    return _kept(x, np.logaddexp(x, np.zeros_like(x)))


def erf(x: Array) -> Array:
    return _kept(x, scipy.special.erf(x))


def relu(x: Array) -> Array:
    return np.maximum(x, np.zeros_like(x))


def identity(x: Any) -> Any:
    return np.array(x.value if isinstance(x, Variable) else x)


stop_gradient = identity


def cast(x: Array, dtype: Any) -> Array:
    if np.dtype(dtype).kind in "biuf" and np.iscomplexobj(x):
        x = np.real(x)
    return np.asarray(x).astype(dtype)


def complex(real: Array, imag: Array) -> Array:
    dtype = np.complex64 if np.asarray(real).dtype == np.float32 else np.complex128
    return np.asarray(real + 1j * imag, dtype)


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return _kept(x, function(x, axis=axis, keepdims=keepdims))

    return reduced


reduce_sum, reduce_mean, reduce_prod = map(_reduction, (np.sum, np.mean, np.prod))
reduce_max, reduce_min = map(_reduction, (np.max, np.min))
cumsum = _reduction(lambda x, axis, keepdims: np.cumsum(x, axis=axis))


def reduce_logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return _kept(x, scipy.special.logsumexp(x, axis=axis, keepdims=keepdims))


def softmax(x: Array, axis: int = -1) -> Array:
    return _kept(x, scipy.special.softmax(x, axis=axis))


def argmax(x: Array, axis: int = 0) -> Array:
    return np.argmax(x, axis=axis)


def matmul(a: Array, b: Array) -> Array:
    return _kept(a, a @ b)


def transpose(x: Array, perm: Sequence[int] | None = None) -> Array:
    return np.transpose(x, perm)


def reshape(x: Array, shape: Any) -> Array:
    return np.reshape(x, shape)


def broadcast_to(x: Array, shape: Any) -> Array:
    return np.broadcast_to(x, shape)


def reverse(x: Array, axis: Any) -> Array:
    return np.flip(x, axis)


def roll(x: Array, shift: int, axis: int) -> Array:
    return np.roll(x, shift, axis)


def concat(parts: Sequence[Array], axis: int) -> Array:
    return np.concatenate(parts, axis)


def stack(parts: Sequence[Array], axis: int = 0) -> Array:
    return np.stack(parts, axis)


def tile(x: Array, multiples: Any) -> Array:
    return np.tile(x, multiples)


def pad(x: Array, paddings: Any) -> Array:
    return np.pad(x, paddings)


def gather(x: Array, indices: Array, axis: int = 0) -> Array:
    return np.take(x, indices, axis)


def tensor_scatter_nd_add(x: Array, indices: Array, updates: Array) -> Array:
    found = np.array(x)
    np.add.at(found, tuple(np.moveaxis(indices, -1, 0)), updates)
    return found


def sort(x: Array, axis: int = -1) -> Array:
    return np.sort(x, axis)


# ---- control flow ----------------------------------------------------------------------------------------------------


def fori_loop(
    lower: int, upper: int, body: Callable[[int, Any], Any], init: Any, checkpoint: Any = None
) -> Any:
    for i in range(lower, upper):
        init = body(i, init)
    return init


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: int | None = None,
) -> Any:
    while condition(*loop_vars) and maximum_iterations != 0:
        loop_vars = tuple(body(*loop_vars))
        maximum_iterations = None if maximum_iterations is None else maximum_iterations - 1
    return loop_vars


def scan(fn: Callable[[Any, Any], Any], elems: Array, initializer: Any, checkpoint: Any = None) -> Any:
    found = []
    for elem in elems:
        initializer = fn(initializer, elem)
        found.append(initializer)
    return np.stack(found)


def map_fn(fn: Callable[[Any], Any], elems: Array) -> Any:
    return np.stack([fn(elem) for elem in elems])


vectorized_map = map_fn


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    return true_fn() if pred else false_fn()


def switch_case(index: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    return functions[int(index)]()


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


# ---- what is written to ----------------------------------------------------------------------------------------------


class Variable:
    """A value that is assigned."""

    def __init__(self, value: Any) -> None:
        self.value = np.array(value)

    def assign(self, value: Any) -> None:
        self.value = np.array(value)

    def assign_add(self, value: Any) -> None:
        self.value = self.value + value
