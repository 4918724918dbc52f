"""The public names of jittape whose modules are imported at their first use."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jittape import autograd as autograd
    from jittape import autograph as autograph
    from jittape import dask as dask
    from jittape import data as data
    from jittape import debugging as debugging
    from jittape import keras as keras
    from jittape import nest as nest
    from jittape import numpy as numpy
    from jittape import optimizers as optimizers
    from jittape import plot as plot
    from jittape import scipy as scipy
    from jittape import signal as signal
    from jittape import train as train
    from jittape.autodiff.flat_gradients import flatten_gradients as flatten_gradients
    from jittape.debugging import Assert as Assert
    from jittape.debugging import assert_equal as assert_equal
    from jittape.debugging import assert_greater as assert_greater
    from jittape.debugging import assert_less as assert_less
    from jittape.debugging import assert_rank as assert_rank
    from jittape.dtype_names import bfloat16 as bfloat16
    from jittape.execution import control_dependencies as control_dependencies
    from jittape.execution import device as device
    from jittape.execution import executing_eagerly as executing_eagerly
    from jittape.execution import get_logger as get_logger
    from jittape.execution import get_static_value as get_static_value
    from jittape.execution import group as group
    from jittape.execution import init_scope as init_scope
    from jittape.execution import inside_function as inside_function
    from jittape.execution import is_symbolic_tensor as is_symbolic_tensor
    from jittape.execution import no_op as no_op
    from jittape.execution import timestamp as timestamp
    from jittape.exports import ExportedLibrary as ExportedLibrary
    from jittape.exports import export as export
    from jittape.fits import FitResult as FitResult
    from jittape.fits import LikelihoodProfile as LikelihoodProfile
    from jittape.fits import fit as fit
    from jittape.interop import CFunction as CFunction
    from jittape.interop import NutpieDraws as NutpieDraws
    from jittape.interop import cfunc as cfunc
    from jittape.interop import jax_call as jax_call
    from jittape.interop import nutpie as nutpie
    from jittape.interop import nutpie_draws as nutpie_draws
    from jittape.interop import pytensor_op as pytensor_op
    from jittape.interop import torch_function as torch_function
    from jittape.keras import initializers as initializers
    from jittape.keras import losses as losses
    from jittape.keras import metrics as metrics
    from jittape.numba_ad import NjitGradient as NjitGradient
    from jittape.numba_ad import njit_grad as njit_grad
    from jittape.numba_ad import njit_hvp as njit_hvp
    from jittape.numba_ad import njit_jvp as njit_jvp
    from jittape.numba_ad import njit_rule as njit_rule
    from jittape.numba_bridge.native_function import NativeFunction as NativeFunction
    from jittape.numba_bridge.njit import njit_function as njit_function
    from jittape.numba_bridge.njit import njit_value_and_grad as njit_value_and_grad
    from jittape.numba_bridge.numba_op import NumbaOp as NumbaOp
    from jittape.numba_bridge.numba_op import numba_op as numba_op
    from jittape.profiling import LineProfile as LineProfile
    from jittape.profiling import Profile as Profile
    from jittape.profiling import explain_recompiles as explain_recompiles
    from jittape.profiling import profile as profile
    from jittape.progress_bar import progress as progress
    from jittape.signal import fftnd as fftnd
    from jittape.signal import ifftnd as ifftnd
    from jittape.signal import irfftnd as irfftnd
    from jittape.signal import rfftnd as rfftnd
    from jittape.sparse import SparseDerivative as SparseDerivative
    from jittape.sparse import SparsityPattern as SparsityPattern
    from jittape.sparse import sparse_hessian as sparse_hessian
    from jittape.sparse import sparse_hvp as sparse_hvp
    from jittape.sparse import sparse_jacobian as sparse_jacobian

MODULES: Mapping[str, Iterable[str] | Mapping[str, str]] = {
    **{
        f"jittape.{name}": (name,)
        for name in (
            "autodiff",
            "autograd",
            "autograph",
            "bitwise",
            "dask",
            "data",
            "keras",
            "math",
            "nest",
            "nn",
            "numpy",
            "optimizers",
            "plot",
            "random",
            "scipy",
            "test",
            "train",
        )
    },
    "jittape.autodiff.custom_gradient": ("custom_gradient",),
    "jittape.autodiff.flat_gradients": ("flatten_gradients",),
    "jittape.autodiff.tape": ("GradientTape",),
    "jittape.autodiff.tape_arguments": ("UnconnectedGradients",),
    "jittape.core.config": ("config",),
    "jittape.core.name_scopes": ("get_current_name_scope", "name_scope"),
    "jittape.core.tensor_shape": ("TensorShape",),
    "jittape.debugging": (
        "debugging",
        "Assert",
        "assert_equal",
        "assert_greater",
        "assert_less",
        "assert_rank",
    ),
    "jittape.dtype_names": {
        "dtypes": "",
        "bfloat16": "bfloat16",
        "DType": "DType",
        "as_dtype": "as_dtype",
        "bool": "bool",
        "complex64": "complex64",
        "complex128": "complex128",
        "double": "double",
        "float16": "float16",
        "float32": "float32",
        "float64": "float64",
        "half": "half",
        "int8": "int8",
        "int16": "int16",
        "int32": "int32",
        "int64": "int64",
        "uint8": "uint8",
        "uint16": "uint16",
        "uint32": "uint32",
        "uint64": "uint64",
    },
    "jittape.errors": (
        "CacheWarning",
        "CompileError",
        "ControlFlowError",
        "DTypeError",
        "FunctionWarning",
        "LeakedTensorError",
        "LinAlgError",
        "NoGradientError",
        "NumericsError",
        "ProgramError",
        "RecompileWarning",
        "ShapeError",
        "TapeExitWarning",
        "TapeUsageWarning",
        "UnconnectedGradientWarning",
        "WeightsError",
    ),
    "jittape.execution": (
        "control_dependencies",
        "device",
        "executing_eagerly",
        "get_logger",
        "get_static_value",
        "group",
        "init_scope",
        "inside_function",
        "is_symbolic_tensor",
        "no_op",
        "timestamp",
    ),
    "jittape.exports": ("ExportedLibrary", "export"),
    "jittape.fits": ("FitResult", "LikelihoodProfile", "fit"),
    "jittape.flow": (
        "TensorArray",
        "case",
        "cond",
        "foldl",
        "foldr",
        "fori_loop",
        "map_fn",
        "scan",
        "switch_case",
        "vectorized_map",
        "while_loop",
    ),
    "jittape.functions": (
        "ConcreteFunction",
        "Function",
        "Signature",
        "TensorSpec",
        "function",
        "numpy_function",
        "print",
        "py_function",
    ),
    "jittape.inspect": ("Explanation", "Stats", "explain", "reset_stats", "stats"),
    "jittape.interop": (
        "CFunction",
        "NutpieDraws",
        "cfunc",
        "jax_call",
        "nutpie",
        "nutpie_draws",
        "pytensor_op",
        "torch_function",
    ),
    "jittape.keras.initializers": {
        "initializers": "",
        "constant_initializer": "Constant",
        "ones_initializer": "Ones",
        "random_normal_initializer": "RandomNormal",
        "random_uniform_initializer": "RandomUniform",
        "zeros_initializer": "Zeros",
    },
    "jittape.keras.losses": ("losses",),
    "jittape.keras.metrics": ("metrics",),
    "jittape.linalg": {"matrix_square_root": "sqrtm", "linalg": "linalg"},
    "jittape.module": ("Module",),
    "jittape.numba_ad": ("NjitGradient", "njit_grad", "njit_hvp", "njit_jvp", "njit_rule"),
    "jittape.numba_bridge.native_function": ("NativeFunction",),
    "jittape.numba_bridge.njit": ("njit_function", "njit_value_and_grad"),
    "jittape.numba_bridge.numba_op": ("NumbaOp", "numba_op"),
    "jittape.primitives.elementwise.arithmetic": (
        "add",
        "add_n",
        "multiply",
        "negative",
        "scalar_mul",
        "square",
        "squared_difference",
        "subtract",
    ),
    "jittape.primitives.elementwise.bits": (
        "bitcast",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
        "is_finite",
        "is_inf",
        "is_nan",
        "left_shift",
        "right_shift",
    ),
    "jittape.primitives.elementwise.comparison": (
        "equal",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "not_equal",
    ),
    "jittape.primitives.elementwise.complex_numbers": ("angle", "cast", "complex", "conj", "imag", "real"),
    "jittape.primitives.elementwise.division": {
        "divide": "divide",
        "realdiv": "divide",
        "truediv": "divide",
        "divide_no_nan": "divide_no_nan",
        "floor_divide": "floor_divide",
        "floordiv": "floor_divide",
        "mod": "mod",
        "multiply_no_nan": "multiply_no_nan",
    },
    "jittape.primitives.elementwise.exponential": ("exp", "sqrt"),
    "jittape.primitives.elementwise.hyperbolic": (
        "acosh",
        "asinh",
        "atanh",
        "cosh",
        "sigmoid",
        "sinh",
        "tanh",
    ),
    "jittape.primitives.elementwise.piecewise": {
        "abs": "absolute",
        "ceil": "ceil",
        "clip_by_value": "clip_by_value",
        "floor": "floor",
        "maximum": "maximum",
        "minimum": "minimum",
        "round": "round",
        "sign": "sign",
    },
    "jittape.primitives.elementwise.powers": ("pow",),
    "jittape.primitives.elementwise.trigonometric": ("acos", "asin", "atan", "atan2", "cos", "sin", "tan"),
    "jittape.primitives.elementwise.truncation": ("saturate_cast", "truncatediv", "truncatemod"),
    "jittape.primitives.identity": ("identity", "identity_n", "stop_gradient"),
    "jittape.primitives.indexing.flat_indices": ("unravel_index",),
    "jittape.primitives.indexing.gather": ("boolean_mask", "gather", "gather_nd"),
    "jittape.primitives.indexing.histograms": ("histogram_fixed_width", "histogram_fixed_width_bins"),
    "jittape.primitives.indexing.masks": ("where",),
    "jittape.primitives.indexing.partitions": ("dynamic_partition", "dynamic_stitch", "reverse_sequence"),
    "jittape.primitives.indexing.repetition": ("pad", "repeat", "tile"),
    "jittape.primitives.indexing.scatter": (
        "scatter_nd",
        "tensor_scatter_nd_add",
        "tensor_scatter_nd_max",
        "tensor_scatter_nd_min",
        "tensor_scatter_nd_sub",
        "tensor_scatter_nd_update",
    ),
    "jittape.primitives.indexing.binary_search": ("searchsorted",),
    "jittape.primitives.indexing.sorting": ("argsort", "sort"),
    "jittape.primitives.indexing.strided": {"slice": "slice_", "strided_slice": "strided_slice"},
    "jittape.primitives.indexing.uniqueness": ("unique", "unique_with_counts"),
    "jittape.primitives.linalg.einsum": ("einsum",),
    "jittape.primitives.linalg.matmul": ("matmul", "tensordot"),
    "jittape.primitives.linalg.sparse_products": ("sparse_matmul",),
    "jittape.primitives.nn.gradient_clipping": (
        "clip_by_average_norm",
        "clip_by_global_norm",
        "clip_by_norm",
    ),
    "jittape.primitives.reduce.cumulative": ("cumprod", "cumsum"),
    "jittape.primitives.reduce.extremum_indices": ("argmax", "argmin"),
    "jittape.primitives.reduce.reductions": (
        "reduce_all",
        "reduce_any",
        "reduce_max",
        "reduce_mean",
        "reduce_min",
        "reduce_prod",
        "reduce_sum",
    ),
    "jittape.primitives.reduce.statistics": ("reduce_logsumexp",),
    "jittape.primitives.shape.blocks": ("batch_to_space", "space_to_batch", "space_to_batch_nd"),
    "jittape.primitives.shape.creation": (
        "eye",
        "fill",
        "linspace",
        "ones",
        "ones_like",
        "range",
        "zeros",
        "zeros_like",
    ),
    "jittape.primitives.shape.indicators": ("one_hot", "sequence_mask"),
    "jittape.primitives.shape.joining": ("concat", "meshgrid", "split", "stack", "unstack"),
    "jittape.primitives.shape.reordering": ("reverse", "roll"),
    "jittape.primitives.shape.reshaping": (
        "broadcast_dynamic_shape",
        "broadcast_static_shape",
        "broadcast_to",
        "ensure_shape",
        "expand_dims",
        "reshape",
        "squeeze",
        "transpose",
    ),
    "jittape.primitives.shape.shape_arrays": ("rank", "shape", "shape_n", "size"),
    "jittape.primitives.spectra.eig": ("eig", "eigvals"),
    "jittape.primitives.spectra.norms": ("norm",),
    "jittape.profiling": ("LineProfile", "Profile", "explain_recompiles", "profile"),
    "jittape.progress_bar": ("progress",),
    "jittape.recording.convert": ("constant", "convert_to_tensor", "is_tensor"),
    "jittape.recording.tensor": ("Tensor",),
    "jittape.recording.variable": ("Variable",),
    "jittape.recording.variable_scatter": ("IndexedSlices",),
    "jittape.signal": ("signal", "fftnd", "ifftnd", "irfftnd", "rfftnd"),
    "jittape.sparse": (
        "SparseDerivative",
        "SparsityPattern",
        "sparse_hessian",
        "sparse_hvp",
        "sparse_jacobian",
    ),
    "jittape.transforms": (
        "batch_jacobian",
        "check_gradient",
        "grad",
        "grad_pass_through",
        "hessian",
        "hvp",
        "jacobian",
        "jvp",
        "recompute_grad",
        "value_and_grad",
        "vjp",
        "vmap",
    ),
}
"""The names that each module provides, as for `jittape.lazy_names.lazily`."""
