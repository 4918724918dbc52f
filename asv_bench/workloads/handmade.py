"""Parts of the hand-written Numba code: vectorized functions and matrix products.

The functions are jittape's formulas, as LLVM has no vectorized ``exp`` of its own and Numba none without Intel's
library; the products are those of OpenBLAS with the kernels that the processor deserves. So what differs from jittape
is how loops are arranged, and what a call costs.
"""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

import jittape.compile.llvm.ir_math as ir_math
import jittape.compile.llvm.ir_value as ir_value
from jittape.compile.llvm.blas import blas

__all__ = [
    "by_hand",
    "dgemm",
    "exp",
    "log",
    "log1p",
    "rsqrt",
    "sgemm",
    "sigmoid",
    "tanh",
]

# With `nsz` as well, LLVM would also reassociate within the functions, which they do not survive.
by_hand = njit(error_model="numpy", fastmath={"contract", "reassoc"}, nogil=True)


def _vectorized(name: str) -> Any:
    @intrinsic
    def function(typing_context: Any, x: Any) -> Any:
        if not isinstance(x, types.Float):
            return None

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            value = ir_value.IRValue(builder, args[0], f"float{x.bitwidth}")
            return getattr(ir_math.IRMath(builder), name)(value).ir

        return x(x), generate

    return function


exp, log, log1p, tanh, rsqrt, sigmoid = (
    _vectorized(name) for name in ("exp", "log", "log1p", "tanh", "rsqrt", "sigmoid")
)


def _product(name: str, scalar: Any) -> Any:
    library = blas().library
    if library is None:
        raise ImportError("the hand-written code needs the wheel scipy-openblas32")
    function = getattr(library, f"scipy_cblas_{name}")
    integer, pointer = ctypes.c_int, ctypes.c_void_p
    function.argtypes = [integer] * 6 + [scalar, pointer, integer, pointer, integer, scalar, pointer, integer]
    function.restype = None

    @njit(nogil=True)
    def product(a, b, c, transpose_a, transpose_b, alpha, beta):  # type: ignore[no-untyped-def]
        """``c = alpha * a' @ b' + beta * c`` for row-major matrices whose rows may stand apart."""
        m, n = c.shape
        k = a.shape[0] if transpose_a else a.shape[1]
        function(
            101,
            112 if transpose_a else 111,
            112 if transpose_b else 111,
            m,
            n,
            k,
            alpha,
            a.ctypes.data,
            a.strides[0] // a.itemsize,
            b.ctypes.data,
            b.strides[0] // b.itemsize,
            beta,
            c.ctypes.data,
            c.strides[0] // c.itemsize,
        )

    return product


sgemm, dgemm = _product("sgemm", ctypes.c_float), _product("dgemm", ctypes.c_double)
