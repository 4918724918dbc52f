"""Functions of `jittape` whose calls machine code records: see `jittape.recording.machine_code.emit_planned`.

Each of them records one call, whose body and parameters depend on nothing but settings, such as
``jt.config.default_float``, and the arguments that are no operands. None of them checks the values of operands.
"""

from __future__ import annotations

import sys
from types import FunctionType

from jittape.native.switch import take_calls
from jittape.primitives.identity import identity_op
from jittape.recording.machine_code.path_tables import (
    ARRAYS,
    CREATION,
    ELEMENTWISE,
    FUNCTION_CALLS,
    INDICES,
    NUMBERS,
    RANK,
    ROWS,
    SHAPE,
    SIZE,
    STRUCTURE,
)

__all__ = ["FUNCTIONS", "take_array", "take_loaded_functions", "take_planned"]

_SHAPE_ARRAYS = "jittape.primitives.shape.shape_arrays"
_CONVERT = "jittape.recording.convert"

FUNCTIONS: dict[str, dict[int, str]] = {
    "elementwise.arithmetic": {
        STRUCTURE: "add_n polyval",
        ELEMENTWISE: "add multiply negative positive square squared_difference subtract",
    },
    "elementwise.bessel": {
        ELEMENTWISE: "bessel_j0 bessel_j1 bessel_y0 bessel_y1",
    },
    "elementwise.bits": {
        STRUCTURE: "bitcast",
        ELEMENTWISE: "bitwise_and bitwise_or bitwise_xor invert is_finite is_inf is_nan left_shift right_shift",
    },
    "elementwise.comparison": {
        ELEMENTWISE: "equal greater greater_equal less less_equal logical_and logical_not logical_or logical_xor "
        "not_equal",
    },
    "elementwise.complex_numbers": {
        STRUCTURE: "cast",
        ELEMENTWISE: "angle complex conj imag real",
    },
    "elementwise.division": {
        ELEMENTWISE: "divide divide_no_nan floor_divide mod multiply_no_nan reciprocal",
    },
    "elementwise.error_functions": {
        ELEMENTWISE: "erf erfc erfcinv erfcx erfinv log_ndtr ndtr ndtri",
    },
    "elementwise.exponential": {
        ELEMENTWISE: "exp expm1 log log1p rsqrt sqrt",
    },
    "elementwise.gamma_beta": {
        ELEMENTWISE: "betaln gamma gammaln",
    },
    "elementwise.hyperbolic": {
        ELEMENTWISE: "acosh asinh atanh cosh log_sigmoid sigmoid sinh softplus tanh",
    },
    "elementwise.incomplete_beta": {
        ELEMENTWISE: "betainc",
    },
    "elementwise.incomplete_gamma": {
        ELEMENTWISE: "igamma igammac random_gamma_grad",
    },
    "elementwise.integrals": {
        ELEMENTWISE: "dawsn expint fresnel_cos fresnel_sin spence",
    },
    "elementwise.modified_bessel": {
        ELEMENTWISE: "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_k0 bessel_k0e bessel_k1 bessel_k1e",
    },
    "elementwise.piecewise": {
        ELEMENTWISE: "absolute ceil clip_by_value floor maximum minimum round sign",
    },
    "elementwise.powers": {
        STRUCTURE: "pow",
    },
    "elementwise.smooth_functions": {
        ELEMENTWISE: "logcosh sinc",
    },
    "elementwise.special": {
        ELEMENTWISE: "digamma lgamma xdivy xlog1py xlogy zeta",
    },
    "elementwise.trigonometric": {
        ELEMENTWISE: "acos asin atan atan2 cos sin tan",
    },
    "elementwise.truncation": {
        STRUCTURE: "saturate_cast",
        ELEMENTWISE: "nextafter truncatediv truncatemod",
    },
    "identity": {
        ELEMENTWISE: "identity stop_gradient",
    },
    "indexing.binary_search": {
        ARRAYS: "searchsorted",
    },
    "indexing.gather": {
        INDICES: "gather_nd",
        ROWS: "gather",
    },
    "indexing.isotonic": {
        STRUCTURE: "isotonic_regression",
    },
    "indexing.masks": {
        ELEMENTWISE: "where",
    },
    "indexing.partitions": {
        STRUCTURE: "invert_permutation",
    },
    "indexing.repetition": {
        STRUCTURE: "pad repeat tile",
    },
    "indexing.scatter": {
        STRUCTURE: "scatter_nd tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min "
        "tensor_scatter_nd_sub tensor_scatter_nd_update",
    },
    "indexing.sorting": {
        STRUCTURE: "argsort sort top_k",
    },
    "indexing.strided": {
        STRUCTURE: "slice_",
    },
    "indexing.unsorted_segments": {
        STRUCTURE: "unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
        "unsorted_segment_sqrt_n unsorted_segment_sum",
    },
    "linalg.banded": {
        STRUCTURE: "banded_triangular_solve",
    },
    "linalg.cholesky": {
        STRUCTURE: "cholesky cholesky_solve",
    },
    "linalg.determinants": {
        STRUCTURE: "det logdet slogdet",
    },
    "linalg.einsum": {
        STRUCTURE: "diag_part trace",
        ARRAYS: "einsum",
    },
    "linalg.lu": {
        STRUCTURE: "lu lu_matrix_inverse lu_reconstruct lu_solve",
    },
    "linalg.matmul": {
        ARRAYS: "matmul matvec outer tensordot",
    },
    "linalg.matrices": {
        STRUCTURE: "adjoint band_part cross diag set_diag tensor_diag tensor_diag_part",
    },
    "linalg.matrix_products": {
        STRUCTURE: "matrix_power multi_dot vander",
        ARRAYS: "inner kron vecdot",
    },
    "linalg.qr": {
        STRUCTURE: "qr",
    },
    "linalg.solve": {
        STRUCTURE: "inv",
        ARRAYS: "solve",
    },
    "linalg.tensor_equations": {
        STRUCTURE: "tensorinv tensorsolve",
    },
    "linalg.triangular": {
        STRUCTURE: "triangular_solve",
    },
    "nn.activation": {
        STRUCTURE: "elu gelu l2_normalize leaky_relu log_softmax relu relu6 selu silu softmax softsign",
    },
    "nn.average_pooling": {
        STRUCTURE: "avg_pool1d avg_pool2d avg_pool3d",
    },
    "nn.convolution": {
        STRUCTURE: "conv1d conv2d conv3d",
    },
    "nn.cross_entropy": {
        STRUCTURE: "sparse_softmax_cross_entropy_with_logits",
        ARRAYS: "l2_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
        "weighted_cross_entropy_with_logits",
    },
    "nn.gradient_clipping": {
        STRUCTURE: "global_norm",
    },
    "nn.depthwise_convolution": {
        STRUCTURE: "depthwise_conv2d",
    },
    "nn.layer_functions": {
        STRUCTURE: "crelu log_poisson_loss",
        ARRAYS: "batch_normalization bias_add",
        INDICES: "embedding_lookup",
    },
    "nn.pooling": {
        STRUCTURE: "max_pool1d max_pool2d max_pool3d",
    },
    "nn.top_classes": {
        STRUCTURE: "in_top_k",
    },
    "reduce.cumulative": {
        STRUCTURE: "cumprod cumsum cumulative_logsumexp",
    },
    "reduce.extremum_indices": {
        STRUCTURE: "argmax argmin",
    },
    "reduce.multivariate_gamma": {
        STRUCTURE: "lbeta multigammaln",
    },
    "reduce.reductions": {
        STRUCTURE: "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum",
    },
    "reduce.statistics": {
        STRUCTURE: "count_nonzero is_non_decreasing is_strictly_increasing moments reduce_logsumexp reduce_std "
        "reduce_variance zero_fraction",
    },
    "shape.blocks": {
        STRUCTURE: "depth_to_space space_to_depth",
    },
    "shape.creation": {
        CREATION: "eye fill linspace ones zeros",
        NUMBERS: "range",
        STRUCTURE: "ones_like zeros_like",
    },
    "shape.indicators": {
        ARRAYS: "one_hot sequence_mask",
    },
    "shape.joining": {
        STRUCTURE: "meshgrid split unstack",
        ARRAYS: "concat stack",
    },
    "shape.reordering": {
        STRUCTURE: "reverse roll",
    },
    "shape.reshaping": {
        STRUCTURE: "broadcast_to ensure_shape expand_dims matrix_transpose reshape squeeze transpose",
    },
    "signal.cosine": {
        STRUCTURE: "dct idct",
    },
    "signal.fourier": {
        STRUCTURE: "fft fft2d fft3d ifft ifft2d ifft3d",
    },
    "signal.frames": {
        STRUCTURE: "overlap_and_add",
    },
    "signal.frequencies": {
        STRUCTURE: "fftshift ifftshift",
    },
    "signal.real_fourier": {
        STRUCTURE: "irfft irfft2d irfft3d rfft rfft2d rfft3d",
    },
    "spectra.eig": {
        STRUCTURE: "eig eigvals",
    },
    "spectra.eigh": {
        STRUCTURE: "eigh eigvalsh",
    },
    "spectra.lstsq": {
        STRUCTURE: "lstsq",
    },
    "spectra.matrix_functions": {
        STRUCTURE: "expm logm sqrtm",
    },
    "spectra.norms": {
        STRUCTURE: "matrix_norm norm reduce_euclidean_norm vector_norm",
    },
    "spectra.pseudoinverse": {
        STRUCTURE: "cond matrix_rank pinv",
    },
    "spectra.svd": {
        STRUCTURE: "svd svdvals",
    },
}
"""Names of the functions by module of `jittape.primitives`, and by how they take ints, lists and arrays."""

