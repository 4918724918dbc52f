"""Differential equations and integrals under SciPy's names (``jittape.scipy.integrate``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.integrate.initial_value_problems import odeint as odeint
from jittape.scipy.integrate.initial_value_problems import solve_ivp as solve_ivp
from jittape.scipy.integrate.integral_rules import cumulative_trapezoid as cumulative_trapezoid
from jittape.scipy.integrate.integral_rules import fixed_quad as fixed_quad
from jittape.scipy.integrate.integral_rules import quad as quad
from jittape.scipy.integrate.integral_rules import romb as romb
from jittape.scipy.integrate.integral_rules import simpson as simpson
from jittape.scipy.integrate.integral_rules import trapezoid as trapezoid

__all__ = [
    "cumulative_trapezoid",
    "fixed_quad",
    "odeint",
    "quad",
    "romb",
    "simpson",
    "solve_ivp",
    "trapezoid",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
