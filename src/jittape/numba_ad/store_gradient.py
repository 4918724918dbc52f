"""Compilation of generated code by Numba, and the files from which another process loads it."""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import py_compile
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from jittape.core.config import config
from jittape.numba_ad.generated_module import module_name, module_text
from jittape.numba_ad.gradient_folder import limit_gradients
from jittape.numba_ad.stored_gradients import (
    UNSTORED,
    as_njit,
    check_key,
    checksum,
    content_of,
    generated_function,
    gradient_key,
    intact_code,
    load_machine_code,
    stored_modules,
)

if TYPE_CHECKING:
    from jittape.numba_ad.gradient_code import GradientCode

__all__ = ["compile_unstored", "note_files", "stored", "unstored"]


def unstored(code: GradientCode, gradient: Any) -> Any:
    """Return the generated function of a gradient as an ``@njit`` function that is not stored, nor compiled yet."""
    text = module_text(code)
    stem = module_name(code, gradient.boundscheck)
    # No other process has this name: Numba compiles the user's code in its cache that calls the function again.
    name = f"{stem}_{uuid4().hex}"
    UNSTORED.add(name)
    namespace: dict[str, Any] = {"__name__": name}
    file = f"<{stem}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)
    for rule in code.rules:
        namespace[rule.name], namespace[rule.vjp_name] = rule.function, rule.vjp
        namespace[rule.jvp_name] = rule.jvp
    return as_njit(namespace[code.name], gradient, False)


def compile_unstored(function: Any, argument_types: tuple[Any, ...]) -> None:
    """Compile what `unstored` returned, so that Numba can store code of the user that calls it."""
    name = function.py_func.__module__
    # Numba imports the module while it compiles. Afterwards, the entry would keep the function alive.
    sys.modules[name] = ModuleType(name)
    try:
        function.compile(argument_types)
    finally:
        del sys.modules[name]


def stored(code: GradientCode, gradient: Any, argument_types: tuple[Any, ...], folder: str) -> Any:
    """Return the same from a module on disk, with its machine code and the entries that find it."""
    text = module_text(code)
    name = module_name(code, gradient.boundscheck)
    path = os.path.join(folder, f"{name}.py")
    intact_code(folder, name, os.path.join(folder, "__pycache__"))
    if content_of(path) != text.encode():
        _write_atomically(Path(path), text)
        # With PYTHONDONTWRITEBYTECODE, Python would compile the text in each process: 0.9 ms for 120 lines.
        py_compile.compile(path, quiet=2)
    function = as_njit(generated_function(compile(text, path, "exec"), name, code.name), gradient, True)
    key = gradient_key(gradient, argument_types)
    if key is not None:
        entry = {
            "module": name,
            "checksum": checksum(text.encode()),
            "function": code.name,
            "written": code.written,
        }
        _write_atomically(Path(folder) / f"{key}.json", json.dumps(entry))
        limit_gradients(Path(folder).parent, config.cache_size, name)
    load_machine_code(function, argument_types, name, folder)
    with contextlib.suppress(OSError):  # Numba has a folder of its own if this one is only read
        note_files(gradient, function, folder)
    return function


def note_files(gradient: Any, function: Any, folder: str) -> None:
    """Store that the gradient was derived, and the checksums of the bytecode and machine code of its module."""
    name = function.py_func.__module__
    key = check_key(gradient)
    if key is not None:
        modules = sorted({*stored_modules(folder, key), name})
        _write_atomically(Path(folder) / f"{key}.checked", json.dumps({"module": name, "modules": modules}))
    if function.stats.cache_misses:
        places = {
            Path(folder, "__pycache__"),
            Path(function.stats.cache_path),
        }  # another one with NUMBA_CACHE_DIR
        found = {
            path.name: checksum(path.read_bytes()) for place in places for path in place.glob(f"{name}.*")
        }
        _write_atomically(Path(folder) / f"{name}.files", json.dumps(found))


def _write_atomically(path: Path, text: str) -> None:
    """Write a file that other processes see as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(path)
