"""The rows of reductions, scans, complex numbers, activations and losses, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special

from jittape.primitives import identity
from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.elementwise import complex_numbers as cx
from jittape.primitives.elementwise import division as dv
from jittape.primitives.elementwise import exponential as el
from jittape.primitives.elementwise import hyperbolic as hy
from jittape.primitives.elementwise import piecewise as st
from jittape.primitives.elementwise import trigonometric as tr
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.nn import activation as ac
from jittape.primitives.nn import cross_entropy as ce
from jittape.primitives.reduce import cumulative as cu
from jittape.primitives.reduce import extremum_indices as ei
from jittape.primitives.reduce import reductions as re
from jittape.primitives.reduce import statistics as sc
from jittape.primitives.spectra import norms as no
from primitive_table import INF, NAN, SPECIALS, Array, Row, between, bools, distinct, integers, normal, signed

CUBE = (2, 3, 4)
WITH_ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
WITH_NAN = np.array([[1.0, NAN, 3.0], [INF, -INF, 2.0], [-0.0, 0.0, -INF]])
EDGES = ((WITH_ZEROS,), (WITH_NAN,), (np.zeros((0, 3)),), (np.array(2.0),))


def reductions(name: str, function: Any, reference: Any, sample: Any = None, **options: Any) -> list[Row]:
    """Return rows of a reduction over all axes, over one axis, and over two axes that are kept."""
    options.setdefault("edges", EDGES)
    options.setdefault("rtol", 1e-13)
    rows = []
    for suffix, axis, keepdims in (("", None, False), (" last", -1, False), (" outer kept", (0, 2), True)):
        edges = options["edges"] if axis is None else ((WITH_ZEROS,), (WITH_NAN,)) if axis == -1 else ()
        rows.append(
            Row(
                name + suffix,
                lambda x, axis=axis, keepdims=keepdims: function(x, axis, keepdims),
                normal(CUBE) if sample is None else sample,
                lambda x, axis=axis, keepdims=keepdims: reference(x, axis=axis, keepdims=keepdims),
                **{**options, "edges": edges},
            )
        )
    return rows


def lowest(x: Array) -> Any:
    return -INF if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def highest(x: Array) -> Any:
    return INF if x.dtype.kind == "f" else np.iinfo(x.dtype).max


def logsumexp(x: Array, axis: Any, keepdims: bool) -> Array:
    return np.asarray(scipy.special.logsumexp(x, axis=axis, keepdims=keepdims))


REDUCTIONS = (
    *reductions("sum", re.reduce_sum, np.sum, analytic=True),
    *reductions("mean", re.reduce_mean, np.mean, analytic=True),
    *reductions("prod", re.reduce_prod, np.prod, analytic=True),
    *reductions(
        "max",
        re.reduce_max,
        lambda x, **k: np.max(x, initial=lowest(x), **k),
        distinct(CUBE),
    ),
    *reductions(
        "min",
        re.reduce_min,
        lambda x, **k: np.min(x, initial=highest(x), **k),
        distinct(CUBE),
    ),
    *reductions("any", re.reduce_any, np.any, bools(CUBE), wrt=()),
    *reductions("all", re.reduce_all, np.all, bools(CUBE), wrt=()),
    *reductions("logsumexp", sc.reduce_logsumexp, logsumexp, edges=((WITH_NAN,), (WITH_ZEROS * 1000,))),
    *reductions("variance", sc.reduce_variance, np.var),
    *reductions("std", sc.reduce_std, np.std),
    *(
        Row(
            f"{name} of integers",
            lambda x, f=function: f(x, 0),
            integers(-3, 3, (3, 4)),
            lambda x, f=reference: f(x, axis=0),
            dtypes=("float64",),
        )
        for name, function, reference in (
            ("sum", re.reduce_sum, lambda x, axis: np.sum(x, axis, dtype=np.int32)),
            ("prod", re.reduce_prod, lambda x, axis: np.prod(x, axis, dtype=np.int32)),
            ("max", re.reduce_max, np.max),
            ("min", re.reduce_min, np.min),
            ("mean", re.reduce_mean, np.mean),
            ("argmax", ei.argmax, np.argmax),
        )
    ),
    Row("norm", no.norm, normal(CUBE), lambda x: np.linalg.norm(x.ravel()), rtol=1e-13),
    Row(
        "norm 1",
        lambda x: no.norm(x, 1, 1),
        signed(0.2, 2, CUBE),
        lambda x: np.sum(np.abs(x), 1),
    ),
    Row(
        "norm nuc",
        lambda x: no.norm_body(x, "nuc", (0, 2), True, False),
        normal(CUBE),
        lambda x: np.linalg.norm(x, "nuc", (0, 2)),
        dtypes=("float64", "float32"),
        rtol=1e-13,
    ),
    Row(
        "norm inf",
        lambda x: no.norm(x, np.inf, 1),
        lambda rng: (rng.permutation(24).reshape(CUBE) / 10 + 0.1,),
        lambda x: np.max(np.abs(x), 1),
    ),
    Row(
        "argmax",
        lambda x: ei.argmax(x, 1),
        distinct(CUBE),
        lambda x: np.argmax(x, 1),
        wrt=(),
        edges=((WITH_NAN,),),
    ),
    Row(
        "argmin",
        lambda x: ei.argmin(x, 1),
        distinct(CUBE),
        lambda x: np.argmin(x, 1),
        wrt=(),
        edges=((WITH_NAN,),),
    ),
)


def scan(x: Array, function: Any, exclusive: bool, reverse: bool) -> Array:
    """Return the cumulative sum or product along axis 1, computed by its definition."""
    out = np.empty_like(x)
    n = x.shape[1]
    for i in range(n):
        part = x[:, i + exclusive :] if reverse else x[:, : i + 1 - exclusive]
        out[:, i] = function(part, axis=1)
    return out


SCANS = (
    *(
        Row(
            f"{name} {'exclusive' * e} {'reverse' * r}".strip(),
            lambda x, f=function, e=e, r=r: f(x, 1, e, r),
            normal((3, 4)),
            lambda x, f=reference, e=e, r=r: scan(x, f, e, r),
            edges=((WITH_ZEROS,), (np.zeros((2, 0)),)),
            analytic=True,
        )
        for name, function, reference in (
            ("cumsum", cu.cumsum, np.sum),
            ("cumprod", cu.cumprod, np.prod),
        )
        for e in (False, True)
        for r in (False, True)
    ),
    Row(
        "cumulative_max",
        lambda x: cu.cumulative_max_op.bind(x, axis=1),
        normal((3, 4)),
        lambda x: np.maximum.accumulate(x, 1),
        edges=((np.array([[-INF, 1.0, NAN, 2.0]]),), (np.zeros((2, 0)),)),
        wrt=(),
    ),
    Row(
        "recurrence_residual",
        cu.recurrence_residual_op.bind,
        lambda rng: (np.full(3, 1 / 3), np.full(3, 3.0), np.full(3, 0.5), np.array([1.5, 1.25, 1.0])),
        lambda before, factor, term, state: factor * before + term - state,
        dtypes=("float64",),
        wrt=(),
    ),
    Row(
        "linear_recurrence",
        lambda a, b: cu.recurrence_op.bind(a, b, axis=1),
        normal((2, 4), (2, 4)),
        lambda a, b: np.stack(
            [sum(b[:, j] * np.prod(a[:, j + 1 : i + 1], axis=1) for j in range(i + 1)) for i in range(4)],
            axis=1,
        ),
        analytic=True,
    ),
)


def parts(w: Any) -> Any:
    """Return a real number that depends on both parts of a complex one."""
    return add(cx.real(w), multiply(cx.imag(w), 2.0))


def complex_rows() -> Iterator[Row]:
    """Return rows for functions of complex numbers as real functions of both parts, which tests the conjugates."""
    for name, function, reference in (
        ("identity", lambda z: z, lambda z: z),
        ("conj", cx.conj, np.conj),
        ("abs", st.absolute, np.abs),
        ("angle", cx.angle, np.angle),
        ("sign", st.sign, lambda z: z / np.abs(z)),
        ("square", ar.square, np.square),
        ("cube", lambda z: pow(z, 3), lambda z: z**3),
        ("power", lambda z: pow(z, z), lambda z: z**z),
        ("reciprocal", dv.reciprocal, lambda z: 1 / z),
        ("divide", lambda z: dv.divide(el.exp(z), z), lambda z: np.exp(z) / z),
        ("exp", el.exp, np.exp),
        ("log", el.log, np.log),
        ("sqrt", el.sqrt, np.sqrt),
        ("sin", tr.sin, np.sin),
        ("tan", tr.tan, np.tan),
        ("tanh", hy.tanh, np.tanh),
        ("sigmoid", hy.sigmoid, lambda z: 1 / (1 + np.exp(-z))),
        ("prod", lambda z: re.reduce_prod(z, 0), lambda z: np.prod(z, 0)),
        ("cumprod", lambda z: cu.cumprod(z, 0), lambda z: np.cumprod(z, 0)),
        ("variance", re_variance, lambda z: np.var(z, 0)),
        ("norm", lambda z: no.norm(z, axis=0), lambda z: np.linalg.norm(z, axis=0)),
    ):
        yield Row(
            f"complex {name}",
            lambda x, y, f=function: parts(f(cx.complex(x, y))),
            signed(0.3, 1.0, (3, 2), (3, 2)),
            lambda x, y, f=reference: np.real(f(x + 1j * y)) + 2 * np.imag(f(x + 1j * y)),
            dtypes=("float64", "float32"),
            rtol=1e-13,
        )


def re_variance(z: Any) -> Any:
    return sc.reduce_variance(z, 0)


CASTS = (
    Row(
        "cast",
        lambda x: cx.cast(x, "float64"),
        normal(CUBE),
        lambda x: x.astype("float64"),
        dtypes=("float64",),
    ),
    Row("cast to int", lambda x: cx.cast(x, "int32"), normal(CUBE), lambda x: x.astype("int32"), wrt=()),
    *(
        Row(
            f"cast to {dtype}, out of range",
            lambda x, dtype=dtype: cx.cast(x, dtype),
            lambda rng: (rng.uniform(0.0, 100.0, 9),),
            lambda x, dtype=dtype: x.astype(dtype),
            edges=((np.array([0.0, 127.5, 1.0]),), (np.zeros((0, 3)),)),
            wrt=(),
        )
        for dtype in ("int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64")
    ),
    Row(
        "cast to bool",
        lambda x: cx.cast(x, bool),
        normal(CUBE),
        lambda x: x != 0,
        wrt=(),
        edges=((SPECIALS,),),
    ),
    Row(
        "cast to complex",
        lambda x: cx.real(cx.cast(x, "complex128")),
        normal(CUBE),
        lambda x: x,
        dtypes=("float64",),
    ),
    Row("identity", identity.identity, normal(CUBE), lambda x: x),
    Row("stop_gradient", identity.stop_gradient, normal(CUBE), lambda x: x, wrt=()),
)

# ---- activations and losses ------------------------------------------------------------------------------------------


def activation(name: str, function: Any, reference: Any, **options: Any) -> Row:
    return Row(name, function, signed(0.2, 2.5, (3, 4)), reference, rtol=1e-13, **options)


def softmax(x: Array) -> Array:
    return scipy.special.softmax(x, axis=-1)


MODERATE = (np.array([0.0, -0.0, 1.0, -1.0, INF, 50.0, -50.0, NAN]),)

ACTIVATIONS = (
    activation("relu", ac.relu, lambda x: np.maximum(x, 0), edges=((SPECIALS,),)),
    activation("relu6", ac.relu6, lambda x: np.clip(x, 0, 6), edges=((SPECIALS,),)),
    activation("leaky_relu", ac.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x), edges=((SPECIALS,),)),
    activation("elu", ac.elu, lambda x: np.where(x > 0, x, np.expm1(x)), edges=((SPECIALS,),)),
    activation(
        "selu",
        ac.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
        edges=(MODERATE,),
    ),
    activation("gelu", ac.gelu, lambda x: x * scipy.special.ndtr(x), edges=(MODERATE,)),
    activation(
        "gelu approximate",
        lambda x: ac.gelu(x, True),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    activation("silu", ac.silu, lambda x: x * scipy.special.expit(x), edges=(MODERATE,)),
    activation("softsign", ac.softsign, lambda x: x / (1 + np.abs(x))),
    activation("softmax", ac.softmax, softmax, edges=((np.array([1e4, -1e4, 0.0]),),)),
    activation("softmax first", lambda x: ac.softmax(x, 0), lambda x: scipy.special.softmax(x, axis=0)),
    activation(
        "log_softmax",
        ac.log_softmax,
        lambda x: scipy.special.log_softmax(x, axis=-1),
        edges=((np.array([1e4, -1e4, 0.0]),),),
    ),
    activation(
        "l2_normalize",
        lambda x: ac.l2_normalize(x, 1),
        lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    ),
    activation("moments", lambda x: sc.moments(x, [0])[1], lambda x: np.var(x, 0)),
)


def one_hot(labels: Array, count: int) -> Array:
    return np.eye(count)[labels]


LOSSES = (
    Row(
        "softmax_cross_entropy",
        ce.softmax_cross_entropy_with_logits,
        between(0.1, 1.0, (3, 4), (3, 4)),
        lambda p, x: -np.sum(p * scipy.special.log_softmax(x, axis=-1), -1),
        rtol=1e-13,
    ),
    Row(
        "sparse_softmax_cross_entropy",
        ce.sparse_softmax_cross_entropy_with_logits,
        lambda rng: (rng.integers(0, 4, 3), rng.standard_normal((3, 4))),
        lambda labels, x: -np.sum(one_hot(labels, 4) * scipy.special.log_softmax(x, axis=-1), -1),
        rtol=1e-13,
    ),
    Row(
        "sigmoid_cross_entropy",
        ce.sigmoid_cross_entropy_with_logits,
        between(0.1, 1.0, (3, 4), (3, 4)),
        lambda z, x: np.logaddexp(0, x) - x * z,
        rtol=1e-13,
        edges=((np.array([0.0, 1.0, 0.5]), np.array([100.0, -100.0, 0.0])),),
    ),
    Row(
        "weighted_cross_entropy",
        lambda z, x: ce.weighted_cross_entropy_with_logits(z, x, 3.0),
        between(0.1, 1.0, (3, 4), (3, 4)),
        lambda z, x: 3 * z * np.logaddexp(0, -x) + (1 - z) * np.logaddexp(0, x),
        rtol=1e-13,
    ),
    Row("l2_loss", ce.l2_loss, normal((3, 4)), lambda x: np.sum(x * x) / 2, rtol=1e-13),
)

ROWS: tuple[Row, ...] = (*REDUCTIONS, *SCANS, *complex_rows(), *CASTS, *ACTIVATIONS, *LOSSES)
