"""Random calls of NumPy with options, from a seed: their gradients against differences, and further functions.

``python -m random_numpy_gradients --n 10000 --seed 1`` (in the folder `tests`) draws calls of the other modules and of
functions that they do not draw, with NumPy's names and those of `jittape.numpy`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import jittape as jt
import jittape.numpy as jnp
from random_numpy_calls import ALIKE, SHAPES, Call, _Draws, difference, random_call, report
from random_numpy_calls import REFUSED as REFUSED_CALLS
from random_numpy_functions import REALS, random_function_call

__all__ = ["gradient_mismatch", "random_gradient_call"]

NOT_COMPARED = (
    "linalg.cholesky linalg.eigh linalg.eigvalsh histogram histogram2d histogramdd histogram_bin_edges "
    "linalg.eig linalg.eigvals sort_complex roots method.tolist method.item method.__complex__"
)
"""Functions of symmetric matrices, of which NumPy reads one half, and functions whose results have no gradient."""
WRITES = "fill_diagonal put put_along_axis putmask place copyto"
"""Functions that NumPy's own names refuse for tensors."""
REFUSED = re.compile("does not support casting=|does not support dtype=|cannot put|is read-only")
"""Errors of calls that NumPy computes, and of NumPy in a copy that it makes itself."""


# ---- calls -----------------------------------------------------------------------------------------------------------


def _joining(d: Any) -> Call:
    name = d.name("column_stack dstack vstack hstack block concatenate meshgrid broadcast_arrays")
    shape = d.one(*SHAPES)
    parts = [d.array(shape if d.rng.random() < 0.7 else None) for _ in range(d.one(1, 2, 3))]
    if name == "meshgrid":
        return Call(name, tuple(parts), d.one({}, {"indexing": "ij"}, {"sparse": True}, {"indexing": "foo"}))
    if name == "broadcast_arrays":
        return Call(name, tuple(parts), {})
    if name == "concatenate":
        return Call(name, (parts,), d.options("axis dtype casting"))
    return Call(name, (parts,), d.options("dtype casting") if name in ("vstack", "hstack") else {})


def _splitting(d: Any) -> Call:
    name = d.name("vsplit hsplit dsplit array_split split")
    return Call(name, (d.array(), d.one(1, 2, 3, [1], [1, 2], [2, 1], 0)), {})


def _writing(d: Any) -> Call:
    operand = d.array()
    own_mask = d.one(d.mask(), d.rng.random(size=operand.shape) < 0.6, d.rng.random(size=operand.size) < 0.6)
    places = d.one(np.array([[0], [1]]), np.array([[0, 1, 1]]), np.array([1]))
    name, operands, options = d.one(
        ("fill_diagonal", (d.one(2, 2.5, [1, 2, 3]),), {}),
        ("put", (d.one([0, -1], 1, [[0, 2]], [9]), d.one(5, [1, 2], 2.5, [])), {}),
        ("put_along_axis", (places, d.one(7, 2.5), d.one(0, 1, -1, None)), {}),
        ("putmask", (own_mask, d.one(5, [1, 2], 2.5)), {}), ("place", (own_mask, d.one(5, [1, 2], 2.5)), {}),
        ("copyto", (d.one(5, 2.5, d.array()),), d.options("where")),
        ("copyto", (d.array(),), d.options("casting")),
    )  # fmt: skip
    return Call(name, (operand, *operands), options)


def _cubic(x: Any) -> Any:
    return x * x * x


