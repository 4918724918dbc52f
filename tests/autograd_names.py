"""Write ``autograd_names.json``: the names that each module of HIPS autograd defines or offers.

Run it as ``python tests/autograd_names.py`` where autograd is installed. The list was made with autograd 1.9.1 and
NumPy 2.4.6.
"""

import importlib
import json
import types
import warnings
from pathlib import Path

SAVED = Path(__file__).with_suffix(".json")
INTERFACES = ("", "extend", "misc")
"""Modules all of whose names are meant for programs."""
NUMPY = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random")
MODULES = (
    *INTERFACES, "builtins", "core", "differential_operators", "tracer", "util", "wrap_util", "test_util",
    "misc.flatten", "misc.optimizers", "misc.fixed_points", "misc.tracers", *NUMPY, "numpy.numpy_boxes",
    "numpy.numpy_vspaces", "numpy.numpy_vjps", "numpy.numpy_jvps", "scipy.special", "scipy.linalg", "scipy.signal",
    "scipy.integrate", "scipy.stats",
    *[f"scipy.stats.{law}" for law in ("norm", "beta", "gamma", "t", "chi2", "poisson", "dirichlet",
                                       "multivariate_normal")],
)  # fmt: skip


def is_offered(place, name, value):
    """Return whether a name of a module is not just one that the module imports."""
    if name.startswith("_") or isinstance(value, types.ModuleType):
        return False
    if place in INTERFACES:
        return True
    if place in NUMPY:
        known = hasattr(importlib.import_module(place), name)
        return known or getattr(value, "__module__", None) == f"autograd.{place}"
    if getattr(value, "_is_primitive", False):
        return place.startswith("scipy")
    return getattr(value, "__module__", None) == f"autograd.{place}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {}
    for place in MODULES:
        module = importlib.import_module(f"autograd.{place}".rstrip("."))
        found[place] = " ".join(sorted(n for n, v in vars(module).items() if is_offered(place, n, v)))
    SAVED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
