"""Values, first and second derivatives at kinks, edges and saturated ends, compared with TensorFlow's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import jittape as jt
from edge_rows import INF, NAN, PAIRS, ROWS, Array, EdgeRow, cotangent, derivatives, resolve

TENSORFLOW = json.loads(Path(__file__).with_name("edge_values.json").read_text(encoding="utf-8"))

VALUE, BY_FIRST, BY_SECOND = 0, 1, 2
"""Positions in the results of `derivatives`; the second derivatives come after."""


def at(*changes: tuple[Any, float]) -> Callable[[Array], Array]:
    """Return the array with other values at a few positions."""

    def changed(array: Array) -> Array:
        for place, value in changes:
            array[place] = value
        return array

    return changed


NEGATIVE = [3, 6, 9]
"""Positions of negative numbers in `edge_rows.POINTS`."""


def quotients(sign: float) -> Callable[[Array], Array]:
    with np.errstate(all="ignore"):
        floor = sign * np.floor_divide(*PAIRS)
    return lambda array: floor


def unknown(array: Array) -> None:
    return None


WEIGHTED = np.arange(24).reshape(3, 8)[:, :2].T
"""Where the logit of the weighted cross-entropy is 0, for the labels 0, 1 and 0.5."""

OTHERWISE: dict[tuple[str, int], Callable[[Array], Array | None]] = {
    # SciPy's values at the pole and at infinity.
    ("math.digamma", VALUE): at((0, -INF), (1, INF)),
    ("math.lgamma", BY_FIRST): at((0, -INF), (1, INF)),
    # The derivative of digamma has no limit at minus infinity: it is infinite at every pole.
    ("math.digamma", BY_FIRST): at((3, NAN)),
    ("math.lgamma", 2): at((3, NAN)),
    ("math.erf", VALUE): at((2, 1.0), (3, -1.0)),
    # A constant has the derivative 0.
    ("pow (x ** 0)", BY_FIRST): at(([0, 1, 4], 0.0)),
    # The value is nan too.
    ("nn.relu", BY_FIRST): at((4, 1.0)),
    ("nn.relu6", BY_FIRST): at((4, 1.0)),
    # Python's and NumPy's floor of a quotient.
    ("math.floordiv", VALUE): quotients(1.0),
    ("math.floormod", BY_SECOND): quotients(-1.0),
    # TensorFlow adds the derivatives of two kinks that cancel; and the loss is smooth at 0.
    ("nn.weighted_cross_entropy_with_logits", BY_SECOND): at((WEIGHTED, [0.5, -1.0, -0.25])),
    ("nn.weighted_cross_entropy_with_logits", 4): at((WEIGHTED, -1.5)),
    ("nn.weighted_cross_entropy_with_logits", 5): at((WEIGHTED, -1.5)),
    ("nn.weighted_cross_entropy_with_logits", 6): at((WEIGHTED, [0.25, 0.5, 0.375])),
    # The branch of a `where` that is not selected, or a factor of 0, has no influence.
    ("nn.log_poisson_loss (full)", BY_FIRST): at((0, 0.0)),
    ("nn.softmax_cross_entropy_with_logits", VALUE): at((7, 0.25 * np.log1p(np.e) + 0.75 * np.log1p(1 / np.e))),
    ("clip_by_global_norm (zeros)", BY_FIRST): lambda array: np.array([1.0, 2.0]),
    # The logarithm of an infinite sum has the derivative 0, which stays 0.
    ("reduce_logsumexp", BY_FIRST): at(((6, 0), 0.0), ((8, 0), 0.0), ((8, 1), 0.0)),
    # NumPy's order: nan is last.
    ("sort", VALUE): at((10, [1.0, 2.0, NAN])),
    ("sort", BY_FIRST): at((10, [3.0, 1.0, 2.0])),
    # TensorFlow divides by the elements, some of which are 0 or infinite.
    ("math.cumprod", BY_FIRST): unknown,
    ("math.cumprod", 2): unknown,
    ("reduce_prod", 2): unknown,
    # TensorFlow takes the mean for a constant; infinite elements have no derivative.
    ("nn.moments", BY_FIRST): at(([6, 7, 8], NAN)),
    ("nn.moments", 2): unknown,
    # TensorFlow lacks the derivative by the labels here.
    ("nn.softmax_cross_entropy_with_logits", 5): unknown,
    # An element that is nan makes the extremum of its segment nan, as in NumPy and in `reduce_max`.
    **{(f"math.{p}segment_{how}", VALUE): at((10, [NAN, 2.0])) for p in ("", "unsorted_") for how in ("max", "min")},
    ("math.segment_max", BY_FIRST): at((10, [NAN, NAN, 2.0])),
    ("math.segment_min", BY_FIRST): at((10, [NAN, NAN, 2.0])),
    # TensorFlow begins with the least finite number, which is more than -inf.
    ("math.unsorted_segment_max", VALUE): at((10, [NAN, 2.0]), (9, [-INF, -INF])),
    ("math.unsorted_segment_max", BY_FIRST): at((10, [NAN, NAN, 2.0]), (9, [0.5, 0.5, 2.0])),
    ("math.unsorted_segment_min", VALUE): at((10, [NAN, 2.0]), (8, [INF, 1.0])),
    ("math.unsorted_segment_min", BY_FIRST): at((10, [NAN, NAN, 2.0]), (8, [0.5, 0.5, 2.0])),
    # TensorFlow divides by the elements, some of which are 0 or infinite.
    **{(f"math.{p}segment_prod", BY_FIRST): at(
        (6, [1.0, INF, 2.0]), (7, [1.0, -INF, 2.0]), (8, [INF, INF, 2.0]), (9, [-INF, -INF, 2.0]), (10, [1.0, NAN, 2.0])
    ) for p in ("", "unsorted_")},
    **{(f"math.{p}segment_prod", 2): at((1, [2.0, 1.0, 0.0])) for p in ("", "unsorted_")},
    # A window with nan is nan; its derivative is that of `maximum`, which passes it to the second operand.
    **{(f"nn.{name}", VALUE): at((10, [NAN, 2.0])) for name in ("max_pool", "max_pool1d", "max_pool2d", "pool (MAX)")},
    **{
        (f"nn.{name}", BY_FIRST): at((10, [0.0, 1.0, 2.0]))
        for name in ("max_pool", "max_pool1d", "max_pool2d", "pool (MAX)")
    },
    # TensorFlow begins with the least finite number in three dimensions, and passes the gradient to all equal elements.
    ("nn.max_pool3d", VALUE): at((10, [NAN, 2.0]), (9, -INF)),
    ("nn.max_pool3d", BY_FIRST): at(([1, 4, 5, 8, 9], [1.0, 2.0, 0.0]), (6, [1.0, 0.0, 2.0])),
    # The series 1/2 + x**2 / 16 at 0 in place of I_1(0) / 0.
    ("math.bessel_i0", BY_SECOND): at(([0, 1], 0.5)),
    # Limits at infinity, where TensorFlow gives nan, and at 0.
    ("math.bessel_i0", VALUE): at(([2, 3], INF)),
    ("math.bessel_i0", BY_FIRST): at((2, INF), (3, -INF)),
    ("math.bessel_i1", VALUE): at((2, INF), (3, -INF)),
    ("math.bessel_i1", BY_FIRST): at(([0, 1], 0.5), ([2, 3, 8, 9], INF)),
    **{(f"math.special.bessel_j{n}", part): at(([2, 3], 0.0)) for n in (0, 1) for part in (VALUE, BY_FIRST)},
    # K and Y are not real for negative numbers, and infinite at zeros of either sign.
    **{(f"math.special.bessel_{kind}", VALUE): at((NEGATIVE, NAN)) for kind in ("k0", "k0e", "k1", "k1e")},
    **{
        (f"math.special.bessel_{kind}", BY_FIRST): at((NEGATIVE, NAN), ([0, 1], -INF))
        for kind in ("k0", "k0e", "k1", "k1e")
    },
    **{(f"math.special.bessel_y{n}", VALUE): at((NEGATIVE, NAN), (2, 0.0)) for n in (0, 1)},
    **{(f"math.special.bessel_y{n}", BY_FIRST): at((NEGATIVE, NAN), (2, 0.0), ([0, 1], INF)) for n in (0, 1)},
    **{(f"math.special.bessel_y{n}", BY_SECOND): at(([1, *NEGATIVE], NAN)) for n in (0, 1)},
    ("math.special.dawsn", BY_FIRST): at(([2, 3], 0.0)),
    ("math.special.spence", VALUE): at((2, -INF)),
    # TensorFlow gives nan for negative numbers and at infinity.
    ("math.special.expint", VALUE): at((2, INF), ([3, 9], 0.0), (6, -0.21938393439552029)),
    ("math.special.expint", BY_FIRST): at((2, INF), (3, 0.0)),
    # 1/2 - cos(pi x**2 / 2) / (pi x), where TensorFlow has lost the second term; x**2 / 2 is even at 1e5.
    ("math.special.fresnel_cos", BY_SECOND): at(([8, 9], 0.0)),
    ("math.special.fresnel_sin", BY_FIRST): at(([8, 9], 0.0)),
    ("math.special.fresnel_sin", VALUE): at((8, 0.5 - 1e-5 / np.pi), (9, 1e-5 / np.pi - 0.5)),
}  # fmt: skip
"""What differs on purpose from TensorFlow: a function of its result, None if that says nothing."""


def expected(row: EdgeRow) -> list[Array | None]:
    """Return TensorFlow's results, changed where jittape's differ on purpose."""
    results = [np.array(x, np.float64) for x in TENSORFLOW[row.name]]
    return [OTHERWISE.get((row.name, i), lambda x: x)(x) for i, x in enumerate(results)]


def assert_close(got: Any, wanted: Array, dtype: str, where: Any = True) -> None:
    """Compare numbers, infinities and nan; numbers below the rounding error of the largest count as 0."""
    got = np.asarray(got, np.float64)
    assert got.shape == wanted.shape
    resolution = {"float64": 1e-7, "float32": 2e-5}[dtype]
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
    got, wanted = np.where(where, got, 0.0), np.where(where, wanted, 0.0)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, wanted, rtol=resolution, atol=resolution * min(largest, 1e-1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_tensorflow(row: EdgeRow, dtype: str, mode: str) -> None:
    for _ in range(1 if mode == "interpreted" else 2):  # a path is compiled at its second visit
        found = derivatives(jt, row, dtype)
    for part, (got, wanted) in enumerate(zip(found, expected(row), strict=False)):
        if wanted is not None:
            # TensorFlow's second derivatives are nan where zero meets infinity; jittape's zero stays zero.
            second = part > len(row.operands)
            assert_close(got, wanted, dtype, ~np.isnan(wanted) if second else True)


# ---- forward mode ----------------------------------------------------------------------------------------------------


def forward_derivatives(row: EdgeRow) -> list[Array]:
    """Return the derivatives of `derivatives` in forward mode: that of a value, and that of a gradient."""
    xs = [jt.constant(x) for x in row.operands]
    columns: list[list[list[Array]]] = []
    for j, x in enumerate(xs):
        columns.append([])
        for place in range(x.shape[-1]) if row.mixes else [slice(None)]:
            tangents = [np.zeros(x.shape) for x in xs]
            tangents[j][..., place] = 1.0
            with jt.autodiff.ForwardAccumulator(xs, [jt.constant(t) for t in tangents]) as accumulator:
                with jt.GradientTape() as tape:
                    tape.watch(xs)
                    y = row.function(jt, *xs)
                seed = jt.constant(cotangent(row, y.shape, "float64"))
                gradients = tape.gradient(y, xs, seed, unconnected_gradients="zero")
            found = [accumulator.jvp(z, unconnected_gradients="zero").numpy() for z in (y, *gradients)]
            columns[j].append([summed(row, tangent, x) for tangent in found])
    stacked = [
        [np.stack(parts, -1) if row.mixes else parts[0] for parts in zip(*c, strict=True)] for c in columns
    ]
    first = [by_operand[0] for by_operand in stacked]
    return [*first, *[by_operand[1 + i] for i in range(len(xs)) for by_operand in stacked]]


def summed(row: EdgeRow, tangent: Array, x: Any) -> Array:
    """Return the tangent of the weighted sum of all results that depend on one row of the operand."""
    if not row.mixes:
        return tangent if tangent.shape == x.shape else tangent.sum(-1, keepdims=True)
    weighted = np.where(tangent == 0, 0.0, tangent * cotangent(row, tangent.shape, "float64"))
    return weighted.sum(-1) if tangent.ndim == len(x.shape) else weighted


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_forward_is_reverse(row: EdgeRow) -> None:
    """Compare elements with finite operands and first derivatives; elsewhere inf may meet 0 in one mode only."""
    with np.errstate(all="ignore"):
        forward = forward_derivatives(row)
    count, reverse = len(row.operands), [np.asarray(x) for x in derivatives(jt, row, "float64")[1:]]
    for part, (got, wanted) in enumerate(zip(forward, reverse, strict=True)):
        needed = row.operands if part < count else (*row.operands, *reverse[:count])
        finite = np.logical_and.reduce(np.isfinite(needed))
        assert_close(got, wanted, "float64", finite.all(-1, keepdims=True) if row.mixes else finite)


# ---- completeness ----------------------------------------------------------------------------------------------------

WITHOUT_EDGES = """
    argmax argmin count_nonzero zero_fraction equal greater greater_equal is_finite is_inf is_nan less less_equal
    logical_and logical_not logical_or logical_xor not_equal reduce_all reduce_any
    bias_add dropout embedding_lookup positive
    erfcx log_ndtr logcosh ndtr sinc
    betainc betaln cumulative_logsumexp gamma gammaln igamma igammac in_top_k lbeta multigammaln nextafter
    random_gamma_grad zeta
    conv1d conv1d_transpose conv2d conv2d_transpose conv3d conv3d_transpose conv_transpose convolution depthwise_conv2d
    separable_conv2d
    batch_to_space bincount confusion_matrix depth_to_space invert_permutation is_non_decreasing is_strictly_increasing
    lower_bound space_to_batch space_to_depth upper_bound
    adjoint band_part cross diag diag_part einsum eye matmul matrix_transpose matvec set_diag tensordot trace
    banded_triangular_solve cholesky cholesky_solve det inv logdet lstsq lu lu_matrix_inverse lu_reconstruct lu_solve qr
    slogdet solve tensorinv tensorsolve triangular_solve tridiagonal_matmul tridiagonal_solve
    cond eig eigh eigh_tridiagonal eigvals eigvalsh expm inner kron logm matrix_norm matrix_power matrix_rank multi_dot
    outer pinv sqrtm svd svdvals tensor_diag tensor_diag_part vander vecdot vector_norm
"""
"""Functions without a derivative, that move elements about, are sums of products, or have edges tested elsewhere."""


def test_no_function_is_missing() -> None:
    tested = {resolve(jt, row.name) for row in ROWS}
    missing = {
        name
        for module in (jt.math, jt.nn, jt.linalg)
        for name, function in vars(module).items()
        if isinstance(function, FunctionType) and function not in tested and not name.startswith("_")
    }
    assert missing == set(WITHOUT_EDGES.split())
    assert set(TENSORFLOW) - {"about"} == {row.name for row in ROWS}
    assert {name for name, _ in OTHERWISE} <= set(TENSORFLOW)


def test_the_comparison_sees_a_wrong_derivative() -> None:
    row = next(row for row in ROWS if row.name == "nn.selu")
    wrong = row._replace(function=lambda t, x: t.nn.elu(x) * 1.0507009873554805)
    with pytest.raises(AssertionError):
        test_against_tensorflow(wrong, "float64", "interpreted")
