"""Bridge to Numba: jittape functions and gradients in ``@njit`` code, and ``@njit`` functions as ops."""

from jittape.numba_bridge.native_function import NativeFunction as NativeFunction
from jittape.numba_bridge.njit import njit_function as njit_function
from jittape.numba_bridge.njit import njit_value_and_grad as njit_value_and_grad
from jittape.numba_bridge.numba_op import NumbaOp as NumbaOp
from jittape.numba_bridge.numba_op import numba_op as numba_op
