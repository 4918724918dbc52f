"""Random calls of NumPy's functions with options, from a seed: quantiles, pads, sets, sorts, products, linalg, fft.

``python -m random_numpy_functions --n 10000 --seed 1`` (in the folder `tests`) compares many with tensors: values,
dtypes, shapes, and whether both raise; of functions with a derivative also the gradient with differences.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import jittape as jt
from random_numpy_calls import ALIKE, DTYPES, SHAPES, Call, _Draws, difference, report

__all__ = ["function_mismatch", "random_function_call"]

REALS = tuple(name for name in DTYPES if name[0] != "c")
METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear "
    "median_unbiased normal_unbiased lower higher midpoint nearest"
)
MODES = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap empty"
EINSUMS = (
    "ij,jk->ik", "ij,jk", "ij->ji", "ii->i", "ii", "ij->", "ij->j", "...j,jk->...k", "ij,ij->ij", "ij,kj->ik",
    "i,j->ij",
    "ij,ji", "i...->...", "ijj->i", "ij,j", "ij,jk,kl->il", "bij,bjk->bik", "iij", "i->ii", "...->...", "ij,",
)  # fmt: skip


def _quantile(d: Any) -> Call:
    name = d.name("quantile percentile nanquantile nanpercentile")
    q = d.one(0.3, 0, 1, [0.1, 0.5], [[0.2], [1.0]], 0.5, 1.5, np.float32(0.5), [])
    q = q if "quantile" in name else np.multiply(q, 100) if d.rng.random() < 0.8 else 30
    # NumPy 2.4 puts the dimensions of q in the wrong place if it ignores nan along several axes.
    axis = d.one(None, 0, -1, 1, 2) if "nan" in name else d.axis()
    options = {"axis": axis} | ({"method": d.name(METHODS)} if d.rng.random() < 0.6 else {})
    if d.rng.random() < 0.2:
        options |= {"keepdims": True}
    operand = d.array(dtypes=REALS[1:])
    operand = (
        operand.astype("f4") if operand.dtype == np.float16 else operand
    )  # NumPy rounds the steps to float16
    if "nan" in name and np.isnan(operand).all():
        operand = np.ones_like(operand)  # if all elements are nan, NumPy's dtype may be another one
    if d.rng.random() < 0.15 and operand.ndim and isinstance(options["axis"], int) and "nan" not in name:
        size = operand.shape[-1]
        options = {"axis": -1, "method": "inverted_cdf", "weights": d.rng.integers(0, 4, size=size)}
    return Call(name, (operand, q), options)


def _pad(d: Any) -> Call:
    mode = d.name(MODES[:-6])
    options: dict[str, Any] = {"mode": mode}
    if mode == "constant" and d.rng.random() < 0.6:
        options["constant_values"] = d.one(3, (1, 2), ((1, 2),), 2.7)
    if mode == "linear_ramp" and d.rng.random() < 0.6:
        options["end_values"] = d.one(3, (1, 2))
    if mode in ("maximum", "mean", "median", "minimum") and d.rng.random() < 0.6:
        options["stat_length"] = d.one(1, 2, (1, 2), 9)
    if mode in ("reflect", "symmetric") and d.rng.random() < 0.5:
        options["reflect_type"] = d.one("even", "odd")
    width = d.one(1, 2, 0, (1, 2), ((1, 0), (2, 3)), ((1, 2),), 5, (0, 4), -1, {0: 1}, {-1: (2, 1)})
    return Call("pad", (d.array(finite=True), width), options)


def _take(d: Any) -> Call:
    name = d.name("take take take_along_axis compress extract choose select")
    mode = {"mode": d.one("raise", "wrap", "clip")} if d.rng.random() < 0.7 else {}
    places = d.one([0, -1], 1, [[0, 1], [1, 0]], [5, -7], np.array([1], "uint8"), [], np.array(2), [True])
    if name == "take":
        return Call(name, (d.array(), places), mode | d.options("axis"))
    if name == "take_along_axis":
        operand = d.array()
        order = d.rng.integers(-3, 3, size=operand.shape)
        return Call(name, (operand, order), {"axis": d.one(0, -1, 1, None)})
    if name in ("compress", "extract"):
        keep = d.one([True, False], [0, 1, 1], [], [True], np.array([False, True, True]), [[1, 0, 1]])
        return Call(name, (keep, d.array()), {"axis": d.one(None, 0, 1)} if name == "compress" else {})
    if name == "choose":
        return Call(name, (d.array(dtypes=("int64", "uint8", "bool")), [d.array((3,)), 7.5]), mode)
    shape = d.one((3,), (2, 3))
    conditions = [d.rng.random(size=shape) < 0.5, d.rng.random(size=shape) < 0.5]
    return Call("select", (conditions, [d.array((3,)), d.array(shape)]), d.one({}, {"default": 2.5}))


def _sets(d: Any) -> Call:
    name = d.name(
        "unique union1d intersect1d setdiff1d setxor1d isin unique_counts unique_inverse unique_all"
    )
    operand = d.array(dtypes=REALS)
    if name == "unique":
        flags = ("return_index", "return_inverse", "return_counts")
        options = {f: True for f in flags if d.rng.random() < 0.4} | d.options("axis")
        return Call(name, (operand,), options | ({"equal_nan": False} if d.rng.random() < 0.2 else {}))
    if name.startswith("unique"):
        return Call(name, (operand,), {})
    options = {"isin": {"invert": True}, "intersect1d": {"return_indices": True}}.get(name, {})
    return Call(name, (operand, d.array(dtypes=REALS)), options if d.rng.random() < 0.4 else {})


def _sort(d: Any) -> Call:
    name = d.name("sort argsort argpartition searchsorted lexsort sort_complex digitize bincount histogram")
    axis = {"axis": d.one(None, 0, -1, 1, 2)} if d.rng.random() < 0.7 else {}
    if name in ("sort", "argsort"):
        kind = d.one({"stable": True}, {"kind": "stable"}, {"kind": "mergesort"}, {"kind": "foo"})
        return Call(name, (d.array(),), axis | (kind if name == "argsort" or d.rng.random() < 0.4 else {}))
    if name == "argpartition":
        return Call(name, (d.array((1,)), 0), axis)
    if name == "searchsorted":
        line = np.sort(d.array(d.one((3,), (5,), (0,), (1,)), dtypes=REALS, finite=True))
        return Call(name, (line, d.array(dtypes=REALS, finite=True)), d.one({}, {"side": "right"}))
    if name == "lexsort":
        return Call(name, (d.one(d.array((2, 3)), d.array((3,)), (d.array((3,)), d.array((3,)))),), axis)
    if name == "sort_complex":
        return Call(name, (d.array(d.one((3,), (2, 3), (0,))),), {})
    if name == "digitize":
        line = d.one([-1.0, 0.5, 2.0], [2, 1, 0], [1], [], [0, 2, 1])
        return Call(name, (d.array(dtypes=REALS), line), d.one({}, {"right": True}))
    if name == "bincount":
        counted = d.array(
            d.one((3,), (5,), (0,), (2, 3)), dtypes=("uint8", "int64", "bool", "float64", "uint8")
        )
        weights = {"weights": d.array((3,), dtypes=REALS, finite=True)} if d.rng.random() < 0.4 else {}
        return Call(name, (counted,), weights | d.one({}, {"minlength": 7}, {"minlength": -1}))
    bins = d.one({}, {"bins": 4}, {"bins": [-2, 0, 2.5]}, {"bins": 3, "range": (-1, 2)}, {"bins": 0})
    return Call(name, (d.array(dtypes=REALS[1:], finite=True),), bins | d.one({}, {"density": True}))


def _products(d: Any) -> Call:
    name = d.name(
        "einsum einsum tensordot dot matmul inner outer vdot vecdot matvec vecmat kron cross convolve"
    )
    shapes = ((3,), (3, 3), (2, 3), (2, 3, 3), (), (1, 3), (0, 3))
    if name == "einsum":
        equation = d.one(*EINSUMS)
        count = equation.split("->")[0].count(",") + 1
        square = d.one((3, 3), (3, 3), (2, 3, 3), (3,))
        arrays = [d.array(square, finite=True) for _ in range(count)]
        return Call(name, (equation, *arrays), d.options("dtype") if count > 1 else {})
    first, second = d.array(d.one(*shapes), finite=True), d.array(d.one(*shapes), finite=True)
    options: dict[str, Any] = {}
    if name == "tensordot":
        options = {"axes": d.one(0, 1, 2, ([0], [0]), ([-1], [0]), (0, 1), ([0, 1], [1, 0]))}
    if name in ("cross", "vecdot") and d.rng.random() < 0.3:
        options = {"axis": d.one(0, -1, 1)}
    if name in ("matmul", "vecdot") and d.rng.random() < 0.3:
        options |= d.options("dtype out casting")
    if name == "convolve":
        options = d.one({}, {"mode": "same"}, {"mode": "valid"}, {"mode": "foo"})
    return Call(name, (first, second), options)


def _shapes(d: Any) -> Call:
    name, operands, options = d.one(
        ("reshape", (d.one((-1,), (3, -1), (1, -1), (6,), (), 3, (0, -1)),),
            {"order": d.name("C F A"), "copy": d.one(None, True)}),
        ("transpose", (), d.one({}, {"axes": (1, 0)}, {"axes": (-1, 0)}, {"axes": (0, 0)}, {"axes": (2, 0, 1)})),
        ("squeeze", (), {"axis": d.axis()}), ("expand_dims", (), {"axis": d.one(0, -1, (0, 1), (0, 0), 3, (0, -1))}),
        ("roll", (d.one(1, -5, (1, 2), [1]),), {"axis": d.one(None, 0, -1, (0, 1), 2, (0, 0))}),
        ("flip", (), {"axis": d.axis()}), ("repeat", (d.one(2, 0, [1, 2, 0], [2]),), {"axis": d.one(None, 0, -1)}),
        ("tile", (d.one(2, (2, 1), (), 0, (1, 2, 1)),), {}),
        ("broadcast_to", (d.one((3, 3), (2, 3), (), (2, 3, 3), 3, (0, 3)),), {}),
        ("resize", (d.one((2, 2), 5, (0,), (), (3, 3)),), {}),
        ("split", (d.one(1, 3, 2, [1], [1, 5], [2, 1]),), {"axis": d.one(0, -1)}),
        ("array_split", (d.one(2, 4, [1], 0),), {"axis": d.one(0, -1, 1)}), ("hsplit", (d.one(1, 3, [1]),), {}),
        ("delete", (d.one(0, -1, [0, 1], slice(None, None, 2), 9, [], [True, False, True], np.array([1, 1])),),
            {"axis": d.one(None, 0, -1)}),
        ("insert", (d.one(0, -1, [0, 1], slice(0, 2), 9, [1, 1]), d.one(5, [1, 2], 2.5, np.ones((1, 3)))),
            {"axis": d.one(None, 0, -1)}),
        ("append", (d.one(5, [1, 2], np.ones((1, 3), "int8")),), {"axis": d.one(None, 0)}),
        ("diagonal", (), d.one({}, {"offset": 1}, {"offset": -5}, {"axis1": 1, "axis2": 0})),
        ("trace", (), d.one({}, {"offset": -1}, {"dtype": "float32"}, {"axis1": -1, "axis2": 0})),
        ("diag", (), {"k": d.one(0, 1, -1, 4)}), ("tril", (), {"k": d.one(0, 1, -1)}),
        ("triu", (), {"k": d.one(0, 1, -2)}),
        ("rollaxis", (d.one(0, -1, 1),), {"start": d.one(0, 1, 2)}),
        ("moveaxis", (d.one(0, -1, (0, 1)), d.one(0, -1, (1, 0))), {}),
        ("rot90", (), {"k": d.one(1, 2, -1, 5)}), ("atleast_2d", (), {}), ("atleast_3d", (), {}),
        ("ravel", (), {"order": d.name("C F A K")}),
        ("astype", (d.one(*DTYPES),), {}), ("trim_zeros", (), d.one({}, {"trim": "f"})),
        ("unstack", (), {"axis": d.one(0, -1)}),
        ("nonzero", (), {}), ("argwhere", (), {}), ("flatnonzero", (), {}), ("count_nonzero", (), {"axis": d.axis()}),
    )  # fmt: skip
    finite = name == "astype"
    return Call(name, (d.array(finite=finite), *operands), options)


def _statistics(d: Any) -> Call:
    real = d.array(dtypes=REALS[1:], finite=True)
    name, operands, options = d.one(
        ("average", (d.array(),), d.one({}, {"weights": np.array([1.0, 2, 3])}, {"weights": [0, 0, 0]},
            {"returned": True}) | d.options("axis keepdims")),
        ("cov", (d.array(finite=True),), d.one({}, {"rowvar": False}, {"bias": True}, {"ddof": 0},
            {"fweights": [1, 2, 1]}, {"aweights": [1.0, 2, 1]})),
        ("corrcoef", (d.array(finite=True),), d.one({}, {"rowvar": False})),
        ("gradient", (real,), d.one({}, {"axis": 0}, {"axis": -1, "edge_order": 2}, {"axis": (0, 1)})),
        ("gradient", (real, 0.5), {}),
        ("diff", (d.array(),), d.one({}, {"n": 2}, {"n": 0}, {"prepend": 1}, {"append": [2.5]},
            {"n": -1}) | d.one({}, {"axis": 0})),
        ("ediff1d", (d.array(),), d.one({}, {"to_begin": 1}, {"to_end": [1, 2]})),
        ("trapezoid", (real,), d.one({}, {"dx": 0.5}, {"axis": 0}, {"x": [0, 1, 3]})),
        ("interp", (real, [-1.0, 0.5, 2.0], [1.0, 3.0, -2.0]),
            d.one({}, {"left": 7}, {"right": -1.5}, {"period": 4})),
        ("clip", (d.array(),), d.one({"a_min": -1, "a_max": 1}, {"min": 0}, {"max": 2.5},
            {"a_min": [0, 1, 2], "a_max": None}, {}) | d.options("out")),
        ("nan_to_num", (d.array(),), d.one({}, {"nan": 1}, {"posinf": 2, "neginf": -2}, {"copy": True})),
        ("round", (d.array(finite=True),), {"decimals": d.one(0, 1, -1)} | d.options("out")),
        ("unwrap", (real,), d.one({}, {"axis": 0}, {"discont": 4}, {"period": 2.0})),
        ("angle", (d.array(),), d.one({}, {"deg": True})),
        ("sinc", (real if real.dtype != np.float16 else real.astype("f4"),), {}),  # pi * x has three digits in float16
        ("i0", (real,), {}), ("heaviside", (real, 0.5), {}),
        ("isclose", (d.array(), d.array()), d.one({}, {"equal_nan": True}, {"rtol": 0.5}, {"atol": 1})),
        ("array_equal", (d.array(), d.array()), d.one({}, {"equal_nan": True})),
        ("allclose", (d.array(), d.array()), {}), ("real_if_close", (d.array(),), {}),
        ("where", (d.array(), d.array(), d.one(2, 2.5, d.array())), {}),
        ("vander", (d.array(d.one((3,), (2,), ())),), d.one({}, {"N": 2}, {"increasing": True})),
        ("polyval", (d.array((3,)), d.array(finite=True)), {}),
        ("polyfit", ([0.0, 1, 2, 3], d.array((4,), dtypes=ALIKE, finite=True), d.one(1, 2)), {}),
        ("poly", (d.array((3,), dtypes=("float64",), finite=True),), {}),
        ("polyadd", (d.array((3,)), d.array((2,))), {}),
        ("polymul", (d.array((3,), finite=True), d.array((2,), finite=True)), {}),
        ("polyder", (d.array((3,), finite=True),), d.one({}, {"m": 2})),
        ("polyint", (d.array((3,), finite=True),), d.one({}, {"k": 2})), ("fix", (real,), {}),
        ("ptp", (d.array(),), {"axis": d.axis()}),
        ("logspace", (0, d.array((3,), dtypes=ALIKE, finite=True), 3), {}),
        ("linspace", (d.array((3,), dtypes=ALIKE, finite=True), 1, 4),
            d.one({}, {"endpoint": False}, {"axis": -1}, {"retstep": True})),
        ("cumulative_sum", (d.array(finite=True),), d.options("axis dtype") | d.one({}, {"include_initial": True})),
        ("cumulative_prod", (d.array(finite=True),), d.options("axis dtype")),
        ("histogram2d", (d.array((5,), dtypes=ALIKE, finite=True), d.array((5,), dtypes=ALIKE, finite=True)),
            {"bins": 3}),
        ("correlate", (d.array((3,), finite=True), d.array((5,), finite=True)), d.one({}, {"mode": "full"})),
        ("full_like", (d.array(), d.one(2, 2.5, [1, 2, 3])), d.options("dtype") | d.one({}, {"shape": (2, 3)})),
        ("zeros_like", (d.array(),), d.options("dtype") | d.one({}, {"shape": 3})),
        ("tri", (3,), {"k": 1}), ("diagflat", (d.array(),), {"k": d.one(0, 1, -1)}),
        ("apply_along_axis", (np.sum, 0, d.array()), {}), ("block", ([[d.array((3, 3)), d.array((3, 1))]],), {}),
    )  # fmt: skip
    return Call(name, operands, options)


def _linalg(d: Any) -> Call:
    few = ("float64", "float64", "float32", "complex128", "int64", "int8")
    matrix = d.array(d.one((3, 3), (3, 3), (2, 3), (2, 3, 3), (3,), (0, 0), (1, 1)), dtypes=few, finite=True)
    # a singular matrix is one by rounding only
    matrix = (
        matrix + 9 * np.eye(3, dtype=matrix.dtype)
        if matrix.shape[-2:] == (3, 3) and matrix.dtype != bool
        else matrix
    )
    vector = d.array(d.one((3,), (3, 2), (2, 3, 1), (3, 3), (2,)), dtypes=few, finite=True)
    symmetric = matrix + np.conj(np.swapaxes(matrix, -1, -2)) if matrix.shape[-2:] == (3, 3) else matrix
    gram = np.matmul(matrix, np.conj(np.swapaxes(matrix, -1, -2))) if matrix.ndim > 1 else matrix
    name, operands, options = d.one(
        ("norm", (d.array(finite=True),),
            {"ord": d.one(None, 1, 2, np.inf, -np.inf, 0, -1, "fro", "nuc", 3, "foo")} | d.options("axis keepdims")),
        ("vector_norm", (d.array(finite=True),), {"ord": d.one(2, 1, np.inf, 0, 3)} | d.options("axis keepdims")),
        ("matrix_norm", (matrix,), {"ord": d.one("fro", "nuc", 1, -1, 2, -2, np.inf)} | d.options("keepdims")),
        ("solve", (matrix, vector), {}), ("inv", (matrix,), {}), ("det", (matrix,), {}), ("slogdet", (matrix,), {}),
        ("pinv", (matrix if matrix.size else np.eye(2),), d.one({}, {"rcond": 0.1}, {"hermitian": False})),
        ("matrix_power", (matrix, d.one(0, 1, 2, 3, -1, 2.0)), {}),
        ("matrix_rank", (matrix,), d.one({}, {"tol": 1.0})),
        ("cond", (matrix,), {"p": d.one(None, 1, "fro", np.inf)}),
        ("cholesky", (gram,), {"upper": d.one(False, True)}),
        ("eigvalsh", (symmetric,), d.one({}, {"UPLO": "U"}, {"UPLO": "x"})), ("svdvals", (matrix,), {}),
        ("multi_dot", ([matrix, matrix, vector],), {}), ("lstsq", (matrix, vector), {"rcond": None}),
        ("matrix_transpose", (matrix,), {}), ("cross", (d.array((2, 3)), d.array((3,))), {}),
        ("outer", (d.array((3,)), d.array((2,))), {}),
        ("trace", (matrix,), d.one({}, {"offset": 1}, {"dtype": "float32"})),
        ("diagonal", (matrix,), {"offset": d.one(0, 1)}), ("tensordot", (matrix, matrix), {"axes": 1}),
        ("tensorsolve", (matrix, vector), {}), ("svd", (matrix,), {"compute_uv": False}),
        ("qr", (matrix,), {"mode": "r"}), ("eigh", (symmetric,), {}),
        ("vecdot", (d.array((2, 3), finite=True), d.array((3,), finite=True)), {}),
    )  # fmt: skip
    return Call(f"linalg.{name}", operands, options)


def _fft(d: Any) -> Call:
    name = d.name(
        "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftshift ifftshift"
    )
    options: dict[str, Any] = {}
    if name.endswith("shift"):
        options = d.options("axis") and {"axes": d.axis()}
    elif name[-1] in "2n":
        options = d.one(
            {},
            {"s": (2, 4)},
            {"s": (4,)},
            {"axes": (0, 1)},
            {"axes": (-1,)},
            {"s": (3, 2), "axes": (1, 0)},
            {"axes": (0, 0)},
        )
    else:
        options = d.one({}, {"n": 4}, {"n": 1}, {"n": 0}, {"axis": 0}, {"n": 2, "axis": -1}, {"axis": 3})
    options |= (
        {"norm": d.one("ortho", "forward", "backward", "foo")}
        if "shift" not in name and d.rng.random() < 0.4
        else {}
    )
    return Call(f"fft.{name}", (d.array(d.one(*SHAPES[:6], (2, 1, 3)), finite=True),), options)


def _write(d: Any) -> Call:
    name = d.name("write method.fill method.sort put place putmask copyto fill_diagonal put_along_axis")
    operand = d.array()
    if name == "write":
        return Call("write", (operand, d.index(), d.array(dtypes=DTYPES)), {})
    if name == "method.fill":
        return Call(name, (operand, d.one(2, 2.5, np.array(3))), {})
    if name == "method.sort":
        return Call(name, (operand,), {"axis": d.one(0, -1, 1)})
    return Call(
        "write", (operand, d.one(Ellipsis, slice(None), operand > 0), d.one(1, 2.5, 1j, d.array(()))), {}
    )


def _methods(d: Any) -> Call:
    name, operands, options = d.one(
        ("reshape", d.one((), (-1,), (3, -1), ((3, -1),), (6,)), d.one({}, {"order": "F"})),
        ("argmax", (), d.options("axis keepdims out")), ("argmin", (), d.options("axis keepdims out")),
        ("argsort", (), {"axis": d.one(None, 0, -1), "kind": d.one("stable", "mergesort", "foo")}),
        ("sum", (), d.options("axis dtype keepdims initial where out")),
        ("prod", (), d.options("axis dtype keepdims initial where out")),
        ("mean", (), d.options("axis keepdims where out")), ("std", (), d.options("axis keepdims where ddof")),
        ("var", (), d.options("axis keepdims where")),
        ("max", (), d.options("axis keepdims out")), ("min", (), d.options("axis keepdims out")),
        ("any", (), d.options("axis keepdims where out")), ("all", (), d.options("axis keepdims where out")),
        ("cumsum", (), d.options("axis dtype")), ("cumprod", (), d.options("axis dtype")),
        ("round", (), {"decimals": d.one(0, 1, -1)}), ("clip", d.one((-1, 1), (None, 2), (0,), ()), d.options("out")),
        ("conj", (), {}), ("ravel", (), {"order": d.name("C F A")}), ("flatten", (), d.one({}, {"order": "F"})),
        ("squeeze", (), d.options("axis")), ("transpose", d.one((), (1, 0), ((1, 0),), (None,), (0,)), {}),
        ("swapaxes", (0, d.one(1, -1, 3)), {}), ("repeat", (d.one(2, [1, 2, 0]),), d.options("axis")),
        ("take", ([0, -1],), d.options("axis")), ("dot", (d.array(finite=True),), {}),
        ("trace", (), d.one({}, {"offset": 1})),
        ("diagonal", (), d.one({}, {"offset": 1})), ("item", d.one((), (0,), (0, 1), ((0, 1),), (9,)), {}),
        ("nonzero", (), {}), ("searchsorted", (d.array(),), {}),
        ("compress", ([True, False, True],), d.options("axis")),
        ("astype", (d.one(*DTYPES),), d.options("casting")), ("copy", (), {}), ("tolist", (), {}),
        ("__add__", (d.array(),), {}), ("__pow__", (d.one(2, 0.5, -1, 3),), {}),
        ("__matmul__", (d.array(finite=True),), {}),
        ("__divmod__", (d.array(finite=True),), {}), ("__rshift__", (d.array(),), {}), ("__eq__", (d.array(),), {}),
        ("__index__", (), {}), ("__complex__", (), {}), ("__int__", (), {}), ("__len__", (), {}),
        ("__contains__", (1,), {}),
    )  # fmt: skip
    finite = name in (
        "sum",
        "prod",
        "cumsum",
        "cumprod",
        "astype",
        "__int__",
        "dot",
        "__matmul__",
        "__divmod__",
        "round",
    )
    return Call(f"method.{name}", (d.array(finite=finite), *operands), options)


KINDS: tuple[Callable[[Any], Call], ...] = (
    _quantile, _pad, _take, _sets, _sort, _products, _shapes, _statistics, _linalg, _fft, _write, _methods,
)  # fmt: skip


def random_function_call(seed: Any) -> Call:
    """Return a call of a function or method with options."""
    d = _Draws(seed)
    return d.one(*KINDS)(d)


def outcome(call: Call, tensors: bool) -> Any:
    """Return the results as ndarrays, or the error."""

    def own(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, (np.ndarray, list)) for v in value):
            return type(value)(own(v) for v in value)
        if not isinstance(value, np.ndarray):
            return value
        return jt.constant(value) if tensors else value.copy()

    name, operands, options = (
        call.name,
        call.operands,
        {k: own(v) if k == "out" else v for k, v in call.options.items()},
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name == "write":
                result = own(operands[0])
                result[operands[1]] = own(operands[2])
            elif name.startswith("method."):
                first = own(operands[0])
                result = getattr(first, name[7:])(*map(own, operands[1:]), **options)
                result = [first, result] if result is None else result
            else:
                function: Any = np
                for part in name.split("."):
                    function = getattr(function, part)
                result = function(*map(own, operands), **options)
            return _arrays(result) + _arrays(options.get("out"))
        except Exception as error:
            if tensors:
                with suppress(Exception):
                    jt.ones(()).numpy()
            return error


def _arrays(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)) and any(np.ndim(r) or hasattr(r, "dtype") for r in result):
        return [a for r in result for a in _arrays(r)]
    return [] if result is None or result is NotImplemented else [np.asarray(result)]


def function_mismatch(call: Call) -> str | None:
    """Return how tensors differ from ndarrays; None if they do not."""
    return difference(call, outcome(call, False), outcome(call, True))


if __name__ == "__main__":
    report(random_function_call, function_mismatch, __doc__)
