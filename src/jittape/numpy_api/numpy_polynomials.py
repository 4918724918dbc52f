"""NumPy's polynomials, given by their coefficients with the highest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.numpy_api.numpy_calculus import numpy_convolve
from jittape.numpy_api.numpy_linalg import LINALG_FUNCTIONS, eigenvalues
from jittape.numpy_api.numpy_operands import dtype_of, selecting_values_of, shape_of, strong, values_of
from jittape.numpy_api.numpy_shapes import numpy_concatenate
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.complex_numbers import cast, real
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.linalg.matmul import matmul, outer
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, reshape
from jittape.primitives.spectra.pseudoinverse import pinv

__all__ = ["POLYNOMIALS", "least_squares"]


def _coefficients(name: str, p: Any) -> Any:
    p = strong(p)
    if len(shape_of(p)) > 1:
        raise ShapeError(
            f"[np.{name}] a polynomial must be a vector of coefficients, got shape {shape_of(p)}"
        )
    return reshape(p, [-1])


def _check_no_poly1d(name: str, *polynomials: Any) -> None:
    if any(isinstance(p, np.poly1d) for p in polynomials):
        raise TypeError(f"np.{name} on a tensor does not support poly1d; give its coefficients, p.coeffs")


def _aligned(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.polyadd`` or ``np.polysub``."""

    def combine(a1: Any, a2: Any) -> Any:
        _check_no_poly1d(name, a1, a2)
        a1, a2 = _coefficients(name, a1), _coefficients(name, a2)
        n, m = shape_of(a1)[0], shape_of(a2)[0]
        if n < m:
            a1 = numpy_concatenate([np.zeros(m - n, dtype_of(a1)), a1])
        if m < n:
            a2 = numpy_concatenate([np.zeros(n - m, dtype_of(a2)), a2])
        return function(a1, a2)

    return combine


def _polymul(a1: Any, a2: Any) -> Any:
    _check_no_poly1d("polymul", a1, a2)
    return numpy_convolve(_trimmed(_coefficients("polymul", a1)), _trimmed(_coefficients("polymul", a2)))


def _trimmed(p: Any) -> Any:
    """Return the coefficients from the first that is not zero, as `numpy.poly1d`; the values are read."""
    places = np.flatnonzero(selecting_values_of(p))
    return getitem(p, slice(int(places[0]) if len(places) else max(shape_of(p)[0] - 1, 0), None))


def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    _check_no_poly1d("polydiv", u, v)
    u, v = (add(_coefficients("polydiv", p), 0.0) for p in (u, v))
    m, n = shape_of(u)[0] - 1, shape_of(v)[0] - 1
    dtype = np.result_type(dtype_of(u), dtype_of(v))
    rest, scale, quotient = cast(u, dtype), divide(1.0, getitem(v, 0)), []
    for k in range(m - n + 1):
        quotient.append(multiply(scale, getitem(rest, k)))
        taken = multiply(quotient[-1], v)
        parts = [getitem(rest, slice(0, k)), subtract(getitem(rest, slice(k, k + n + 1)), taken)]
        rest = numpy_concatenate([*parts, getitem(rest, slice(k + n + 1, None))])
    values = selecting_values_of(rest)
    zeros = np.isclose(values, 0, rtol=1e-14)
    first = int(np.argmin(zeros)) if not zeros.all() else len(values) - 1
    result = stack(quotient) if quotient else np.zeros(1, dtype)
    return identity(result), getitem(rest, slice(first, None))


def _polyval(p: Any, x: Any) -> Any:
    _check_no_poly1d("polyval", p, x)
    p, x = strong(p), strong(x)
    if not shape_of(p):
        raise TypeError("[np.polyval] p must be a vector of coefficients, got a scalar")
    y = broadcast_to(np.zeros((), dtype_of(x)), shape_of(x))
    for i in range(shape_of(p)[0]):
        y = add(multiply(y, x), getitem(p, i))
    return y


