"""SciPy's names for programs of autograd: `special`, `stats`, `linalg`, `signal` and `integrate`.

Modules are imported when they are first used, and SciPy at the first use of a function.

Examples
--------
>>> from jittape.autograd import grad
>>> from jittape.autograd.scipy.special import gammaln
>>> print(f"{grad(gammaln)(1.0):.6f}")
-0.577216
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.autograd.scipy import integrate as integrate
    from jittape.autograd.scipy import linalg as linalg
    from jittape.autograd.scipy import signal as signal
    from jittape.autograd.scipy import special as special
    from jittape.autograd.scipy import stats as stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]

__getattr__ = _lazily(__name__, {f"{__name__}.{name}": {name: ""} for name in __all__})


def __dir__() -> list[str]:
    return __all__
