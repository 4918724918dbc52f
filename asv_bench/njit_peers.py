"""Times of the gradients of NPBench's kernels: jittape's, the function itself, and JAX.

    python asv_bench/njit_peers.py [NAME ...]

JAX must be installed beside jittape; kernels that have no version for JAX get a dash. All sides take turns, on one
thread. Each gradient of JAX is compared with jittape's.
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

import numpy as np

import jittape as jt
from npbench import KERNELS, Kernel, in_jax

ROUNDS = 15


def measured(kernel: Kernel) -> tuple[float, float, float | None]:
    """Return the times of the function, of jittape's and of JAX's gradient in microseconds."""
    arguments = kernel.arguments(np.random.default_rng(0), kernel.size)
    gradient = jt.njit_value_and_grad(kernel.function, argnums=kernel.argnums)
    value, expected = gradient(*arguments)
    sides = [lambda: kernel.function(*arguments), lambda: gradient(*arguments)]
    whole = tuple(i for i, one in enumerate(arguments) if isinstance(one, int))
    peer = in_jax.value_and_grad(kernel.name, kernel.argnums, whole)
    if peer is not None:
        placed = [in_jax.jnp.asarray(one) if isinstance(one, np.ndarray) else one for one in arguments]
        other, found = peer(*placed)
        np.testing.assert_allclose(other, value, rtol=1e-6, err_msg=kernel.name)
        for one, mine in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                one, mine, rtol=1e-5, atol=1e-6 * np.abs(mine).max(), err_msg=kernel.name
            )
        sides.append(lambda: in_jax.jax.block_until_ready(peer(*placed)))
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(ROUNDS):
        for run, one in zip(sides, times, strict=True):
            start = time.perf_counter()
            run()
            one.append(1e6 * (time.perf_counter() - start))
    medians = [statistics.median(one) for one in times]
    return medians[0], medians[1], medians[2] if peer is not None else None


def main() -> None:
    """Print one row for each kernel."""
    ratios = []
    print(
        f"{'kernel':14} {'function us':>11} {'gradient us':>11} {'ratio':>6} {'JAX us':>9} {'JAX / jittape':>13}"
    )
    for kernel in KERNELS:
        if len(sys.argv) > 1 and kernel.name not in sys.argv[1:]:
            continue
        primal, mine, peer = measured(kernel)
        row = f"{kernel.name:14} {primal:11.0f} {mine:11.0f} {mine / primal:6.1f}"
        print(f"{row} {peer:9.0f} {peer / mine:13.1f}" if peer else f"{row} {'-':>9} {'-':>13}", flush=True)
        ratios += [peer / mine] if peer else []
    print(f"geometric mean of JAX / jittape: {math.exp(statistics.mean(map(math.log, ratios))):.1f}")


if __name__ == "__main__":
    main()
