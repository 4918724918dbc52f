"""Loading gradients of ``@njit`` functions from the cache in a new process, beside Numba's cache of the functions."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTION = """
@njit
def sweep_{i}(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = {i}.0 * a[i - 1, j] + math.sin(a[i, j]) * a[i, j + 1]
    return np.sum(a * a)
"""
# The first function of a process also pays for imports; the others are timed. The user's function is decorated with
# cache=True only on Numba's side: a gradient needs none of its machine code.
LOAD = """
import sys, time
import numba, numpy as np
import jittape as jt
import sweeps

side, count = sys.argv[1], int(sys.argv[2])
types = (numba.typeof(np.ones((3, 3))), numba.int64)
functions = [getattr(sweeps, f"sweep_{i}") for i in range(count + 1)]
start = 0.0
for i, function in enumerate(functions):
    if i == 1:
        start = time.process_time()
    if side == "numba":
        loaded = numba.njit(cache=True)(function.py_func)
        loaded.compile(types)
    else:
        loaded = jt.njit_grad(function, cache=True).derived(types)
    if len(sys.argv) > 3:
        assert not loaded.stats.cache_misses, loaded.stats
print((time.process_time() - start) / count)
"""


class Loaded:
    """Milliseconds of processor time per function after the first of a process."""

    params = (1, 5, 20)
    param_names = ("functions",)
    timeout = 600

    def setup_cache(self) -> str:
        # asv runs the benchmarks in a folder that it deletes afterwards.
        folder = tempfile.mkdtemp(dir=os.getcwd())
        functions = [FUNCTION.format(i=i) for i in range(max(self.params) + 1)]
        Path(folder, "sweeps.py").write_text(
            "import math\nimport numpy as np\nfrom numba import njit\n" + "".join(functions)
        )
        for side in ("numba", "jittape"):
            self.run(folder, side, max(self.params))
            self.run(folder, side, max(self.params), "check")
        return folder

    def run(self, folder: str, *arguments: object) -> float:
        """Return the seconds per function in a new process."""
        environment = os.environ | {"JITTAPE_CACHE_DIR": f"{folder}/cache", "NUMBA_CACHE_DIR": ""}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPATH"] = os.pathsep.join([folder, environment.get("PYTHONPATH", "")])
        command = [sys.executable, "-c", LOAD, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return float(done.stdout)

    def track_gradient(self, folder: str, functions: int) -> float:
        return 1e3 * statistics.median([self.run(folder, "jittape", functions) for _ in range(7)])

    def track_function(self, folder: str, functions: int) -> float:
        return 1e3 * statistics.median([self.run(folder, "numba", functions) for _ in range(7)])

    track_gradient.unit = track_function.unit = "ms"

    def track_gradient_to_function(self, folder: str, functions: int) -> float:
        pairs = [[self.run(folder, side, functions) for side in ("jittape", "numba")] for _ in range(7)]
        return statistics.median([gradient / function for gradient, function in pairs])

    track_gradient_to_function.unit = "times"
