"""Log densities for samplers are compiled once and kept in the disk cache."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.compile.cache import cache_folder, object_store
from jittape.compile.llvm import target
from jittape.numba_bridge.c_density import CDensity
from jittape.numba_bridge.native_function import NativeFunction
from jittape.numba_bridge.traced_function import trace, with_gradient

X = np.array([1.0, 2.0, 3.0])
LARGE = np.linspace(0.0, 1.0, 600).reshape(200, 3)
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)


def density_of(f: Callable[..., Any]) -> CDensity:
    spec = jt.TensorSpec([3], jt.float64)
    native = NativeFunction(trace(with_gradient(f, "f", 0), "f", ["x"], [spec]), lambda *unused: None)
    assert CDensity.supports(native)
    return CDensity(native)


def evaluated(density: CDensity) -> tuple[int, float, list[float]]:
    gradient, value = np.empty(3), np.empty(1)
    pointers = [array.ctypes.data for array in (X, gradient, value)]
    status = CALLBACK(density.address)(3, *pointers, None)
    return status, value[0], gradient.tolist()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Return the modules that are compiled, with an empty cache."""
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    found: list[Any] = []
    real = target.object_code

    def counted(module: Any, rounds: int = 1) -> bytes:
        found.append(module)
        return real(module, rounds)

    monkeypatch.setattr(target, "object_code", counted)
    return found


def test_a_density_is_compiled_once(compiled: list[Any]) -> None:
    for _ in range(2):
        assert evaluated(density_of(lambda x: -jt.reduce_sum(x**2))) == (0, -14.0, [-2.0, -4.0, -6.0])
    assert len(compiled) == 1
    assert evaluated(density_of(lambda x: -2.0 * jt.reduce_sum(x**2)))[1] == -28.0
    assert len(compiled) == 2
    cache = object_store.current()
    assert cache is not None
    cache_folder.clear(cache.root)
    density_of(lambda x: -jt.reduce_sum(x**2))
    assert len(compiled) == 3


def test_large_constants_are_those_of_this_density(compiled: list[Any]) -> None:
    """Code from the cache refers to them by symbols."""
    for factor in (1.0, 1.0, 2.0):
        rows = LARGE * factor
        found = evaluated(density_of(lambda x, rows=rows: jt.reduce_sum(jt.linalg.matvec(rows, x))))
        np.testing.assert_allclose(found[1], (rows @ X).sum())
        np.testing.assert_allclose(found[2], rows.sum(0))
    assert len(compiled) == 2


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_functions_of_the_user_are_told_apart_by_their_code(compiled: list[Any], factor: float) -> None:
    """They have the same name."""

    @jt.numba_op
    @numba.njit
    def cube(x):  # type: ignore[no-untyped-def]
        return factor * x**3

    assert evaluated(density_of(lambda x: jt.reduce_sum(cube(x))))[:2] == (0, 36.0 * factor)


def test_code_whose_text_may_mean_something_else_is_not_kept(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NativeFunction, "is_lasting", False)
    for _ in range(2):
        density_of(lambda x: -jt.reduce_sum(x**2))
    assert len(compiled) == 2
