"""SciPy's positional parameters and options of linear algebra that do not change results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["with_scipy_options"]

OPTIONS = {"check_finite", "driver", "lapack_driver", "lwork", "overwrite_a", "overwrite_ab", "overwrite_b"}
"""Parameters of SciPy's functions that do not change results; here they have no effect."""


POSITIONS = {
    "cho_factor": "a lower overwrite_a check_finite",
    "cho_solve": "c_and_lower b overwrite_b check_finite",
    "cho_solve_banded": "cb_and_lower b overwrite_b check_finite",
    "cholesky": "a lower overwrite_a check_finite",
    "cholesky_banded": "ab overwrite_ab lower check_finite",
    "det": "a overwrite_a check_finite",
    "eig": "a b left right overwrite_a overwrite_b check_finite homogeneous_eigvals",
    "eigvals": "a b overwrite_a check_finite homogeneous_eigvals",
    "expm_frechet": "A E method compute_expm check_finite",
    "inv": "a overwrite_a check_finite",
    "lstsq": "a b cond overwrite_a overwrite_b check_finite lapack_driver",
    "lu": "a permute_l overwrite_a check_finite p_indices",
    "lu_factor": "a overwrite_a check_finite",
    "lu_solve": "lu_and_piv b trans overwrite_b check_finite",
    "norm": "a ord axis keepdims check_finite",
    "pinvh": "a atol rtol lower return_rank check_finite",
    "qr": "a overwrite_a lwork mode pivoting check_finite",
    "schur": "a output lwork overwrite_a sort check_finite",
    "solve": "a b lower overwrite_a overwrite_b check_finite assume_a transposed",
    "solve_banded": "l_and_u ab b overwrite_ab overwrite_b check_finite",
    "solve_triangular": "a b trans lower unit_diagonal overwrite_b check_finite",
    "solveh_banded": "ab b overwrite_ab overwrite_b lower check_finite",
    "svd": "a full_matrices compute_uv overwrite_a check_finite lapack_driver",
    "svdvals": "a overwrite_a check_finite",
}
"""The order of SciPy's positional parameters, where options are among them."""
UNSUPPORTED: dict[str, dict[str, Any]] = {
    "eig": {"b": None, "left": False, "right": True, "homogeneous_eigvals": False},
    "eigvals": {"b": None, "homogeneous_eigvals": False},
    "pinv": {"atol": None, "return_rank": False},
    "pinvh": {"atol": None, "return_rank": False},
    "schur": {"sort": None},
}
"""SciPy's parameters that change results and are not supported, with the only values that are accepted."""


def with_scipy_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with SciPy's order of parameters, which ignores those of memory and routines."""
    name = function.__name__
    positions = tuple(POSITIONS.get(name, "").split())
    unsupported = UNSUPPORTED.get(name, {})

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and len(args) <= len(positions):
            places = positions[1 : len(args)]
            for place in places:
                if place in kwargs:
                    raise TypeError(f"[{name}] {place} is given twice, by position and by name")
            kwargs.update(zip(places, args[1:], strict=True))
            args = args[:1]
        for option, default in unsupported.items():
            if option in kwargs and kwargs.pop(option) is not default:
                raise NotImplementedError(f"[{name}] {option} is not supported; leave it at {default!r}")
        return function(*args, **{key: value for key, value in kwargs.items() if key not in OPTIONS})

    call.__code__ = call.__code__.replace(co_name=name)  # messages name the function
    return functools.wraps(function)(call)
