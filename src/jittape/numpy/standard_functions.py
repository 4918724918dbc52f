"""Functions of the Array API standard that NumPy lacks, or that have more parameters there than in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.core.user_calls import as_flag, named, shown
from jittape.numpy.argument_errors import explaining
from jittape.numpy.array_arguments import as_operand, as_result, check_device, fresh
from jittape.numpy.recorded_functions import in_one_call
from jittape.numpy_api.numpy_calculus import running_axis
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.primitives.elementwise.arithmetic import subtract
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.machine_code.known_paths import take_function

__all__ = ["FREQUENCIES", "STANDARD"]

_MODULE = "jittape.numpy"


def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Any:
    """Return the sorted tensor; see `numpy.sort`. `descending` is the Array API's."""
    a = as_operand(a, "a", weak=False)
    found = as_result(FUNCTIONS[np.sort](a, axis, kind, order, stable=stable))
    return reverse(found, -1 if axis is None else axis) if as_flag("descending", descending) else found


def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Any:
    """Return the indices that sort a tensor; equal elements keep their order; see `numpy.argsort`."""
    a = as_operand(a, "a", weak=False)
    if not as_flag("descending", descending):
        return as_result(FUNCTIONS[np.argsort](a, axis, kind, order, stable=stable))
    if axis is None:
        a, axis = FUNCTIONS[np.ravel](a), -1
    backward = FUNCTIONS[np.argsort](reverse(a, axis), axis, kind, order, stable=stable)
    return subtract(a.shape[axis] - 1, reverse(backward, axis))


def _cumulative(accumulate: Any, neutral: int, name: str) -> Callable[..., Any]:
    def cumulative(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        x = as_operand(x, "x", weak=False)
        x = x if len(x.shape) else reshape(x, (1,))
        if axis is None and len(x.shape) != 1:
            raise named(ValueError(f"axis must be given for {len(x.shape)} dimensions, got {shown(axis)}"))
        along = running_axis(name, 0 if axis is None else axis, len(x.shape), include_initial)
        found = as_result(FUNCTIONS[accumulate](x, along, dtype, out))
        if not as_flag("include_initial", include_initial):
            return found
        shape = (*found.shape[:along], 1, *found.shape[along + 1 :])
        return concat([np.full(shape, neutral, found.dtype), found], along)

    cumulative.__name__ = cumulative.__qualname__ = name
    cumulative.__code__ = cumulative.__code__.replace(co_name=name)
    cumulative.__doc__ = (
        f"Return {name.removeprefix('cumulative_')}s of the first elements; see `numpy.{name}`."
    )
    return cumulative


def fftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return the frequencies of a Fourier transform; see `numpy.fft.fftfreq`."""
    check_device(device)
    return fresh(np.fft.fftfreq(n, d).astype(np.float64 if dtype is None else as_dtype(dtype)))


def rfftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return the frequencies of a Fourier transform of real numbers; see `numpy.fft.rfftfreq`."""
    check_device(device)
    return fresh(np.fft.rfftfreq(n, d).astype(np.float64 if dtype is None else as_dtype(dtype)))


def _taken(function: Any, general: Any) -> Any:
    """Return `general`, but record calls as one call where it does what a `function` of NumPy does."""
    made: Any = wraps(general)(in_one_call(function, general))
    made.__code__ = made.__code__.replace(co_name=general.__name__, co_qualname=general.__name__)
    take_function(made, function)
    return made


FREQUENCIES: dict[str, Callable[..., Any]] = {
    "fftfreq": explaining(fftfreq),
    "rfftfreq": explaining(rfftfreq),
}
"""Functions of ``jittape.numpy.fft`` besides the transforms."""
STANDARD: dict[str, Callable[..., Any]] = {
    "argsort": _taken(np.argsort, argsort),
    "cumulative_prod": _cumulative(np.cumprod, 1, "cumulative_prod"),
    "cumulative_sum": _cumulative(np.cumsum, 0, "cumulative_sum"),
    "sort": _taken(np.sort, sort),
}
"""Functions of ``jittape.numpy`` that keep their own signatures."""
for _function in STANDARD.values():
    _function.__module__ = _MODULE
for _function in FREQUENCIES.values():
    _function.__module__ = f"{_MODULE}.fft"
