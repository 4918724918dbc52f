"""Random calls of NumPy with options, from a seed: ``out=``, ``where=``, methods of ufuncs, indices and writes.

``python -m random_numpy_calls --n 10000 --seed 1`` (in the folder `tests`) compares many with tensors: values, dtypes,
shapes, and whether both raise. Operands are of all dtypes, 0-d, empty, transposed, reversed, and numbers.
"""

from __future__ import annotations

import argparse
import re
import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import jittape as jt

__all__ = ["Call", "mismatch", "random_call"]

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "float64", "complex64", "complex128",
)  # fmt: skip
SHAPES = ((), (1,), (3,), (2, 3), (3, 1), (1, 3), (0,), (0, 3), (2, 1, 3), (3, 3), (5,))
NUMBERS = (2, -1, 0, 3.5, -0.5, 1j, True, 300, np.float32(1.5), np.int8(3), np.float64(2), np.uint64(7))
ONE = (
    "absolute fabs negative positive sign rint ceil floor trunc sqrt square exp expm1 exp2 log log2 log10 log1p sin "
    "cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh isnan isinf isfinite signbit logical_not "
    "invert conjugate reciprocal cbrt degrees radians spacing modf frexp bitwise_count"
)
TWO = (
    "add subtract multiply divide floor_divide remainder fmod power float_power maximum minimum fmax fmin less "
    "less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor left_shift right_shift arctan2 hypot copysign nextafter logaddexp logaddexp2 heaviside gcd lcm ldexp"
)
COMBINING = (
    "add multiply maximum minimum logical_and logical_or bitwise_or bitwise_and hypot logaddexp fmax fmin "
    "bitwise_xor logical_xor greater"
)
"""Ufuncs for methods, with operands of all dtypes."""
COMBINING_ALIKE = "copysign divide floor_divide fmod remainder subtract arctan2 power"
"""Ufuncs for methods, without a cast; with one, NumPy 2.4 gives wrong numbers.

The last two only for ``accumulate``: ``np.arctan2.reduce([4.2, 1.0, -1.0])`` is wrong in NumPy 2.4 too.
"""
SUMS = "sum prod nansum nanprod"
MEANS = "mean std var nanmean nanstd nanvar"
DEVIATIONS = "std var"
EXTREMES = "max min nanmax nanmin"
TRUTHS = "any all"
ALIKE = ("float32", "float64")
RUNNING = "cumsum cumprod nancumsum nancumprod"
PLACES = "argmax argmin count_nonzero median nanmedian ptp nanargmax nanargmin"
INDICES: tuple[Any, ...] = (
    0, -1, 1, 5, slice(None), slice(None, None, -1), slice(-1, None), slice(1, 1), None, Ellipsis, [0, -1],
    np.array([1, 0]), np.array([[0], [1]]), [True, False, True], np.array([True, False]), np.int64(1), True, 1.0,
    (0, 1), slice(None, None, 2), range(2), np.array(1),
)  # fmt: skip
REFUSED = re.compile(
    r"cannot put|dtype must be numeric, got bool|axis must be one int|has no neutral element|a scalar has no axis"
    r"|(np\.)?(cumsum|cumprod|clip|vecdot|round)\] out has shape|Cannot cast"
)
"""Errors of calls that NumPy computes; each names the call and a way out."""
ACCEPTED = re.compile(
    "setting an array element with a sequence|only 0-dimensional arrays can be|cannot reshape array of size 0"
)
"""Errors of NumPy 2.4 for a vector of one element as the value of an element, and of medians of nothing."""


class Call(NamedTuple):
    """The name of a function or method, its operands and its options."""

    name: str
    operands: tuple[Any, ...]
    options: dict[str, Any]

    def __str__(self) -> str:
        words = [*map(_shown, self.operands), *(f"{k}={_shown(v)}" for k, v in self.options.items())]
        return f"{self.name}({', '.join(words)})"


def _shown(value: Any) -> str:
    return (
        f"np.array({value.tolist()}, {value.dtype.name!r})" if isinstance(value, np.ndarray) else repr(value)
    )


