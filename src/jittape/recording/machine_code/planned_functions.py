"""Functions of `jittape` whose calls machine code records: see `jittape.recording.machine_code.emit_planned`.

Each of them records one call, whose body and parameters depend on nothing but the arguments that are no operands: not
on settings such as ``jt.config.default_float``.
"""

from __future__ import annotations

import sys
from types import FunctionType

from jittape.native.switch import take_calls
from jittape.recording.machine_code.path_tables import (
    ELEMENTWISE,
    FUNCTION_CALLS,
    INDICES,
    ROWS,
    STRUCTURE,
)

__all__ = ["FUNCTIONS", "take_loaded_functions"]

FUNCTIONS: dict[str, dict[int, str]] = {
    "elementwise.arithmetic": {
        STRUCTURE: "add_n",
        ELEMENTWISE: "add multiply negative positive square squared_difference subtract",
    },
    "elementwise.bessel": {ELEMENTWISE: "bessel_j0 bessel_j1 bessel_y0 bessel_y1"},
    "elementwise.bits": {
        ELEMENTWISE: "bitwise_and bitwise_or bitwise_xor invert is_finite is_inf is_nan left_shift right_shift"
    },
    "elementwise.comparison": {
        ELEMENTWISE: "equal greater greater_equal less less_equal logical_and logical_not logical_or logical_xor "
        "not_equal"
    },
    "elementwise.complex_numbers": {STRUCTURE: "cast", ELEMENTWISE: "angle complex conj imag real"},
    "elementwise.division": {ELEMENTWISE: "divide divide_no_nan floor_divide mod multiply_no_nan reciprocal"},
    "elementwise.error_functions": {ELEMENTWISE: "erf erfc erfcinv erfcx erfinv log_ndtr ndtr ndtri"},
    "elementwise.exponential": {ELEMENTWISE: "exp expm1 log log1p rsqrt sqrt"},
    "elementwise.hyperbolic": {ELEMENTWISE: "acosh asinh atanh cosh log_sigmoid sigmoid sinh softplus tanh"},
    "elementwise.modified_bessel": {ELEMENTWISE: "bessel_i0 bessel_i0e bessel_i1 bessel_i1e"},
    "elementwise.piecewise": {ELEMENTWISE: "absolute ceil clip_by_value floor maximum minimum round sign"},
    "elementwise.powers": {STRUCTURE: "pow"},
    "elementwise.special": {ELEMENTWISE: "digamma lgamma xdivy xlog1py xlogy"},
    "elementwise.trigonometric": {ELEMENTWISE: "acos asin atan atan2 cos sin tan"},
    "identity": {ELEMENTWISE: "identity stop_gradient"},
    "indexing.gather": {ROWS: "gather", INDICES: "gather_nd"},
    "indexing.masks": {ELEMENTWISE: "where"},
    "indexing.repetition": {STRUCTURE: "pad repeat tile"},
    "indexing.sorting": {STRUCTURE: "argsort sort top_k"},
    "indexing.strided": {STRUCTURE: "slice_"},
    "linalg.cholesky": {STRUCTURE: "cholesky cholesky_solve"},
    "linalg.determinants": {STRUCTURE: "det logdet"},
    "linalg.einsum": {STRUCTURE: "diag_part einsum trace"},
    "linalg.matmul": {STRUCTURE: "matmul matvec tensordot"},
    "linalg.matrices": {STRUCTURE: "band_part cross diag set_diag"},
    "linalg.solve": {STRUCTURE: "inv solve"},
    "linalg.triangular": {STRUCTURE: "triangular_solve"},
    "nn.activation": {
        STRUCTURE: "elu gelu l2_normalize leaky_relu log_softmax relu relu6 selu silu softmax softsign"
    },
    "nn.cross_entropy": {
        STRUCTURE: "l2_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
        "sparse_softmax_cross_entropy_with_logits"
    },
    "nn.layer_functions": {STRUCTURE: "bias_add"},
    "reduce.cumulative": {STRUCTURE: "cumprod cumsum cumulative_logsumexp"},
    "reduce.extremum_indices": {STRUCTURE: "argmax argmin"},
    "reduce.reductions": {
        STRUCTURE: "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
    },
    "reduce.statistics": {STRUCTURE: "count_nonzero reduce_logsumexp reduce_std reduce_variance"},
    "shape.creation": {STRUCTURE: "fill ones_like zeros_like"},
    "shape.joining": {STRUCTURE: "concat split stack unstack"},
    "shape.reordering": {STRUCTURE: "reverse roll"},
    "shape.reshaping": {STRUCTURE: "broadcast_to expand_dims matrix_transpose reshape squeeze transpose"},
    "spectra.norms": {STRUCTURE: "norm"},
}
"""Names of the functions by module of `jittape.primitives`, and by how they take ints, lists and arrays."""

_waiting = {f"jittape.primitives.{module}": names for module, names in FUNCTIONS.items()}


def take_loaded_functions() -> None:
    """Let machine code record the calls of functions whose modules were imported since the last call."""
    for module in [name for name in _waiting if name in sys.modules]:
        found = vars(sys.modules[module])
        kinds = _waiting[module]
        if all(name in found for names in kinds.values() for name in names.split()):  # the import has ended
            del _waiting[module]
            for kind, names in kinds.items():
                for name in names.split():
                    _take(found[name], module, kind)


def _take(function: object, module: str, kind: int) -> None:
    if isinstance(function, FunctionType) and function.__module__ == module:  # nobody has replaced it
        FUNCTION_CALLS[function] = [None], kind
        take_calls(function, "planned")
