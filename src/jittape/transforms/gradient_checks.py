"""Comparison of gradients with finite differences: `compute_gradient` and `check_gradient`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import common_dtype, float_limits, is_differentiable
from jittape.core.user_calls import as_function
from jittape.errors import UnconnectedGradientWarning
from jittape.primitives.elementwise.complex_numbers import cast, real
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten
from jittape.recording.tensor import tensor_of
from jittape.transforms.gradients import grad, vjp
from jittape.transforms.primals import as_host

__all__ = ["check_gradient", "compute_gradient"]

Array = np.ndarray[Any, Any]


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[list[Array], list[Array]]:
    """Compute the Jacobians of a function with its gradient and with finite differences.

    Parameters
    ----------
    f : callable
        Function that takes one tensor for each entry of `x` and returns one tensor.
    x : list of tensor-like
        Arguments of `f`, of floating or complex dtypes.
    delta : float, optional
        Step of the central differences. The default is 1/1024.

    Returns
    -------
    theoretical, numerical : list of ndarray
        Jacobians with the gradient and with differences, one array for each entry of `x`. Rows are elements of the
        value, columns are elements of the entry. A complex element counts as two: its real and its imaginary part.

    Raises
    ------
    ValueError
        If `x` is not a list or tuple.

    Examples
    --------
    >>> import jittape as jt
    >>> theoretical, numerical = jt.test.compute_gradient(jt.square, [jt.constant([1.0, 2.0])])
    >>> theoretical[0]
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    as_function("f", f)
    if not isinstance(x, (list, tuple)):
        raise ValueError(
            f"[compute_gradient] `x` must be a list or tuple of tensors (arguments to `f`), not a {type(x).__name__}"
        )
    arrays = [np.asarray(as_host(convert_to_tensor(value))) for value in x]
    for i, array in enumerate(arrays):
        if not is_differentiable(array.dtype):
            raise TypeError(
                f"[compute_gradient] x[{i}] is {array.dtype.name}: only floating and complex values have gradients"
            )
    step = 1 / 1024 if delta is None else delta
    theoretical, _ = _jacobians(f, arrays, "zero")
    return theoretical, [_differences(f, arrays, i, step, 1) for i in range(len(arrays))]


