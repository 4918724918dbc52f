"""Gradients of the user's ``@njit`` functions: reverse mode as a source transformation."""

from jittape.numba_ad.gradient_function import NjitGradient as NjitGradient
from jittape.numba_ad.gradient_function import is_dispatcher as is_dispatcher
from jittape.numba_ad.gradient_function import register_callable as register_callable
from jittape.numba_ad.njit_grad import gradient_of_dispatcher as gradient_of_dispatcher
from jittape.numba_ad.njit_grad import njit_grad as njit_grad
from jittape.numba_ad.njit_grad import njit_hvp as njit_hvp
from jittape.numba_ad.njit_grad import njit_jvp as njit_jvp
from jittape.numba_ad.njit_grad import njit_rule as njit_rule
