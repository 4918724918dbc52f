"""`jt.nutpie_draws`: nutpie's draws as arrays, without the libraries of nutpie's own results."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.filterwarnings("ignore")

SHAPES: dict[str, tuple[int, ...]] = {"a": (2, 3), "b": ()}
OPTIONS: dict[str, Any] = {"draws": 500, "tune": 200, "chains": 2, "cores": 2, "seed": 1}

ALONE = """
import sys
import numpy as np
import jittape as jt

def logp(x):
    return -0.5 * jt.reduce_sum(x**2)

drawn = jt.nutpie_draws(logp, {"x": (3,)}, draws=100, tune=50, chains=2, seed=3).values["x"]
loaded = {"arviz", "nutpie", "pandas", "pyarrow", "xarray"} & set(sys.modules)
assert not loaded, loaded

import nutpie

trace = nutpie.sample(jt.nutpie(logp, {"x": (3,)}), draws=100, tune=50, chains=2, seed=3, progress_bar=False)
assert np.array_equal(trace.posterior["x"].values, drawn)
assert nutpie._lib is sys.modules["nutpie._lib"]
"""


def density(a: Any, b: Any) -> Any:
    return -0.5 * jt.reduce_sum(((a - 1.0) / 0.5) ** 2) - 0.5 * (b / 2.0) ** 2


def test_draws_are_those_of_nutpie() -> None:
    nutpie = pytest.importorskip("nutpie")
    values, statistics = jt.nutpie_draws(density, SHAPES, **OPTIONS, target_accept=0.9)
    model = jt.nutpie(density, SHAPES)
    trace = nutpie.sample(model, **OPTIONS, target_accept=0.9, progress_bar=False)
    assert list(values) == list(SHAPES)
    for name, shape in SHAPES.items():
        assert values[name].shape == (2, 500, *shape)
        np.testing.assert_array_equal(values[name], trace.posterior[name])
    assert set(statistics) == set(trace.sample_stats) - {"tuning"}
    for name, found in statistics.items():
        assert found.shape == (2, 500)
        np.testing.assert_array_equal(found, trace.sample_stats[name])


def test_the_program_loads_none_of_the_libraries_of_results() -> None:
    pytest.importorskip("nutpie")
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nan_ends_a_trajectory() -> None:
    pytest.importorskip("nutpie")
    values, statistics = jt.nutpie_draws(lambda x: jt.math.log(1.0 - x * x), {"x": ()}, **OPTIONS)
    assert np.abs(values["x"]).max() < 1.0
    assert statistics["diverging"].dtype == bool


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"nonsense": 3}, TypeError, "nutpie has no setting 'nonsense'"),
        ({"draws": -1}, ValueError, "nutpie_draws: `draws` must be at least 1, got -1"),
        ({"tune": 2.5}, TypeError, "nutpie_draws: `tune` must be an int, got 2.5"),
        ({"chains": 0}, ValueError, "nutpie_draws: `chains` must be at least 1, got 0"),
        ({"cores": "all"}, TypeError, "nutpie_draws: `cores` must be an int, got 'all'"),
    ],
)
def test_wrong_settings(options: dict[str, Any], error: type[Exception], message: str) -> None:
    pytest.importorskip("nutpie")
    with pytest.raises(error, match=message):
        jt.nutpie_draws(density, SHAPES, **OPTIONS | options)


def test_a_density_without_a_start() -> None:
    pytest.importorskip("nutpie")
    with pytest.raises(ValueError, match="the log density is nan"):
        jt.nutpie_draws(lambda x: jt.reduce_sum(x) * np.nan, {"x": (2,)}, **OPTIONS)
