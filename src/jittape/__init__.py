"""jittape: gradients on NumPy data in the style of `tf.GradientTape`, at the speed of compiled code.

The names and defaults are TensorFlow's: textbook programs run under ``import jittape as tf``.

Examples
--------
>>> import jittape as jt
>>> x = jt.Variable(3.0)
>>> with jt.GradientTape() as tape:
...     y = x * x
>>> tape.gradient(y, x)
<jt.Tensor: shape=(), dtype=float32, numpy=6.0>
"""

import typing as _typing

from jittape.core.tracebacks import install as _hide_frames_of_jittape
from jittape.interop.import_hooks import install as _install_import_hooks
from jittape.lazy_names import find_aliases as _find_aliases
from jittape.lazy_names import lazily as _lazily
from jittape.lazy_surface import MODULES as _MODULES
from jittape.version import __version__ as __version__

if _typing.TYPE_CHECKING:
    from jittape import autodiff as autodiff
    from jittape import bitwise as bitwise
    from jittape import dtype_names as dtypes
    from jittape import linalg as linalg
    from jittape import math as math
    from jittape import nn as nn
    from jittape import random as random
    from jittape import test as test
    from jittape.autodiff.custom_gradient import custom_gradient as custom_gradient
    from jittape.autodiff.tape import GradientTape as GradientTape
    from jittape.autodiff.tape_arguments import UnconnectedGradients as UnconnectedGradients
    from jittape.core.config import config as config
    from jittape.core.name_scopes import get_current_name_scope as get_current_name_scope
    from jittape.core.name_scopes import name_scope as name_scope
    from jittape.core.tensor_shape import TensorShape as TensorShape
    from jittape.dtype_names import DType as DType
    from jittape.dtype_names import as_dtype as as_dtype
    from jittape.dtype_names import bool as bool
    from jittape.dtype_names import complex64 as complex64
    from jittape.dtype_names import complex128 as complex128
    from jittape.dtype_names import double as double
    from jittape.dtype_names import float16 as float16
    from jittape.dtype_names import float32 as float32
    from jittape.dtype_names import float64 as float64
    from jittape.dtype_names import half as half
    from jittape.dtype_names import int8 as int8
    from jittape.dtype_names import int16 as int16
    from jittape.dtype_names import int32 as int32
    from jittape.dtype_names import int64 as int64
    from jittape.dtype_names import uint8 as uint8
    from jittape.dtype_names import uint16 as uint16
    from jittape.dtype_names import uint32 as uint32
    from jittape.dtype_names import uint64 as uint64
    from jittape.errors import CacheWarning as CacheWarning
    from jittape.errors import CompileError as CompileError
    from jittape.errors import ControlFlowError as ControlFlowError
    from jittape.errors import DTypeError as DTypeError
    from jittape.errors import FunctionWarning as FunctionWarning
    from jittape.errors import LeakedTensorError as LeakedTensorError
    from jittape.errors import LinAlgError as LinAlgError
    from jittape.errors import NoGradientError as NoGradientError
    from jittape.errors import NumericsError as NumericsError
    from jittape.errors import ProgramError as ProgramError
    from jittape.errors import RecompileWarning as RecompileWarning
    from jittape.errors import ShapeError as ShapeError
    from jittape.errors import TapeExitWarning as TapeExitWarning
    from jittape.errors import TapeUsageWarning as TapeUsageWarning
    from jittape.errors import UnconnectedGradientWarning as UnconnectedGradientWarning
    from jittape.errors import WeightsError as WeightsError
    from jittape.flow import TensorArray as TensorArray
    from jittape.flow import case as case
    from jittape.flow import cond as cond
    from jittape.flow import foldl as foldl
    from jittape.flow import foldr as foldr
    from jittape.flow import fori_loop as fori_loop
    from jittape.flow import map_fn as map_fn
    from jittape.flow import scan as scan
    from jittape.flow import switch_case as switch_case
    from jittape.flow import vectorized_map as vectorized_map
    from jittape.flow import while_loop as while_loop
    from jittape.functions import ConcreteFunction as ConcreteFunction
    from jittape.functions import Function as Function
    from jittape.functions import Signature as Signature
    from jittape.functions import TensorSpec as TensorSpec
    from jittape.functions import function as function
    from jittape.functions import numpy_function as numpy_function
    from jittape.functions import print as print
    from jittape.functions import py_function as py_function
    from jittape.inspect import Explanation as Explanation
    from jittape.inspect import Stats as Stats
    from jittape.inspect import explain as explain
    from jittape.inspect import reset_stats as reset_stats
    from jittape.inspect import stats as stats
    from jittape.keras.initializers import Constant as constant_initializer
    from jittape.keras.initializers import Ones as ones_initializer
    from jittape.keras.initializers import RandomNormal as random_normal_initializer
    from jittape.keras.initializers import RandomUniform as random_uniform_initializer
    from jittape.keras.initializers import Zeros as zeros_initializer
    from jittape.lazy_surface import *
    from jittape.linalg import sqrtm as matrix_square_root
    from jittape.module import Module as Module
    from jittape.primitives.elementwise.arithmetic import add as add
    from jittape.primitives.elementwise.arithmetic import add_n as add_n
    from jittape.primitives.elementwise.arithmetic import multiply as multiply
    from jittape.primitives.elementwise.arithmetic import negative as negative
    from jittape.primitives.elementwise.arithmetic import scalar_mul as scalar_mul
    from jittape.primitives.elementwise.arithmetic import square as square
    from jittape.primitives.elementwise.arithmetic import squared_difference as squared_difference
    from jittape.primitives.elementwise.arithmetic import subtract as subtract
    from jittape.primitives.elementwise.bits import bitcast as bitcast
    from jittape.primitives.elementwise.bits import bitwise_and as bitwise_and
    from jittape.primitives.elementwise.bits import bitwise_or as bitwise_or
    from jittape.primitives.elementwise.bits import bitwise_xor as bitwise_xor
    from jittape.primitives.elementwise.bits import invert as invert
    from jittape.primitives.elementwise.bits import is_finite as is_finite
    from jittape.primitives.elementwise.bits import is_inf as is_inf
    from jittape.primitives.elementwise.bits import is_nan as is_nan
    from jittape.primitives.elementwise.bits import left_shift as left_shift
    from jittape.primitives.elementwise.bits import right_shift as right_shift
    from jittape.primitives.elementwise.comparison import equal as equal
    from jittape.primitives.elementwise.comparison import greater as greater
    from jittape.primitives.elementwise.comparison import greater_equal as greater_equal
    from jittape.primitives.elementwise.comparison import less as less
    from jittape.primitives.elementwise.comparison import less_equal as less_equal
    from jittape.primitives.elementwise.comparison import logical_and as logical_and
    from jittape.primitives.elementwise.comparison import logical_not as logical_not
    from jittape.primitives.elementwise.comparison import logical_or as logical_or
    from jittape.primitives.elementwise.comparison import logical_xor as logical_xor
    from jittape.primitives.elementwise.comparison import not_equal as not_equal
    from jittape.primitives.elementwise.complex_numbers import angle as angle
    from jittape.primitives.elementwise.complex_numbers import cast as cast
    from jittape.primitives.elementwise.complex_numbers import complex as complex
    from jittape.primitives.elementwise.complex_numbers import conj as conj
    from jittape.primitives.elementwise.complex_numbers import imag as imag
    from jittape.primitives.elementwise.complex_numbers import real as real
    from jittape.primitives.elementwise.division import divide as divide
    from jittape.primitives.elementwise.division import divide as realdiv
    from jittape.primitives.elementwise.division import divide as truediv
    from jittape.primitives.elementwise.division import divide_no_nan as divide_no_nan
    from jittape.primitives.elementwise.division import floor_divide as floor_divide
    from jittape.primitives.elementwise.division import floor_divide as floordiv
    from jittape.primitives.elementwise.division import mod as mod
    from jittape.primitives.elementwise.division import multiply_no_nan as multiply_no_nan
    from jittape.primitives.elementwise.exponential import exp as exp
    from jittape.primitives.elementwise.exponential import sqrt as sqrt
    from jittape.primitives.elementwise.hyperbolic import acosh as acosh
    from jittape.primitives.elementwise.hyperbolic import asinh as asinh
    from jittape.primitives.elementwise.hyperbolic import atanh as atanh
    from jittape.primitives.elementwise.hyperbolic import cosh as cosh
    from jittape.primitives.elementwise.hyperbolic import sigmoid as sigmoid
    from jittape.primitives.elementwise.hyperbolic import sinh as sinh
    from jittape.primitives.elementwise.hyperbolic import tanh as tanh
    from jittape.primitives.elementwise.piecewise import absolute as abs
    from jittape.primitives.elementwise.piecewise import ceil as ceil
    from jittape.primitives.elementwise.piecewise import clip_by_value as clip_by_value
    from jittape.primitives.elementwise.piecewise import floor as floor
    from jittape.primitives.elementwise.piecewise import maximum as maximum
    from jittape.primitives.elementwise.piecewise import minimum as minimum
    from jittape.primitives.elementwise.piecewise import round as round
    from jittape.primitives.elementwise.piecewise import sign as sign
    from jittape.primitives.elementwise.powers import pow as pow
    from jittape.primitives.elementwise.trigonometric import acos as acos
    from jittape.primitives.elementwise.trigonometric import asin as asin
    from jittape.primitives.elementwise.trigonometric import atan as atan
    from jittape.primitives.elementwise.trigonometric import atan2 as atan2
    from jittape.primitives.elementwise.trigonometric import cos as cos
    from jittape.primitives.elementwise.trigonometric import sin as sin
    from jittape.primitives.elementwise.trigonometric import tan as tan
    from jittape.primitives.elementwise.truncation import saturate_cast as saturate_cast
    from jittape.primitives.elementwise.truncation import truncatediv as truncatediv
    from jittape.primitives.elementwise.truncation import truncatemod as truncatemod
    from jittape.primitives.identity import identity as identity
    from jittape.primitives.identity import identity_n as identity_n
    from jittape.primitives.identity import stop_gradient as stop_gradient
    from jittape.primitives.indexing.binary_search import searchsorted as searchsorted
    from jittape.primitives.indexing.flat_indices import unravel_index as unravel_index
    from jittape.primitives.indexing.gather import boolean_mask as boolean_mask
    from jittape.primitives.indexing.gather import gather as gather
    from jittape.primitives.indexing.gather import gather_nd as gather_nd
    from jittape.primitives.indexing.histograms import histogram_fixed_width as histogram_fixed_width
    from jittape.primitives.indexing.histograms import (
        histogram_fixed_width_bins as histogram_fixed_width_bins,
    )
    from jittape.primitives.indexing.masks import where as where
    from jittape.primitives.indexing.partitions import dynamic_partition as dynamic_partition
    from jittape.primitives.indexing.partitions import dynamic_stitch as dynamic_stitch
    from jittape.primitives.indexing.partitions import reverse_sequence as reverse_sequence
    from jittape.primitives.indexing.repetition import pad as pad
    from jittape.primitives.indexing.repetition import repeat as repeat
    from jittape.primitives.indexing.repetition import tile as tile
    from jittape.primitives.indexing.scatter import scatter_nd as scatter_nd
    from jittape.primitives.indexing.scatter import tensor_scatter_nd_add as tensor_scatter_nd_add
    from jittape.primitives.indexing.scatter import tensor_scatter_nd_max as tensor_scatter_nd_max
    from jittape.primitives.indexing.scatter import tensor_scatter_nd_min as tensor_scatter_nd_min
    from jittape.primitives.indexing.scatter import tensor_scatter_nd_sub as tensor_scatter_nd_sub
    from jittape.primitives.indexing.scatter import tensor_scatter_nd_update as tensor_scatter_nd_update
    from jittape.primitives.indexing.sorting import argsort as argsort
    from jittape.primitives.indexing.sorting import sort as sort
    from jittape.primitives.indexing.strided import slice_ as slice
    from jittape.primitives.indexing.strided import strided_slice as strided_slice
    from jittape.primitives.indexing.uniqueness import unique as unique
    from jittape.primitives.indexing.uniqueness import unique_with_counts as unique_with_counts
    from jittape.primitives.linalg.einsum import einsum as einsum
    from jittape.primitives.linalg.matmul import matmul as matmul
    from jittape.primitives.linalg.matmul import tensordot as tensordot
    from jittape.primitives.linalg.sparse_products import sparse_matmul as sparse_matmul
    from jittape.primitives.nn.gradient_clipping import clip_by_average_norm as clip_by_average_norm
    from jittape.primitives.nn.gradient_clipping import clip_by_global_norm as clip_by_global_norm
    from jittape.primitives.nn.gradient_clipping import clip_by_norm as clip_by_norm
    from jittape.primitives.reduce.cumulative import cumprod as cumprod
    from jittape.primitives.reduce.cumulative import cumsum as cumsum
    from jittape.primitives.reduce.extremum_indices import argmax as argmax
    from jittape.primitives.reduce.extremum_indices import argmin as argmin
    from jittape.primitives.reduce.reductions import reduce_all as reduce_all
    from jittape.primitives.reduce.reductions import reduce_any as reduce_any
    from jittape.primitives.reduce.reductions import reduce_max as reduce_max
    from jittape.primitives.reduce.reductions import reduce_mean as reduce_mean
    from jittape.primitives.reduce.reductions import reduce_min as reduce_min
    from jittape.primitives.reduce.reductions import reduce_prod as reduce_prod
    from jittape.primitives.reduce.reductions import reduce_sum as reduce_sum
    from jittape.primitives.reduce.statistics import reduce_logsumexp as reduce_logsumexp
    from jittape.primitives.shape.blocks import batch_to_space as batch_to_space
    from jittape.primitives.shape.blocks import space_to_batch as space_to_batch
    from jittape.primitives.shape.blocks import space_to_batch_nd as space_to_batch_nd
    from jittape.primitives.shape.creation import eye as eye
    from jittape.primitives.shape.creation import fill as fill
    from jittape.primitives.shape.creation import linspace as linspace
    from jittape.primitives.shape.creation import ones as ones
    from jittape.primitives.shape.creation import ones_like as ones_like
    from jittape.primitives.shape.creation import range as range
    from jittape.primitives.shape.creation import zeros as zeros
    from jittape.primitives.shape.creation import zeros_like as zeros_like
    from jittape.primitives.shape.indicators import one_hot as one_hot
    from jittape.primitives.shape.indicators import sequence_mask as sequence_mask
    from jittape.primitives.shape.joining import concat as concat
    from jittape.primitives.shape.joining import meshgrid as meshgrid
    from jittape.primitives.shape.joining import split as split
    from jittape.primitives.shape.joining import stack as stack
    from jittape.primitives.shape.joining import unstack as unstack
    from jittape.primitives.shape.reordering import reverse as reverse
    from jittape.primitives.shape.reordering import roll as roll
    from jittape.primitives.shape.reshaping import broadcast_dynamic_shape as broadcast_dynamic_shape
    from jittape.primitives.shape.reshaping import broadcast_static_shape as broadcast_static_shape
    from jittape.primitives.shape.reshaping import broadcast_to as broadcast_to
    from jittape.primitives.shape.reshaping import ensure_shape as ensure_shape
    from jittape.primitives.shape.reshaping import expand_dims as expand_dims
    from jittape.primitives.shape.reshaping import reshape as reshape
    from jittape.primitives.shape.reshaping import squeeze as squeeze
    from jittape.primitives.shape.reshaping import transpose as transpose
    from jittape.primitives.shape.shape_arrays import rank as rank
    from jittape.primitives.shape.shape_arrays import shape as shape
    from jittape.primitives.shape.shape_arrays import shape_n as shape_n
    from jittape.primitives.shape.shape_arrays import size as size
    from jittape.primitives.spectra.eig import eig as eig
    from jittape.primitives.spectra.eig import eigvals as eigvals
    from jittape.primitives.spectra.norms import norm as norm
    from jittape.recording.convert import constant as constant
    from jittape.recording.convert import convert_to_tensor as convert_to_tensor
    from jittape.recording.convert import is_tensor as is_tensor
    from jittape.recording.tensor import Tensor as Tensor
    from jittape.recording.variable import Variable as Variable
    from jittape.recording.variable_scatter import IndexedSlices as IndexedSlices
    from jittape.transforms import batch_jacobian as batch_jacobian
    from jittape.transforms import check_gradient as check_gradient
    from jittape.transforms import grad as grad
    from jittape.transforms import grad_pass_through as grad_pass_through
    from jittape.transforms import hessian as hessian
    from jittape.transforms import hvp as hvp
    from jittape.transforms import jacobian as jacobian
    from jittape.transforms import jvp as jvp
    from jittape.transforms import recompute_grad as recompute_grad
    from jittape.transforms import value_and_grad as value_and_grad
    from jittape.transforms import vjp as vjp
    from jittape.transforms import vmap as vmap

