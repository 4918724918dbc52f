"""Calls of every function that HIPS autograd differentiates, and their values and gradients in either library.

A row is a name, a call of ``(lib, *operands)`` and operands. `measured` returns the value and the gradients of a row.
``python tests/autograd_rows.py`` writes ``autograd_gradients.json`` where autograd is installed too. The numbers were
computed with autograd 1.9.1, NumPy 2.4.6 and SciPy 1.17.1.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as onp

SAVED = Path(__file__).with_name("autograd_gradients.json")

V = onp.array([0.3, -0.7, 1.1, 0.45])
P = onp.array([0.4, 1.3, 0.85, 2.2])
U = onp.array([0.15, -0.6, 0.35, 0.8])
A = onp.array([[0.3, -0.7, 1.1], [0.45, 1.6, -0.2]])
B = onp.array([[1.2, 0.4, -0.9], [-0.35, 0.75, 2.1]])
M = onp.array([[2.0, 0.3, -0.4], [0.5, 1.7, 0.2], [-0.1, 0.6, 1.4]])
S = onp.array([[2.0, 0.3, -0.4], [0.3, 1.7, 0.2], [-0.4, 0.2, 1.4]])
T = onp.arange(24.0).reshape(2, 3, 4) ** 1.5 / 20 - 1.0
Z = onp.array([0.3 + 0.2j, -0.7 + 1.1j, 0.45 - 0.6j, 1.2 + 0.9j])
N = M + 1j * onp.array([[0.2, -0.5, 0.1], [0.4, 0.3, -0.6], [0.7, 0.1, 0.2]])
TIES = onp.array([1.0, 2.0, 2.0, -1.0])


def unary(names, operand, space="np"):
    """Return rows for functions of one array."""
    return [
        (
            f"{space}.{name}",
            lambda lib, x, name=name, space=space: getattr(getattr(lib, space), name)(x),
            operand,
        )
        for name in names.split()
    ]


def binary(names, x, y, space="np"):
    """Return rows for functions of two arrays."""
    return [
        (
            f"{space}.{name}",
            lambda lib, x, y, name=name, space=space: getattr(getattr(lib, space), name)(x, y),
            x,
            y,
        )
        for name in names.split()
    ]


UFUNCS = [
    *unary(
        "abs absolute arcsinh arctan asinh atan conj conjugate cos cosh deg2rad degrees exp exp2 expm1", V
    ),
    *unary("fabs rad2deg radians reciprocal sin sinc sinh square tan tanh negative real imag angle", V),
    *unary("log log1p log2 log10 sqrt", P),
    *unary("acosh arccosh", 1.0 + P),
    *unary("acos arccos arcsin arctanh asin atanh", U),
    *unary("abs angle conj cos cosh exp expm1 imag log real reciprocal sin sinh sqrt square tan tanh", Z),
    *binary("add subtract multiply divide true_divide maximum minimum fmax fmin logaddexp logaddexp2", V, P),
    *binary("arctan2 atan2 hypot mod remainder", V, P),
    *binary("pow power", P, V),
    *binary("add subtract multiply divide true_divide maximum logaddexp", A, onp.array([0.6, -1.2, 0.9])),
    *binary("power", Z, 2.0 + 0j),
    *binary("multiply divide add subtract", Z, Z[::-1].copy()),
    *binary("maximum minimum fmax fmin", TIES, TIES[::-1].copy()),
    *unary("abs fabs max min amax amin sort", TIES),
    ("np.abs of zero", lambda lib, x: lib.np.abs(x), onp.zeros(2)),
    ("np.power to 0, 1, 2", lambda lib, x: lib.np.power(x, onp.array([0.0, 1.0, 2.0, 3.0])), V),
    ("x ** 2", lambda lib, x: x**2, V),
    ("2 ** x", lambda lib, x: 2.0**x, V),
    ("operators", lambda lib, x, y: (x + y) * (x - y) / (-x % 2.0) - abs(x), V, P),
    ("np.where", lambda lib, x, y: lib.np.where(onp.array([True, False, True, False]), x, y), V, P),
    ("np.clip", lambda lib, x: lib.np.clip(x, 0.0, 1.0), V),
    ("np.clip at its bounds", lambda lib, x: lib.np.clip(x, -1.0, 2.0), TIES),
    ("np.nan_to_num", lambda lib, x: lib.np.nan_to_num(x), onp.array([0.5, onp.nan, onp.inf, -1.0])),
    ("np.real_if_close", lambda lib, x: lib.np.real_if_close(x), V),
]

REDUCTIONS = [
    *[
        (
            f"np.{name} {kwargs}",
            lambda lib, x, name=name, kwargs=kwargs: getattr(lib.np, name)(x, **kwargs),
            T,
        )
        for name in ("sum", "mean", "prod", "max", "min", "var", "std")
        for kwargs in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}, {"axis": -1})
        if not (name == "prod" and kwargs.get("keepdims"))
    ],
    ("np.var ddof", lambda lib, x: lib.np.var(x, axis=0, ddof=1), A),
    ("np.std ddof", lambda lib, x: lib.np.std(x, axis=1, ddof=1, keepdims=True), A),
    ("np.amax", lambda lib, x: lib.np.amax(x, 0), A),
    ("np.amin", lambda lib, x: lib.np.amin(x, 1), A),
    ("np.cumsum", lambda lib, x: lib.np.cumsum(x), A),
    ("np.cumsum axis", lambda lib, x: lib.np.cumsum(x, axis=1), A),
    ("np.trace", lambda lib, x: lib.np.trace(x, offset=1), M),
    ("np.sort", lambda lib, x: lib.np.sort(x), V),
    ("np.partition", lambda lib, x: lib.np.partition(x, 2), V),
    ("np.diff", lambda lib, x: lib.np.diff(x), A),
    ("np.diff n axis", lambda lib, x: lib.np.diff(x, n=2, axis=0), M),
    ("np.gradient", lambda lib, x: lib.np.gradient(x), V),
    ("np.sum complex", lambda lib, x: lib.np.sum(x), Z),
    ("np.mean complex", lambda lib, x: lib.np.mean(x), Z),
    ("np.var complex", lambda lib, x: lib.np.var(x), Z),
    ("np.std one", lambda lib, x: lib.np.std(x), V[:1]),
    ("np.std column", lambda lib, x: lib.np.std(x, axis=1, keepdims=True), A[:, :1]),
    ("np.std complex", lambda lib, x: lib.np.std(x), Z),
]

SHAPES = [
    *unary(
        "atleast_1d atleast_2d atleast_3d ravel squeeze transpose permute_dims fliplr flipud tril triu", A
    ),
    ("np.make_diagonal", lambda lib, x: lib.np.make_diagonal(x, axis1=-1, axis2=-2), A),
    ("np.astype", lambda lib, x: lib.np.astype(x, onp.float64), V),
    ("np.reshape", lambda lib, x: lib.np.reshape(x, (4, 6)), T),
    ("np.reshape F", lambda lib, x: lib.np.reshape(x, (4, 6), order="F"), T),
    ("np.ravel F", lambda lib, x: lib.np.ravel(x, order="F"), T),
    ("np.transpose", lambda lib, x: lib.np.transpose(x, (1, 2, 0)), T),
    ("np.permute_dims", lambda lib, x: lib.np.permute_dims(x, (2, 0, 1)), T),
    ("np.moveaxis", lambda lib, x: lib.np.moveaxis(x, 0, 2), T),
    ("np.swapaxes", lambda lib, x: lib.np.swapaxes(x, 0, 2), T),
    ("np.rollaxis", lambda lib, x: lib.np.rollaxis(x, 2), T),
    ("np.roll", lambda lib, x: lib.np.roll(x, 2), A),
    ("np.roll axis", lambda lib, x: lib.np.roll(x, 1, axis=1), A),
    ("np.rot90", lambda lib, x: lib.np.rot90(x, 3), A),
    ("np.repeat", lambda lib, x: lib.np.repeat(x, 2), A),
    ("np.repeat axis", lambda lib, x: lib.np.repeat(x, 3, axis=1), A),
    ("np.tile", lambda lib, x: lib.np.tile(x, (2, 3)), A),
    ("np.expand_dims", lambda lib, x: lib.np.expand_dims(x, 1), A),
    ("np.squeeze", lambda lib, x: lib.np.squeeze(x, axis=0), A[None]),
    ("np.broadcast_to", lambda lib, x: lib.np.broadcast_to(x, (5, 4)), V[None]),
    ("np.diagonal", lambda lib, x: lib.np.diagonal(x, 0, -1, -2), onp.stack([M, S])),
    ("np.diag", lambda lib, x: lib.np.diag(x, 1), V),
    ("np.diag of a matrix", lambda lib, x: lib.np.diag(x, -1), M),
    ("np.tril", lambda lib, x: lib.np.tril(x, -1), M),
    ("np.triu", lambda lib, x: lib.np.triu(x, 1), M),
    ("np.pad", lambda lib, x: lib.np.pad(x, ((1, 2), (0, 1)), "constant"), A),
    ("np.full", lambda lib, x: lib.np.full((2, 3), x), onp.array(0.7)),
    ("np.linspace", lambda lib, x, y: lib.np.linspace(x, y, 5), onp.array(0.7), onp.array(2.0)),
    ("np.array", lambda lib, x: lib.np.array([[x[0], 1.0], [x[1], x[2]]]), V),
    ("np.concatenate", lambda lib, x, y: lib.np.concatenate([x, y], axis=1), A, B),
    ("np.vstack", lambda lib, x, y: lib.np.vstack([x, y]), V, P),
    ("np.hstack", lambda lib, x, y: lib.np.hstack([x, y]), V, P),
    ("np.column_stack", lambda lib, x, y: lib.np.column_stack([x, y]), V, P),
    ("np.stack", lambda lib, x, y: lib.np.stack([x, y], axis=-1), A, B),
    ("np.row_stack", lambda lib, x, y: lib.np.vstack([x, y]), A, B),
    ("np.fmax row", lambda lib, x, y: lib.np.fmax(x, y), A, A[:1] * 1.1),
    ("np.fmin row", lambda lib, x, y: lib.np.fmin(x[0], y), A, A * 1.1),
    ("np.append", lambda lib, x, y: lib.np.append(x, y, axis=0), A, B),
    ("np.select", lambda lib, x: lib.np.select([x > 0.4, x < 0], [x**2, -x]), V),
    ("np.split", lambda lib, x: lib.np.split(x, 2, axis=2), T),
    ("np.array_split", lambda lib, x: lib.np.array_split(x, 3, axis=1), T),
    ("np.vsplit", lambda lib, x: lib.np.vsplit(x, 2), T),
    ("np.hsplit", lambda lib, x: lib.np.hsplit(x, [1, 2]), T),
    ("np.dsplit", lambda lib, x: lib.np.dsplit(x, 2), T),
    ("x[i, j]", lambda lib, x: x[1, 2], A),
    ("x[1:, ::-1]", lambda lib, x: x[1:, ::-1], T),
    ("x[[0, 0, 2]]", lambda lib, x: x[onp.array([0, 0, 2])], V),
    ("x[mask]", lambda lib, x: x[onp.array([True, False, True, True])], V),
    ("x[:, None]", lambda lib, x: x[:, None] * x[None], V),
    ("methods", lambda lib, x: lib.np.dot(x.T.reshape(-1), x.ravel()) + x.sum(axis=0).max() + x.mean(), A),
    ("x.flatten", lambda lib, x: x.flatten() * x.size, A),
]

PRODUCTS = [
    *binary("dot inner outer kron", V, P),
    *binary("dot matmul", A, M),
    *binary("inner kron", A, B),
    *binary("dot matmul", M, V[:3]),
    *binary("dot matmul", V[:2], A),
    *binary("cross", A, B),
    *binary("matmul", T, onp.ascontiguousarray(T.swapaxes(1, 2))),
    *binary("dot", T, P),
    *binary("dot matmul", N, N.T.copy()),
    *binary("outer", V, P[:3]),
    ("np.tensordot", lambda lib, x, y: lib.np.tensordot(x, y, 1), A, M),
    ("np.tensordot axes", lambda lib, x, y: lib.np.tensordot(x, y, ([0, 1], [0, 1])), A, B),
    ("np.tensordot 0", lambda lib, x, y: lib.np.tensordot(x, y, axes=0), V, P),
    ("np.einsum", lambda lib, x, y: lib.np.einsum("ij,jk->ki", x, y), A, M),
    ("np.einsum sums", lambda lib, x, y: lib.np.einsum("ij,ij->i", x, y), A, B),
    ("np.einsum ellipsis", lambda lib, x, y: lib.np.einsum("...ij,kj->...ik", x, y), T, onp.outer(V, P)),
    ("np.einsum lists", lambda lib, x, y: lib.np.einsum(x, [0, 1], y, [1, 2], [0, 2]), A, M),
    ("np.einsum trace", lambda lib, x: lib.np.einsum("ij,ij->", x, x), M),
    ("np.einsum implicit", lambda lib, x, y: lib.np.einsum("ij,jk", x, y), A, M),
]

LINALG = [
    *unary("det inv slogdet pinv norm", M, "linalg_np"),
    *unary("det inv norm", N, "linalg_np"),
    *unary("inv det slogdet", onp.stack([M, S]), "linalg_np"),
    *unary("norm", V, "linalg_np"),
    *unary("pinv", A, "linalg_np"),
    ("np.linalg.solve", lambda lib, x, y: lib.linalg_np.solve(x, y), M, V[:3]),
    ("np.linalg.solve columns", lambda lib, x, y: lib.linalg_np.solve(x, y), M, A.T.copy()),
    ("np.linalg.cholesky", lambda lib, x: lib.linalg_np.cholesky(x + lib.np.transpose(x)), S),
    ("np.linalg.cholesky lower", lambda lib, x: lib.linalg_np.cholesky(lib.np.dot(x, x.T)), M),
    ("np.linalg.svd values", lambda lib, x: lib.linalg_np.svd(x, compute_uv=False), A),
    ("np.linalg.svd", lambda lib, x: _of_svd(lib, x), A),
    ("np.linalg.eigh values", lambda lib, x: lib.linalg_np.eigh(x)[0], S),
    ("np.linalg.eigh vectors", lambda lib, x: lib.linalg_np.eigh(x)[1] ** 2, S),
    ("np.linalg.eigh U", lambda lib, x: lib.linalg_np.eigh(x + x.T, "U")[0], M),
    ("np.linalg.eig values", lambda lib, x: lib.np.real(lib.linalg_np.eig(x)[0]), M),
    ("np.linalg.norm rows", lambda lib, x: lib.linalg_np.norm(x, axis=1), A),
    ("np.linalg.norm 3", lambda lib, x: lib.linalg_np.norm(x, 3), V),
    ("np.linalg.norm fro", lambda lib, x: lib.linalg_np.norm(x, "fro"), A),
    ("np.linalg.norm nuc", lambda lib, x: lib.linalg_np.norm(x, "nuc"), A),
    ("np.linalg.norm axes", lambda lib, x: lib.linalg_np.norm(x, axis=(0, 1)), T),
]


def _of_svd(lib, x):
    u, s, vt = lib.linalg_np.svd(x, full_matrices=False)
    return lib.np.dot(u * s**2, vt)


FFT = [
    *unary("fft ifft fftn ifftn fft2 ifft2 fftshift ifftshift", onp.outer(Z, Z), "fft"),
    *unary("fft ifft rfft fftshift ifftshift", V, "fft"),
    *unary("rfft2 rfftn fft2 fftn", onp.outer(V, P), "fft"),
    ("np.fft.irfft", lambda lib, x: lib.fft.irfft(lib.fft.rfft(x) ** 2), V),
    ("np.fft.irfftn", lambda lib, x: lib.fft.irfftn(lib.fft.rfftn(x) ** 2), onp.outer(V, P)),
    ("np.fft.irfft2", lambda lib, x: lib.fft.irfft2(lib.fft.rfft2(x) ** 2), onp.outer(V, P)),
    ("np.fft.fft n axis", lambda lib, x: lib.fft.fft(x, 6, axis=0), onp.outer(Z, Z)),
    ("np.fft.fft shorter", lambda lib, x: lib.fft.fft(x, 3), V),
    ("np.fft.rfft norm", lambda lib, x: lib.fft.rfft(x, norm="ortho"), V),
    ("np.fft.fftn axes", lambda lib, x: lib.fft.fftn(x, axes=(0, 2)), T),
    ("np.fft.fftn s", lambda lib, x: lib.fft.fftn(x, s=(2, 5), axes=(1, 2)), T),
]

K = onp.array([[0.2, -0.4], [1.0, 0.6]])

SPECIAL = [
    *unary("gamma gammaln digamma psi rgamma i0 i1 j0 j1 y0 y1 erf erfc expit gammasgn", P, "special"),
    *unary("erfinv", U, "special"),
    *unary("erfcinv logit", U**2, "special"),
    *binary("beta betaln", P, 0.5 + P[::-1], "special"),
    ("special.polygamma", lambda lib, x: lib.special.polygamma(1, x), P),
    ("special.polygamma 2", lambda lib, x: lib.special.polygamma(2, x), P),
    ("special.betainc", lambda lib, x: lib.special.betainc(2.0, 3.5, x), U**2),
    ("special.gammainc", lambda lib, x: lib.special.gammainc(1.7, x), P),
    ("special.gammaincc", lambda lib, x: lib.special.gammaincc(1.7, x), P),
    ("special.multigammaln", lambda lib, x: lib.special.multigammaln(x, 3), 2.0 + P),
    ("special.jn", lambda lib, x: lib.special.jn(2, x), P),
    ("special.yn", lambda lib, x: lib.special.yn(2, x), P),
    ("special.iv", lambda lib, x: lib.special.iv(1.5, x), P),
    ("special.ive", lambda lib, x: lib.special.ive(1.5, x), P),
    ("special.logsumexp", lambda lib, x: lib.special.logsumexp(x), A),
    ("special.logsumexp axis", lambda lib, x: lib.special.logsumexp(x, axis=1, keepdims=True), T),
    ("special.logsumexp b", lambda lib, x: lib.special.logsumexp(x, axis=0, b=onp.abs(B)), A),
]

STATS = [
    *[
        (
            f"stats.norm.{name}",
            lambda lib, x, m, s, name=name: getattr(lib.stats.norm, name)(x, m, s),
            V,
            P / 3,
            P,
        )
        for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf")
    ],
    *[
        (
            f"stats.t.{name}",
            lambda lib, x, d, m, s, name=name: getattr(lib.stats.t, name)(x, d, m, s),
            V,
            1.0 + P,
            P / 3,
            P,
        )
        for name in ("pdf", "logpdf")
    ],
    ("stats.t.cdf", lambda lib, x: lib.stats.t.cdf(x, 2.5, 0.1, 1.4), V),
    ("stats.t.logcdf", lambda lib, x: lib.stats.t.logcdf(x, 2.5, 0.1, 1.4), V),
    ("stats.beta.cdf", lambda lib, x: lib.stats.beta.cdf(x, 2.0, 3.5), U**2),
    ("stats.beta.logpdf", lambda lib, x, a, b: lib.stats.beta.logpdf(x, a, b), U**2, P, P[::-1] + 0.5),
    ("stats.beta.pdf", lambda lib, x, a, b: lib.stats.beta.pdf(x, a, b), U**2, P, P[::-1] + 0.5),
    ("stats.gamma.cdf", lambda lib, x: lib.stats.gamma.cdf(x, 1.7), P),
    ("stats.gamma.logpdf", lambda lib, x, a: lib.stats.gamma.logpdf(x, a), P, P[::-1] + 0.5),
    ("stats.gamma.pdf", lambda lib, x, a: lib.stats.gamma.pdf(x, a), P, P[::-1] + 0.5),
    ("stats.chi2.cdf", lambda lib, x: lib.stats.chi2.cdf(x, 3.0), P),
    ("stats.chi2.logpdf", lambda lib, x: lib.stats.chi2.logpdf(x, 3.0), P),
    ("stats.chi2.pdf", lambda lib, x: lib.stats.chi2.pdf(x, 3.0), P),
    ("stats.poisson.cdf", lambda lib, mu: lib.stats.poisson.cdf(onp.array([0, 1, 2, 5]), mu), P),
    ("stats.poisson.logpmf", lambda lib, mu: lib.stats.poisson.logpmf(onp.array([0, 1, 2, 5]), mu), P),
    ("stats.poisson.pmf", lambda lib, mu: lib.stats.poisson.pmf(onp.array([0, 1, 2, 5]), mu), P),
    ("stats.multivariate_normal.logpdf", lambda lib, x, m, s: lib.stats.multivariate_normal.logpdf(
        x, m, lib.np.dot(s, s.T)), A, P[:3], M),
    ("stats.multivariate_normal.pdf", lambda lib, x, m, s: lib.stats.multivariate_normal.pdf(
        x, m, lib.np.dot(s, s.T)), A, P[:3], M),
    ("stats.multivariate_normal.entropy", lambda lib, s: lib.stats.multivariate_normal.entropy(
        onp.zeros(3), lib.np.dot(s, s.T)), M),
    ("stats.dirichlet.logpdf", lambda lib, a: lib.stats.dirichlet.logpdf(onp.array([0.2, 0.5, 0.1, 0.2]), a), P),
    ("stats.dirichlet.pdf", lambda lib, a: lib.stats.dirichlet.pdf(onp.array([0.2, 0.5, 0.1, 0.2]), a), P),
]  # fmt: skip

OTHERS = [
    ("linalg.sqrtm", lambda lib, x: lib.linalg.sqrtm(lib.np.dot(x, x.T)), M),
    ("linalg.solve_triangular", lambda lib, x, y: lib.linalg.solve_triangular(
        x, y, lower=True), onp.tril(M), V[:3]),
    ("linalg.solve_triangular T", lambda lib, x, y: lib.linalg.solve_triangular(
        x, y, trans="T"), onp.triu(M), A.T.copy()),
    ("linalg.solve_banded", lambda lib, x, y: lib.linalg.solve_banded((1, 1), x, y),
     onp.array([[0.0, 0.3, -0.2], [2.0, 1.7, 1.4], [0.4, 0.6, 0.0]]), V[:3]),
    ("linalg.solve_sylvester", lambda lib, a, b, q: lib.linalg.solve_sylvester(a, b, q), M, S[:2, :2], A.T.copy()),
    ("signal.convolve", lambda lib, x, y: lib.signal.convolve(x, y), onp.outer(V, P), K),
    ("signal.convolve valid", lambda lib, x, y: lib.signal.convolve(x, y, mode="valid"), onp.outer(V, P), K),
    ("signal.convolve axes", lambda lib, x, y: lib.signal.convolve(x, y, axes=([1], [0])), A, B),
    ("signal.convolve same", lambda lib, x, y: lib.signal.convolve(x, y, mode="same"), onp.outer(V, P), K),
    ("signal.convolve network", lambda lib, x, y: lib.signal.convolve(
        x, y, axes=([2], [2]), dot_axes=([1], [0]), mode="valid"), T, onp.cos(T[:, :, :2].swapaxes(0, 1))),
    ("signal.convolve complex", lambda lib, x, y: lib.signal.convolve(x, y), Z, Z[:2]),
    ("integrate.odeint", lambda lib, y, k: lib.integrate.odeint(
        lambda y, t, k: lib.np.dot(k, y) - t * y, y, onp.linspace(0, 1, 4), lib.tuple((k,)), rtol=1e-11, atol=1e-12),
     V[:2], K),
]  # fmt: skip

TABLES = [UFUNCS, REDUCTIONS, SHAPES, PRODUCTS, LINALG, FFT, SPECIAL, STATS, OTHERS]


def numbered(tables):
    """Return the rows by name; rows of equal names get numbers."""
    named = {}
    for name, *row in [row for table in tables for row in table]:
        unique, n = name.replace("linalg_np", "np.linalg"), 2
        while unique in named:
            unique, n = f"{name} ({n})", n + 1
        named[unique] = row
    return named


ROWS = numbered(TABLES)


def library(package):
    """Return the namespaces of ``autograd`` or ``jittape.autograd``."""
    scipy = {name: importlib.import_module(f"{package}.scipy.{name}")
             for name in ("special", "stats", "linalg", "signal", "integrate")}  # fmt: skip
    np = importlib.import_module(f"{package}.numpy")
    containers = importlib.import_module(f"{package}.builtins")
    return SimpleNamespace(
        np=np,
        linalg_np=np.linalg,
        fft=np.fft,
        grad=importlib.import_module(package).grad,
        tuple=containers.tuple,
        **scipy,
    )


def measured(lib, row):
    """Return the value and the gradients of a row of `ROWS` as flat lists of real numbers."""
    call, *operands = row
    value = call(lib, *operands)
    several = isinstance(value, (list, tuple))
    leaves = list(value) if several else [value]
    weights = [onp.cos(1.0 + onp.arange(onp.size(leaf))).reshape(onp.shape(leaf)) for leaf in leaves]

    def loss(*varied):
        found = call(lib, *varied)
        found = [found[i] for i in range(len(leaves))] if several else [found]
        total = 0.0
        for leaf, w, plain in zip(found, weights, leaves, strict=True):
            total = total + lib.np.sum(w * lib.np.real(leaf))
            if onp.iscomplexobj(plain):
                total = total + lib.np.sum((0.3 - w) * lib.np.imag(leaf))
        return total

    gradients = lib.grad(loss, tuple(range(len(operands))))(*operands)
    return _numbers(leaves), [_numbers([g]) for g in gradients]


def _numbers(arrays):
    found = []
    for array in arrays:
        flat = onp.ravel(array)
        found += flat.real.tolist() + (flat.imag.tolist() if flat.dtype.kind == "c" else [])
    return [float(f"{x:.13g}") for x in found]


if __name__ == "__main__":
    theirs = library("autograd")
    results = {name: measured(theirs, row) for name, row in ROWS.items()}
    SAVED.write_text(
        "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in results.items()) + "\n}\n"
    )
