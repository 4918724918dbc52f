"""Times of the gradients of NPBench's kernels: jittape's, the function itself, and JAX.

    python asv_bench/njit_peers.py [NAME ...]

JAX has two versions of each kernel: the loops over elements of the function (``in_jax_loops``), and whole arrays with
`lax.scan` where an element needs the one before (``in_jax``). JAX must be installed beside jittape. All sides take
turns, on one thread. Each gradient of JAX is compared with jittape's.
"""

from __future__ import annotations

import os

os.environ |= {
    "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}  # fmt: skip

import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

import jittape as jt
from npbench import KERNELS, Kernel, in_jax, in_jax_loops

ROUNDS = 21
FEW_ROUNDS = 3
"""Number of calls of a gradient that takes longer than `SLOW` seconds."""
SLOW = 0.1


def gradient_in_jax(
    module: Any, kernel: Kernel, arguments: tuple[Any, ...], expected: Any
) -> Callable[[], Any]:
    """Return a call of JAX's compiled gradient; its results are compared with `expected`."""
    static = [i for i, one in enumerate(arguments) if isinstance(one, int)]
    function = jax.jit(
        jax.value_and_grad(getattr(module, kernel.name), kernel.argnums), static_argnums=static
    )
    placed = [jax.numpy.asarray(one) if isinstance(one, np.ndarray) else one for one in arguments]
    value, gradients = function(*placed)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6, err_msg=kernel.name)
    for one, mine in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(one, mine, rtol=1e-5, atol=1e-6 * np.abs(mine).max(), err_msg=kernel.name)
    return lambda: jax.block_until_ready(function(*placed))


def seconds(run: Callable[[], Any]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def measured(kernel: Kernel) -> list[float]:
    """Return the times of the function, of jittape's gradient and of both gradients of JAX in microseconds.

    They are lower deciles of processor time, which a busy machine changes little.
    """
    arguments = kernel.arguments(np.random.default_rng(0), kernel.size)
    gradient = jt.njit_value_and_grad(kernel.function, argnums=kernel.argnums)
    expected = gradient(*arguments)
    sides: list[Callable[[], Any]] = [
        partial(kernel.function, *arguments),
        partial(gradient, *arguments),
        *[gradient_in_jax(module, kernel, arguments, expected) for module in (in_jax_loops, in_jax)],
    ]
    sides[0]()
    rounds = [FEW_ROUNDS if seconds(run) > SLOW else ROUNDS for run in sides]
    times: list[list[float]] = [[] for _ in sides]
    for k in range(ROUNDS):
        for run, one, count in zip(sides, times, rounds, strict=True):
            if k < count:
                if count == ROUNDS:
                    run()  # the caches hold the data of another side
                one.append(seconds(run))
    return [1e6 * sorted(one)[len(one) // 10] for one in times]


def main() -> None:
    """Print one row for each kernel."""
    ratios: list[tuple[float, float]] = []
    print(
        f"{'kernel, us':14} {'function':>8} {'gradient':>8} {'ratio':>6} {'JAX, loops':>11} {'/ ours':>8} "
        f"{'JAX, arrays':>11} {'/ ours':>6}"
    )
    for kernel in KERNELS:
        if len(sys.argv) > 1 and kernel.name not in sys.argv[1:]:
            continue
        primal, mine, loops, whole = measured(kernel)
        print(
            f"{kernel.name:14} {primal:8.0f} {mine:8.0f} {mine / primal:6.1f} {loops:11.0f} {loops / mine:8.0f} "
            f"{whole:11.0f} {whole / mine:6.1f}",
            flush=True,
        )
        ratios.append((loops / mine, whole / mine))
    for name, found in zip(("loops", "whole arrays"), zip(*ratios, strict=True), strict=True):
        mean = math.exp(statistics.mean(map(math.log, found)))
        print(f"JAX with {name} / jittape: geometric mean {mean:.1f}, least {min(found):.1f}")


if __name__ == "__main__":
    main()
