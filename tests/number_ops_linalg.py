"""Linear algebra, for `test_number_ops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

import jittape as jt
from number_ops import (
    Array,
    NumberOp,
    between,
    dominant,
    normal,
    np_parts,
    np_projector,
    np_symmetric,
    parts,
    positive_definite,
    projector,
    symmetric,
)

la, nla, sla = jt.linalg, np.linalg, scipy.linalg


def complex_of(x: Any) -> Any:
    return jt.complex64 if x.dtype == jt.float32 else jt.complex128


def stacked(a: Array, function: Any) -> Array:
    """Return the results of a function of one matrix for each of a batch."""
    if a.ndim == 2:
        return np.asarray(function(a))
    return np.stack([stacked(part, function) for part in a])


def bands(d: Array, shift: float) -> Array:
    """Return the tridiagonal matrix of TensorFlow's compact diagonals, with `shift` added to the main one."""
    n = d.shape[-1]
    result = np.zeros((*d.shape[:-2], n, n))
    i = np.arange(n)
    result[..., i, i] = d[..., 1, :] + shift
    result[..., i[:-1], i[1:]] = d[..., 0, :-1]
    result[..., i[1:], i[:-1]] = d[..., 2, 1:]
    return result


LINALG = (
    NumberOp("cholesky", lambda a: la.cholesky(symmetric(a)), positive_definite(4), nla.cholesky),
    NumberOp(
        "cholesky_solve",
        lambda a, b: la.cholesky_solve(la.cholesky(symmetric(a)), b),
        positive_definite(4, (4, 2)),
        nla.solve,
    ),
    NumberOp("solve", la.solve, dominant(4, (4, 2)), nla.solve),
    NumberOp(
        "solve adjoint",
        lambda a, b: la.solve(a, b, adjoint=True),
        dominant(4, (4, 2)),
        lambda a, b: nla.solve(np.swapaxes(a, -1, -2), b),
    ),
    NumberOp("solve of 12 rows", la.solve, dominant(12, (12, 3)), nla.solve),
    NumberOp(
        "triangular_solve",
        la.triangular_solve,
        dominant(4, (4, 2)),
        lambda a, b: nla.solve(np.tril(a), b),
    ),
    NumberOp(
        "triangular_solve upper adjoint",
        lambda a, b: la.triangular_solve(a, b, lower=False, adjoint=True),
        dominant(4, (4, 2)),
        lambda a, b: nla.solve(np.swapaxes(np.triu(a), -1, -2), b),
    ),
    NumberOp(
        "tridiagonal_solve",
        lambda d, b: la.tridiagonal_solve(d + jt.constant([[0.0], [4.0], [0.0]], d.dtype), b),
        normal((3, 5), (5, 2)),
        lambda d, b: nla.solve(bands(d, 4.0), b),
    ),
    NumberOp(
        "tridiagonal_matmul",
        lambda d, b: la.tridiagonal_matmul(d, b),
        normal((3, 5), (5, 2)),
        lambda d, b: bands(d, 0.0) @ b,
    ),
    NumberOp("lu", lambda a: la.lu(a)[0], dominant(4), lambda a: stacked(a, lambda m: sla.lu_factor(m)[0])),
    NumberOp("lu_solve", lambda a, b: la.lu_solve(*la.lu(a), b), dominant(4, (4, 2)), nla.solve),
    NumberOp("lu_reconstruct", lambda a: la.lu_reconstruct(*la.lu(a)), dominant(4), lambda a: a),
    NumberOp("lu_matrix_inverse", lambda a: la.lu_matrix_inverse(*la.lu(a)), dominant(4), nla.inv),
    NumberOp("inv", la.inv, dominant(4), nla.inv),
    NumberOp(
        "inv adjoint",
        lambda a: la.inv(a, adjoint=True),
        dominant(4),
        lambda a: np.swapaxes(nla.inv(a), -1, -2),
    ),
    NumberOp("pinv tall", la.pinv, normal((5, 3)), nla.pinv, tolerance=1e-12),
    NumberOp("pinv wide", la.pinv, normal((3, 5)), nla.pinv, tolerance=1e-12),
    NumberOp("det", la.det, dominant(3), nla.det),
    NumberOp("det of 9 rows", la.det, lambda rng: (dominant(9)(rng)[0] / 5,), nla.det),
    NumberOp("slogdet", lambda a: la.slogdet(a)[1], dominant(4), lambda a: nla.slogdet(a)[1]),
    NumberOp("logdet", lambda a: la.logdet(symmetric(a)), positive_definite(4), lambda a: nla.slogdet(a)[1]),
    NumberOp(
        "eigh",
        lambda a: projector(la.eigh(symmetric(a))[1][..., :2]),
        dominant(5),
        lambda a: np_projector(nla.eigh(np_symmetric(a))[1][..., :2]),
        tolerance=1e-12,
    ),
    NumberOp(
        "eigvalsh", lambda a: la.eigvalsh(symmetric(a)), dominant(5), lambda a: nla.eigvalsh(np_symmetric(a))
    ),
    NumberOp(
        "eig",
        lambda a: parts(la.eig(a)[0]),
        lambda rng: (np.diag(np.arange(1.0, 9.0, 2)) + 0.2 * rng.standard_normal((4, 4)),),
        lambda a: np_parts(nla.eig(a)[0]),
    ),
    NumberOp(
        "eigvals cubed",
        lambda a: jt.math.real(jt.reduce_sum(la.eigvals(a) ** 3, -1)),
        normal((4, 4)),
        lambda a: np.sum(nla.eigvals(a) ** 3, -1).real,
    ),
    NumberOp(
        "eigh_tridiagonal",
        lambda d, e: la.eigh_tridiagonal(d, e),
        lambda rng: (np.arange(5.0) + rng.uniform(0, 0.3, 5), rng.standard_normal(4)),
        lambda d, e: sla.eigh_tridiagonal(d, e, eigvals_only=True),
        leading=False,
    ),
    NumberOp("svd values", lambda a: la.svd(a)[0], normal((5, 3)), lambda a: nla.svd(a)[1]),
    NumberOp(
        "svd vectors",
        lambda a: projector(la.svd(a)[1][..., :1]),
        normal((5, 3)),
        lambda a: np_projector(nla.svd(a)[0][..., :1]),
        tolerance=1e-12,
    ),
    NumberOp(
        "svd full",
        lambda a: projector(la.svd(a, full_matrices=True)[1][..., 3:]),
        normal((5, 3)),
        lambda a: np_projector(nla.svd(a)[0][..., 3:]),
        tolerance=1e-12,
    ),
    NumberOp("svdvals", la.svdvals, normal((3, 5)), lambda a: nla.svd(a)[1]),
    NumberOp("qr r", lambda a: jt.square(la.qr(a).r), normal((5, 3)), lambda a: nla.qr(a)[1] ** 2),
    NumberOp(
        "qr q",
        lambda a: projector(la.qr(a).q),
        normal((5, 3)),
        lambda a: np_projector(nla.qr(a)[0]),
        tolerance=1e-12,
    ),
    NumberOp("qr wide", lambda a: jt.square(la.qr(a).r), normal((3, 5)), lambda a: nla.qr(a)[1] ** 2),
    NumberOp(
        "lstsq",
        la.lstsq,
        normal((5, 3), (5, 2)),
        lambda a, b: nla.pinv(a) @ b,
        tolerance=1e-12,
    ),
    NumberOp(
        "lstsq wide regularized",
        lambda a, b: la.lstsq(a, b, l2_regularizer=0.3),
        normal((3, 5), (3, 2)),
        lambda a, b: np.swapaxes(a, -1, -2) @ nla.solve(a @ np.swapaxes(a, -1, -2) + 0.3 * np.eye(3), b),
        tolerance=1e-12,
    ),
    NumberOp("expm", la.expm, normal((4, 4)), sla.expm, tolerance=1e-12),
    NumberOp(
        "sqrtm", lambda a: la.sqrtm(symmetric(a)), positive_definite(4), lambda a: stacked(a, sla.sqrtm)
    ),
    NumberOp("sqrtm general", la.sqrtm, dominant(4), lambda a: stacked(a, sla.sqrtm), tolerance=1e-12),
    NumberOp(
        "logm",
        lambda a: parts(la.logm(jt.cast(a, complex_of(a)))),
        positive_definite(4),
        lambda a: np_parts(stacked(a, sla.logm)),
        tolerance=1e-12,
    ),
    NumberOp(
        "matrix_power",
        lambda a: la.matrix_power(a, 5),
        between(-0.7, 0.7, (3, 3)),
        lambda a: nla.matrix_power(a, 5),
    ),
    NumberOp(
        "matrix_power -2", lambda a: la.matrix_power(a, -2), dominant(3), lambda a: nla.matrix_power(a, -2)
    ),
    *(
        NumberOp(
            f"matrix_norm {order}",
            lambda a, o=order: la.matrix_norm(a, ord=o),
            normal((4, 3)),
            lambda a, o=order: nla.norm(a, o, axis=(-2, -1)),
        )
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ),
    *(
        NumberOp(
            f"vector_norm {order}",
            lambda a, o=order: la.vector_norm(a, ord=o, axis=-1),
            normal((4,)),
            lambda a, o=order: nla.norm(a, o, axis=-1),
        )
        for order in (2, 1, 3, 0.5, -1, np.inf, -np.inf)
    ),
    *(
        NumberOp(
            f"cond {order}",
            lambda a, o=order: la.cond(a, p=o),
            dominant(3),
            lambda a, o=order: nla.cond(a, o),
        )
        for order in (None, "fro", 1, -1, 2, -2, np.inf, -np.inf)
    ),
    NumberOp(
        "multi_dot",
        lambda a, b, c: la.multi_dot([a, b, c]),
        normal((2, 3), (3, 4), (4, 2)),
        lambda a, b, c: nla.multi_dot([a, b, c]),
        leading=False,
    ),
    NumberOp("kron", la.kron, normal((2, 3), (3, 2)), np.kron, leading=False),
    NumberOp("outer", la.outer, normal((3,), (4,)), np.multiply.outer, leading=False),
    NumberOp("cross", la.cross, normal((3,), (3,)), np.cross),
    NumberOp("vander", lambda x: la.vander(x, 5), normal((4,)), lambda x: np.vander(x, 5), leading=False),
    NumberOp("tensor_diag", la.tensor_diag, normal((3,)), np.diag, leading=False),
    NumberOp(
        "tensor_diag_part",
        la.tensor_diag_part,
        normal((2, 3, 2, 3)),
        lambda x: np.einsum("ijij->ij", x),
        leading=False,
    ),
    NumberOp(
        "diag",
        lambda x: la.diag(x, k=1, padding_value=2.0),
        normal((3,)),
        lambda x: np.diag(x, 1) + 2.0 * (1 - np.eye(4, k=1)),
        leading=False,
    ),
    NumberOp(
        "diag of bands", lambda x: la.diag(x, k=(-1, 1), num_rows=4, align="LEFT_RIGHT"), normal((3, 4)), None
    ),
    NumberOp("diag_part", lambda x: la.diag_part(x, k=(-1, 2), padding_value=1.0), normal((4, 5)), None),
    NumberOp("set_diag", lambda x, d: la.set_diag(x, d, k=1), normal((4, 4), (3,)), None),
    NumberOp("band_part", lambda x: la.band_part(x, 1, 0), normal((4, 4)), lambda x: np.triu(np.tril(x), -1)),
    NumberOp("trace", la.trace, normal((3, 4)), lambda x: np.trace(x, axis1=-2, axis2=-1)),
    NumberOp("adjoint", la.adjoint, normal((3, 4)), lambda x: np.swapaxes(x, -1, -2)),
    NumberOp(
        "global_norm",
        lambda x, y: la.global_norm([x, y]),
        normal((3,), (2, 2)),
        lambda x, y: np.hypot(nla.norm(x), nla.norm(y)),
        leading=False,
    ),
    NumberOp(
        "normalize",
        lambda x: la.normalize(x, axis=-1)[0],
        normal((3, 4)),
        lambda x: x / nla.norm(x, axis=-1, keepdims=True),
    ),
    NumberOp(
        "l2_normalize",
        lambda x: la.l2_normalize(x, axis=-1),
        normal((3, 4)),
        lambda x: x / nla.norm(x, axis=-1, keepdims=True),
    ),
    NumberOp(
        "tensorsolve",
        la.tensorsolve,
        lambda rng: (
            rng.standard_normal((2, 3, 6)) + 2 * np.eye(6).reshape(2, 3, 6),
            rng.standard_normal((2, 3)),
        ),
        nla.tensorsolve,
        leading=False,
        tolerance=1e-12,
    ),
    NumberOp(
        "tensorinv",
        lambda a: la.tensorinv(a, ind=2),
        lambda rng: (rng.standard_normal((2, 3, 6)) + 2 * np.eye(6).reshape(2, 3, 6),),
        lambda a: nla.tensorinv(a, 2),
        leading=False,
        tolerance=1e-12,
    ),
    NumberOp(
        "tensordot",
        lambda a, b: la.tensordot(a, b, [[0, 2], [1, 0]]),
        normal((2, 3, 4), (4, 2, 3)),
        lambda a, b: np.tensordot(a, b, [[0, 2], [1, 0]]),
        leading=False,
    ),
    NumberOp("matvec", la.matvec, normal((3, 4), (4,)), lambda a, b: (a @ b[..., None])[..., 0]),
    NumberOp("vecdot", la.vecdot, normal((3, 4), (3, 4)), lambda a, b: np.sum(a * b, -1)),
    NumberOp(
        "einsum",
        lambda a, b: la.einsum("...ij,...kj->...ik", a, b),
        normal((2, 3), (4, 3)),
        lambda a, b: a @ np.swapaxes(b, -1, -2),
    ),
    NumberOp("inner", la.inner, normal((2, 3), (4, 3)), np.inner, leading=False),
)
