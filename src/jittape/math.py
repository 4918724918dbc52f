"""Mathematical functions under TensorFlow's names (``jt.math``)."""

from jittape import math_special as special
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.arithmetic import add as add
from jittape.primitives.elementwise.arithmetic import add_n as add_n
from jittape.primitives.elementwise.arithmetic import multiply as multiply
from jittape.primitives.elementwise.arithmetic import negative as negative
from jittape.primitives.elementwise.arithmetic import polyval as polyval
from jittape.primitives.elementwise.arithmetic import positive as positive
from jittape.primitives.elementwise.arithmetic import scalar_mul as scalar_mul
from jittape.primitives.elementwise.arithmetic import square as square
from jittape.primitives.elementwise.arithmetic import squared_difference as squared_difference
from jittape.primitives.elementwise.arithmetic import subtract as subtract
from jittape.primitives.elementwise.bessel import bessel_j0 as bessel_j0
from jittape.primitives.elementwise.bessel import bessel_j1 as bessel_j1
from jittape.primitives.elementwise.bessel import bessel_y0 as bessel_y0
from jittape.primitives.elementwise.bessel import bessel_y1 as bessel_y1
from jittape.primitives.elementwise.bits import is_finite as is_finite
from jittape.primitives.elementwise.bits import is_inf as is_inf
from jittape.primitives.elementwise.bits import is_nan as is_nan
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
from jittape.primitives.elementwise.complex_numbers import conj as conj
from jittape.primitives.elementwise.complex_numbers import imag as imag
from jittape.primitives.elementwise.complex_numbers import real as real
from jittape.primitives.elementwise.division import divide as divide
from jittape.primitives.elementwise.division import divide_no_nan as divide_no_nan
from jittape.primitives.elementwise.division import floor_divide as floor_divide
from jittape.primitives.elementwise.division import mod as mod
from jittape.primitives.elementwise.division import multiply_no_nan as multiply_no_nan
from jittape.primitives.elementwise.division import reciprocal as reciprocal
from jittape.primitives.elementwise.division import reciprocal_no_nan as reciprocal_no_nan
from jittape.primitives.elementwise.error_functions import erf as erf
from jittape.primitives.elementwise.error_functions import erfc as erfc
from jittape.primitives.elementwise.error_functions import erfcinv as erfcinv
from jittape.primitives.elementwise.error_functions import erfcx as erfcx
from jittape.primitives.elementwise.error_functions import erfinv as erfinv
from jittape.primitives.elementwise.error_functions import log_ndtr as log_ndtr
from jittape.primitives.elementwise.error_functions import ndtr as ndtr
from jittape.primitives.elementwise.error_functions import ndtri as ndtri
from jittape.primitives.elementwise.exponential import exp as exp
from jittape.primitives.elementwise.exponential import expm1 as expm1
from jittape.primitives.elementwise.exponential import log as log
from jittape.primitives.elementwise.exponential import log1p as log1p
from jittape.primitives.elementwise.exponential import rsqrt as rsqrt
from jittape.primitives.elementwise.exponential import sqrt as sqrt
from jittape.primitives.elementwise.gamma_beta import betaln as betaln
from jittape.primitives.elementwise.gamma_beta import gamma as gamma
from jittape.primitives.elementwise.gamma_beta import gammaln as gammaln
from jittape.primitives.elementwise.hyperbolic import acosh as acosh
from jittape.primitives.elementwise.hyperbolic import asinh as asinh
from jittape.primitives.elementwise.hyperbolic import atanh as atanh
from jittape.primitives.elementwise.hyperbolic import cosh as cosh
from jittape.primitives.elementwise.hyperbolic import log_sigmoid as log_sigmoid
from jittape.primitives.elementwise.hyperbolic import sigmoid as sigmoid
from jittape.primitives.elementwise.hyperbolic import sinh as sinh
from jittape.primitives.elementwise.hyperbolic import softplus as softplus
from jittape.primitives.elementwise.hyperbolic import tanh as tanh
from jittape.primitives.elementwise.incomplete_beta import betainc as betainc
from jittape.primitives.elementwise.incomplete_gamma import igamma as igamma
from jittape.primitives.elementwise.incomplete_gamma import igammac as igammac
from jittape.primitives.elementwise.incomplete_gamma import random_gamma_grad as random_gamma_grad
from jittape.primitives.elementwise.integrals import dawsn as dawsn
from jittape.primitives.elementwise.integrals import expint as expint
from jittape.primitives.elementwise.integrals import fresnel_cos as fresnel_cos
from jittape.primitives.elementwise.integrals import fresnel_sin as fresnel_sin
from jittape.primitives.elementwise.integrals import spence as spence
from jittape.primitives.elementwise.modified_bessel import bessel_i0 as bessel_i0
from jittape.primitives.elementwise.modified_bessel import bessel_i0e as bessel_i0e
from jittape.primitives.elementwise.modified_bessel import bessel_i1 as bessel_i1
from jittape.primitives.elementwise.modified_bessel import bessel_i1e as bessel_i1e
from jittape.primitives.elementwise.modified_bessel import bessel_k0 as bessel_k0
from jittape.primitives.elementwise.modified_bessel import bessel_k0e as bessel_k0e
from jittape.primitives.elementwise.modified_bessel import bessel_k1 as bessel_k1
from jittape.primitives.elementwise.modified_bessel import bessel_k1e as bessel_k1e
from jittape.primitives.elementwise.piecewise import absolute as absolute
from jittape.primitives.elementwise.piecewise import ceil as ceil
from jittape.primitives.elementwise.piecewise import floor as floor
from jittape.primitives.elementwise.piecewise import maximum as maximum
from jittape.primitives.elementwise.piecewise import minimum as minimum
from jittape.primitives.elementwise.piecewise import round as round
from jittape.primitives.elementwise.piecewise import sign as sign
from jittape.primitives.elementwise.powers import pow as pow
from jittape.primitives.elementwise.smooth_functions import logcosh as logcosh
from jittape.primitives.elementwise.smooth_functions import sinc as sinc
from jittape.primitives.elementwise.special import digamma as digamma
from jittape.primitives.elementwise.special import lgamma as lgamma
from jittape.primitives.elementwise.special import polygamma as polygamma
from jittape.primitives.elementwise.special import xdivy as xdivy
from jittape.primitives.elementwise.special import xlog1py as xlog1py
from jittape.primitives.elementwise.special import xlogy as xlogy
from jittape.primitives.elementwise.special import zeta as zeta
from jittape.primitives.elementwise.trigonometric import acos as acos
from jittape.primitives.elementwise.trigonometric import asin as asin
from jittape.primitives.elementwise.trigonometric import atan as atan
from jittape.primitives.elementwise.trigonometric import atan2 as atan2
from jittape.primitives.elementwise.trigonometric import cos as cos
from jittape.primitives.elementwise.trigonometric import sin as sin
from jittape.primitives.elementwise.trigonometric import tan as tan
from jittape.primitives.elementwise.truncation import nextafter as nextafter
from jittape.primitives.indexing.binary_search import lower_bound as lower_bound
from jittape.primitives.indexing.binary_search import upper_bound as upper_bound
from jittape.primitives.indexing.histograms import bincount as bincount
from jittape.primitives.indexing.histograms import confusion_matrix as confusion_matrix
from jittape.primitives.indexing.partitions import invert_permutation as invert_permutation
from jittape.primitives.indexing.segments import segment_max as segment_max
from jittape.primitives.indexing.segments import segment_mean as segment_mean
from jittape.primitives.indexing.segments import segment_min as segment_min
from jittape.primitives.indexing.segments import segment_prod as segment_prod
from jittape.primitives.indexing.segments import segment_sum as segment_sum
from jittape.primitives.indexing.sorting import top_k as top_k
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_max as unsorted_segment_max
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_mean as unsorted_segment_mean
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_min as unsorted_segment_min
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_prod as unsorted_segment_prod
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_sum as unsorted_segment_sum
from jittape.primitives.nn.activation import l2_normalize as l2_normalize
from jittape.primitives.nn.activation import log_softmax as log_softmax
from jittape.primitives.nn.activation import softmax as softmax
from jittape.primitives.nn.activation import softsign as softsign
from jittape.primitives.nn.top_classes import in_top_k as in_top_k
from jittape.primitives.reduce.cumulative import cumprod as cumprod
from jittape.primitives.reduce.cumulative import cumsum as cumsum
from jittape.primitives.reduce.cumulative import cumulative_logsumexp as cumulative_logsumexp
from jittape.primitives.reduce.extremum_indices import argmax as argmax
from jittape.primitives.reduce.extremum_indices import argmin as argmin
from jittape.primitives.reduce.multivariate_gamma import lbeta as lbeta
from jittape.primitives.reduce.multivariate_gamma import multigammaln as multigammaln
from jittape.primitives.reduce.reductions import reduce_all as reduce_all
from jittape.primitives.reduce.reductions import reduce_any as reduce_any
from jittape.primitives.reduce.reductions import reduce_max as reduce_max
from jittape.primitives.reduce.reductions import reduce_mean as reduce_mean
from jittape.primitives.reduce.reductions import reduce_min as reduce_min
from jittape.primitives.reduce.reductions import reduce_prod as reduce_prod
from jittape.primitives.reduce.reductions import reduce_sum as reduce_sum
from jittape.primitives.reduce.statistics import count_nonzero as count_nonzero
from jittape.primitives.reduce.statistics import is_non_decreasing as is_non_decreasing
from jittape.primitives.reduce.statistics import is_strictly_increasing as is_strictly_increasing
from jittape.primitives.reduce.statistics import reduce_logsumexp as reduce_logsumexp
from jittape.primitives.reduce.statistics import reduce_std as reduce_std
from jittape.primitives.reduce.statistics import reduce_variance as reduce_variance
from jittape.primitives.reduce.statistics import zero_fraction as zero_fraction
from jittape.primitives.spectra.norms import reduce_euclidean_norm as reduce_euclidean_norm