__all__ = [
    "Assert", "CFunction", "CacheWarning", "CompileError", "ConcreteFunction", "ControlFlowError", "DType",
    "DTypeError", "Explanation", "ExportedLibrary", "FitResult", "Function", "FunctionWarning", "GradientTape",
    "IndexedSlices", "LeakedTensorError", "LikelihoodProfile", "LinAlgError", "LineProfile", "Module", "NativeFunction",
    "NjitGradient", "NoGradientError", "NumbaOp",
    "NumericsError", "NutpieDraws", "Profile", "ProgramError", "RecompileWarning", "ShapeError", "Signature",
    "SparseDerivative", "SparsityPattern", "Stats",
    "TapeExitWarning", "TapeUsageWarning", "Tensor", "TensorArray", "TensorShape", "TensorSpec",
    "UnconnectedGradientWarning", "UnconnectedGradients", "Variable",
    "WeightsError", "__version__", "abs", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin",
    "argsort", "as_dtype", "asin", "asinh", "assert_equal", "assert_greater", "assert_less", "assert_rank",
    "atan", "atan2", "atanh", "autodiff", "autograd", "autograph", "batch_jacobian", "batch_to_space", "bfloat16",
    "bitcast", "bitwise", "bitwise_and", "bitwise_or", "bitwise_xor", "bool", "boolean_mask",
    "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case", "cast", "ceil", "cfunc",
    "check_gradient", "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "complex",
    "complex64", "complex128", "concat", "cond", "config", "conj", "constant", "constant_initializer",
    "control_dependencies", "convert_to_tensor", "cos", "cosh", "cumprod", "cumsum", "custom_gradient", "dask", "data",
    "debugging", "device", "divide", "divide_no_nan", "double", "dtypes", "dynamic_partition", "dynamic_stitch",
    "eig", "eigvals", "einsum", "ensure_shape", "equal", "executing_eagerly", "exp", "expand_dims", "explain",
    "explain_recompiles", "export", "eye", "fftnd", "fill", "fit", "flatten_gradients", "float16", "float32", "float64",
    "floor", "floor_divide",
    "floordiv", "foldl", "foldr", "fori_loop", "function", "gather", "gather_nd", "get_current_name_scope",
    "get_logger", "get_static_value", "grad", "grad_pass_through", "greater", "greater_equal", "group", "half",
    "hessian",
    "histogram_fixed_width", "histogram_fixed_width_bins", "hvp", "identity", "identity_n", "ifftnd", "imag",
    "init_scope", "initializers", "inside_function", "int8", "int16", "int32", "int64", "invert", "irfftnd",
    "is_finite", "is_inf", "is_nan", "is_symbolic_tensor", "is_tensor", "jacobian", "jax_call", "jvp", "keras",
    "left_shift", "less", "less_equal", "linalg", "linspace", "logical_and", "logical_not", "logical_or",
    "logical_xor", "losses", "map_fn", "math", "matmul", "matrix_square_root", "maximum", "meshgrid", "metrics",
    "minimum", "mod", "multiply", "multiply_no_nan", "name_scope", "negative", "nest", "newaxis",
    "njit_function", "njit_grad", "njit_hvp", "njit_jvp", "njit_rule", "njit_value_and_grad", "nn", "no_op", "norm",
    "not_equal", "numba_op", "numpy", "numpy_function", "nutpie", "nutpie_draws", "one_hot", "ones", "ones_initializer",
    "ones_like", "optimizers", "pad", "plot", "pow", "print", "profile", "progress", "py_function", "pytensor_op",
    "random", "random_normal_initializer",
    "random_uniform_initializer", "range",
    "rank", "real", "realdiv", "recompute_grad", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "repeat", "reset_stats", "reshape", "reverse",
    "reverse_sequence", "rfftnd", "right_shift", "roll", "round", "saturate_cast", "scalar_mul", "scan",
    "scatter_nd", "scipy", "searchsorted", "sequence_mask", "shape", "shape_n", "sigmoid", "sign", "signal", "sin",
    "sinh", "size", "slice", "sort", "space_to_batch", "space_to_batch_nd",
    "sparse_hessian", "sparse_hvp", "sparse_jacobian", "sparse_matmul", "split", "sqrt", "square",
    "squared_difference", "squeeze", "stack", "stats", "stop_gradient", "strided_slice", "subtract",
    "switch_case", "tan", "tanh", "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensordot", "test", "tile", "timestamp", "torch_function",
    "train", "transpose", "truediv", "truncatediv", "truncatemod", "uint8", "uint16", "uint32", "uint64", "unique",
    "unique_with_counts", "unravel_index", "unstack", "value_and_grad", "vectorized_map", "vjp", "vmap", "where",
    "while_loop", "zeros", "zeros_initializer", "zeros_like",
]  # fmt: skip

newaxis = None
if not _typing.TYPE_CHECKING:  # type checkers would find any name
    __getattr__ = _lazily(__name__, _MODULES)
_hide_frames_of_jittape()
_install_import_hooks()
_find_aliases()


def __dir__() -> list[str]:
    return __all__
