"""Calls of functions of ``keras.ops`` with Keras's results, which ``python tests/keras_ops_rows.py`` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

VALUES = Path(__file__).with_name("keras_ops_values.json")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 3)).astype(np.float32)
Y = RNG.normal(size=(2, 3)).astype(np.float32)
P = np.abs(X) + 0.5  # positive
U = np.array([[0.1, -0.4, 0.7], [0.3, 0.0, -0.9]], np.float32)  # within -1 and 1
N = np.array([[1.0, np.nan, 3.0], [np.inf, 5.0, -np.inf]], np.float32)
M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], np.float32)  # positive definite
I = np.array([[3, 0, 2], [5, 1, 4]], np.int32)  # noqa: E741
J = np.array([[2, 2, 1], [3, 1, 2]], np.int32)
L = np.array([[3, 0, 2], [5, 1, 4]], np.int64)
B = np.array([[True, False, True], [False, False, True]])
V = np.array([3.0, 1.0, 2.0], np.float32)
S = np.array([1.0, 2.0, 4.0], np.float32)  # sorted
IMAGE = RNG.normal(size=(1, 5, 5, 2)).astype(np.float32)
KERNEL = RNG.normal(size=(2, 2, 2, 3)).astype(np.float32)
DEEP = RNG.normal(size=(2, 2, 2, 1)).astype(np.float32)
POINT = RNG.normal(size=(1, 1, 2, 3)).astype(np.float32)

ROWS: list[tuple[Any, ...]] = []
"""Name, arguments, arguments by name."""


def rows(names: str, *args: Any, **kwargs: Any) -> None:
    """Add a call of each function."""
    ROWS.extend((name, args, kwargs) for name in names.split())


ANY_SIGN = (
    "cos sin tan cosh sinh tanh exp exp2 expm1 cbrt deg2rad fabs rad2deg sinc i0 erf erfc arctan arcsinh"
)
rows(f"{ANY_SIGN} relu relu6 selu silu softplus softsign swish sigmoid log_sigmoid hard_sigmoid gelu", X)
rows("cos sinh exp expm1 arctan deg2rad", I)
rows("log log10 log1p log2 sqrt rsqrt reciprocal", P)
rows("log1p sqrt", I)
rows("log sqrt exp", [1, 2, 3])
rows("exp tanh", [1.0, 2.0])
rows("arccos arcsin arctanh erfinv", U)
rows("arccosh", P + 1)
rows(
    "abs absolute ceil conj conjugate copy diagflat fliplr flipud floor negative real imag round sign square trunc",
    X,
)
rows("abs negative sign square copy", I)
rows("angle isreal ravel", X)
rows("isfinite isinf isnan isneginf isposinf signbit nan_to_num nanmax nanmin nanmean nansum nanargmax", N)
rows("nan_to_num", N, nan=1.0, posinf=9.0, neginf=-9.0)
rows(
    "nanmedian nanprod nanstd nanvar nancumsum nancumprod nanargmin", np.array([1.0, np.nan, 3.0], np.float32)
)
PAIRS = "add subtract multiply maximum minimum power divide true_divide mod floor_divide"
rows(
    f"{PAIRS} equal not_equal greater greater_equal less less_equal fmax fmin arctan2 hypot divide_no_nan",
    P,
    Y + 3,
)
rows(f"{PAIRS} equal less", I, J)
rows(f"{PAIRS} hypot logaddexp", L, P)
rows("add multiply maximum divide", X, 2)
rows("add multiply minimum divide", I, 2)
rows("add subtract", X, x2=Y)
rows("divide", 1, 2)
rows("heaviside logaddexp logaddexp2 nextafter", X, Y)
rows("fmod gcd lcm", I, J)
rows("ldexp", X, I)
rows("isclose allclose", X, X + 1e-9, rtol=1e-5, atol=1e-6)
rows("isin", I, J)
rows("isin", I, J, invert=True)
rows("logical_and logical_or logical_xor", B, ~B | B)
rows("logical_not", B)
rows("bitwise_and bitwise_or bitwise_xor left_shift right_shift bitwise_left_shift bitwise_right_shift", I, J)
rows("bitwise_not bitwise_invert", I)
rows("matmul dot", X, Y.T)
rows("matmul", L, P.T)
rows("inner", X, Y)
rows("outer vdot kron", V, S)
rows("tensordot", X, Y.T, axes=1)
rows("einsum", "ij,kj->ik", X, Y)
rows("cross", V, S)
rows("correlate", V, S, mode="full")
REDUCTIONS = (
    "sum prod max amax min amin mean std var any all median logsumexp argmax argmin ptp count_nonzero"
)
rows(REDUCTIONS, X)
rows("sum prod max min mean std var logsumexp median", X, axis=1, keepdims=True)
rows("sum mean argmax", X, -1)
rows("sum mean std var max argmax any all", I)
rows("mean sum", B)
rows("sum any all", B, axis=0)
rows("quantile nanquantile", X, 0.3)
rows("quantile", X, 0.3, axis=0, keepdims=True)
rows("percentile nanpercentile", X, 30.0)
rows("average", V, weights=S)
rows("argsort sort cumsum cumprod diff", X, axis=-1)
rows("cumsum", X)
rows("cumsum cumprod", I, axis=1)
rows("argpartition", V, 1)
rows("trapezoid", V, dx=0.5)
rows("clip", X, -0.5, 0.5)
rows("clip", X, x_min=0.0, x_max=1.0)
rows("clip", I, 1, 3)
rows("digitize", V, S)
rows("searchsorted", S, V, side="right")
rows("bincount", I[0], minlength=5)
rows("select", [X > 0, X < -0.5], [X, Y], 7.0)
rows("where", B, X, Y)
rows("where", B, x1=X, x2=0.0)
rows("nonzero", B)
rows("unravel_index", np.array([1, 5], np.int32), (2, 3))
rows("take", X, np.array([2, 0], np.int32), axis=1)
rows("take", X, np.array([4, 0], np.int32))
rows("take_along_axis", X, np.array([[2], [0]], np.int32), axis=1)
rows("concatenate stack", [X, Y], axis=1)
rows("concatenate stack vstack hstack dstack", [X, Y])
rows("append", X, Y, axis=0)
rows("unstack", X, axis=1)
rows("split", IMAGE, 5, axis=1)
rows("split", X, [1], axis=1)
rows("array_split", V, 2)
rows("hsplit", X, 3)
rows("vsplit", X, 2)
rows("dsplit", IMAGE[0], 2)
rows("reshape", X, (3, 2))
rows("reshape", X, (-1,))
rows("transpose", X)
rows("transpose", IMAGE, axes=(0, 3, 1, 2))
rows("expand_dims", X, 1)
rows("expand_dims", X, axis=-1)
rows("squeeze", X[:1], axis=0)
rows("broadcast_to", V, (2, 3))
rows("moveaxis swapaxes", IMAGE, 1, 3)
rows("flip", X, axis=1)
rows("roll", X, 1, axis=1)
rows("roll", X, 2)
rows("rot90", X)
rows("repeat", X, 2, axis=1)
rows("tile", X, (2, 1))
rows("diag", V)
rows("diagonal trace tril triu", M)
rows("tril triu", M, k=1)
rows("meshgrid", V, S, indexing="ij")
rows("zeros_like ones_like empty_like", X)
rows("zeros_like ones_like", I)
rows("ones_like", X, dtype="int32")
rows("full_like", X, 3)
rows("cast saturate_cast", X, "int32")
rows("cast", B, "float32")
rows("stop_gradient", X)
rows("shape ndim size dtype", X)
rows("top_k", X, 2)
rows("in_top_k", np.array([0, 2], np.int32), X, 1)
rows("slice", X, (0, 1), (2, 2))
rows("scatter", np.array([[1], [3]], np.int32), np.array([5.0, 6.0], np.float32), (5,))
rows("scatter_update", X, np.array([[0, 1], [1, 0]], np.int32), np.array([5.0, 6.0], np.float32))
rows(
    "scatter_update",
    X,
    np.array([[0, 1], [0, 1]], np.int32),
    np.array([5.0, 6.0], np.float32),
    reduction="add",
)
rows("slice_update", X, (0, 1), np.array([[8.0], [9.0]], np.float32))
rows("segment_sum segment_max segment_min segment_prod", V, np.array([0, 0, 1], np.int32), num_segments=2)
rows("segment_sum", V, np.array([0, 0, 1], np.int32))
rows("get_item", X, (0, slice(1, None)))
rows("softmax log_softmax", X)
rows("softmax log_softmax", X, axis=0)
rows("leaky_relu", X)
rows("leaky_relu", X, negative_slope=0.1)
rows("elu", X, alpha=0.5)
rows("elu", X)
rows("gelu", X, approximate=False)
rows("moments", X, axes=(1,))
rows("moments", X, [0], keepdims=True)
rows("sparse_categorical_crossentropy", np.array([0, 2], np.int32), X, from_logits=True)
rows("categorical_crossentropy", np.eye(3, dtype=np.float32)[:2], X, from_logits=True)
rows("categorical_crossentropy", np.eye(3, dtype=np.float32)[:2], P)
rows("extract_sequences", S, 2, 1)
rows("cholesky det inv logdet slogdet pinv matrix_rank", M)
rows("norm", X)
rows("norm", X, ord=1, axis=1, keepdims=True)
rows("solve", M, X.T)
rows("solve", M, V)
rows("solve_triangular", np.tril(M), X.T, lower=True)
rows("solve_triangular", np.triu(M), V)
rows("svd", M, compute_uv=False)
rows("eigh qr", M)
rows("one_hot", I, 6)
rows("one_hot", I[0], 4, axis=0, dtype="int32")
rows("zeros ones", (2, 3))
rows("zeros ones", (2,), dtype="int32")
rows("full", (2,), 3.5)
rows("full", (2,), 3, dtype="int32")
rows("empty", (0, 2))
rows("eye", 3)
rows("eye", 2, 3, 1)
rows("identity", 2)
rows("tri", 3, 4, 1)
rows("arange", 5)
rows("arange", 1, 7, 2)
rows("arange", 0.0, 1.0, 0.25)
rows("arange", 3, dtype="float32")
rows("linspace", 0.0, 1.0, 5)
rows("linspace", 0, 4, num=4, endpoint=False)
rows("array convert_to_tensor convert_to_numpy", [1.0, 2.0])
rows("array convert_to_tensor", [1, 2])
rows("convert_to_tensor", X, dtype="float16")
rows("is_tensor", X)
rows("batch_normalization", X, V, S, -1)
rows("batch_normalization", X, V, S, axis=1, offset=V, scale=S, epsilon=0.1)
rows("max_pool average_pool", IMAGE, 2)
rows("max_pool average_pool", IMAGE, (3, 2), strides=1, padding="same")
rows("conv", IMAGE, KERNEL)
rows("conv", IMAGE, KERNEL, strides=2, padding="same")
rows("conv", IMAGE, KERNEL, dilation_rate=2)
rows("depthwise_conv", IMAGE, DEEP, strides=1, padding="same")
rows("separable_conv", IMAGE, DEEP, POINT)


def called(ops: Any) -> dict[str, Any]:
    """Return the results of calls that take functions."""
    x = ops.convert_to_tensor(X)

    @ops.custom_gradient
    def doubled(z: Any) -> Any:
        return z * 2.0, lambda *args, upstream=None: args[0] if upstream is None else upstream

    return {
        "custom_gradient": doubled(x),
        "cond": ops.cond(ops.sum(x) > 100.0, lambda: x, lambda: -x),
        "while_loop": ops.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 2.0), (ops.array(0), x)),
        "fori_loop": ops.fori_loop(0, 3, lambda i, a: a + ops.cast(i, "float32"), x),
        "map": ops.map(lambda row: ops.sum(row * 2.0), x),
        "vectorized_map": ops.vectorized_map(lambda row: ops.max(row), x),
        "switch": ops.switch(1, [lambda a, b: a, lambda a, b: a * b], x, x),
    }


def plain(value: Any) -> Any:
    """Return a result as shapes, dtypes and numbers."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    array = np.asarray(value)
    return [str(array.dtype), list(array.shape), np.asarray(array, np.float64).ravel().tolist()]


if __name__ == "__main__":
    import keras

    results = []
    for name, args, kwargs in ROWS:
        try:
            results.append(plain(getattr(keras.ops, name)(*args, **kwargs)))
        except Exception as error:
            raise SystemExit(f"{name}: {error!r}"[:600]) from error
    of_functions = {name: plain(value) for name, value in called(keras.ops).items()}
    stored = {"keras": keras.__version__, "rows": results, "called": of_functions}
    VALUES.write_text(json.dumps(stored) + "\n", encoding="utf-8")
