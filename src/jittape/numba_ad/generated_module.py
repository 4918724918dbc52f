"""Text and name of the module that has a generated function."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys

import numba

from jittape.numba_ad.global_arrays import constant_lines
from jittape.numba_ad.gradient_code import CALLED_MODULES, GradientCode
from jittape.version import __version__

__all__ = ["import_lines", "module_name", "module_text"]


def import_lines(text: str) -> str:
    """Return the imports and constants of generated code, only of names that it has: LAPACK's rules take 10 ms."""
    words = set(re.findall(r"\w+", text))
    lines = ["import math\n", "import numpy as np", "from numba import njit, prange\n"]
    for module in CALLED_MODULES:
        names = [name for name in module.__all__ if name in words]
        lines += [f"from {module.__name__} import {', '.join(names)}"] if names else []
    return "\n".join(lines + constant_lines(words)) + "\n\n"


def module_text(code: GradientCode) -> str:
    """Return the text of the module that has the generated function."""
    return import_lines(code.text) + "\n" + code.text


def module_name(code: GradientCode, boundscheck: bool | None) -> str:
    """Return the name of the module, which has a hash of all that determines its machine code."""
    versions = (
        __version__,
        numba.__version__,
        sys.version,
        *map(inspect.getsource, CALLED_MODULES),
    )
    digest = hashlib.blake2b(
        repr((module_text(code), code.sources, versions, boundscheck)).encode(), digest_size=12
    ).hexdigest()
    return f"jittape_gradient_{code.name}_{digest}"
