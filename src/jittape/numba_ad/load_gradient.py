"""Compilation of generated code by Numba, from a file if Numba shall cache the machine code."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import linecache
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba

from jittape.compile.cache.object_store import cache_directory
from jittape.numba_ad import linear_algebra_rules, tape_support
from jittape.numba_ad.gradient_code import GradientCode
from jittape.version import __version__

__all__ = ["compiled"]

IMPORTS = f"""\
import math

import numpy as np

from jittape.numba_ad.linear_algebra_rules import {", ".join(linear_algebra_rules.__all__)}
from jittape.numba_ad.tape_support import {", ".join(tape_support.__all__)}

"""


def compiled(code: GradientCode, boundscheck: bool | None, cache: bool) -> Any:
    """Return the generated function as an ``@njit`` function."""
    text = IMPORTS + "\n" + code.text
    # A rule is bound to functions that the text does not determine, so its machine code is not cached.
    folder = cache_directory() if cache and not code.rules else None
    versions = (
        __version__,
        numba.__version__,
        sys.version,
        *map(inspect.getsource, (tape_support, linear_algebra_rules)),
    )
    digest = hashlib.blake2b(
        repr((text, code.sources, versions, boundscheck)).encode(), digest_size=12
    ).hexdigest()
    name = f"jittape_gradient_{code.name}_{digest}"
    if folder is None:
        namespace: dict[str, Any] = {"__name__": name}
        file = f"<{name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), namespace)
    else:
        namespace = vars(_module(name, folder / "njit_gradients" / f"{name}.py", text))
    for rule in code.rules:
        namespace[rule.name], namespace[rule.vjp_name] = rule.function, rule.vjp
        namespace[rule.jvp_name] = rule.jvp
    options = {"nogil": True, "error_model": "numpy", "cache": folder is not None}
    if boundscheck is not None:
        options["boundscheck"] = boundscheck
    return numba.njit(**options)(namespace[code.name])


def _module(name: str, path: Path, text: str) -> Any:
    """Import the generated module; write its file first if it is missing."""
    if name in sys.modules:
        return sys.modules[name]
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module  # Numba imports it by name when it loads cached code
    return module
