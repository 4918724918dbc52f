"""Index of gradients on disk: another process finds the generated module without deriving the gradient.

The key of an entry covers all that a derivation reads: the bytecode and the source lines of the function, the values of
the names that it uses, and the same of the functions among these. Nothing is stored for a function that uses a value
without such a description; its gradient is derived in each process. Lowering takes 30 ms for a Runge-Kutta step, and
the key 0.5 ms.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.extending import is_jitted

from jittape.numba_ad.global_arrays import digest_of, has_constant
from jittape.numba_ad.gradient_folder import digest, read_file, write_atomically
from jittape.numba_ad.user_rules import rule_of
from jittape.version import __version__

__all__ = ["check_key", "gradient_key", "note_check", "read_entry", "was_checked", "write_entry"]

KNOWN_PACKAGES = ("builtins", "jittape", "math", "numba", "numpy")
"""Packages whose objects a version and a name determine."""


class _UnknownError(Exception):
    """A function uses a value that has no description."""


def gradient_key(gradient: Any, argument_types: tuple[Any, ...]) -> str | None:
    """Return the key of a gradient for arguments of these types; None if it must be derived."""
    return _key(gradient, [_described_type(kind) for kind in argument_types])


def check_key(gradient: Any) -> str | None:
    """Return the key of the check of a gradient before its argument types are known; None if it must be checked."""
    function = gradient.function
    signatures = () if getattr(function, "_can_compile", True) else function.signatures
    return _key(gradient, ("check", [[_described_type(kind) for kind in one] for one in signatures]))


def _key(gradient: Any, purpose: Any) -> str | None:
    try:
        parts = (
            __version__, _package_state(), numba.__version__, np.__version__, sys.version, purpose,
            _described(gradient, {}),
        )  # fmt: skip
    except _UnknownError:
        return None
    return digest(repr(parts).encode())


def was_checked(folder: Path, gradient: Any) -> bool:
    """Return whether a process has derived the gradient, so that its check need not parse the source again."""
    key = check_key(gradient)
    return key is not None and (folder / f"{key}.checked").exists()


def note_check(folder: Path, gradient: Any, module: str) -> None:
    """Store that the gradient was derived, with the files of a generated module."""
    key = check_key(gradient)
    if key is not None:
        write_atomically(folder / f"{key}.checked", json.dumps({"module": module}))


def read_entry(folder: Path, key: str) -> dict[str, Any] | None:
    """Return what is stored for a key, with the text of the generated module; None without an intact entry."""
    path = f"{folder}/{key}.json"
    try:
        entry: dict[str, Any] = json.loads(read_file(path))
        text = read_file(f"{folder}/{entry['module']}.py")
        intact = digest(text) == entry["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    with contextlib.suppress(OSError):  # a folder that is only read
        os.utime(path)  # the least recently used gradients are deleted first
    return entry | {"text": text.decode()} if intact else None


def write_entry(folder: Path, key: str, module: str, text: str, **content: Any) -> None:
    """Store the name of a generated module with its text and other `content` for a key."""
    entry = {"module": module, "digest": digest(text.encode()), **content}
    write_atomically(folder / f"{key}.json", json.dumps(entry))


@cache
def _package_state() -> str:
    """Return a hash of names, sizes and times of the files that derive gradients; an edited file creates new keys."""
    found = []
    folders = [os.path.dirname(__file__)]
    for folder in folders:  # `Path.rglob` takes 2 ms, half the time of loading a gradient
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    state = entry.stat()
                    found.append((entry.path, state.st_size, state.st_mtime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return digest(repr(sorted(found)).encode())


def _described(value: Any, seen: dict[Any, int]) -> Any:
    """Return what determines a value, as nested tuples of texts and numbers."""
    if value is None or isinstance(value, (bool, int, float, str, np.number, np.bool_, np.dtype)):
        return type(value).__name__, repr(value)
    if hasattr(value, "derived"):  # a gradient
        options = (
            value.argnums, value.returned, value.purpose, value.checkpoint, value.tangents, value.boundscheck,
            value.silent,
        )  # fmt: skip
        return options, _described(value.function, seen)
    if is_jitted(value):
        if rule_of(value) is not None:
            raise _UnknownError
        return value.targetoptions.get("parallel"), _described_function(value.py_func, seen)
    if has_constant(value):
        return "array", digest_of(value)
    if isinstance(value, tuple):
        return type(value).__name__, [_described(item, seen) for item in value]
    if isinstance(value, type) and hasattr(value, "_fields"):
        defaults = tuple(getattr(value, "_field_defaults", {}).items())
        return value.__qualname__, value._fields, _described(defaults, seen)
    return _described_name(value)


def _described_name(value: Any) -> Any:
    """Return the name of a module, a function or a class of a known package."""
    if isinstance(value, types.ModuleType):
        module, name = value.__name__, ""
    else:
        module = "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", None) or ""
        name = getattr(value, "__name__", "")
        if getattr(sys.modules.get(module), name, None) is not value:
            raise _UnknownError
    if module.partition(".")[0] not in KNOWN_PACKAGES:
        raise _UnknownError
    return module, name


def _described_function(function: Any, seen: dict[Any, int]) -> Any:
    if function in seen:
        return "function", seen[function]
    seen[function] = len(seen)
    codes = list(_codes(function.__code__))
    code = codes[0]
    lines = [line for one in codes for *_, line in one.co_lines() if line is not None]
    linecache.checkcache(code.co_filename)
    text = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 : max(lines)]
    names = sorted({name for one in codes for name in one.co_names} & set(function.__globals__))
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # an empty cell
        raise _UnknownError from None
    values = [*[function.__globals__[name] for name in names], *cells, function.__defaults__]
    return (
        function.__qualname__, code.co_filename, code.co_firstlineno, text,
        [(one.co_code.hex(), [repr(c) for c in one.co_consts if not isinstance(c, types.CodeType)]) for one in codes],
        [one.co_varnames + one.co_names + one.co_freevars for one in codes],
        names, [_described(one, seen) for one in values],
    )  # fmt: skip


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function and of the functions inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _codes(one)


def _described_type(kind: Any) -> Any:
    """Return what determines a Numba type; the text of a named tuple has no fields."""
    if isinstance(kind, numba.types.BaseTuple):
        fields = getattr(getattr(kind, "instance_class", None), "_fields", ())
        return str(kind), fields, [_described_type(item) for item in kind.types]
    return str(kind)
