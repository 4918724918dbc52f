"""Linear algebra under TensorFlow's names (``jt.linalg``)."""

from jittape.primitives.clipping import global_norm as global_norm
from jittape.primitives.contract import matmul as matmul
from jittape.primitives.contract import matvec as matvec
from jittape.primitives.contract import tensordot as tensordot
from jittape.primitives.creation import eye as eye
from jittape.primitives.einsum import diag_part as diag_part
from jittape.primitives.einsum import einsum as einsum
from jittape.primitives.einsum import trace as trace
from jittape.primitives.shape import matrix_transpose as matrix_transpose
from jittape.primitives.statistics import norm as norm