def _polyder(p: Any, m: int = 1) -> Any:
    _check_no_poly1d("polyder", p)
    m = as_int("m", m)
    if not shape_of(strong(p)):
        raise TypeError("[np.polyder] p must be a vector of coefficients, got a scalar")
    if m < 0:
        raise ValueError("[np.polyder] Order of derivative must be positive (see polyint)")
    p = _coefficients("polyder", p)
    for _ in range(m):
        n = shape_of(p)[0] - 1
        p = multiply(getitem(p, slice(0, max(n, 0))), np.arange(n, 0, -1))
    return p


def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    _check_no_poly1d("polyint", p)
    m = as_int("m", m)
    if not shape_of(strong(p)):
        raise TypeError("[np.polyint] p must be a vector of coefficients, got a scalar")
    if m < 0:
        raise ValueError("[np.polyint] Order of integral must be positive (see polyder)")
    constants = reshape(strong(0.0 if k is None else k), [-1])
    if shape_of(constants)[0] == 1 and m > 1:
        constants = broadcast_to(constants, [m])
    if shape_of(constants)[0] < m:
        raise ValueError("[np.polyint] k must be a scalar or a rank-1 array of length 1 or >m.")
    p = _coefficients("polyint", p)
    for i in range(m):
        n = shape_of(p)[0]
        p = numpy_concatenate([divide(p, np.arange(n, 0, -1)), getitem(constants, slice(i, i + 1))])
    return p


def _poly(seq_of_zeros: Any) -> Any:
    roots = strong(seq_of_zeros)
    if len(shape_of(roots)) == 2:
        roots = eigenvalues(roots if dtype_of(roots).kind in "fc" else cast(roots, np.float64))
    elif len(shape_of(roots)) != 1:
        raise ValueError("[np.poly] input must be 1d or non-empty square 2d array.")
    if not shape_of(roots)[0]:
        return identity(np.float64(1.0))
    dtype = dtype_of(roots)
    dtype = dtype if dtype.kind == "c" else np.poly(np.ones(1, dtype)).dtype
    roots = cast(roots, dtype)
    p: Any = np.ones(1, dtype)
    for i in range(shape_of(roots)[0]):
        p = numpy_convolve(
            p, numpy_concatenate([np.ones(1, dtype), negative(getitem(roots, slice(i, i + 1)))])
        )
    if dtype.kind == "c":
        values = selecting_values_of(roots)
        if np.all(np.sort(values) == np.sort(values.conj())):
            p = real(p)
    return p


def _roots(p: Any) -> Any:
    p = _coefficients("roots", p)
    places = np.flatnonzero(selecting_values_of(p))
    if not len(places):
        return identity(np.array([]))
    zeros = shape_of(p)[0] - int(places[-1]) - 1
    p = getitem(p, slice(int(places[0]), int(places[-1]) + 1))
    p = p if dtype_of(p).kind in "fc" else cast(p, np.float64)
    n = shape_of(p)[0]
    if n == 1:
        return identity(np.zeros(zeros, np.float64))
    below = np.eye(n - 1, k=-1, dtype=dtype_of(p))[1:]
    first = expand_dims(divide(negative(getitem(p, slice(1, None))), getitem(p, 0)), 0)
    roots = eigenvalues(numpy_concatenate([first, below]))
    return numpy_concatenate([roots, np.zeros(zeros, dtype_of(roots))]) if zeros else roots


# ---- fits ------------------------------------------------------------------------------------------------------------


def least_squares(a: Any, b: Any, rcond: float) -> Any:
    """Return the solution of least norm by the pseudoinverse; singular values below ``rcond`` times the first are 0."""
    return apply(_least_squares_body, (a, b), (float(rcond),))


def _least_squares_body(a: Any, b: Any, rcond: float) -> Any:
    return matmul(pinv(a, rcond), b)


