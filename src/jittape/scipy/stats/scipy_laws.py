"""Distribution functions and their inverses that SciPy computes between kernels, with their derivatives.

An inverse ``y`` of a distribution function, ``F(y, a) = p``, has the derivatives of the implicit function theorem:
``dy/dp = 1 / f`` with the density f, and ``dy/da = -F_a / f``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jittape.scipy.special.scipy_steps import scipy_step
from jittape.scipy.special.terms import Term, slope

__all__ = ["computed_functions", "computed_inverses", "computed_law", "scipy_method"]

Partials = Callable[..., list[Any]]
"""``partials(y, *shapes)`` returns the density and the derivatives of the distribution function in the shapes."""


def scipy_method(name: str, method: str, *operands: Any) -> Any:
    """Return SciPy's value in the dtype of the operands."""
    import scipy.stats

    with np.errstate(all="ignore"):
        return np.asarray(getattr(getattr(scipy.stats, name), method)(*operands)).astype(operands[0].dtype)


def _step(name: str, method: str, shapes: str, slopes: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of terms whose values are SciPy's; ``slopes(i)`` is the formula of a derivative, or None."""
    record = scipy_step(
        f"{name}.{method}",
        f"x {shapes}",
        *[slope(slopes(i)) for i in range(1 + len(shapes.split()))],
        impl=partial(scipy_method, name, method),
    )
    return lambda *operands: Term(record.bind(*[t.handle for t in operands]))


def computed_inverses(name: str, shapes: str, partials: Partials, known: str) -> dict[str, Any]:
    """Return ``ppf`` and ``isf``; the derivatives in the shape parameters that `known` names have formulas."""

    def inverse(method: str, sign: float) -> Any:
        def slopes(i: int) -> Any:
            if i and shapes.split()[i - 1] not in known.split():
                return None

            def formula(out: Term, q: Term, *parameters: Term) -> Any:
                found = partials(out, *parameters)
                return -found[i] / found[0] if i else sign / found[0]

            return formula

        return _step(name, method, shapes, slopes)

    return {"ppf": inverse("ppf", 1.0), "isf": inverse("isf", -1.0)}


def computed_functions(name: str, shapes: str, partials: Partials, known: str) -> dict[str, Any]:
    """Return ``cdf`` and ``sf``; see `computed_inverses`."""

    def function(method: str, sign: float) -> Any:
        def slopes(i: int) -> Any:
            if i and shapes.split()[i - 1] not in known.split():
                return None
            return lambda out, *operands: sign * partials(*operands)[i]

        return _step(name, method, shapes, slopes)

    return {"cdf": function("cdf", 1.0), "sf": function("sf", -1.0)}


def computed_law(name: str, shapes: str, partials: Partials, known: str) -> dict[str, Any]:
    """Return ``cdf``, ``sf`` and their inverses; see `computed_inverses`."""
    given = (name, shapes, partials, known)
    return {**computed_functions(*given), **computed_inverses(*given)}
