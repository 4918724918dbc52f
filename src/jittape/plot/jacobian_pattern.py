"""`jt.plot.jacobian`: which results depend on which elements of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.errors import ShapeError
from jittape.plot.chart_axes import new_axes
from jittape.transforms.jacobians import jacobian as jacobian_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["jacobian"]


def jacobian(f: Callable[..., Any], x: Any, *args: Any, ax: Axes | None = None) -> Axes:
    """Plot the pattern of the Jacobian of ``f(x, *args)`` with respect to `x`: its elements that are not zero.

    Rows are the elements of the result and columns those of `x`, both in C order. The pattern is that at `x`: an
    element that is zero there by chance, as the derivative of ``x**2`` at 0, looks like one that is always zero.

    Parameters
    ----------
    f : callable
        A function that returns one tensor.
    x : array_like
        The point, of floats.
    *args : any
        Other arguments of `f`.
    ax : matplotlib.axes.Axes, optional
        Axes to plot into; new ones without it.

    Returns
    -------
    matplotlib.axes.Axes
        The pattern; the title has the number of nonzero elements.

    Raises
    ------
    ShapeError
        If the result of `f` or `x` has no elements.
    ValueError
        If the result does not depend on `x`.

    Examples
    --------
    >>> import jittape as jt
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("agg")
    >>> ax = jt.plot.jacobian(lambda x: x[1:] - x[:-1], np.ones(10))
    >>> ax.get_title()
    '18 of 90 elements are not zero (20.0 %)'
    """
    found = jacobian_of(f)(x, *args)
    if found is None:
        raise ValueError("[plot.jacobian] the result of f does not depend on x")
    matrix = np.asarray(found)
    columns = int(np.size(x))
    if matrix.size == 0:
        raise ShapeError(f"[plot.jacobian] the Jacobian has no elements: its shape is {matrix.shape}")
    matrix = matrix.reshape(-1, columns)
    ax = ax or new_axes()
    nonzero = int(np.count_nonzero(matrix))
    ax.spy(matrix, aspect="auto", markersize=3 if max(matrix.shape) <= 100 else 1)
    ax.set_title(f"{nonzero} of {matrix.size} elements are not zero ({100 * nonzero / matrix.size:.1f} %)")
    ax.set_xlabel("element of the argument")
    ax.set_ylabel("element of the result")
    return ax
