"""`jt.fit` finds the certified parameters of NIST by each method of SciPy, also with bounds and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from nist_fits import FITS

METHODS = (None, "lm", "trf", "SLSQP", "trust-constr", "L-BFGS-B", "trust-exact", "BFGS")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("algorithm", METHODS)
@pytest.mark.parametrize("name", FITS)
def test_certified_parameters(name: str, algorithm: str | None) -> None:
    """SLSQP stopped at b2 = 47241 for Misra1a, where the model is constant."""
    fit = FITS[name]
    found = jt.fit(fit.model, (fit.x, fit.y), fit.start, algorithm=algorithm)
    assert found.success
    np.testing.assert_allclose(found.values, fit.values, rtol=1e-5)
    # NIST's errors are those of Gauss-Newton.
    np.testing.assert_allclose(list(found.errors.values()), fit.errors, rtol=0.05)


@pytest.mark.parametrize("algorithm", [None, "SLSQP", "trust-constr", "L-BFGS-B"])
@pytest.mark.parametrize("name", FITS)
def test_a_bound_and_the_same_constraint(name: str, algorithm: str | None) -> None:
    fit = FITS[name]
    limit = 0.99 * fit.values[0]
    near = fit.start | {"b1": 0.9 * fit.values[0]}
    expected = jt.fit(fit.model, (fit.x, fit.y), near, bounds={"b1": (None, limit)}, algorithm="trf")
    options: list[dict[str, Any]] = [{"bounds": {"b1": (None, limit)}}]
    if algorithm != "L-BFGS-B":
        options.append({"constraints": [(lambda p: p["b1"], None, limit)]})
    for each in options:
        found = jt.fit(fit.model, (fit.x, fit.y), near, algorithm=algorithm, **each)
        assert found.success
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-4)
