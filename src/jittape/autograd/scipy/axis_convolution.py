"""`convolve` with the arguments of ``autograd.scipy.signal``: along some axes, with sums over others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.autograd.containers import as_numpy, as_tensor, holds_boxes
from jittape.errors import ShapeError
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.signal.fourier import fftnd, ifftnd
from jittape.scipy.scipy_operands import floating_operand
from jittape.scipy.signal.convolutions import MODES, central_part

__all__ = ["convolve"]

Axes = Sequence[Sequence[int]]


def convolve(A: Any, B: Any, axes: Any = None, dot_axes: Axes = ((), ()), mode: str = "full") -> Any:
    """Convolve two arrays along some of their axes; differentiable in both.

    Parameters
    ----------
    A, B : array
        Real or complex arrays.
    axes : pair of sequences of int, default all
        Axes of `A` and of `B` that are convolved. A string is the mode, as in SciPy.
    dot_axes : pair of sequences of int
        Axes of `A` and of `B` over which products are summed.
    mode : {"full", "valid", "same"}
        See ``jittape.scipy.signal.convolve``.

    Returns
    -------
    ndarray or Tensor
        Array whose axes are the remaining ones of `A`, those of `B`, then the convolved ones. It is SciPy's result for
        plain arrays without `axes`. Otherwise Fourier transforms compute it, and errors are relative to the greatest
        elements.

    Raises
    ------
    ValueError
        For another mode, or if the arrays do not have the same number of axes of each kind.
    ShapeError
        If the lengths of summed axes differ, or an array is empty.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd.scipy.signal import convolve
    >>> images, filters = np.ones((5, 3, 8, 8)), np.ones((3, 2, 4, 4))
    >>> convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid").shape
    (5, 2, 5, 5)
    """
    if isinstance(axes, str):
        axes, mode = None, axes
    if mode not in MODES:
        raise ValueError(f"[convolve] mode must be one of {', '.join(MODES)}, got {mode!r}")
    boxed = holds_boxes((A, B))
    if axes is None and not boxed and not any(map(len, dot_axes)):
        from scipy.signal import convolve as of_scipy  # imported only by programs that convolve

        return of_scipy(A, B, mode)
    a, b = (as_tensor(floating_operand(x)) for x in (A, B))
    ranks = (len(a.aval.shape), len(b.aval.shape))
    convolved = _positions("axes", [range(n) for n in ranks] if axes is None else axes, ranks)
    summed = _positions("dot_axes", dot_axes, ranks)
    a, b = _arranged(a, convolved[0], summed[0]), _arranged(b, convolved[1], summed[1])
    found = _product(a, b, len(convolved[0]), len(summed[0]), mode)
    return found if boxed else as_numpy(found)


def _positions(name: str, pair: Axes, ranks: tuple[int, int]) -> list[list[int]]:
    """Return the axes of either array as numbers from the first."""
    found = [[i + n if i < 0 else i for i in axes] for axes, n in zip(pair, ranks, strict=True)]
    if len(found[0]) != len(found[1]) or any(
        len(set(axes)) != len(axes) or not set(axes) <= set(range(n))
        for axes, n in zip(found, ranks, strict=True)
    ):
        raise ValueError(
            f"[convolve] {name} must name equally many axes of arrays with {ranks[0]} and {ranks[1]} dimensions, got "
            f"{pair}"
        )
    return found


def _arranged(x: Any, convolved: list[int], summed: list[int]) -> Any:
    """Return `x` with the axes that are summed and then those that are convolved at the end."""
    kept = [i for i in range(len(x.aval.shape)) if i not in convolved and i not in summed]
    return FUNCTIONS[np.transpose](x, [*kept, *summed, *convolved])


def _product(a: Any, b: Any, convolved: int, summed: int, mode: str) -> Any:
    """Return the sum of convolutions along the last axes, by transforms; the axes before them are summed."""
    first, second = tuple(a.aval.shape), tuple(b.aval.shape)
    ends = [shape[len(shape) - convolved :] for shape in (first, second)]
    inner = [shape[len(shape) - convolved - summed : len(shape) - convolved] for shape in (first, second)]
    if inner[0] != inner[1] or 0 in first or 0 in second:
        raise ShapeError(
            f"[convolve] axes that are summed must have equal lengths, and no array may be empty: shapes with these "
            f"axes and those that are convolved at the end are {first} and {second}"
        )
    lengths = [m + n - 1 for m, n in zip(*ends, strict=True)]
    kept = (len(first) - convolved - summed, len(second) - convolved - summed)
    letters = [
        list(range(start, start + n))
        for start, n in ((0, kept[0]), (13, kept[1]), (26, summed), (39, convolved))
    ]
    transforms = [
        fftnd(x, lengths, list(range(len(shape) - convolved, len(shape)))) if convolved else x
        for x, shape in ((a, first), (b, second))
    ]
    product = FUNCTIONS[np.einsum](
        transforms[0],
        letters[0] + letters[2] + letters[3],
        transforms[1],
        letters[1] + letters[2] + letters[3],
        letters[0] + letters[1] + letters[3],
    )
    if not convolved:
        return product
    found = ifftnd(product, lengths, list(range(sum(kept), sum(kept) + convolved)))
    is_complex = "c" in (a.aval.dtype.kind, b.aval.dtype.kind)
    return central_part("convolve", found if is_complex else real(found), ends[0], ends[1], mode)
