"""Linear algebra with SciPy's conventions (``jittape.scipy.linalg``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.linalg.scipy_factors import cho_factor as cho_factor
from jittape.scipy.linalg.scipy_factors import cholesky as cholesky
from jittape.scipy.linalg.scipy_factors import eig as eig
from jittape.scipy.linalg.scipy_factors import eigh as eigh
from jittape.scipy.linalg.scipy_factors import eigvals as eigvals
from jittape.scipy.linalg.scipy_factors import eigvalsh as eigvalsh
from jittape.scipy.linalg.scipy_factors import lu as lu
from jittape.scipy.linalg.scipy_factors import lu_factor as lu_factor
from jittape.scipy.linalg.scipy_factors import polar as polar
from jittape.scipy.linalg.scipy_factors import qr as qr
from jittape.scipy.linalg.scipy_factors import svd as svd
from jittape.scipy.linalg.scipy_factors import svdvals as svdvals
from jittape.scipy.linalg.systems import block_diag as block_diag
from jittape.scipy.linalg.systems import cho_solve as cho_solve
from jittape.scipy.linalg.systems import circulant as circulant
from jittape.scipy.linalg.systems import det as det
from jittape.scipy.linalg.systems import expm as expm
from jittape.scipy.linalg.systems import hankel as hankel
from jittape.scipy.linalg.systems import inv as inv
from jittape.scipy.linalg.systems import logm as logm
from jittape.scipy.linalg.systems import lstsq as lstsq
from jittape.scipy.linalg.systems import lu_solve as lu_solve
from jittape.scipy.linalg.systems import pinv as pinv
from jittape.scipy.linalg.systems import solve as solve
from jittape.scipy.linalg.systems import solve_triangular as solve_triangular
from jittape.scipy.linalg.systems import sqrtm as sqrtm
from jittape.scipy.linalg.systems import toeplitz as toeplitz

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "hankel",
    "inv",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "pinv",
    "polar",
    "qr",
    "solve",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