class _Draws:
    """Random arguments."""

    def __init__(self, seed: Any) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def name(self, names: str, most: int | None = None) -> Any:
        return self.one(*names.split()[:most])

    def array(self, shape: Any = None, dtypes: Any = DTYPES, finite: bool = False) -> Any:
        dtype, shape = np.dtype(self.one(*dtypes)), self.one(*SHAPES) if shape is None else shape
        values = np.round(self.rng.normal(size=shape) * 3, 0 if dtype.kind in "ub" else 1)
        values = np.abs(values) if dtype.kind in "ub" else values
        if dtype.kind == "f" and not finite and self.rng.random() < 0.1:
            special = self.one(np.nan, np.inf, -np.inf, -0.0)
            values = np.where(self.rng.random(size=shape) < 0.3, special, values)
        found = np.asarray(values + 1j * np.round(values) if dtype.kind == "c" else values).astype(dtype)
        if found.ndim and self.rng.random() < 0.2:
            found = found[..., ::-1]
        return found.T if self.rng.random() < 0.2 else found

    def axis(self) -> Any:
        return self.one(None, 0, -1, 1, -2, (0, 1), (0,), (), 2, 0, -1)

    def mask(self) -> Any:
        return (
            self.rng.random(size=self.one(*SHAPES)) < 0.6
            if self.rng.random() < 0.8
            else self.one(True, False)
        )

    def options(self, names: str) -> dict[str, Any]:
        """Return some of the options, each with a random value."""
        drawn = {
            "axis": self.axis,
            "casting": lambda: self.one("no", "equiv", "safe", "same_kind"),
            "ddof": lambda: self.one(0, 1, 0.5, 2, 3),
            "dtype": lambda: self.one(*DTYPES),
            "initial": lambda: self.one(0, 1, 2.5),
            "keepdims": lambda: self.one(True, False),
            "mean": lambda: self.array((1,), ("float64", "float32", "float16", "int64")),
            "out": lambda: self.array(None, ("float64", "float32", "int64", "complex128", "bool", "float64")),
            "where": self.mask,
        }
        return {name: drawn[name]() for name in names.split() if self.rng.random() < 0.35}

    def index(self) -> Any:
        several = tuple(self.one(*INDICES) for _ in range(self.rng.integers(0, 4)))
        return self.one(*INDICES, []) if self.rng.random() < 0.4 else several


def random_call(seed: Any) -> Call:
    """Return a call of a ufunc, of a method of one, of a reduction, or the use of an index."""
    d = _Draws(seed)
    kind = d.rng.integers(9)
    if kind == 0:
        name = d.name(ONE)
        options = d.options("dtype casting" if name in ("modf", "frexp") else "dtype casting out")
        operand = d.array(dtypes=DTYPES[9:]) if name == "reciprocal" else d.array()  # no 0 of integers
        return Call(name, (operand,), options | (d.options("where") if "out" in options else {}))
    if kind in (1, 2):
        operands = [d.array(), d.one(*NUMBERS) if d.rng.random() < 0.35 else d.array()]
        options = d.options("dtype casting out") if d.rng.random() < 0.5 else {}
        options |= d.options("where") if "out" in options else {}
        return Call(d.name(TWO), tuple(operands[:: d.one(1, -1)]), options)
    if kind == 3:
        if d.rng.random() < 0.3:
            return Call(
                f"{d.name(COMBINING_ALIKE, 6)}.reduce", (d.array(dtypes=ALIKE),), d.options("axis keepdims")
            )
        options = d.options("axis dtype keepdims initial where out")
        return Call(f"{d.name(COMBINING)}.reduce", (d.array(finite=True),), options)
    if kind == 4:
        axis = {"axis": d.one(0, -1, 1)}
        if d.rng.random() < 0.3:
            if d.rng.random() < 0.5:
                return Call(f"{d.name(COMBINING_ALIKE)}.accumulate", (d.array(dtypes=ALIKE),), axis)
            operands = (d.array(dtypes=ALIKE), d.one([0, 2], [2, 0, 1]))
            return Call(f"{d.name(COMBINING_ALIKE, 6)}.reduceat", operands, axis)
        if d.rng.random() < 0.5:
            places = d.one([0], [0, 2], [2, 0, 1], [0, 5], [], np.array([1, 1]))
            return Call(
                f"{d.name(COMBINING, 9)}.reduceat", (d.array(finite=True), places), axis | d.options("dtype")
            )
        return Call(f"{d.name(COMBINING)}.accumulate", (d.array(finite=True),), axis | d.options("dtype"))
    if kind == 5:
        return Call(f"{d.name(TWO)}.outer", (d.array(), d.array()), d.options("dtype"))
    if kind == 6:
        names, further = d.one(
            (SUMS, "axis dtype keepdims initial where out"), (MEANS, "axis keepdims where"),
            (DEVIATIONS, "axis keepdims where ddof"), (DEVIATIONS, "dtype keepdims"),
            ("nanstd nanvar", "keepdims ddof"), ("std var nanstd nanvar", "dtype keepdims mean ddof"),
            (EXTREMES, "keepdims initial where"), (EXTREMES, "keepdims where out"), (TRUTHS, "axis keepdims where out"),
            (RUNNING, "dtype out"), (PLACES, "keepdims"),
        )  # fmt: skip
        if d.rng.random() < 0.1:
            axis = {"axis": d.one(None, 0, -1, (0, 1))}
            return Call(
                d.name("mean nanmean"), (d.array((2, 3), finite=True),), axis | d.options("dtype keepdims")
            )
        operand = d.array(finite="dtype" in further)  # no integer holds infinity
        options = {"axis": d.axis()} | d.options(further)
        if names == RUNNING and "out" in options and options["out"].ndim < max(operand.ndim, 1):
            del options["out"]  # np.cumsum([1, 5], axis=-1, out=np.array(0)) crashes NumPy 2.4
        return Call(d.name(names), (operand,), options)
    if kind == 7:
        return Call("index", (d.array(), d.index()), {})
    return Call(
        "write", (d.array(), d.index(), d.one(1, 2.5, -1, d.array((1,)), d.array((3,)), [1, 2, 3])), {}
    )


