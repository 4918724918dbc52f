"""SciPy's names for programs of autograd: `special`, `stats`, `linalg`, `signal` and `integrate`.

SciPy is imported at the first use of a function.

Examples
--------
>>> from jittape.autograd import grad
>>> from jittape.autograd.scipy.special import gammaln
>>> print(f"{grad(gammaln)(1.0):.6f}")
-0.577216
"""

from jittape.autograd.scipy import integrate as integrate
from jittape.autograd.scipy import linalg as linalg
from jittape.autograd.scipy import signal as signal
from jittape.autograd.scipy import special as special
from jittape.autograd.scipy import stats as stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]


def __dir__() -> list[str]:
    return __all__
