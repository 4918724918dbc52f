"""Compilation of generated code by Numba, from a file if Numba shall cache the machine code."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import marshal
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numba

from jittape.numba_ad.gradient_folder import content_of, intact_code, note_code, write_atomically

if TYPE_CHECKING:
    from jittape.numba_ad.gradient_code import GradientCode

__all__ = ["compiled", "loaded", "store_machine_code"]

NOT_PARALLEL = ("comprehension", "fusion", "inplace_binop", "numpy", "reduction", "setitem", "stencil")
"""Options of ``parallel=`` that are off: only loops written as ``prange`` run in threads."""


def compiled(code: GradientCode, boundscheck: bool | None, folder: Path | None) -> Any:
    """Return the generated function as an ``@njit`` function; Numba caches its machine code if there is a folder."""
    # Loading code from the disk needs nothing of what derives it, whose imports take 0.2 s.
    from jittape.numba_ad.generated_module import module_name, module_text

    text = module_text(code)
    name = module_name(code, boundscheck)
    if folder is None:
        namespace: dict[str, Any] = {"__name__": name}
        file = f"<{name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), namespace)
        for rule in code.rules:
            namespace[rule.name], namespace[rule.vjp_name] = rule.function, rule.vjp
            namespace[rule.jvp_name] = rule.jvp
    else:
        namespace = vars(_module(name, folder / f"{name}.py", text))
    return _njit(namespace[code.name], boundscheck, folder is not None)


def loaded(name: str, function: str, text: str, boundscheck: bool | None, folder: Path) -> Any:
    """Return a function of a module on disk as an ``@njit`` function; write the module if it is missing or damaged."""
    found = vars(_module(name, folder / f"{name}.py", text))[function]
    return _njit(found, boundscheck, True)


def store_machine_code(function: Any, argument_types: tuple[Any, ...], name: str, folder: Path) -> None:
    """Load the machine code of a function of a module on disk, or compile it and note what is stored."""
    places = {folder / "__pycache__", Path(function.stats.cache_path)}  # another one with NUMBA_CACHE_DIR
    for place in places - {folder / "__pycache__"}:
        intact_code(folder, name, place)
    function.compile(argument_types)
    if function.stats.cache_misses:
        with contextlib.suppress(OSError):  # Numba has a folder of its own if this one is only read
            note_code(folder, name, places)


def _njit(function: Any, boundscheck: bool | None, cache: bool) -> Any:
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "cache": cache,
        "no_cfunc_wrapper": True,
    }
    if boundscheck is not None:
        options["boundscheck"] = boundscheck
    if (
        "prange" in function.__code__.co_names and not boundscheck
    ):  # an IndexError does not leave a parallel loop
        options["parallel"] = dict.fromkeys(NOT_PARALLEL, False) | {"prange": True}
    return numba.njit(**options)(function)


def _module(name: str, path: Path, text: str) -> Any:
    """Import the generated module; write its file first if it is missing."""
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path) and path.exists():  # not deleted to make room
        return known
    code = _bytecode(path, intact_code(path.parent, name, path.parent / "__pycache__"))
    if content_of(str(path)) != text.encode():
        write_atomically(path, text)
        # With PYTHONDONTWRITEBYTECODE, Python would compile the text in each process: 0.9 ms for 120 lines.
        import py_compile

        py_compile.compile(str(path), quiet=2)
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec") if code is None else code, vars(module))
    sys.modules[name] = module  # Numba imports it by name when it loads cached code
    return module


def _bytecode(path: Path, files: dict[str, bytes]) -> CodeType | None:
    """Return the code of a generated module in an intact file; None if there is none, or the folder was moved."""
    content = files.get(Path(importlib.util.cache_from_source(path)).name)
    found: CodeType | None = None if content is None else marshal.loads(content[16:])  # after the header
    return found if found is not None and found.co_filename == str(path) else None
