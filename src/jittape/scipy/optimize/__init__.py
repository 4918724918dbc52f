"""Minimization, roots and fits under SciPy's names (``jittape.scipy.optimize``)."""

from importlib import import_module as _import_module
from typing import Any as _Any

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.optimize.fitting import curve_fit as curve_fit
from jittape.scipy.optimize.fitting import least_squares as least_squares
from jittape.scipy.optimize.minimization import minimize as minimize
from jittape.scipy.optimize.roots import fixed_point as fixed_point
from jittape.scipy.optimize.roots import root as root
from jittape.scipy.optimize.roots import root_scalar as root_scalar
from jittape.scipy.optimize.scalar_minima import fminbound as fminbound
from jittape.scipy.optimize.scalar_minima import minimize_scalar as minimize_scalar
from jittape.scipy.optimize.scalar_roots import bisect as bisect
from jittape.scipy.optimize.scalar_roots import brenth as brenth
from jittape.scipy.optimize.scalar_roots import brentq as brentq
from jittape.scipy.optimize.scalar_roots import fsolve as fsolve
from jittape.scipy.optimize.scalar_roots import newton as newton
from jittape.scipy.optimize.scalar_roots import ridder as ridder
from jittape.scipy.optimize.scalar_roots import toms748 as toms748

__all__ = [
    "bisect", "brenth", "brentq", "curve_fit", "fixed_point", "fminbound", "fsolve", "least_squares", "minimize",
    "minimize_scalar", "newton", "ridder", "root", "root_scalar", "toms748",
]  # fmt: skip

_OF_SCIPY = ("Bounds", "LinearConstraint", "NonlinearConstraint", "OptimizeResult", "OptimizeWarning")
_missing = _lazily(__name__, {})


def __getattr__(name: str) -> _Any:
    """Return a class of SciPy's that programs import from here."""
    return getattr(_import_module("scipy.optimize"), name) if name in _OF_SCIPY else _missing(name)


def __dir__() -> list[str]:
    return __all__
