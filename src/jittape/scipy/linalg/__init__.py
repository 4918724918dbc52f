"""Linear algebra with SciPy's conventions (``jittape.scipy.linalg``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.linalg.banded_systems import cho_solve_banded as cho_solve_banded
from jittape.scipy.linalg.banded_systems import cholesky_banded as cholesky_banded
from jittape.scipy.linalg.banded_systems import solve_banded as solve_banded
from jittape.scipy.linalg.banded_systems import solveh_banded as solveh_banded
from jittape.scipy.linalg.matrix_equations import solve_continuous_lyapunov as solve_continuous_lyapunov
from jittape.scipy.linalg.matrix_equations import solve_discrete_lyapunov as solve_discrete_lyapunov
from jittape.scipy.linalg.matrix_equations import solve_lyapunov as solve_lyapunov
from jittape.scipy.linalg.matrix_equations import solve_sylvester as solve_sylvester
from jittape.scipy.linalg.pivoted_systems import lu as lu
from jittape.scipy.linalg.pivoted_systems import lu_factor as lu_factor
from jittape.scipy.linalg.pivoted_systems import lu_solve as lu_solve
from jittape.scipy.linalg.roots_and_logarithms import logm as logm
from jittape.scipy.linalg.roots_and_logarithms import sqrtm as sqrtm
from jittape.scipy.linalg.schur_factors import schur as schur
from jittape.scipy.linalg.scipy_factors import cho_factor as cho_factor
from jittape.scipy.linalg.scipy_factors import cholesky as cholesky
from jittape.scipy.linalg.scipy_factors import eig as eig
from jittape.scipy.linalg.scipy_factors import eigh as eigh
from jittape.scipy.linalg.scipy_factors import eigvals as eigvals
from jittape.scipy.linalg.scipy_factors import eigvalsh as eigvalsh
from jittape.scipy.linalg.scipy_factors import polar as polar
from jittape.scipy.linalg.scipy_factors import qr as qr
from jittape.scipy.linalg.scipy_factors import svd as svd
from jittape.scipy.linalg.scipy_factors import svdvals as svdvals
from jittape.scipy.linalg.special_matrices import block_diag as block_diag
from jittape.scipy.linalg.special_matrices import circulant as circulant
from jittape.scipy.linalg.special_matrices import hankel as hankel
from jittape.scipy.linalg.special_matrices import toeplitz as toeplitz
from jittape.scipy.linalg.subspaces import coshm as coshm
from jittape.scipy.linalg.subspaces import cosm as cosm
from jittape.scipy.linalg.subspaces import expm_frechet as expm_frechet
from jittape.scipy.linalg.subspaces import norm as norm
from jittape.scipy.linalg.subspaces import null_space as null_space
from jittape.scipy.linalg.subspaces import orth as orth
from jittape.scipy.linalg.subspaces import pinvh as pinvh
from jittape.scipy.linalg.subspaces import sinhm as sinhm
from jittape.scipy.linalg.subspaces import sinm as sinm
from jittape.scipy.linalg.subspaces import subspace_angles as subspace_angles
from jittape.scipy.linalg.subspaces import tanhm as tanhm
from jittape.scipy.linalg.subspaces import tanm as tanm
from jittape.scipy.linalg.systems import cho_solve as cho_solve
from jittape.scipy.linalg.systems import det as det
from jittape.scipy.linalg.systems import expm as expm
from jittape.scipy.linalg.systems import inv as inv
from jittape.scipy.linalg.systems import lstsq as lstsq
from jittape.scipy.linalg.systems import pinv as pinv
from jittape.scipy.linalg.systems import solve as solve
from jittape.scipy.linalg.systems import solve_triangular as solve_triangular

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "expm_frechet",
    "hankel",
    "inv",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "null_space",
    "orth",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "schur",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "subspace_angles",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