FACTS_OF = {"shape": SHAPE, "rank": RANK, "size": SIZE}
"""Functions of `jittape.primitives.shape.shape_arrays` that ask for what is known of a tensor without its values."""

_waiting = {f"jittape.primitives.{module}": names for module, names in FUNCTIONS.items()}
_waiting[_SHAPE_ARRAYS] = {STRUCTURE: " ".join(FACTS_OF)}
_waiting[_CONVERT] = {STRUCTURE: "constant convert_to_tensor"}


def take_loaded_functions() -> None:
    """Let machine code record the calls of functions whose modules were imported since the last call."""
    for module, kinds in [item for item in list(_waiting.items()) if item[0] in sys.modules]:
        found = vars(sys.modules[module])
        if all(name in found for names in kinds.values() for name in names.split()):  # the import has ended
            _waiting.pop(module, None)  # another thread may do the same
            for kind, names in kinds.items():
                for name in names.split():
                    _take(found[name], module, kind)


def _take(function: object, module: str, kind: int) -> None:
    if not isinstance(function, FunctionType) or function.__module__ != module:
        return  # somebody has replaced it
    if module == _SHAPE_ARRAYS:
        FUNCTION_CALLS[function] = FACTS_OF[function.__name__]
        take_calls(function, "shape")
    elif module == _CONVERT:
        FUNCTION_CALLS[function] = identity_op if function.__name__ == "constant" else None
        take_calls(function, "constant")
    else:
        take_planned(function, kind)


def take_planned(function: FunctionType, kind: int = ARRAYS) -> None:
    """Let machine code record calls of `function` by plans; `kind` tells which arguments are operands."""
    FUNCTION_CALLS[function] = [None], kind
    take_calls(function, "planned")


def take_array(function: FunctionType, copies: bool) -> None:
    """Let machine code convert the argument of `function`, which does what ``array`` or ``asarray`` does."""
    FUNCTION_CALLS[function] = [None], ARRAYS, identity_op if copies else None
    take_calls(function, "array")
