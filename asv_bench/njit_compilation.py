"""Time to derive and compile the gradients of NPBench's kernels, beside Numba's compilation of the functions.

    python asv_bench/njit_compilation.py [NAME ...]

Each compilation runs in a process of its own; the two sides take turns. The times are medians of processor time.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

import numba
import numpy as np

from npbench import FILTERS, KERNELS

SIDES = ("function", "njit_grad", "njit_value_and_grad")
ROUNDS = 3


@numba.njit
def doubled(a: Any, n: int) -> float:
    """Make Numba load what it needs to compile anything."""
    total = 0.0
    for i in range(n):
        total += 2.0 * a[i]
    return total


def compilation(name: str, side: str) -> float:
    """Return the seconds of one compilation in this process."""
    # Imported before the clock starts: another process pays for imports once, whatever it compiles.
    import jittape as jt
    import jittape.numba_ad.gradient_code

    (kernel,) = [one for one in [*KERNELS, *FILTERS] if one.name == name]
    arguments = kernel.arguments(np.random.default_rng(0), kernel.size)
    argument_types = tuple([numba.typeof(one) for one in arguments])
    doubled(np.ones(3), 3)
    start = time.process_time()
    function = kernel.function
    if side != "function":
        function = getattr(jt, side)(function, argnums=kernel.argnums).derived(argument_types)
    function.compile(argument_types)
    return time.process_time() - start


def in_new_process(name: str, side: str) -> float:
    """Return the seconds of one compilation in a process of its own."""
    found = subprocess.run(
        [sys.executable, __file__, name, "--side", side], capture_output=True, text=True, check=True
    )
    return float(found.stdout)


def main() -> None:
    """Print one row for each kernel, or the time of one compilation."""
    if "--side" in sys.argv:
        print(compilation(sys.argv[1], sys.argv[3]))
        return
    print(f"{'kernel, s':14} {'function':>8} {'gradient':>9} {'ratio':>6} {'with value':>11} {'ratio':>6}")
    for kernel in [*KERNELS, *FILTERS]:
        if len(sys.argv) > 1 and kernel.name not in sys.argv[1:]:
            continue
        rounds = [[in_new_process(kernel.name, side) for side in SIDES] for _ in range(ROUNDS)]
        primal, gradient, both = [statistics.median(one) for one in zip(*rounds, strict=True)]
        print(
            f"{kernel.name:14} {primal:8.2f} {gradient:9.2f} {gradient / primal:6.1f} "
            f"{both:11.2f} {both / primal:6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
