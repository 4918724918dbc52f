"""Random NumPy expressions, from a seed: each is computed with ndarrays and with tensors.

``python -m random_numpy --n 10000 --seed 1`` (in the folder `tests`) compares many: values, dtypes, shapes and types of
errors, and gradients with differences.
"""

from __future__ import annotations

import argparse
import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jittape as jt

__all__ = ["disagreement", "random_expression"]

DTYPES = ("float64", "float64", "float64", "float32", "int64", "int32", "uint8", "bool", "complex128")
SHAPES = ((), (3,), (1,), (2, 3), (3, 3), (3, 1), (2, 3, 3), (0, 3))
AXES = (None, 0, -1, 1, -2, 2)
ERRORS = (TypeError, ValueError, IndexError, OverflowError)


class Op(NamedTuple):
    """A function of NumPy as random expressions use it.

    Attributes
    ----------
    name : str
    function : callable
        Takes `arity` operands and one of the options.
    arity : int
    options : tuple
        Keyword arguments to choose from, also bad ones.
    exact : bool
        Whether a small change of an operand may change the result by much: then it takes only the given arrays.
    """

    name: str
    function: Callable[..., Any]
    arity: int = 1
    options: tuple[dict[str, Any], ...] = ({},)
    exact: bool = False


def by_axis(*more: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return (*[{"axis": axis} for axis in AXES], *more)


def named(
    names: str, arity: int = 1, options: tuple[dict[str, Any], ...] = ({},), exact: bool = False
) -> list[Op]:
    found = []
    for name in names.split():
        function: Any = np
        for part in name.split("."):
            function = getattr(function, part)
        found.append(Op(name, function, arity, options, exact))
    return found


KEEP = ({"axis": 0, "keepdims": True}, {"axis": (0, 1)}, {"axis": ()})
OPS = [
    *named("sin cos tanh arctan square negative absolute expm1 arcsinh cbrt i0 conjugate deg2rad positive"),
    *named("floor ceil rint trunc sign isnan isfinite logical_not signbit fix", exact=True),
    *named("add subtract multiply hypot logaddexp maximum minimum fmax fmin", 2),
    *named("less equal greater_equal logical_and isclose bitwise_and", 2, exact=True),
    *named("copysign arctan2 divide remainder floor_divide fmod", 2, exact=True),
    *named("sum mean std var nansum nanmean nanstd", 1, by_axis(*KEEP)),
    *named("max min prod any all ptp median nanmax", 1, by_axis(*KEEP[:2]), exact=True),
    *named("argmax argmin sort count_nonzero nanargmax nanmedian nanmin", 1, by_axis(), exact=True),
    *named("argsort", 1, tuple({"axis": axis, "kind": "stable"} for axis in AXES), exact=True),
    *named("cumsum cumprod cumulative_sum nancumsum diff trapezoid", 1, by_axis()),
    *named(
        "reshape",
        1,
        ({"shape": -1}, {"shape": (3, -1)}, {"shape": (1, -1, 1)}, {"shape": (-1, 3), "order": "F"}),
    ),
    *named(
        "ravel transpose flip fliplr flipud atleast_2d atleast_3d squeeze copy real imag diagflat trace tril"
    ),
    *named("swapaxes", 1, ({"axis1": 0, "axis2": -1}, {"axis1": 0, "axis2": 2})),
    *named("moveaxis", 1, ({"source": 0, "destination": -1}, {"source": 1, "destination": 0})),
    *named("roll", 1, ({"shift": 1}, {"shift": -2, "axis": -1}, {"shift": (1, 2), "axis": (0, 1)})),
    *named("rot90", 1, ({}, {"k": 2}, {"k": -1}, {"axes": (1, 0)})),
    *named("expand_dims", 1, by_axis({"axis": (0, 2)})[1:]),
    *named("repeat", 1, ({"repeats": 2}, {"repeats": 2, "axis": 0}, {"repeats": [1, 2, 0], "axis": -1})),
    *named("tile", 1, ({"reps": 2}, {"reps": (2, 1)})),
    *named(
        "take", 1, ({"indices": [0, -1]}, {"indices": [2, 0], "axis": -1}, {"indices": 5, "mode": "clip"})
    ),
    *named("delete", 1, ({"obj": 0}, {"obj": [0, 1], "axis": -1}, {"obj": 9})),
    *named("insert", 1, ({"obj": 1, "values": 2}, {"obj": [0, 1], "values": 5, "axis": 0})),
    *named(
        "pad",
        1,
        (
            {"pad_width": 1},
            {"pad_width": (1, 2), "mode": "edge"},
            {"pad_width": 2, "mode": "wrap"},
            {"pad_width": 1, "mode": "reflect", "reflect_type": "odd"},
            {"pad_width": 1, "mode": "linear_ramp", "end_values": 3},
            {"pad_width": 1, "mode": "constant", "constant_values": (1, 2)},
        ),
    ),
    *named("gradient", 1, ({"axis": 0}, {"axis": -1, "edge_order": 2})),
    *named("clip", 1, ({"a_min": -1, "a_max": 1}, {"min": 0}), exact=True),
    *named("round", 1, ({}, {"decimals": 1}), exact=True),
    *named("unique", 1, ({}, {"axis": 0}), exact=True),
    *named(
        "quantile", 1, ({"q": 0.3}, {"q": [0.1, 0.5], "axis": -1}, {"q": 0.5, "method": "hazen"}), exact=True
    ),
    *named("percentile", 1, ({"q": 30, "axis": 0}, {"q": 130}), exact=True),
    *named("linalg.norm", 1, by_axis({"ord": 1}, {"ord": np.inf, "axis": -1})),
    *named("nan_to_num isreal iscomplex", exact=True),
    *named("fft.fft fft.ifft fft.rfft", 1, ({}, {"n": 4}, {"axis": 0}, {"norm": "ortho"})),
    *named("fft.fft2 fft.fftshift"),
    *named("cov corrcoef", 1, ({}, {"rowvar": False})),
    *named("vander", 1, ({}, {"N": 2})),
    *named("unwrap", 1, ({}, {"axis": 0}), exact=True),
    *named("matmul dot inner outer kron polyval convolve vdot cross vecdot tensordot", 2),
    *named("where", 3, exact=True),
    Op("stack", lambda a, b, **k: np.stack([a, b], **k), 2, ({}, {"axis": -1}, {"axis": 4})),
    Op("concatenate", lambda a, b, **k: np.concatenate([a, b], **k), 2, ({}, {"axis": -1}, {"axis": None})),
    Op("vstack", lambda a, b: np.vstack([a, b]), 2),
    Op("einsum", lambda a, b: np.einsum("...i,...i->...", a, b), 2),
    Op("split", lambda a: np.array_split(a, 2)[0]),
    Op("<", operator.lt, 2, exact=True),
    Op(">=", operator.ge, 2, exact=True),
    Op("index", lambda a: a[..., ::-1]),
    Op("row", lambda a: a[0]),
    Op("mask", lambda a: np.where(a > 0, a, 0), exact=True),
    Op("maximum.accumulate", lambda a: np.maximum.accumulate(a), exact=True),
    Op("multiply.outer", lambda a, b: np.multiply.outer(a, b), 2),
    Op("solve", lambda a: np.linalg.solve(a + 9 * np.eye(3), np.arange(1.0, 4.0))),
    Op("inv", lambda a: np.linalg.inv(a + 9 * np.eye(3))),
    Op("det", lambda a: np.linalg.det(a + 9 * np.eye(3))),
    Op("interp", lambda a: np.interp(a, [-1.0, 0.5, 2.0], [1.0, 3.0, -2.0]), exact=True),
    Op("float_power", lambda a: np.float_power(np.abs(a) + 1, 1.5)),
    Op("sqrt", lambda a: np.sqrt(np.abs(a) + 1)),
    Op("log1p", lambda a: np.log1p(np.abs(a))),
    Op("scalar", lambda a: 2 * a - 1.5),
    Op("power", lambda a: np.power(a, 2)),
    # int8 for arrays of bools, for which the function gives int64; NumPy's scalars, which no tensor is, give int64 too
    Op("operator_power", lambda a: (np.asarray(a) if isinstance(a, np.bool_) else a) ** 2),
]


class Step(NamedTuple):
    """One call: the op, the numbers of its operands among the values so far, and its keyword arguments."""

    op: Op
    operands: tuple[int, ...]
    options: dict[str, Any]


class Expression(NamedTuple):
    """Given arrays and the steps that compute further values."""

    arrays: tuple[Any, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [f"v{i} = {a!r}" for i, a in enumerate(self.arrays)]
        for i, (op, operands, options) in enumerate(self.steps, len(self.arrays)):
            words = [*(f"v{j}" for j in operands), *(f"{k}={v!r}" for k, v in options.items())]
            lines.append(f"v{i} = {op.name}({', '.join(words)})")
        return "\n".join(lines)


def random_expression(seed: Any) -> Expression:
    """Return three arrays and up to four steps."""
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in range(3):
        dtype, shape = rng.choice(DTYPES), SHAPES[rng.integers(len(SHAPES))]
        values = np.round(rng.normal(size=shape) * 3, 2) + (1j if dtype == "complex128" else 0)
        values = np.abs(values) if dtype == "uint8" else values
        arrays.append(np.asarray(values, dtype))
    steps: list[Step] = []
    for n in range(int(rng.integers(1, 5))):
        op = OPS[rng.integers(len(OPS))]
        known = 3 if op.exact else 3 + n
        operands = tuple(rng.integers(known, size=op.arity).tolist())
        if not op.exact and n and rng.random() < 0.7:  # prefer a chain
            operands = (2 + n, *operands[1:])
        steps.append(Step(op, operands, op.options[rng.integers(len(op.options))]))
    return Expression(tuple(arrays), tuple(steps))


def computed(expression: Expression, arrays: Any) -> tuple[list[Any], Exception | None]:
    """Return the values of the steps up to the first error, and this error."""
    values = list(arrays)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op, operands, options in expression.steps:
            try:
                result = op.function(*[values[i] for i in operands], **options)
                result = result[0] if isinstance(result, (list, tuple)) else result
                if op.name in ("solve", "inv") and hasattr(result, "aval"):
                    result.numpy()  # a singular matrix is an error of the run
                values.append(result)
            except Exception as error:
                return values, error
    return values, None


def disagreement(expression: Expression) -> str | None:
    """Return how tensors differ from ndarrays; None if they do not."""
    wanted, error = computed(expression, expression.arrays)
    found, own_error = computed(expression, [jt.constant(a) for a in expression.arrays])
    dtypes = [np.asarray(v).dtype for v in wanted]
    rounding = (
        3e-2 if np.float16 in dtypes else 2e-4 if {np.dtype("f4"), np.dtype("c8")} & set(dtypes) else 1e-9
    )
    for i in range(3, min(len(wanted), len(found))):
        if _is_lost_by_numpy(expression.steps[i - 3], wanted, i):
            return None
        text = _difference(np.asarray(found[i]), np.asarray(wanted[i]), rounding)
        if text:
            return f"v{i} {text}"
    if len(found) != len(wanted):
        op = expression.steps[min(len(found), len(wanted)) - 3].op
        if own_error is not None and _is_refused(op, own_error):
            return None
        return f"{op.name}: {own_error!r} with tensors, {error!r} with NumPy"
    if error is not None and not (isinstance(own_error, ERRORS) and _same_type(own_error, error)):
        return f"raises {own_error!r}, NumPy {error!r}"
    return _wrong_gradient(expression) if error is None else None


# NumPy does not check the indices of `take` if the result is empty.
EMPTY = "with size 0"
REFUSALS = ("not defined for bool", "must be int", EMPTY)


def _is_refused(op: Op, error: Exception) -> bool:
    return any(text in str(error) for text in REFUSALS)


def _same_type(own: Exception, error: Exception) -> bool:
    """Return whether a handler of NumPy's error would also handle ours: TypeError, or ValueError and IndexError."""
    if isinstance(own, (jt.errors.ShapeError, jt.errors.DTypeError)):
        return True  # of a call with two faults, either may be named
    kinds = [isinstance(e, TypeError) for e in (own, error)]
    return kinds[0] == kinds[1] or isinstance(error, np.exceptions.DTypePromotionError)


def _is_lost_by_numpy(step: Step, values: list[Any], i: int) -> bool:
    """Return whether NumPy squares beyond float16, its BLAS takes 0 times infinity for 0, or digits do not suffice.

    They do not for the sine of a large number, such as the square of a determinant, which is right but for rounding.
    """
    result, operands = np.asarray(values[i]), [np.asarray(values[j]) for j in step.operands]
    if step.op.name in ("sin", "cos", "tan"):
        return operands[0].dtype.kind in "fc" and bool(np.any(np.abs(operands[0]) > 1e3))
    if step.op.name in ("var", "std", "nanstd"):
        return result.dtype == np.float16 and not np.isfinite(result).all()
    return step.op.name == "dot" and min(a.ndim for a in operands) == 0 and not all_finite(operands)


def all_finite(arrays: list[Any]) -> bool:
    return all(bool(np.isfinite(a).all()) for a in arrays)


def _difference(found: Any, wanted: Any, rounding: float) -> str | None:
    """Compare two arrays; float64 is less accurate if it was computed from values of a dtype with this `rounding`."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"is {found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "fc":
        loose = {2: 3e-2, 4: max(2e-4, rounding), 8: rounding}[wanted.real.dtype.itemsize]
        smallest = 1e-2 if wanted.real.dtype.itemsize == 2 else 1e-3
        finite = wanted[np.isfinite(wanted)]
        scale = float(np.abs(finite).max(initial=0)) if finite.size else 0.0
        same = all(
            np.allclose(f, w, rtol=loose, atol=loose * max(scale, smallest), equal_nan=True)
            for f, w in ((found.real, wanted.real), (found.imag, wanted.imag))
        )  # parts, as a complex number with an infinite part would have to be equal bit for bit
    else:
        same = bool(np.all(found == wanted))
    return None if same else f"is {found!r}, not {wanted!r}"


def _total(value: Any) -> float | None:
    value = np.asarray(value)
    weights = np.cos(np.arange(value.size)).reshape(value.shape)
    total = float(np.sum(weights * np.real(value))) if value.dtype.kind in "fc" else None
    return total if total is not None and np.isfinite(total) else None


def _wrong_gradient(expression: Expression) -> str | None:
    """Compare the gradient of a weighted sum of the last value with differences at two steps."""
    places = [i for i, a in enumerate(expression.arrays) if a.dtype == np.float64 and a.size]
    rng = np.random.default_rng(0)
    moves = [rng.normal(size=a.shape) if i in places else None for i, a in enumerate(expression.arrays)]
    base = [a if m is None else a + 0.01 * np.abs(m) for a, m in zip(expression.arrays, moves, strict=True)]

    def value(step: float) -> float | None:
        moved = [a if m is None else a + step * m for a, m in zip(base, moves, strict=True)]
        values, error = computed(expression, moved)
        last = np.asarray(values[-1])
        return None if error or last.dtype not in (np.float64, np.complex128) else _total(last)

    slopes = []
    for step in (1e-6, 2.5e-7):
        ahead, behind = value(step), value(-step)
        if ahead is None or behind is None:
            return None
        slopes.append((ahead - behind) / (2 * step))
    scale = max(1.0, abs(value(0.0) or 0.0))
    if not places or not np.isclose(*slopes, rtol=1e-4, atol=1e-6 * scale):
        return None
    variables = [jt.constant(a) for a in base]
    with jt.GradientTape() as tape:
        tape.watch([variables[i] for i in places])
        last = computed(expression, variables)[0][-1]
        last = last if last.dtype != np.complex128 else jt.math.real(last)
        target = jt.reduce_sum(last * np.cos(np.arange(np.size(last))).reshape(last.shape))
    gradients = tape.gradient(target, [variables[i] for i in places], unconnected_gradients="zero")
    found = sum(float(np.sum(g.numpy() * moves[i])) for g, i in zip(gradients, places, strict=True))
    near = np.isclose(found, slopes[0], rtol=1e-3, atol=1e-4 * scale)
    return None if near or not np.isfinite(found) else f"gradient {found}, differences {slopes[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    jt.config.interpret = True
    wrong = 0
    for i in range(options.n):
        expression = random_expression((options.seed, i))
        text = disagreement(expression)
        if text:
            wrong += 1
            print(f"--- seed ({options.seed}, {i}): {text}\n{expression}")
    print(f"{wrong} of {options.n} expressions differ")


if __name__ == "__main__":
    main()
