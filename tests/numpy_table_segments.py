"""Segments under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, E, S, V, X
from numpy_rows import NO_ORDER, NOT_BOOL, NOT_INT, Deviation, Row
from numpy_samples import DTYPES, edges, given, numbers
from numpy_table import checked
from primitive_table_segments import empty_segment, reduced

# ---- segments --------------------------------------------------------------------------------------------------------

IDS = np.array([2, 0, -1, 2, 0, -7])
SORTED_IDS = np.array([0, 0, 2, 2, 2, 4])
UNSORTED = [
    *[(numbers(d, (6, 2)), IDS, 4) for d in DTYPES],
    *[(edges(d)[:6], IDS, 4) for d in DTYPES],
    (CUBE, np.zeros(CUBE.shape[:2], int), 1),
    (CUBE, np.zeros((), int), 1),
    (V, np.zeros(len(V), "uint8"), 2),
    (V, [0] * len(V), 1),
    (V, np.full(len(V), 3), 3),
    (V, [3] * len(V), 3),
    (V, np.zeros(len(V)), 3),
    (V, np.zeros(len(V), bool), 3),
    (V, np.zeros(len(V), int), -1),
    (V, np.full(len(V), -1), 0),
    (X, np.zeros(X.shape[::-1], int), 3),
    (S, np.zeros(1, int), 3),
    (E, np.zeros(len(E), int), 2),
    (BOOLS, np.zeros(len(BOOLS), int), 2),
    (COMPLEX, np.zeros(len(COMPLEX), int), 2),
]
SORTED = [
    *[(numbers(d, (6, 2)), SORTED_IDS) for d in DTYPES],
    *[(edges(d)[:6], SORTED_IDS) for d in DTYPES],
    (V, [0] * len(V)),
    (V, np.arange(len(V))[::-1].copy()),
    (V, np.arange(len(V)) - 1),
    (V, np.zeros(len(V))),
    (V, np.zeros(len(V) + 1, int)),
    (X, np.zeros(X.shape, int)),
    (E, np.zeros(len(E), int)),
    (S, np.zeros(0, int)),
]


def unsorted(how: str) -> Callable[..., Any]:
    """The reduction of one segment after another."""

    def reference(data: Any, ids: Any, count: int) -> Any:
        ids = np.asarray(ids)
        checked(ids.dtype.kind in "iu" and data.shape[: ids.ndim] == ids.shape and count >= 0, data)
        checked(not ids.size or ids.max() < count, data)
        if data.dtype.kind in "iu" and how == "mean":
            data = data.astype(float)
        return reduced(how, data, ids, count, empty_segment(how, data.dtype))

    return reference


def ordered(how: str) -> Callable[..., Any]:
    """The same for sorted ids, whose last says how many segments there are."""

    def reference(data: Any, ids: Any) -> Any:
        ids = np.asarray(ids)
        checked(ids.dtype.kind in "iu" and ids.ndim == 1 and data.shape[:1] == ids.shape, data)
        checked(np.all(np.diff(ids) >= 0) and np.all(ids >= 0), data)
        count = int(ids[-1]) + 1 if ids.size else 0
        if data.dtype.kind in "iu" and how == "mean":
            total = reduced("sum", data, ids, count, 0)
            counts = np.maximum(np.bincount(ids, minlength=count), 1).astype(data.dtype)
            quotient = total / counts.reshape(-1, *(1,) * (data.ndim - 1))
            return np.trunc(quotient).astype(data.dtype)
        return reduced(how, data, ids, count, int(how == "prod"))

    return reference


EXTREMA = (NO_ORDER, NOT_BOOL)
REFUSED: dict[str, tuple[Deviation, ...]] = {"max": EXTREMA, "min": EXTREMA, "sqrt_n": (NOT_INT,)}

SEGMENTS = [
    *[
        Row(
            f"jt.math.unsorted_segment_{how}",
            getattr(jt.math, f"unsorted_segment_{how}"),
            unsorted(how),
            given(*UNSORTED),
            REFUSED.get(how, (NOT_BOOL,)),
            signed_zeros=False,
        )
        for how in ("sum", "mean", "sqrt_n", "prod", "max", "min")
    ],
    *[
        Row(
            f"jt.math.segment_{how}",
            getattr(jt.math, f"segment_{how}"),
            ordered(how),
            given(*SORTED),
            REFUSED.get(how, (NOT_BOOL,)),
            signed_zeros=False,
        )
        for how in ("sum", "mean", "prod", "max", "min")
    ],
]

ROWS = SEGMENTS
