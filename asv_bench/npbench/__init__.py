"""The differentiable kernels of NPBench as ``@njit`` functions of arrays that return a number.

The algorithms are those of NPBench (Ziogas et al., ICS 2021) and Polybench; the code is new. Each result is a sum that
depends on every element of the kernel's outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from npbench import algebra, filters, stencils


@dataclass(frozen=True)
class Kernel:
    """An ``@njit`` function, the arguments to differentiate, and arguments of a size."""

    function: Any
    argnums: tuple[int, ...]
    arguments: Callable[[Any, int], tuple[Any, ...]]
    size: int
    """Size of the benchmark."""

    @property
    def name(self) -> str:
        name: str = self.function.py_func.__name__
        return name


def _definite(rng: Any, n: int) -> Any:
    a = rng.uniform(size=(n, n))
    return a @ a.T + n * np.eye(n)


def _dominant(rng: Any, n: int) -> Any:
    return rng.uniform(size=(n, n)) + n * np.eye(n)


def _square(rng: Any, *sizes: int) -> Any:
    return rng.uniform(0.5, 1.5, size=sizes)


KERNELS = [
    Kernel(stencils.seidel_2d, (0,), lambda rng, n: (_square(rng, n, n), 10), 40),
    Kernel(stencils.jacobi_1d, (0, 1), lambda rng, n: (_square(rng, n), _square(rng, n), 50), 1000),
    Kernel(stencils.jacobi_2d, (0, 1), lambda rng, n: (_square(rng, n, n), _square(rng, n, n), 20), 60),
    Kernel(stencils.heat_3d, (0, 1), lambda rng, n: (_square(rng, n, n, n), _square(rng, n, n, n), 10), 20),
    Kernel(
        stencils.fdtd_2d,
        (0, 1, 2, 3),
        lambda rng, n: (_square(rng, n, n), _square(rng, n, n), _square(rng, n, n), _square(rng, 20)),
        60,
    ),
    Kernel(algebra.cholesky, (0,), lambda rng, n: (_definite(rng, n),), 60),
    Kernel(algebra.lu, (0,), lambda rng, n: (_dominant(rng, n),), 60),
    Kernel(algebra.trisolv, (0, 1), lambda rng, n: (_dominant(rng, n), _square(rng, n)), 200),
    Kernel(algebra.gramschmidt, (0,), lambda rng, n: (_square(rng, n + 10, n) + np.eye(n + 10, n),), 40),
    Kernel(algebra.durbin, (0,), lambda rng, n: (0.5 ** np.arange(1, n + 1) * _square(rng, n),), 200),
    Kernel(algebra.correlation, (0,), lambda rng, n: (_square(rng, n + 20, n),), 60),
    Kernel(algebra.covariance, (0,), lambda rng, n: (_square(rng, n + 20, n),), 60),
    Kernel(stencils.adi, (0,), lambda rng, n: (_square(rng, n, n), 10), 40),
    Kernel(stencils.deriche, (0, 1), lambda rng, n: (_square(rng, n, n + 2), 0.25), 100),
    Kernel(
        algebra.syrk,
        (0, 1, 2, 3),
        lambda rng, n: (1.5, 1.2, _square(rng, n, n), _square(rng, n, n - 2)),
        70,
    ),
    Kernel(algebra.trmm, (0, 1, 2), lambda rng, n: (1.5, _square(rng, n, n) / n, _square(rng, n, n - 2)), 70),
    Kernel(algebra.doitgen, (0, 1), lambda rng, n: (_square(rng, n, n, n), _square(rng, n, n)), 20),
    Kernel(
        algebra.gesummv,
        (0, 1, 2, 3, 4),
        lambda rng, n: (1.5, 1.2, _square(rng, n, n), _square(rng, n, n), _square(rng, n)),
        250,
    ),
    Kernel(algebra.atax, (0, 1), lambda rng, n: (_square(rng, n, n - 2), _square(rng, n - 2)), 250),
    Kernel(
        algebra.bicg,
        (0, 1, 2),
        lambda rng, n: (_square(rng, n, n - 2), _square(rng, n - 2), _square(rng, n)),
        250,
    ),
    Kernel(
        algebra.mvt,
        (0, 1, 2, 3, 4),
        lambda rng, n: (*[_square(rng, n) for _ in range(4)], _square(rng, n, n)),
        250,
    ),
    Kernel(
        stencils.vadv,
        (0, 1, 2, 3, 4, 5),
        lambda rng, n: (_square(rng, n + 1, n, n), *[_square(rng, n, n, n) for _ in range(5)]),
        24,
    ),
    Kernel(stencils.hdiff, (0, 1), lambda rng, n: (_square(rng, n + 4, n + 4, 8), _square(rng, n, n, 8)), 40),
    Kernel(algebra.softmax, (0, 1), lambda rng, n: (_square(rng, 4, 4, n, n), _square(rng, n)), 40),
    Kernel(
        algebra.nbody,
        (0, 1, 2),
        lambda rng, n: (_square(rng, n), rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), 20, 0.01),
        25,
    ),
    Kernel(
        stencils.channel_flow,
        (0, 1, 2, 3),
        lambda rng, n: (*[0.1 * rng.normal(size=(n, n)) for _ in range(3)], 1.0, 10, 10),
        30,
    ),
]


FILTERS = [
    Kernel(filters.kalman, (0, 1, 2), lambda rng, n: (0.1, 0.01, np.cumsum(rng.normal(size=n))), 1000),
    Kernel(
        filters.gillespie,
        (0,),
        lambda rng, n: (np.array([5.0, 0.3, 0.1]), rng.uniform(size=(40 * n, 2)), float(n)),
        500,
    ),
    Kernel(
        filters.lstm,
        (0, 1),
        lambda rng, n: (0.3 * rng.normal(size=(4, n, n + n // 2 + 1)), rng.normal(size=(3 * n, n // 2))),
        16,
    ),
]
"""Programs that are not of NPBench."""
