"""Index of gradients on disk: another process finds the generated module and its machine code without deriving.

The key of an entry covers all that a derivation reads: the bytecode of the function with its source positions, the
values of the names that it uses, and the same of the functions among these. Nothing is stored for a function that uses
a value without such a description; its gradient is derived in each process. Lowering takes 30 ms for a Runge-Kutta
step, and the key 0.1 ms. A process that loads gradients needs this module alone, as each module takes 0.1 ms to import.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import marshal
import os
import sys
import zlib
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from jittape.core.cache_directory import directory_name
from jittape.version import __version__

__all__ = [
    "FOLDER",
    "UNSTORED",
    "as_njit",
    "check_key",
    "checksum",
    "content_of",
    "digest",
    "generated_function",
    "gradient_folder",
    "gradient_key",
    "intact_code",
    "load_machine_code",
    "load_stored",
    "spec_of",
    "stored_modules",
    "was_checked",
]  # fmt: skip

FOLDER = "njit_gradients"
"""Name of the folder of gradients in the folder of the cache."""

KNOWN_PACKAGES = ("builtins", "jittape", "math", "numba", "numpy")
"""Packages whose objects a version and a name determine."""

UNSTORED: set[str] = set()
"""Names of the generated modules of this process that are not on disk; Numba takes them for code without a module."""

NOT_PARALLEL = ("comprehension", "fusion", "inplace_binop", "numpy", "reduction", "setitem", "stencil")
"""Options of ``parallel=`` that are off: only loops written as ``prange`` run in threads."""


class _UnknownError(Exception):
    """A function uses a value that has no description."""


def gradient_folder(gradient: Any = None) -> str | None:
    """Return the folder of gradients on disk; None without one, or for a `gradient` that is not stored."""
    root = None if gradient is not None and not gradient.cache else directory_name()
    return None if root is None else os.path.join(root, FOLDER)


def load_stored(
    gradient: Any, argument_types: tuple[Any, ...], folder: str
) -> tuple[Any, tuple[int, ...]] | None:
    """Return the ``@njit`` function of a gradient on disk, and the numbers of the arguments that it writes.

    None if the gradient must be derived, which reports the error of a folder that Numba cannot use.
    """
    key = gradient_key(gradient, argument_types)
    entry = None if key is None else _read_entry(folder, key)
    if entry is None:
        return None
    name = entry["module"]
    try:
        code = _bytecode(folder, name, entry["text"])
        function = as_njit(generated_function(code, name, entry["function"]), gradient, True)
        load_machine_code(function, argument_types, name, folder)
    except (OSError, RuntimeError):
        return None
    return function, tuple(entry["written"])


def load_machine_code(function: Any, argument_types: tuple[Any, ...], name: str, folder: str) -> None:
    """Load the machine code of a function of a module on disk, or compile it."""
    place = str(function.stats.cache_path)
    if place != os.path.join(folder, "__pycache__"):  # with NUMBA_CACHE_DIR
        intact_code(folder, name, place)
    function.compile(argument_types)


def as_njit(function: Any, gradient: Any, cached: bool) -> Any:
    """Return a generated function as an ``@njit`` function; Numba stores its machine code if `cached`."""
    import numba

    boundscheck = gradient.boundscheck
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "cache": cached,
        "no_cfunc_wrapper": True,
    }
    if boundscheck is not None:
        options["boundscheck"] = boundscheck
    if (
        "prange" in function.__code__.co_names and not boundscheck
    ):  # an IndexError does not leave a parallel loop
        options["parallel"] = dict.fromkeys(NOT_PARALLEL, False) | {"prange": True}
    return numba.njit(**options)(function)


class _Globals(dict[str, Any]):
    """Globals of a generated function: its module runs when something reads a name.

    The imports of a module take 1.3 ms, and its machine code needs none of them.
    """

    def __init__(self, module: ModuleType, code: CodeType) -> None:
        super().__init__(__name__=module.__name__)
        self._module = module
        self._code: CodeType | None = code

    def _run(self) -> None:
        code, self._code = self._code, None
        if code is not None:
            from numba.core.registry import cpu_target

            exec(code, vars(self._module))
            self.update(vars(self._module))
            # Numba, which may be compiling, does not know what the imported modules have registered.
            cpu_target.typing_context.refresh()
            cpu_target.target_context.refresh()

    def __missing__(self, name: str) -> Any:
        if self._code is None:
            raise KeyError(name)
        self._run()
        return self[name]

    def __contains__(self, name: object) -> bool:
        self._run()
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._run()
        return super().get(name, default)


def generated_function(code: CodeType, name: str, function: str) -> FunctionType:
    """Return a function of the generated module with this bytecode and name."""
    module = ModuleType(name)
    module.__file__ = code.co_filename
    sys.modules[name] = module  # Numba imports it by name when it loads machine code.
    (own,) = [one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == function]
    return FunctionType(own, _Globals(module, code), function)


def _bytecode(folder: str, name: str, text: str) -> CodeType:
    """Return the code of a module on disk, from an intact file of bytecode if there is one."""
    path = os.path.join(folder, f"{name}.py")
    files = intact_code(folder, name, os.path.join(folder, "__pycache__"))
    content = files.get(os.path.basename(importlib.util.cache_from_source(path)))
    code: CodeType | None = None if content is None else marshal.loads(content[16:])  # after the header
    if code is None or code.co_filename != path:  # The folder was moved.
        code = compile(text, path, "exec")
    return code


def digest(content: bytes) -> str:
    """Return a hash of `content`, which a key needs."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def checksum(content: bytes) -> int:
    """Return the checksum by which a damaged file is found: 0.02 ms for 90 kB, BLAKE2b takes 0.1 ms."""
    return zlib.crc32(content)