def _polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    x, y = add(strong(x), 0.0), add(strong(y), 0.0)
    order = as_int("deg", deg) + 1
    if order < 1:
        raise ValueError("[np.polyfit] expected deg >= 0")
    if len(shape_of(x)) != 1 or not shape_of(x)[0]:
        raise TypeError(f"[np.polyfit] expected a non-empty 1D vector for x, got shape {shape_of(x)}")
    if len(shape_of(y)) not in (1, 2):
        raise TypeError(f"[np.polyfit] expected 1D or 2D array for y, got shape {shape_of(y)}")
    count = shape_of(x)[0]
    if shape_of(y)[0] != count:
        raise TypeError("[np.polyfit] expected x and y to have same length")
    dtype = np.result_type(dtype_of(x), dtype_of(y))
    rcond = count * float(np.finfo(dtype_of(x)).eps) if rcond is None else float(rcond)
    left, right = LINALG_FUNCTIONS[np.vander](x, order), y
    if w is not None:
        w = add(strong(w), 0.0)
        if shape_of(w) != (count,):
            raise TypeError("[np.polyfit] expected w and y to have the same length")
        left = multiply(left, expand_dims(w, 1))
        right = multiply(right, expand_dims(w, 1) if len(shape_of(y)) == 2 else w)
    scale = sqrt(reduce_sum(multiply(left, left), 0))
    scaled = divide(left, scale)
    c = cast(least_squares(scaled, cast(right, np.result_type(dtype, dtype_of(left))), rcond), dtype)
    c = divide(c, expand_dims(scale, 1) if len(shape_of(y)) == 2 else scale)
    if full:
        return _full_report(scaled, right, c, scale, order, rcond)
    if not cov:
        return c
    base = LINALG_FUNCTIONS[np.linalg.inv](matmul(adjoint(scaled), scaled))
    base = divide(base, outer(scale, scale))
    base = expand_dims(base, -1) if len(shape_of(y)) == 2 else base
    if cov == "unscaled":
        return c, base
    if count <= order:
        raise ValueError(
            "[np.polyfit] the number of data points must exceed order to scale the covariance matrix"
        )
    return c, multiply(base, divide(_residuals(left, right, c), float(count - order)))


def _residuals(a: Any, b: Any, solution: Any) -> Any:
    return reduce_sum(square(absolute(subtract(b, matmul(a, solution)))), 0)


def _full_report(scaled: Any, right: Any, c: Any, scale: Any, order: int, rcond: float) -> Any:
    values = values_of(scaled)
    singular = np.linalg.svdvals(values)
    rank = int((singular > rcond * singular[0]).sum())
    residuals: Any = np.zeros(0, dtype_of(c))
    if rank == order and values.shape[0] > order:
        own = multiply(c, expand_dims(scale, 1) if len(shape_of(c)) == 2 else scale)
        residuals = reshape(_residuals(scaled, right, own), [-1])
    return c, identity(residuals), np.int32(rank), identity(singular), rcond


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = (x if dtype_of(x).kind in "fc" else cast(x, np.float64) for x in (strong(a), strong(b)))
    if len(shape_of(a)) != 2 or len(shape_of(b)) not in (1, 2):
        raise np.linalg.LinAlgError(
            f"[np.linalg.lstsq] a must be a matrix and b a vector or matrix, got shapes {shape_of(a)} and {shape_of(b)}"
        )
    rows, columns = shape_of(a)
    if shape_of(b)[0] != rows:
        raise np.linalg.LinAlgError("[np.linalg.lstsq] Incompatible dimensions")
    dtype = np.result_type(dtype_of(a), dtype_of(b))
    a, b = cast(a, dtype), cast(b, dtype)
    eps = float(np.finfo(dtype).eps)
    limit = eps * max(rows, columns) if rcond is None else eps if rcond == -1 else float(rcond)
    solution = least_squares(a, b, limit)
    singular = LINALG_FUNCTIONS[np.linalg.svdvals](a)
    known = values_of(singular)
    rank = int((known > limit * known.max(initial=0)).sum())
    residuals: Any = np.zeros(0, np.finfo(dtype).dtype)
    if rank == columns and rows > columns:
        residuals = reshape(_residuals(a, b, solution), [-1])
    return solution, identity(residuals), np.int32(rank), singular


POLYNOMIALS: dict[Any, Callable[..., Any]] = {
    np.linalg.lstsq: _lstsq,
    np.poly: _poly,
    np.polyadd: _aligned(add, "polyadd"),
    np.polyder: _polyder,
    np.polydiv: _polydiv,
    np.polyfit: _polyfit,
    np.polyint: _polyint,
    np.polymul: _polymul,
    np.polysub: _aligned(subtract, "polysub"),
    np.polyval: _polyval,
    np.roots: _roots,
}