def _selecting(d: Any) -> Call:
    real = d.array(dtypes=REALS[1:], finite=True)
    name, operands, options = d.one(
        ("partition", (d.array((1,)), 0), {}),
        ("partition", (np.full(5, d.array((), finite=True)), d.one(1, [0, 3], -1, 9)), {}),
        ("piecewise", (real, [real < 0, real > 1], d.one([-1.0, _cubic], [_cubic, 2, 3], [1, _cubic, _cubic])), {}),
        ("apply_over_axes", (np.sum, d.array(), d.one(0, [0, 1], -1)), {}),
        ("apply_along_axis", (d.one(np.sum, np.cumsum, np.max), d.one(0, -1, 1), d.array((2, 3), finite=True)), {}),
        ("array_equiv", (d.array(), d.array()), {}),
        ("geomspace", (abs(d.array((3,), ALIKE, finite=True)) + 1, 5, 4), d.one({}, {"endpoint": False})),
        ("polydiv", (d.array((4,), ALIKE, finite=True), d.array((2,), ALIKE, finite=True) + 5), {}),
        ("polysub", (d.array((3,)), d.array((2,))), {}),
        ("roots", (np.array([1.0, -6.0, 11.0, -6.0]) * d.one(1, 2.0),), {}),
        ("isneginf", (real,), {}), ("isposinf", (real,), {}),
        ("iscomplexobj", (d.array(),), {}), ("isrealobj", (d.array(),), {}),
        ("histogramdd", (d.array((5, 2), ALIKE, finite=True),), {"bins": d.one(3, (2, 3))}),
        ("histogram_bin_edges", (d.array((5,), ALIKE, finite=True),), {"bins": d.one(3, [0.0, 1.0], "sturges")}),
        ("packbits", (d.array(dtypes=("bool", "uint8")),), d.one({}, {"axis": 0}, {"bitorder": "little"})),
        ("unpackbits", (d.array(d.one((3,), (2, 3)), dtypes=("uint8",)),), d.one({}, {"axis": 0}, {"count": 5})),
        ("ravel_multi_index", ((np.array([0, 1]), np.array([2, 5])), (2, 3)), {"mode": d.one("raise", "wrap", "clip")}),
        ("unravel_index", (d.array((3,), ("uint8", "int64")), (3, 40)), {}),
        ("full_like", (d.array(), d.array(())), d.options("dtype")), ("matrix_transpose", (d.array(),), {}),
        ("around", (d.array(finite=True),), {"decimals": d.one(0, 1, -1)}),
        ("amax", (d.array(),), d.options("axis keepdims")),
        ("amin", (d.array(),), d.options("axis keepdims")), ("atleast_1d", (d.array(), d.array()), {}),
        ("common_type", (d.array(), d.array()), {}), ("tril_indices_from", (d.array(),), {"k": d.one(0, 1)}),
        ("triu_indices_from", (d.array(),), {"k": d.one(0, -1)}), ("diag_indices_from", (d.array(),), {}),
        ("unique_values", (np.array([3.5, 1.0, 3.5]),), {}),
    )  # fmt: skip
    return Call(name, operands, options)


def _matrices(d: Any) -> Call:
    matrix = d.array(
        d.one((3, 3), (2, 3, 3), (2, 3)), dtypes=("float64", "float32", "complex128", "int64"), finite=True
    )
    if matrix.shape[-2:] == (3, 3):
        matrix = matrix + np.diag([9, 20, 40]).astype(matrix.dtype)
    cube = np.round(d.rng.normal(size=(6, 2, 3)), 1) + 9 * np.eye(6).reshape(6, 2, 3)
    name, operands, options = d.one(
        ("linalg.matmul", (matrix, d.array((3, 3), finite=True)), {}),
        ("linalg.tensorinv", (cube,), {"ind": d.one(1, 2)}),
        ("linalg.eigvals", (matrix,), {}),
        ("linalg.svd", (matrix,), {"compute_uv": False, "full_matrices": d.one(True, False)}),
        ("linalg.multi_dot", ([matrix, matrix, matrix],), {}), ("linalg.qr", (matrix,), {"mode": "r"}),
    )  # fmt: skip
    return Call(name, operands, options)


OWN: tuple[Callable[[Any], Call], ...] = (
    _joining,
    _splitting,
    _writing,
    _selecting,
    _selecting,
    _selecting,
    _matrices,
)


def random_gradient_call(seed: Any) -> Call:
    """Return a call of any module."""
    d = _Draws(seed)
    kind = d.rng.integers(4)
    if kind < 2:
        return d.one(*OWN)(d)
    inner = (*(seed if isinstance(seed, tuple) else (seed,)), 7)
    return random_call(inner) if kind == 2 else random_function_call(inner)


# ---- values ----------------------------------------------------------------------------------------------------------


def results_of(call: Call, namespace: Any, own: Callable[[Any], Any]) -> list[Any]:
    """Return the results, and the operand that a call wrote to; `own` converts the arrays among the arguments."""

    def made(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            return type(value)(map(made, value))
        return own(value) if isinstance(value, np.ndarray) else value

    name, options = call.name, {k: made(v) for k, v in call.options.items()}
    first, *others = map(made, call.operands) if call.operands else (None,)
    if name == "index":
        return [first[call.operands[1]]]
    if name == "write":
        first[call.operands[1]] = others[1]
        return [first]
    if "reduceat" in name:
        others = list(call.operands[1:])
    function: Any = getattr(first, name[7:]) if name.startswith("method.") else namespace
    if function is namespace:
        for part in name.split("."):
            function = getattr(function, part)
        result = function(first, *others, **options) if call.operands else function(**options)
    else:
        result = function(*others, **options)
    return [*_leaves(first if result is None else result), *_leaves(options.get("out"))]


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for r in result for leaf in _leaves(r)]
    return [] if result is None or result is NotImplemented else [result]


def _quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Return the result or the error of a function."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            with suppress(Exception):
                jt.ones(()).numpy()  # an operand may wait for an error of its own
            return error


