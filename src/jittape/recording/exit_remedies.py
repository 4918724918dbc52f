"""The operations that record, by the functions that take a tensor off the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.call_site import Site

__all__ = ["MATH", "remedy_for"]

MATH = {
    "acos": "jt.acos",
    "acosh": "jt.acosh",
    "asin": "jt.asin",
    "asinh": "jt.asinh",
    "atan": "jt.atan",
    "atan2": "jt.atan2",
    "atanh": "jt.atanh",
    "cos": "jt.cos",
    "cosh": "jt.cosh",
    "erf": "jt.math.erf",
    "erfc": "jt.math.erfc",
    "exp": "jt.exp",
    "expm1": "jt.math.expm1",
    "fabs": "jt.abs",
    "fmod": "jt.mod",
    "fsum": "jt.reduce_sum",
    "hypot": "jt.norm",
    "lgamma": "jt.math.lgamma",
    "log": "jt.math.log",
    "log1p": "jt.math.log1p",
    "pow": "jt.pow",
    "sin": "jt.sin",
    "sinh": "jt.sinh",
    "sqrt": "jt.sqrt",
    "tan": "jt.tan",
    "tanh": "jt.tanh",
}
"""The operation that records, by the name of the function in `math`."""
_ARRAYS = (np.array, np.asarray, np.asanyarray, np.stack, np.full)
_VECTORIZED = np.vectorize.__call__.__qualname__


def remedy_for(name: str, site: Site, function: Any) -> str:
    """Return what to write instead at `site`, where `function`, shown as `name`, takes a tensor off the tape."""
    module = getattr(function, "__module__", None) or ""
    if module == "math" and function.__name__ in MATH:
        return f"{MATH[function.__name__]} records"
    if site.action == "store":
        return "jt.stack([...]) records, and so does an assignment to a part of a tensor, `t = jt.zeros(n); t[i] = x`"
    if any([function is f for f in _ARRAYS]):
        return "jt.stack([...]) records"
    if name.endswith(_VECTORIZED) or isinstance(function, np.vectorize):
        return "jt.vectorized_map records, and so do jittape's operations on the whole tensor"
    if function is np.bincount or function is np.histogram:
        return "jt.tensor_scatter_nd_add records"
    if module.partition(".")[0] == "numpy":
        return f"stack the tensors first, `{site}(jt.stack([...]))`, which records"
    return "write it with jittape operations, or give it a gradient with jt.custom_gradient"
