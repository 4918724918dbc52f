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

__all__ = ["curve_fit", "fixed_point", "least_squares", "minimize", "root", "root_scalar"]

_OF_SCIPY = ("Bounds", "LinearConstraint", "NonlinearConstraint", "OptimizeResult", "OptimizeWarning")
_missing = _lazily(__name__, {})


def __getattr__(name: str) -> _Any:
    """Return a class of SciPy's that programs import from here."""
    return getattr(_import_module("scipy.optimize"), name) if name in _OF_SCIPY else _missing(name)


def __dir__() -> list[str]:
    return __all__