def _value_mismatch(call: Call) -> str | None:
    def arrays(namespace: Any, own: Any) -> list[Any]:
        return [x if isinstance(x, type) else np.asarray(x) for x in results_of(call, namespace, own)]

    wanted = _quietly(arrays, np, np.ndarray.copy)
    for namespace in (jnp,) if call.name in WRITES.split() else (np, jnp):
        found = _quietly(arrays, namespace, jt.constant)
        if (
            call.name == "common_type"
            and not isinstance(wanted, Exception)
            and not isinstance(found, Exception)
        ):
            text = None if np.dtype(found[0]) == np.dtype(wanted[0]) else f"is {found}, not {wanted}"
        elif call.name == "unique_values" and not isinstance(found, Exception):
            text = None if sorted(found[0]) == sorted(wanted[0]) else f"is {found}, not {wanted}"
        else:
            text = difference(call, wanted, found)
        if text and not (isinstance(found, Exception) and REFUSED.search(str(found))):
            return f"{namespace.__name__}: {text}"
    return None


# ---- gradients -------------------------------------------------------------------------------------------------------


def _weights(size: int) -> np.ndarray[Any, Any]:
    return np.cos(np.arange(size) + 0.5)


def _total(results: list[Any]) -> float:
    total = 0.0
    for result in results:
        value = np.asarray(result)
        if value.dtype.kind in "fc" and value.dtype.itemsize >= 8 and value.dtype != np.complex64:
            parts = np.real(value).ravel() + (
                0.7 * np.imag(value).ravel() if value.dtype.kind == "c" else 0.0
            )
            total += float(np.sum(_weights(value.size) * parts))
    return total


def _recorded_total(results: list[Any]) -> Any:
    total: Any = jt.constant(0.0, dtype="float64")
    for x in results:
        if isinstance(x, (jt.Tensor, jt.Variable)) and x.dtype in (np.float64, np.complex128):
            flat = jt.reshape(x, (-1,))
            parts = flat if x.dtype == np.float64 else jt.math.real(flat) + 0.7 * jt.math.imag(flat)
            total = total + jt.reduce_sum(parts * _weights(int(x.size)))
    return total


def _arrays_in(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in _arrays_in(v)]
    return [value] if isinstance(value, np.ndarray) else []


def wrong_gradient(call: Call) -> str | None:
    """Return how the gradient of a weighted sum of the results differs from differences; None if it does not."""
    if call.name in NOT_COMPARED.split() or "uint" in str(call.options.get("dtype")):
        return None
    given = [
        a for a in _arrays_in([*call.operands, *call.options.values()]) if a.dtype == np.float64 and a.size
    ]
    if not given or not all(np.isfinite(a).all() for a in given):
        return None
    rng = np.random.default_rng(0)
    moves = {id(a): (0.013 * rng.normal(size=a.shape), rng.normal(size=a.shape)) for a in given}

    def moved(step: float) -> Callable[[Any], Any]:
        def own(a: Any) -> Any:
            known = moves.get(id(a))
            return a.copy() if known is None else np.array(a + known[0] + step * known[1], order="C")

        return own

    slopes = []
    for step in (1e-6, 2.5e-7):
        ends = [_quietly(lambda h: _total(results_of(call, np, moved(h))), h) for h in (step, -step)]
        if any(isinstance(e, Exception) or not np.isfinite(e) for e in ends):
            return None
        slopes.append((ends[0] - ends[1]) / (2 * step))
    size = max(1.0, abs(_total(results_of(call, np, moved(0.0)))))
    if not np.isclose(*slopes, rtol=1e-4, atol=1e-5 * size):
        return None
    sources: list[Any] = []
    slopes_of: list[Any] = []

    def own(a: Any) -> Any:
        tensor = jt.constant(moved(0.0)(a))
        if id(a) in moves:
            sources.append(tensor)
            slopes_of.append(moves[id(a)][1])
            tape.watch(tensor)
            tensor = tensor * 1.0  # a call may write to it
        return tensor

    def gradients() -> Any:
        nonlocal tape
        with jt.GradientTape() as tape:
            target = _recorded_total(results_of(call, jnp if call.name in WRITES.split() else np, own))
        return tape.gradient(target, sources)

    tape: Any = None
    found = _quietly(gradients)
    if isinstance(found, Exception):
        return None if REFUSED_CALLS.search(str(found)) else f"gradient raises {found!r}"
    pairs = zip(found, slopes_of, strict=True)
    slope = sum(float(np.sum(g.numpy() * move)) for g, move in pairs if g is not None)
    if np.isnan(slope) and "std" in call.name:
        return None  # of one element, where the square root has no derivative
    same = np.isclose(slope, slopes[1], rtol=1e-3, atol=1e-4 * size)
    return None if same else f"slope {slope}, differences {slopes}"


def gradient_mismatch(call: Call) -> str | None:
    """Return how tensors differ from ndarrays, or a gradient from differences; None if they do not."""
    if isinstance(_quietly(results_of, call, np, np.array), Exception):
        return _value_mismatch(call)
    text = _value_mismatch(call) or wrong_gradient(call)
    return None if text is None or REFUSED.search(text) else text


if __name__ == "__main__":
    report(random_gradient_call, gradient_mismatch, __doc__)
