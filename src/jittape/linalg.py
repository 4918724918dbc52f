"""Linear algebra under TensorFlow's names (``jt.linalg``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.primitives.linalg.banded import banded_triangular_solve as banded_triangular_solve
from jittape.primitives.linalg.cholesky import cholesky as cholesky
from jittape.primitives.linalg.cholesky import cholesky_solve as cholesky_solve
from jittape.primitives.linalg.determinants import det as det
from jittape.primitives.linalg.determinants import logdet as logdet
from jittape.primitives.linalg.determinants import slogdet as slogdet
from jittape.primitives.linalg.einsum import diag_part as diag_part
from jittape.primitives.linalg.einsum import einsum as einsum
from jittape.primitives.linalg.einsum import trace as trace
from jittape.primitives.linalg.lu import lu as lu
from jittape.primitives.linalg.lu import lu_matrix_inverse as lu_matrix_inverse
from jittape.primitives.linalg.lu import lu_reconstruct as lu_reconstruct
from jittape.primitives.linalg.lu import lu_solve as lu_solve
from jittape.primitives.linalg.matmul import matmul as matmul
from jittape.primitives.linalg.matmul import matvec as matvec
from jittape.primitives.linalg.matmul import outer as outer
from jittape.primitives.linalg.matmul import tensordot as tensordot
from jittape.primitives.linalg.matrices import adjoint as adjoint
from jittape.primitives.linalg.matrices import band_part as band_part
from jittape.primitives.linalg.matrices import cross as cross
from jittape.primitives.linalg.matrices import diag as diag
from jittape.primitives.linalg.matrices import set_diag as set_diag
from jittape.primitives.linalg.matrices import tensor_diag as tensor_diag
from jittape.primitives.linalg.matrices import tensor_diag_part as tensor_diag_part
from jittape.primitives.linalg.matrix_products import inner as inner
from jittape.primitives.linalg.matrix_products import kron as kron
from jittape.primitives.linalg.matrix_products import matrix_power as matrix_power
from jittape.primitives.linalg.matrix_products import multi_dot as multi_dot
from jittape.primitives.linalg.matrix_products import vander as vander
from jittape.primitives.linalg.matrix_products import vecdot as vecdot
from jittape.primitives.linalg.qr import qr as qr
from jittape.primitives.linalg.solve import inv as inv
from jittape.primitives.linalg.solve import solve as solve
from jittape.primitives.linalg.tensor_equations import tensorinv as tensorinv
from jittape.primitives.linalg.tensor_equations import tensorsolve as tensorsolve
from jittape.primitives.linalg.triangular import triangular_solve as triangular_solve
from jittape.primitives.linalg.tridiagonal import tridiagonal_matmul as tridiagonal_matmul
from jittape.primitives.linalg.tridiagonal import tridiagonal_solve as tridiagonal_solve
from jittape.primitives.nn.activation import l2_normalize as l2_normalize
from jittape.primitives.nn.gradient_clipping import global_norm as global_norm
from jittape.primitives.shape.creation import eye as eye
from jittape.primitives.shape.reshaping import matrix_transpose as matrix_transpose
from jittape.primitives.spectra.eig import eig as eig
from jittape.primitives.spectra.eig import eigvals as eigvals
from jittape.primitives.spectra.eigh import eigh as eigh
from jittape.primitives.spectra.eigh import eigh_tridiagonal as eigh_tridiagonal
from jittape.primitives.spectra.eigh import eigvalsh as eigvalsh
from jittape.primitives.spectra.lstsq import lstsq as lstsq
from jittape.primitives.spectra.matrix_functions import expm as expm
from jittape.primitives.spectra.matrix_functions import logm as logm
from jittape.primitives.spectra.matrix_functions import sqrtm as sqrtm
from jittape.primitives.spectra.norms import matrix_norm as matrix_norm
from jittape.primitives.spectra.norms import norm as norm
from jittape.primitives.spectra.norms import normalize as normalize
from jittape.primitives.spectra.norms import vector_norm as vector_norm
from jittape.primitives.spectra.pseudoinverse import cond as cond
from jittape.primitives.spectra.pseudoinverse import matrix_rank as matrix_rank
from jittape.primitives.spectra.pseudoinverse import pinv as pinv
from jittape.primitives.spectra.svd import svd as svd
from jittape.primitives.spectra.svd import svdvals as svdvals

__all__ = [
    "adjoint",
    "band_part",
    "banded_triangular_solve",
    "cholesky",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inner",
    "inv",
    "kron",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "multi_dot",
    "norm",
    "normalize",
    "outer",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "svdvals",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
    "vander",
    "vecdot",
    "vector_norm",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
