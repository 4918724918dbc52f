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
    from jittape.interop import cfunc as cfunc
    from jittape.interop import jax_call as jax_call
    from jittape.interop import nutpie as nutpie
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
    from jittape.numba_bridge import NativeFunction as NativeFunction
    from jittape.numba_bridge import NumbaOp as NumbaOp
    from jittape.numba_bridge import njit_function as njit_function
    from jittape.numba_bridge import njit_value_and_grad as njit_value_and_grad
    from jittape.numba_bridge import numba_op as numba_op
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
            "autograd",
            "autograph",
            "dask",
            "data",
            "keras",
            "nest",
            "numpy",
            "optimizers",
            "plot",
            "scipy",
            "train",
        )
    },
    "jittape.debugging": (
        "debugging",
        "Assert",
        "assert_equal",
        "assert_greater",
        "assert_less",
        "assert_rank",
    ),
    "jittape.dtype_names": {"dtypes": "", "bfloat16": "bfloat16"},
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
    "jittape.interop": ("CFunction", "cfunc", "jax_call", "nutpie", "pytensor_op", "torch_function"),
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
    "jittape.linalg": {"matrix_square_root": "sqrtm"},
    "jittape.autodiff.flat_gradients": ("flatten_gradients",),
    "jittape.numba_ad": ("NjitGradient", "njit_grad", "njit_hvp", "njit_jvp", "njit_rule"),
    "jittape.numba_bridge": (
        "NativeFunction",
        "NumbaOp",
        "njit_function",
        "njit_value_and_grad",
        "numba_op",
    ),
    "jittape.profiling": ("LineProfile", "Profile", "explain_recompiles", "profile"),
    "jittape.progress_bar": ("progress",),
    "jittape.signal": ("signal", "fftnd", "ifftnd", "irfftnd", "rfftnd"),
    "jittape.sparse": (
        "SparseDerivative",
        "SparsityPattern",
        "sparse_hessian",
        "sparse_hvp",
        "sparse_jacobian",
    ),
}
"""The names that each module provides, as for `jittape.lazy_names.lazily`."""
