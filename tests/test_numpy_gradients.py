"""Gradients of NumPy's functions against differences; the same calls in functions and in batches."""

from __future__ import annotations

import inspect
import itertools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
import numpy_table_analysis
import numpy_table_functions
from jittape.numpy_api.numpy_support import READS_VALUES
from numpy_rows import Row

STEP = 1e-6
CASES_PER_ROW = 2
QUIET, DEPRECATED = "ignore:.*:RuntimeWarning", "ignore:.*:DeprecationWarning"
WITHOUT_DERIVATIVE = (np.histogram, np.histogram2d, np.histogramdd, np.histogram_bin_edges)
"""Functions whose results are constants for a tape, although edges move with the data."""


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    """Run with NumPy: other tests compare compiled code with it."""
    before = jt.config.interpret
    jt.config.interpret = True
    yield
    jt.config.interpret = before


def places_of(args: tuple[Any, ...]) -> list[tuple[int, ...]]:
    """Return the places of the float64 arrays among the arguments, also within lists."""
    found = []
    for i, a in enumerate(args):
        for j, part in enumerate(a) if isinstance(a, (list, tuple)) else [(None, a)]:
            if isinstance(part, np.ndarray) and part.dtype == np.float64 and part.size:
                found.append((i,) if j is None else (i, j))
    return found


def at(args: Any, place: tuple[int, ...]) -> Any:
    for i in place:
        args = args[i]
    return args


def replaced(args: tuple[Any, ...], places: list[tuple[int, ...]], values: Any) -> tuple[Any, ...]:
    """Return the arguments with other values at `places`."""
    result: list[Any] = list(args)
    for place, value in zip(places, values, strict=True):
        if len(place) == 1:
            result[place[0]] = value
        else:
            inner = list(result[place[0]])
            inner[place[1]] = value
            result[place[0]] = type(args[place[0]])(inner)
    return tuple(result)


def parts_of(result: Any) -> list[Any]:
    """Return the results of a floating dtype."""
    several = result if isinstance(result, (list, tuple)) else [result]
    return [r for r in several if getattr(r, "dtype", None) in (np.float64, np.complex128) and np.size(r)]


def weight(part: Any, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=np.shape(part))


def total(parts: list[Any], seed: int) -> float:
    """Return a weighted sum of NumPy's results."""
    return sum(float(np.sum(weight(p, seed + i) * np.real(p))) for i, p in enumerate(parts))


def recorded_total(parts: list[Any], seed: int) -> Any:
    return sum(jt.reduce_sum(weight(p, seed + i) * jt.math.real(p)) for i, p in enumerate(parts))