__all__ = [
    "abs", "absolute", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin",
    "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0",
    "bessel_j1", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "betainc",
    "betaln", "bincount", "ceil", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cumprod",
    "cumsum", "cumulative_logsumexp", "dawsn", "digamma", "divide", "divide_no_nan", "equal", "erf", "erfc",
    "erfcinv", "erfcx", "erfinv", "exp", "expint", "expm1", "floor", "floor_divide", "floordiv", "floormod",
    "fresnel_cos", "fresnel_sin", "gamma", "gammaln", "greater", "greater_equal", "igamma", "igammac", "imag",
    "in_top_k", "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_strictly_increasing", "l2_normalize", "lbeta", "less", "less_equal", "lgamma", "log", "log1p",
    "log_ndtr", "log_sigmoid", "log_softmax", "logcosh", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lower_bound", "maximum", "minimum", "mod", "multigammaln", "multiply", "multiply_no_nan",
    "ndtr", "ndtri", "negative", "nextafter", "not_equal", "polygamma", "polyval", "positive", "pow",
    "random_gamma_grad", "real", "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any",
    "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod",
    "reduce_std", "reduce_sum", "reduce_variance", "rint", "round", "rsqrt", "scalar_mul", "segment_max",
    "segment_mean", "segment_min", "segment_prod", "segment_sum", "sigmoid", "sign", "sin", "sinc", "sinh",
    "softmax", "softplus", "softsign", "special", "spence", "sqrt", "square", "squared_difference",
    "subtract", "tan", "tanh", "top_k", "truediv", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
    "upper_bound", "xdivy", "xlog1py", "xlogy", "zero_fraction", "zeta",
]  # fmt: skip

abs = absolute
accumulate_n = add_n
floordiv = floor_divide
floormod = mod
rint = round
truediv = divide

__getattr__ = _lazily(__name__, {})
__path__: list[str] = []  # so that "import jittape.math.special" asks for a module


def __dir__() -> list[str]:
    return __all__
