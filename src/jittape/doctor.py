"""``python -m jittape doctor``: the configuration of this machine, and whether a small gradient compiles.

Start at `examine`. Each finding is determined separately, so a broken package affects only one line of the report.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any, TextIO

import numpy as np

import jittape as jt
from jittape.compile.cache import cache_folder
from jittape.core.cache_directory import cache_directory

__all__ = ["examine"]

# Features that determine the width of vector instructions.
VECTOR_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")
THREADING_LAYERS = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}


def python() -> str:
    """Return the version and the path of the interpreter."""
    return f"{platform.python_version()} ({sys.executable})"


def processor() -> str:
    """Return the processor that LLVM detects."""
    binding = import_module("llvmlite.binding")
    features = binding.get_host_cpu_features()
    found = [name for name in VECTOR_FEATURES if features.get(name)]
    return f"{binding.get_host_cpu_name()}, {os.cpu_count()} logical cores, {' '.join(found)}"


def own_blas() -> str:
    """Return the BLAS of compiled products."""
    found = import_module("jittape.compile.llvm.blas").blas()
    return f"{found.origin}, kernels {found.core}" if found.core else found.origin


def blas(package: str) -> str:
    """Return the BLAS that NumPy or SciPy was built with."""
    config: dict[str, Any] = import_module(package).show_config(mode="dicts")
    built_with = config["Build Dependencies"]["blas"]
    return f"{built_with['name']} {built_with['version']}"


def threading_layers() -> str:
    """Return Numba's threading layers that can be loaded; Numba uses the first."""
    found = []
    for name, module in THREADING_LAYERS.items():
        try:
            import_module(f"numba.np.ufunc.{module}")
        except ImportError:
            continue
        found.append(name)
    threads = import_module("numba").config.NUMBA_NUM_THREADS
    return f"{', '.join(found) or 'none'}; {threads} threads"


def recording() -> str:
    """Return whether machine code or Python records loops and reads the arguments of functions."""
    found: str = import_module("jittape.native.switch").status()
    return found


def kernel_cache() -> str:
    """Return the folder and the size of the kernel cache."""
    root = cache_directory()
    if root is None or not jt.config.cache:
        return "turned off"
    found = cache_folder.summarize(root)
    return f"{root}, {found.kernels} kernels, {found.nbytes / 2**20:.1f} MB"


def small_gradient(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a gradient with a fused loop, a reduction and a matrix product."""
    weights = jt.Variable(np.ones((3, 1)))
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(jt.tanh(x @ weights) - y))
    gradient: np.ndarray[Any, Any] = tape.gradient(loss, weights).numpy()
    return gradient


def compiled_gradient() -> str:
    """Compile `small_gradient` and compare it with the interpreter; raise an error if they differ."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
    before = jt.config.interpret
    try:
        jt.config.interpret = True
        expected = small_gradient(x, y)
        jt.config.interpret = False
        compiled_before = jt.stats().programs
        for _ in range(3):
            found = small_gradient(x, y)
    finally:
        jt.config.interpret = before
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if jt.stats().programs == compiled_before:
        raise RuntimeError("nothing was compiled")
    return f"compiled, and agrees with NumPy to {np.max(np.abs(found - expected)):.1e}"


FINDINGS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("jittape", lambda: jt.__version__),
    ("Python", python),
    ("platform", platform.platform),
    ("numpy", lambda: version("numpy")),
    ("numba", lambda: version("numba")),
    ("llvmlite", lambda: version("llvmlite")),
    ("scipy", lambda: version("scipy")),
    ("processor", processor),
    ("BLAS", own_blas),
    ("BLAS of NumPy", lambda: blas("numpy")),
    ("BLAS of SciPy", lambda: blas("scipy")),
    ("threading layers", threading_layers),
    ("small gradient", compiled_gradient),
    ("recording", recording),
    ("kernel cache", kernel_cache),
)


def examine(out: TextIO, as_json: bool = False) -> bool:
    """Write the report to `out`.

    Parameters
    ----------
    out : TextIO
        One line per finding.
    as_json : bool
        Write one JSON object with the findings and ``"healthy"`` instead.

    Returns
    -------
    bool
        False if something jittape needs is broken.
    """
    healthy = True
    report = {}
    for name, look in FINDINGS:
        try:
            report[name] = look()
        except Exception as error:
            healthy = False
            report[name] = f"FAILED: {type(error).__name__}: {error}"
        if not as_json:
            print(f"{name:<18}{report[name]}", file=out)
    if as_json:
        print(json.dumps({"healthy": healthy, **report}, indent=2), file=out)
    return healthy