def outcome(call: Call, tensors: bool) -> Any:
    """Return the results as ndarrays, or the error."""

    def own(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return jt.constant(value) if tensors else value.copy()

    name, operands, options = call.name, call.operands, dict(call.options)
    out = own(options.pop("out")) if "out" in options else None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name in ("index", "write"):
                results = own(operands[0])
                if name == "write":
                    results[operands[1]] = operands[2]
                else:
                    results = results[operands[1]]
            else:
                function: Any = np
                for part in name.split("."):
                    function = getattr(function, part)
                if out is not None:
                    options["out"] = out
                given = (own(operands[0]), *operands[1:]) if "reduceat" in name else map(own, operands)
                results = function(*given, **options)
            several = results if isinstance(results, tuple) else (results,)
            return [np.asarray(r) for r in (*several, out) if r is not None]
        except Exception as error:
            if tensors:  # an operand may wait for an error of its own
                with suppress(Exception):
                    jt.ones(()).numpy()
            return error


def mismatch(call: Call) -> str | None:
    """Return how tensors differ from ndarrays; None if they do not."""
    return difference(call, outcome(call, False), outcome(call, True))


def difference(call: Call, wanted: Any, found: Any) -> str | None:
    """Return how the results of `call` with tensors differ from those of NumPy; None if they do not."""
    if isinstance(wanted, Exception):
        same = isinstance(found, Exception) or bool(ACCEPTED.search(str(wanted)))
        return None if same else f"is {found}, NumPy raises {wanted!r}"
    if isinstance(found, Exception):
        # NumPy does not check the indices if the result is empty.
        unchecked = isinstance(found, IndexError) and not any(w.size for w in wanted)
        return None if unchecked or REFUSED.search(str(found)) else f"raises {found!r}, NumPy gives {wanted}"
    dtype = np.dtype(call.options.get("dtype", "f8"))
    if call.name in DEVIATIONS.split() and (dtype.kind == "u" or not call.operands[0].size):
        return None  # NumPy casts nan and negative sums to an integer
    given = [np.asarray(x) for x in (*call.operands, *call.options.values()) if isinstance(x, np.ndarray)]
    rounding = max([LOOSE[a.dtype.name] for a in (*given, *wanted) if a.dtype.name in LOOSE], default=1e-9)
    for own, other in zip(found, wanted, strict=True):
        if (own.dtype, own.shape) != (other.dtype, other.shape):
            return f"is {own.dtype}{own.shape}, not {other.dtype}{other.shape}"
        if not _near(own, other, rounding):
            return f"is {own!r}, not {other!r}"
    return None


LOOSE = {"float16": 2e-3, "float32": 1e-4, "complex64": 1e-4}
"""Rounding errors by dtype, relative to the greatest element: that of float16 is two units in the last place."""


def _near(found: Any, wanted: Any, loose: float) -> bool:
    if wanted.dtype.kind not in "fc":
        return bool(np.all(found == wanted))
    pairs = [
        (f.astype(float), w.astype(float)) for f, w in ((found.real, wanted.real), (found.imag, wanted.imag))
    ]
    scales = [float(np.abs(w[np.isfinite(w)]).max(initial=1e-3)) for _, w in pairs]
    return all(
        np.allclose(f, w, rtol=loose, atol=loose * s, equal_nan=True)
        for (f, w), s in zip(pairs, scales, strict=True)
    )


def report(draw: Any, compare: Any, description: str | None) -> None:
    """Print the differences of many random calls."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    jt.config.interpret = True
    wrong = 0
    for i in range(options.n):
        call = draw((options.seed, i))
        text = compare(call)
        if text:
            wrong += 1
            print(f"--- seed ({options.seed}, {i}): {call}: {text}".replace("\n", " ")[:700])
    print(f"{wrong} of {options.n} calls differ")


if __name__ == "__main__":
    report(random_call, mismatch, __doc__)
