"""The gamma and beta families under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import jittape as jt
from numpy_rows import Row
from numpy_samples import edges, given, numbers
from numpy_table import floats
from primitive_table_gamma import by_mpmath, positive, shape_slope

PAIRS = [
    # SciPy's functions are nan at the largest numbers.
    *[(edges(d)[:17, None], edges(d)[:17]) for d in ("float16", "float32", "float64")],
    (numbers("float32"), numbers("float64", (3,))),
    (numbers("int32"), numbers("float16", (3,))),
    (numbers("complex64"), numbers("float64", (3,))),
    (numbers("float64"), 2),
    (2.5, abs(numbers("float32"))),
    (np.zeros((0, 3)), np.ones(3)),
    (numbers("float64"), np.ones(2)),
]
"""Two operands at the edges of their dtypes, of two dtypes, and of shapes that do not fit."""


def of_pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two floats, computed in float64."""

    def reference(x: Any, y: Any) -> Any:
        dtype = np.result_type(*[a if isinstance(a, (int, float)) else floats(a) for a in (x, y)])
        if dtype.kind == "c":
            raise TypeError
        return np.asarray(function(*[np.asarray(a).astype(np.float64) for a in (x, y)])).astype(dtype)

    return reference


MODERATE = [(abs(numbers("float32")) + 0.5, numbers("float64", (3,), 1) + 2), *PAIRS[-4:]]

ROWS: list[Row] = [
    Row("jt.math.igamma", jt.math.igamma, of_pairs(positive(scipy.special.gammainc)), given(*PAIRS), rtol=64),
    Row(
        "jt.math.igammac",
        jt.math.igammac,
        of_pairs(positive(scipy.special.gammaincc)),
        given(*PAIRS),
        rtol=512,
    ),
    Row(
        "jt.math.random_gamma_grad",
        jt.math.random_gamma_grad,
        of_pairs(positive(by_mpmath(shape_slope))),
        given(*MODERATE),
        rtol=512,
    ),
]