def check_gradient(
    f: Callable[..., Any],
    *x: Any,
    order: int = 1,
    delta: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare the gradient of a function with finite differences and raise if they differ.

    Parameters
    ----------
    f : callable
        Function that returns a tensor or a nested structure of tensors.
    *x
        Arguments of `f`: arrays, tensors, Variables, numbers or nested structures of them. Arguments of a floating or
        complex dtype are varied. Use float64 to detect smaller errors.
    order : int
        Highest order of derivatives to compare. 2 also compares the gradient of the gradient, and so on.
    delta : float, optional
        Step of the central differences, whose error is of fourth order. The default is the fifth root of the machine
        epsilon of the dtype: 0.0007 for float64.
    rtol, atol : float, optional
        Tolerances: an entry may differ by ``atol + rtol * |entry|``. The default of both is 1e-7 for float64 and 1e-2
        for float32.

    Raises
    ------
    AssertionError
        If an entry differs by more. The message has the position and both values of the worst entry, and the reason if
        there is no gradient.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.check_gradient(lambda x: jt.sin(x) * x, np.array([1.0, 2.0]), order=2)
    >>> jt.check_gradient(lambda x: jt.stop_gradient(x) * x, np.array([1.0, 2.0]))
    Traceback (most recent call last):
        ...
    AssertionError: the gradient of result 0[1] in argument 0[1] is 2, by differences 4: off by 2, where ...
    """
    as_function("f", f)
    leaves, rebuild = flatten(x)
    arrays = [np.asarray(as_host(convert_to_tensor(leaf))) for leaf in leaves]
    varied = [i for i, array in enumerate(arrays) if is_differentiable(array.dtype)]
    if not varied:
        raise TypeError("[check_gradient] x must contain an argument of a floating or complex dtype to vary")
    shapes: list[tuple[int, ...]] = []

    def flat(*values: Any) -> Any:
        """Call `f` with varied arguments and return all elements of its results in one vector."""
        given: list[Any] = [array.copy() for array in arrays]  # `f` may write to its arguments
        for i, value in zip(varied, values, strict=True):
            given[i] = value
        results = [convert_to_tensor(y) for y in flatten(f(*rebuild(given)))[0]]
        shapes[:] = [y.aval.shape for y in results]
        return _in_one_vector(results)

    resolution = max([float(float_limits(arrays[i].dtype).eps) for i in varied])
    step = resolution**0.2 if delta is None else delta
    allowed = 1e-7 if resolution < 1e-12 else 1e-2
    relative, absolute = allowed if rtol is None else rtol, allowed if atol is None else atol
    values = [arrays[i] for i in varied]
    for number in range(order):
        g = _gradient_of(flat, number)
        jacobians, reasons = _jacobians(g, values, None)
        for i, jacobian in enumerate(jacobians):
            worst = _worst_entry(jacobian, _differences(g, values, i, step, 2), relative, absolute)
            if worst is not None:
                row, column, text = worst
                where = _result_name(shapes, row) if number == 0 else f"element {row} of derivative {number}"
                entry = _entry_name(varied[i], values[i], column)
                raise AssertionError(
                    f"the gradient of {where} in argument {entry} is {text}"
                    + (f" ({'; '.join(reasons)})" if reasons else "")
                )


def _in_one_vector(parts: Sequence[Any]) -> Any:
    """Concatenate the elements of all parts in their common dtype."""
    dtype = common_dtype(*[part.aval.dtype for part in parts])
    return concat([reshape(cast(part, dtype), (part.size,)) for part in parts], 0)


def _worst_entry(
    jacobian: Array, differences: Array, relative: float, absolute: float
) -> tuple[int, int, str] | None:
    """Return row, column and description of the entry with the largest excess error; None if all are tolerable."""
    error = np.abs(jacobian - differences)
    excess = np.where(np.isnan(jacobian) & np.isnan(differences), 0, error) - relative * np.abs(differences)
    off = ~(excess <= absolute)
    if not off.any():
        return None
    row, column = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), excess.shape)
    at = row, column
    text = (
        f"{jacobian[at]:.8g}, by differences {differences[at]:.8g}: off by {error[at]:.3g}, where "
        f"{absolute + relative * abs(differences[at]):.3g} is allowed; {off.sum()} of {off.size} entries are off"
    )
    return int(row), int(column), text


def _gradient_of(flat: Callable[..., Any], order: int) -> Callable[..., Any]:
    """Differentiate a weighted sum of `flat` `order` times; the elements of the result are in one vector."""
    for _ in range(order):
        flat = _differentiated(flat)
    return flat


def _differentiated(flat: Callable[..., Any]) -> Callable[..., Any]:
    def weighted(*values: Any) -> Any:
        y = flat(*values)
        return reduce_sum(real(y * np.cos(np.arange(y.size)).astype(y.aval.dtype)))

    def gradients(*values: Any) -> Any:
        return _in_one_vector(grad(weighted, range(len(values)), unconnected_gradients="zero")(*values))

    return gradients


def _result_name(shapes: list[tuple[int, ...]], row: int) -> str:
    """Return the name of the result's element in a row of the Jacobian of real results."""
    for number, shape in enumerate(shapes):
        size = math.prod(shape)
        if row < size:
            return f"result {number}" + _index(shape, row)
        row -= size
    return f"part {row}"


def _entry_name(number: int, array: Array, column: int) -> str:
    """Return the name of the argument's element in a column of the Jacobian."""
    part = ""
    if array.dtype.kind == "c":
        column, imaginary = divmod(column, 2)
        part = ".imag" if imaginary else ".real"
    return f"{number}{_index(array.shape, column)}{part}"


def _index(shape: tuple[int, ...], position: int) -> str:
    return f"[{', '.join(str(i) for i in np.unravel_index(position, shape))}]" if shape else ""


def _parts(array: Array) -> Array:
    """Return the elements as a vector; a complex element becomes its real and its imaginary part."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if array.dtype.kind == "c" else flat


def _jacobians(
    f: Callable[..., Any], arrays: list[Array], unconnected: str | None
) -> tuple[list[Array], list[str]]:
    """Return the Jacobians, from one reverse pass per element, and the reasons for missing gradients."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnconnectedGradientWarning)
        value, pullback = vjp(f, *[tensor_of(a) for a in arrays], unconnected_gradients=unconnected or "none")
        shape = np.zeros(value.aval.shape, value.aval.dtype)
        rows: list[list[Array]] = []
        for i in range(_parts(shape).size):
            unit = shape.copy()
            _parts(unit)[i] = 1
            gradients = zip(pullback(unit), arrays, strict=True)
            rows.append([_parts(np.zeros_like(a) if g is None else g.numpy()) for g, a in gradients])
    reasons = list(
        dict.fromkeys([str(w.message) for w in caught if w.category is UnconnectedGradientWarning])
    )
    jacobians = [
        np.array([row[i] for row in rows]).reshape(len(rows), _parts(a).size) for i, a in enumerate(arrays)
    ]
    return jacobians, reasons


def _differences(f: Callable[..., Any], arrays: list[Array], number: int, step: float, order: int) -> Array:
    """Return central differences with respect to argument `number`, with an error of ``step ** (2 * order)``."""
    weights = ((1, 1 / 2),) if order == 1 else ((1, 2 / 3), (2, -1 / 12))

    def value(column: int, distance: float) -> Array:
        moved = [a.copy() for a in arrays]
        _parts(moved[number])[column] += distance
        return _parts(np.asarray(as_host(convert_to_tensor(f(*[tensor_of(a) for a in moved])))))

    columns = [
        sum(w * (value(i, k * step) - value(i, -k * step)) for k, w in weights) / step
        for i in range(_parts(arrays[number]).size)
    ]
    rows = _parts(np.asarray(as_host(convert_to_tensor(f(*[tensor_of(a) for a in arrays]))))).size
    return np.array(columns).T.reshape(rows, len(columns))
