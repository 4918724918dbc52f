"""Calls of NumPy's functions that machine code records: see `jittape.recording.machine_code.emit_protocols`.

The import of this module fills the tables with the body and the parameters that `array_ufunc` and `array_function`
record for the common arguments.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from jittape.native.switch import is_used, take_calls
from jittape.numpy_api.numpy_protocol import UFUNCS, Recorded
from jittape.numpy_api.numpy_ufuncs import power_of_int
from jittape.numpy_api.one_call import ONE_CALLS, UFUNC_METHODS
from jittape.primitives.elementwise import (
    arithmetic,
    bits,
    comparison,
    division,
    exponential,
    hyperbolic,
    piecewise,
    powers,
)
from jittape.primitives.elementwise import trigonometric as trig
from jittape.primitives.linalg.matmul import matmul_body
from jittape.recording.machine_code.path_tables import FACTS, FUNCTION_CALLS, UFUNC_BODIES

__all__ = ["references_of_caller", "take_fact", "take_function", "take_method", "take_ufunc"]

_OPS: dict[np.ufunc, Any] = {
    np.absolute: piecewise.absolute_op,
    np.add: arithmetic.add_op,
    np.arccos: trig.acos_op,
    np.arccosh: hyperbolic.acosh_op,
    np.arcsin: trig.asin_op,
    np.arcsinh: hyperbolic.asinh_op,
    np.arctan2: trig.atan2_op,
    np.arctan: trig.atan_op,
    np.arctanh: hyperbolic.atanh_op,
    np.bitwise_and: bits.bitwise_and_op,
    np.bitwise_or: bits.bitwise_or_op,
    np.bitwise_xor: bits.bitwise_xor_op,
    np.ceil: piecewise.ceil_op,
    np.cos: trig.cos_op,
    np.cosh: hyperbolic.cosh_op,
    np.divide: division.divide_op,
    np.equal: comparison.equal_op,
    np.exp: exponential.exp_op,
    np.expm1: exponential.expm1_op,
    np.floor: piecewise.floor_op,
    np.floor_divide: division.floor_divide_op,
    np.greater: comparison.greater_op,
    np.greater_equal: comparison.greater_equal_op,
    np.invert: bits.invert_op,
    np.isfinite: bits.is_finite_op,
    np.isinf: bits.is_inf_op,
    np.isnan: bits.is_nan_op,
    np.left_shift: bits.left_shift_op,
    np.less: comparison.less_op,
    np.less_equal: comparison.less_equal_op,
    np.log10: exponential.log10_op,
    np.log1p: exponential.log1p_op,
    np.log2: exponential.log2_op,
    np.log: exponential.log_op,
    np.logical_and: comparison.logical_and_op,
    np.logical_not: comparison.logical_not_op,
    np.logical_or: comparison.logical_or_op,
    np.logical_xor: comparison.logical_xor_op,
    np.maximum: piecewise.maximum_op,
    np.minimum: piecewise.minimum_op,
    np.multiply: arithmetic.multiply_op,
    np.negative: arithmetic.negative_op,
    np.not_equal: comparison.not_equal_op,
    np.positive: arithmetic.positive_op,
    np.remainder: division.mod_op,
    np.right_shift: bits.right_shift_op,
    np.sin: trig.sin_op,
    np.sinh: hyperbolic.sinh_op,
    np.sqrt: exponential.sqrt_op,
    np.square: arithmetic.square_op,
    np.subtract: arithmetic.subtract_op,
    np.tan: trig.tan_op,
    np.tanh: hyperbolic.tanh_op,
}

UFUNC_BODIES |= {ufunc: (op, (), None) for ufunc, op in _OPS.items()}
UFUNC_BODIES[np.power] = powers.pow_op, (), power_of_int
UFUNC_BODIES[np.matmul] = matmul_body, (False,) * 4, None
UFUNC_BODIES |= {
    ufunc: (call.body, call.static, None) for ufunc, call in UFUNCS.items() if isinstance(call, Recorded)
}


def take_ufunc(function: FunctionType, ufunc: np.ufunc) -> None:
    """Let machine code record calls of `function`, which does what `ufunc` does, on known paths."""
    if ufunc in UFUNC_BODIES:
        FUNCTION_CALLS[function] = UFUNC_BODIES[ufunc]
        take_calls(function, "unary" if ufunc.nin == 1 else "binary")


def take_function(function: FunctionType, numpy_function: Any) -> None:
    """Let machine code record calls of `function`, which does what `numpy_function` does, on known paths.

    Python code records the call if the argument at the position that the entry ends with, or its first item, is no
    tensor.
    """
    FUNCTION_CALLS[function] = (*ONE_CALLS[numpy_function], int(numpy_function is np.einsum))
    take_calls(function, "function")


def take_method(function: FunctionType, ufunc: np.ufunc, method: str) -> None:
    """Let machine code record calls of `function`, which does what a method of `ufunc` does, on known paths."""
    if method in UFUNC_METHODS.get(ufunc, {}):
        FUNCTION_CALLS[function] = *UFUNC_METHODS[ufunc][method], 0
        take_calls(function, "function")


def take_fact(function: FunctionType, numpy_function: Any) -> None:
    """Let machine code answer calls of `function`, which does what `numpy_function` among `FACTS` does."""
    FUNCTION_CALLS[function] = FACTS[numpy_function]
    take_calls(function, "fact")


def references_of_caller() -> int:
    """Return how many more references an argument of a taken function has than one of any other function.

    Python gives its reference to an argument away when it runs the code of a function, but not when it calls machine
    code.
    """
    return int(is_used())
