"""The treatment of each function of NumPy that is called with a tensor: the support table of the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["READS_VALUES", "REFUSED", "Support", "support"]

_WRITES = "would write into its operand"
_DATES = "is for dates, which a tensor cannot hold"

REFUSED: dict[Any, tuple[str, str]] = {
    np.busday_count: (_DATES, "x.numpy() leaves the tape"),
    np.busday_offset: (_DATES, "x.numpy() leaves the tape"),
    np.copyto: (_WRITES, "use np.where, or assign to a jt.Variable"),
    np.datetime_as_string: (_DATES, "x.numpy() leaves the tape"),
    np.fill_diagonal: (_WRITES, "use jt.linalg.set_diag"),
    np.is_busday: (_DATES, "x.numpy() leaves the tape"),
    np.isnat: (_DATES, "x.numpy() leaves the tape"),
    np.place: (_WRITES, "use np.where or jt.tensor_scatter_nd_update"),
    np.put: (_WRITES, "use jt.tensor_scatter_nd_update, or assign to a part of a tensor: x[index] = value"),
    np.put_along_axis: (_WRITES, "use jt.tensor_scatter_nd_update"),
    np.putmask: (_WRITES, "use np.where"),
}
"""Functions that have no meaning for a tensor: the reason, and the way out."""


READS_VALUES: frozenset[Any] = frozenset(
    (
        np.bincount,
        np.compress,
        np.digitize,
        *[getattr(np.emath, name) for name in np.emath.__all__],
        np.extract,
        np.gcd,
        np.geomspace,
        np.histogram,
        np.histogram2d,
        np.histogram_bin_edges,
        np.histogramdd,
        np.intersect1d,
        np.ix_,
        np.lcm,
        np.linalg.lstsq,
        np.packbits,
        np.poly,
        np.polydiv,
        np.polymul,
        np.ravel_multi_index,
        np.real_if_close,
        np.roots,
        np.setdiff1d,
        np.setxor1d,
        np.trim_zeros,
        np.union1d,
        np.unique,
        np.unique_all,
        np.unique_counts,
        np.unique_inverse,
        np.unique_values,
        np.unpackbits,
        np.unravel_index,
    )
)
"""Functions that record, but read the values of a tensor first, because they decide about the shape of the result."""


class Support(NamedTuple):
    """How one function of NumPy treats a tensor.

    Attributes
    ----------
    name : str
        The function as users write it, ``np.fft.fft``.
    status : {'records', 'records, reads values', 'returns values', 'refused', 'not recorded', 'takes no tensor'}
        The treatment.
    remark : str
        The reason of a refusal and the way out.
    """

    name: str
    status: str
    remark: str


def support(functions: dict[Any, Any], ufuncs: dict[Any, Any], of_values: frozenset[Any]) -> list[Support]:
    """Return the treatment of every function of NumPy, given the tables of recorded functions."""
    rows = []
    for prefix, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft), ("np.emath", np.emath)):
        for name in sorted(module.__all__):
            function = getattr(module, name)
            if callable(function) and not isinstance(function, type):
                rows.append(Support(f"{prefix}.{name}", *_status(function, functions, ufuncs, of_values)))
    return rows


def _status(
    function: Callable[..., Any], functions: dict[Any, Any], ufuncs: dict[Any, Any], of_values: frozenset[Any]
) -> tuple[str, str]:
    if function in REFUSED:
        return "refused", ": ".join(REFUSED[function])
    if function in of_values:
        return "returns values", ""
    if function in READS_VALUES:
        return "records, reads values", ""
    if function in functions or function in ufuncs:
        return "records", ""
    dispatched = isinstance(function, np.ufunc) or hasattr(function, "_implementation")
    return ("not recorded", "") if dispatched else ("takes no tensor", "")