def _read_file(path: str) -> bytes:
    """Return the content of a file: `Path.read_bytes` takes twice as long for small ones."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def content_of(path: str) -> bytes | None:
    """Return the content of a file; None if there is none."""
    try:
        return _read_file(path)
    except FileNotFoundError:
        return None


def intact_code(folder: str, module: str, place: str) -> dict[str, bytes]:
    """Return the contents of the bytecode and machine code of a module; delete them if `note_code` found others.

    Python and Numba do not check these files: they raise any error, or run what they find.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        noted = json.loads(_read_file(f"{folder}/{module}.files"))
        contents = {name: content_of(f"{place}/{name}") for name in noted}
        present = {name: content for name, content in contents.items() if content is not None}
        if all(checksum(content) == noted[name] for name, content in present.items()):
            return present
    for path in Path(place).glob(f"{module}.*"):
        path.unlink(missing_ok=True)
    return {}


def gradient_key(gradient: Any, argument_types: tuple[Any, ...]) -> str | None:
    """Return the key of a gradient for arguments of these types; None if it must be derived."""
    return _key(gradient, [_described_type(kind) for kind in argument_types])


def check_key(gradient: Any) -> str | None:
    """Return the key of the check of a gradient before its argument types are known; None if it must be checked."""
    function = gradient.function
    signatures = () if getattr(function, "_can_compile", True) else function.signatures
    return _key(gradient, ("check", [[_described_type(kind) for kind in one] for one in signatures]))


def _key(gradient: Any, purpose: Any) -> str | None:
    import numba

    try:
        parts = (
            __version__, _package_state(), numba.__version__, np.__version__, sys.version, purpose,
            _described(gradient, {}),
        )  # fmt: skip
    except _UnknownError:
        return None
    return digest(repr(parts).encode())


def was_checked(gradient: Any) -> bool:
    """Return whether a process has derived the gradient, so that its check need not parse the source again."""
    folder = gradient_folder(gradient)
    key = None if folder is None else check_key(gradient)
    return key is not None and os.path.exists(f"{folder}/{key}.checked")


def stored_modules(folder: str, key: str) -> list[str]:
    """Return the names of the modules that were derived for gradients with this key of their check."""
    try:
        names: list[str] = json.loads(_read_file(f"{folder}/{key}.checked"))["modules"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return names


def spec_of(name: str, gradients: list[Any]) -> Any:
    """Return how to import a generated module that is the code of one of these gradients; else raise `OSError`."""
    if name in UNSTORED:
        return None
    for gradient in gradients:
        folder = gradient_folder(gradient)
        key = None if folder is None else check_key(gradient)
        if folder is None or key is None or name not in stored_modules(folder, key):
            continue
        path = os.path.join(folder, f"{name}.py")
        if os.path.exists(path):
            return importlib.util.spec_from_file_location(name, path)
    raise OSError(f"{name} is not the code of a gradient of this process")


def _read_entry(folder: str, key: str) -> dict[str, Any] | None:
    """Return what is stored for a key, with the text of the generated module; None without an intact entry."""
    path = f"{folder}/{key}.json"
    try:
        entry: dict[str, Any] = json.loads(_read_file(path))
        text = _read_file(f"{folder}/{entry['module']}.py")
        intact = checksum(text) == entry["checksum"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    with contextlib.suppress(OSError):  # a folder that is only read
        os.utime(path)  # the least recently used gradients are deleted first
    return entry | {"text": text.decode()} if intact else None


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
    from numba.extending import is_jitted

    if value is None or isinstance(value, (bool, int, float, str, np.number, np.bool_, np.dtype)):
        return type(value).__name__, repr(value)
    if hasattr(value, "derived"):  # a gradient
        options = (
            value.argnums, value.returned, value.purpose, value.checkpoint, value.tangents, value.boundscheck,
            value.silent,
        )  # fmt: skip
        return options, _described(value.function, seen)
    if is_jitted(value):
        rules = sys.modules.get("jittape.numba_ad.user_rules")  # without any rule, nothing has imported it
        if rules is not None and rules.rule_of(value) is not None:
            raise _UnknownError
        return value.targetoptions.get("parallel"), _described_function(value.py_func, seen)
    if isinstance(value, np.ndarray):
        from jittape.numba_ad.global_arrays import digest_of, has_constant

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
    if isinstance(value, ModuleType):
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
    names = sorted(_global_names(function.__code__) & function.__globals__.keys())
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # an empty cell
        raise _UnknownError from None
    values = [*[function.__globals__[name] for name in names], *cells, function.__defaults__]
    # Version 2 has no references, which depend on how often objects are used elsewhere.
    content = marshal.dumps(function.__code__, 2)
    return function.__qualname__, content, names, [_described(one, seen) for one in values]


def _global_names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in the code of a function and of the functions inside it."""
    inner = [_global_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _described_type(kind: Any) -> Any:
    """Return what determines a Numba type; the text of a named tuple has no fields."""
    from numba import types

    if isinstance(kind, types.BaseTuple):
        fields = getattr(getattr(kind, "instance_class", None), "_fields", ())
        return str(kind), fields, [_described_type(item) for item in kind.types]
    return str(kind)
