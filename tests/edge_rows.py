"""Arguments at which functions have kinks, edges and saturated ends, for jittape and TensorFlow alike.

Each row calls a function through a namespace `t`, which is `jittape` in the tests and `tensorflow` when
``python tests/edge_rows.py`` writes `edge_values.json`: the values and derivatives that TensorFlow gives. That needs an
environment with TensorFlow; the tests read the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

INF, NAN = np.inf, np.nan
POINTS = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, 1e5, -1e5])
SIDES = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -2.0, 0.5])
PAIRS = tuple(np.array(side).ravel() for side in np.meshgrid(SIDES, SIDES, indexing="ij"))
CASES = np.array(
    [
        [1.0, 2.0, 4.0],
        [0.0, 0.0, 0.0],
        [-0.0, 2.0, 3.0],
        [0.0, 2.0, 0.0],
        [3.0, 3.0, 1.0],
        [-2.0, -2.0, -2.0],
        [INF, 1.0, 2.0],
        [-INF, 1.0, 2.0],
        [INF, INF, 1.0],
        [-INF, -INF, -INF],
        [NAN, 1.0, 2.0],
        [1e5, 0.0, -1e5],
    ]
)


class EdgeRow(NamedTuple):
    """A function and the operands to look at it.

    Attributes
    ----------
    name : str
        Dotted name of the public function; further rows for it have a suffix in parentheses.
    function : callable
        ``function(t, *operands)``.
    operands : tuple of ndarray
    mixes : bool
        Elements of one row of the operands, along the last axis, go into one result. Cotangents are then 1, 2, 3, ...
    """

    name: str
    function: Callable[..., Any]
    operands: tuple[Array, ...]
    mixes: bool = False

    def __str__(self) -> str:
        return self.name


def resolve(t: Any, name: str) -> Any:
    """The function of a dotted name, without the suffix."""
    for part in name.partition(" ")[0].split("."):
        t = getattr(t, part)
    return t


def unary(name: str, *kinks: float, **named: Any) -> EdgeRow:
    """A row for a function of one number, with further points of its own."""
    points = np.concatenate([POINTS, np.array(kinks)])
    return EdgeRow(name, lambda t, x: resolve(t, name)(x, **named), (points,))


def binary(name: str) -> EdgeRow:
    """A row for a function of two numbers."""
    return EdgeRow(name, lambda t, x, y: resolve(t, name)(x, y), PAIRS)


def along(name: str, *arguments: Any, cases: Array = CASES, **named: Any) -> EdgeRow:
    """A row for a function of the elements of each row."""
    return EdgeRow(name, lambda t, x: resolve(t, name)(x, *arguments, axis=-1, **named), (cases,), True)


def powers() -> list[EdgeRow]:
    """Rows for a fixed exponent, as a Python number."""
    exponents = [0, 1, 2, 3, -1, -2, 0.0, 0.5, -0.5, 1.0, 1.5, 2.0, 3.0, -1.0]
    return [EdgeRow(f"pow (x ** {p!r})", lambda t, x, p=p: t.pow(x, p), (POINTS,)) for p in exponents]


def segments(name: str, *arguments: Any) -> EdgeRow:
    """A row for a reduction of segments: the first two elements of each case, and the third."""

    def function(t: Any, x: Any) -> Any:
        return t.transpose(resolve(t, name)(t.transpose(x), [0, 0, 1], *arguments))

    return EdgeRow(name, function, (CASES,), True)


POOLS = ("max_pool", "avg_pool")
RANKS = (("", 1), ("1d", 1), ("2d", 2), ("3d", 3))
"""Ends of the names of pooling functions, and the number of dimensions that windows slide over."""


def pooled(name: str, rank: int) -> Callable[..., Any]:
    """Return the pooling of neighbors in a row, which lies along the last of the dimensions."""

    def function(t: Any, x: Any) -> Any:
        dtype = x.dtype
        kind = "float32" if rank == 3 else dtype  # TensorFlow has no three-dimensional maximum of float64
        x = t.cast(t.reshape(x, [len(CASES), *[1] * (rank - 1), 3, 1]), kind)
        window = [*[1] * (rank - 1), 2]
        y = t.reshape(getattr(t.nn, name)(x, window, [1] * rank, "VALID"), [len(CASES), 2])
        return t.cast(y, dtype)

    return function


ONE = np.array([[1.0], [0.0], [INF], [NAN]])
LOGITS, LABELS = (
    a.ravel() for a in np.meshgrid([0.0, -0.0, INF, -INF, NAN, 1e5, -1e5, 2.0], [0.0, 1.0, 0.5])
)

ROWS: tuple[EdgeRow, ...] = (
    # one number
    unary("math.abs"),
    unary("math.acos", 2.0),
    unary("math.acosh", 2.0),
    unary("math.angle"),
    unary("math.asin", 2.0),
    unary("math.asinh", 1e-5),
    unary("math.atan"),
    unary("math.atanh", 2.0),
    unary("math.bessel_i0", 3.0),
    unary("math.bessel_i0e", 3.0),
    unary("math.bessel_i1", 3.0),
    unary("math.bessel_i1e", 3.0),
    unary("math.ceil", 1.5),
    unary("math.conj"),
    unary("math.cos", 3.0),
    unary("math.cosh", 3.0),
    unary("math.digamma", 1.5, -0.5),
    unary("math.erf", 3.0),
    unary("math.erfc", 3.0),
    unary("math.erfcinv", 2.0, 1.5),
    unary("math.erfinv", 0.9),
    unary("math.exp"),
    unary("math.expm1", 1e-5),
    unary("math.floor", 1.5),
    unary("math.imag"),
    unary("math.lgamma", 2.0, -0.5),
    unary("math.log"),
    unary("math.log1p", 1e-5),
    unary("math.log_sigmoid"),
    unary("math.ndtri", 0.9),
    unary("math.negative"),
    unary("math.real"),
    unary("math.reciprocal"),
    unary("math.reciprocal_no_nan"),
    unary("math.rint", 1.5),
    unary("math.round", 1.5),
    unary("math.rsqrt"),
    unary("math.sigmoid"),
    unary("math.sign"),
    unary("math.sin", 3.0),
    unary("math.sinh", 3.0),
    unary("math.softplus"),
    unary("math.special.bessel_j0", 3.0, 8.0),
    unary("math.special.bessel_j1", 3.0, 8.0),
    unary("math.special.bessel_k0", 3.0, 8.0),
    unary("math.special.bessel_k0e", 3.0, 8.0),
    unary("math.special.bessel_k1", 3.0, 8.0),
    unary("math.special.bessel_k1e", 3.0, 8.0),
    unary("math.special.bessel_y0", 3.0, 8.0),
    unary("math.special.bessel_y1", 3.0, 8.0),
    unary("math.special.dawsn", 3.0, 1.05),
    unary("math.special.expint", 3.0, 1.05),
    unary("math.special.fresnel_cos", 3.0, 1.05),
    unary("math.special.fresnel_sin", 3.0, 1.05),
    unary("math.special.spence", 3.0, 1.05),
    unary("math.sqrt"),
    unary("math.square"),
    unary("math.tan", 3.0),
    unary("math.tanh"),
    unary("nn.elu"),
    unary("nn.gelu", 2.0),
    unary("nn.gelu (approximate)", 2.0, approximate=True),
    unary("nn.leaky_relu"),
    unary("nn.relu"),
    unary("nn.relu6", 6.0, 7.0),
    unary("nn.selu"),
    unary("nn.silu", 2.0),
    unary("nn.softsign"),
    EdgeRow("nn.crelu", lambda t, x: t.nn.crelu(x), (POINTS[:, None],)),
    EdgeRow(
        "math.polygamma",
        lambda t, x: t.math.polygamma(np.float64(1), x),
        (np.array([1.0, 0.5, 2.0, INF, NAN, 1e5]),),
    ),
    EdgeRow("math.polyval", lambda t, x: t.math.polyval([x, t.ones_like(x)], x), (POINTS,)),
    EdgeRow("math.scalar_mul", lambda t, x: t.math.scalar_mul(0.0, x), (POINTS,)),
    EdgeRow("clip_by_value", lambda t, x: t.clip_by_value(x, -1.0, 1.0), (np.concatenate([POINTS, [2.0]]),)),
    *powers(),
    # two numbers
    binary("math.add"),
    binary("math.atan2"),
    binary("math.divide"),
    binary("math.divide_no_nan"),
    binary("math.floordiv"),
    binary("math.maximum"),
    binary("math.minimum"),
    binary("math.floormod"),
    binary("math.multiply"),
    binary("math.multiply_no_nan"),
    binary("math.pow"),
    binary("math.squared_difference"),
    binary("math.subtract"),
    binary("math.xdivy"),
    binary("math.xlog1py"),
    binary("math.xlogy"),
    EdgeRow("math.add_n", lambda t, x, y: t.math.add_n([x, y, x]), PAIRS),
    EdgeRow("where (x > 0)", lambda t, x, y: t.where(x > 0, x, y), PAIRS),
    EdgeRow(
        "nn.sigmoid_cross_entropy_with_logits",
        lambda t, z, x: t.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x),
        (LABELS, LOGITS),
    ),
    EdgeRow(
        "nn.weighted_cross_entropy_with_logits",
        lambda t, z, x: t.nn.weighted_cross_entropy_with_logits(z, x, 2.0),
        (LABELS, LOGITS),
    ),
    EdgeRow("nn.log_poisson_loss", lambda t, z, x: t.nn.log_poisson_loss(z, x), (LABELS, LOGITS)),
    EdgeRow(
        "nn.log_poisson_loss (full)",
        lambda t, z, x: t.nn.log_poisson_loss(z, x, compute_full_loss=True),
        (np.array([0.0, 1.0, 2.0, INF, NAN, 3.0]), np.array([0.0, 1.0, -1.0, 1.0, 1.0, -INF])),
    ),
    # rows of numbers
    along("reduce_sum"),
    along("reduce_mean"),
    along("reduce_max"),
    along("reduce_min"),
    along("reduce_prod"),
    along("reduce_logsumexp"),
    along("math.reduce_variance"),
    along("math.reduce_std"),
    along("math.reduce_std (one element)", cases=ONE),
    along("math.reduce_variance (one element)", cases=ONE),
    along("math.reduce_euclidean_norm"),
    along("math.cumsum"),
    along("math.cumsum (exclusive)", exclusive=True, reverse=True),
    along("math.cumprod"),
    along("math.softmax"),
    along("math.log_softmax"),
    along("math.l2_normalize"),
    along("norm"),
    along("norm (1)", 1),
    along("norm (inf)", INF),
    along("sort"),
    EdgeRow("linalg.normalize", lambda t, x: t.linalg.normalize(x, axis=-1)[0], (CASES,), True),
    EdgeRow("nn.moments", lambda t, x: t.nn.moments(x, [-1])[1], (CASES,), True),
    EdgeRow("math.top_k", lambda t, x: t.math.top_k(x, 2)[0], (CASES,), True),
    EdgeRow("clip_by_norm", lambda t, x: t.clip_by_norm(x, 2.0, axes=[-1]), (CASES,), True),
    EdgeRow(
        "nn.batch_normalization",
        lambda t, x, m, v: t.nn.batch_normalization(x, m, v, 1.0, 2.0, 0.0),
        (
            SIDES,
            np.array([0.0, 1.0, 1.0, 1.0, 1.0, INF, 1.0, 2.0]),
            np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, INF, 4.0]),
        ),
    ),
    EdgeRow(
        "nn.softmax_cross_entropy_with_logits",
        lambda t, z, x: t.nn.softmax_cross_entropy_with_logits(labels=z, logits=x),
        (np.tile([0.0, 0.25, 0.75], (len(CASES), 1)), CASES),
        True,
    ),
    EdgeRow(
        "nn.sparse_softmax_cross_entropy_with_logits",
        lambda t, x: t.nn.sparse_softmax_cross_entropy_with_logits(
            labels=np.arange(len(CASES)) % 3, logits=x
        ),
        (CASES,),
        True,
    ),
    *[
        EdgeRow(f"nn.l2_loss ({name})", lambda t, x: t.nn.l2_loss(x), (np.array(case, float),), True)
        for name, case in [("zeros", [0.0, -0.0]), ("inf", [INF, 1.0]), ("nan", [NAN, 1.0])]
    ],
    *[
        EdgeRow(
            f"linalg.global_norm ({name})",
            lambda t, x: t.linalg.global_norm([x]),
            (np.array(case, float),),
            True,
        )
        for name, case in [("zeros", [0.0, 0.0]), ("one zero", [0.0, 2.0]), ("inf", [INF, 1.0])]
    ],
    *[
        EdgeRow(
            f"clip_by_global_norm ({name})",
            lambda t, x: t.clip_by_global_norm([x], 2.0)[0][0],
            (np.array(case, float),),
            True,
        )
        for name, case in [("zeros", [0, 0]), ("at the bound", [0, 2]), ("above", [3, 4]), ("inf", [INF, 1])]
    ],
    *[
        EdgeRow(f"nn.{name}{end}", pooled(name + end, rank), (CASES,), True)
        for name in POOLS
        for end, rank in RANKS
    ],
    *[
        EdgeRow(
            f"nn.pool ({kind})",
            lambda t, x, kind=kind: t.nn.pool(x[..., None], [2], kind)[..., 0],
            (CASES,),
            True,
        )
        for kind in ("MAX", "AVG")
    ],
    # segments
    EdgeRow("nn.isotonic_regression", lambda t, x: t.nn.isotonic_regression(x)[0], (CASES,), True),
    *[segments(f"math.segment_{how}") for how in ("max", "mean", "min", "prod", "sum")],
    *[segments(f"math.unsorted_segment_{how}", 2) for how in ("max", "mean", "min", "prod", "sqrt_n", "sum")],
)


def cotangent(row: EdgeRow, shape: Any, dtype: str) -> Array:
    """Ones; 1, 2, 3, ... along the last axis if the row mixes elements."""
    shape = tuple(shape)
    rising = np.arange(1, shape[-1] + 1) if row.mixes and shape else 1
    return np.broadcast_to(rising, shape).astype(dtype)


def derivatives(t: Any, row: EdgeRow, dtype: str) -> list[Any]:
    """The value, its gradient by each operand, and of each gradient the gradients by each operand."""
    xs = [t.constant(np.asarray(x, dtype)) for x in row.operands]
    with t.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with t.GradientTape() as inner:
            inner.watch(xs)
            y = row.function(t, *xs)
        first = inner.gradient(
            y, xs, t.constant(cotangent(row, y.shape, dtype)), unconnected_gradients="zero"
        )
    try:
        second = [
            outer.gradient(g, xs, t.constant(cotangent(row, g.shape, dtype)), unconnected_gradients="zero")
            for g in first
        ]
    except LookupError:  # TensorFlow lacks the second derivatives of a few functions
        second = []
    return [y, *first, *[g for gradients in second for g in gradients]]


def main() -> None:
    """Write `edge_values.json`."""
    import tensorflow

    values = {row.name: [_rounded(x) for x in derivatives(tensorflow, row, "float64")] for row in ROWS}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(results)}" for name, results in values.items())
    note = f"TensorFlow {tensorflow.__version__} gives these values and derivatives; edge_rows.py writes this file."
    path = Path(__file__).with_name("edge_values.json")
    path.write_text(f'{{\n"about": {json.dumps(note)},\n{lines}\n}}\n', encoding="utf-8")


def _rounded(x: Any) -> Any:
    array = np.asarray(x)
    return np.array([float(f"{v:.10g}") for v in array.ravel()]).reshape(array.shape).tolist()


if __name__ == "__main__":
    main()