def value(row: Row, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
    """Return the weighted sum with NumPy; None if there is none or it is not finite."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = parts_of(row.reference(*args, **kwargs))
    except Exception:
        return None
    found = total(parts, 1)
    return found if parts and np.isfinite(found) else None


def moved(args: Any, places: Any, directions: Any, step: float) -> tuple[Any, ...]:
    values = [at(args, p) + step * d for p, d in zip(places, directions, strict=True)]
    return replaced(args, places, values)


def slope(row: Row, args: Any, kwargs: Any, places: Any, directions: Any, step: float) -> float | None:
    ends = [
        value(
            row,
            replaced(args, places, [at(args, p) + s * d for p, d in zip(places, directions, strict=True)]),
            kwargs,
        )
        for s in (step, -step)
    ]
    return None if None in ends else (ends[0] - ends[1]) / (2 * step)  # type: ignore[operator]


def smooth_cases() -> Iterator[Any]:
    """Give the first cases of each row that NumPy can differentiate by differences, with the difference."""
    rng = np.random.default_rng(0)
    for row in (*numpy_table_functions.ROWS, *numpy_table_analysis.ROWS):
        count = 0
        for args, kwargs in row.cases():
            places = places_of(args)
            if row.call in WITHOUT_DERIVATIVE or not places or value(row, args, kwargs) is None:
                continue
            shifted = replaced(
                args, places, [at(args, p) + 0.1 * rng.uniform(size=at(args, p).shape) for p in places]
            )
            directions = [rng.normal(size=at(args, p).shape) for p in places]
            slopes = [slope(row, shifted, kwargs, places, directions, h) for h in (STEP, STEP / 4)]
            if "std" in row.name and not np.all(row.reference(*shifted, **kwargs)):
                continue  # the derivative of a deviation of 0 is nan
            if None in slopes or not np.isclose(*slopes, rtol=1e-4, atol=1e-6):
                continue
            yield pytest.param(row, shifted, kwargs, places, directions, slopes[0], id=f"{row} {count}")
            count += 1
            if count == CASES_PER_ROW:
                break


CASES = list(smooth_cases())


def gradient(row: Row, args: Any, kwargs: Any, places: Any, values: Any = None) -> list[Any]:
    """Return the gradients with respect to the arrays at `places`."""
    variables = [jt.Variable(at(args, p)) for p in places]
    with jt.GradientTape() as tape:
        target = recorded_total(parts_of(row.call(*replaced(args, places, variables), **kwargs)), 1)
    return [g.numpy() for g in tape.gradient(target, variables, unconnected_gradients="zero")]


@pytest.mark.filterwarnings(
    "ignore::jittape.errors.TapeExitWarning", "ignore:.*:RuntimeWarning", "ignore:.*:DeprecationWarning"
)
@pytest.mark.parametrize(("row", "args", "kwargs", "places", "directions", "expected"), CASES)
def test_gradients_are_differences(
    row: Row, args: Any, kwargs: Any, places: Any, directions: Any, expected: float
) -> None:
    found = sum(
        float(np.sum(g * d)) for g, d in zip(gradient(row, args, kwargs, places), directions, strict=True)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings(
    "ignore::jittape.errors.TapeExitWarning", "ignore:.*:RuntimeWarning", "ignore:.*:DeprecationWarning"
)
@pytest.mark.parametrize(("row", "args", "kwargs", "places", "directions", "expected"), CASES[::5])
def test_second_derivatives_are_differences_of_gradients(
    row: Row, args: Any, kwargs: Any, places: Any, directions: Any, expected: float
) -> None:
    variables = [jt.Variable(at(args, p)) for p in places]
    with jt.GradientTape() as outer:
        with jt.GradientTape() as inner:
            target = recorded_total(parts_of(row.call(*replaced(args, places, variables), **kwargs)), 1)
        slopes = inner.gradient(target, variables, unconnected_gradients="zero")
        along = sum(jt.reduce_sum(g * d) for g, d in zip(slopes, directions, strict=True))
    second = outer.gradient(along, variables, unconnected_gradients="zero")
    ahead, behind = (gradient(row, moved(args, places, directions, s), kwargs, places) for s in (STEP, -STEP))
    for found, a, b in zip(second, ahead, behind, strict=True):
        np.testing.assert_allclose(found.numpy(), (a - b) / (2 * STEP), rtol=1e-3, atol=1e-4)


TRACED = [case for case in CASES if case.values[0].call not in READS_VALUES]
"""Calls that a function compiles."""


@pytest.mark.filterwarnings(
    "error::jittape.errors.FunctionWarning", "ignore:.*:RuntimeWarning", "ignore:.*:DeprecationWarning"
)
@pytest.mark.parametrize(("row", "args", "kwargs", "places", "directions", "expected"), TRACED[::3])
def test_calls_in_functions_and_batches(
    row: Row, args: Any, kwargs: Any, places: Any, directions: Any, expected: float
) -> None:
    arrays = [at(args, p) for p in places]

    def call(*values: Any) -> Any:
        return parts_of(row.call(*replaced(args, places, values), **kwargs))

    wanted = [np.asarray(p) for p in parts_of(row.reference(*args, **kwargs))]
    for _ in range(2):
        for found, one in zip(jt.function(call)(*arrays), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(found), one, rtol=1e-7, atol=1e-9)
    batches = [np.stack([a, a]) for a in arrays]
    found = jt.vectorized_map(lambda rows: call(*rows), tuple(batches))
    for many, one in itertools.zip_longest(found, wanted):
        for single in np.asarray(many):
            np.testing.assert_allclose(single, one, rtol=1e-7, atol=1e-9)


NO_DERIVATIVE: dict[str, Any] = {
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "isnan", "argmax", "argmin", "argsort"), ()),
    **dict.fromkeys(("nonzero", "flatnonzero", "argwhere"), ()),
    **dict.fromkeys(("histogram", "histogram_bin_edges", "histogram2d"), (3,)),
    "digitize": ([0.0, 1.0],),
    "isin": ([0.5],),
    "searchsorted": (0.5,),
}


@pytest.mark.parametrize("namespace", [np, jnp])
@pytest.mark.parametrize("name", NO_DERIVATIVE)
def test_a_gradient_of_none_names_the_line_of_what_has_no_derivative(name: str, namespace: Any) -> None:
    x = jt.Variable([0.5, -1.2, 2.3])
    with jt.GradientTape() as tape:
        operands = [x * 1.5] * (2 if name == "histogram2d" else 1)
        found = getattr(namespace, name)(*operands, *NO_DERIVATIVE[name])  # this line
        parts = found if isinstance(found, (tuple, list)) else [found]
        total = sum(jt.reduce_sum(jt.cast(part, jt.float64)) for part in parts)
    with pytest.warns(jt.UnconnectedGradientWarning) as caught:
        assert tape.gradient(total, x) is None
    source = inspect.getsource(sys.modules[__name__]).split("\n")
    line = next(i for i, text in enumerate(source, 1) if text.endswith("# this line"))
    assert f"at line {line} of {__file__}" in str(caught[0].message)
