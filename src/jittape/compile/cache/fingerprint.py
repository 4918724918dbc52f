"""Fingerprint of the source files that determine what is cached on disk: a change creates a new environment."""

from __future__ import annotations

import os
import sys
from functools import cache, lru_cache

from jittape.compile.ir.hashes import blake2b

__all__ = ["SOURCES", "covers", "source_digest", "source_times"]

SOURCES = (
    "autodiff/machine_code",
    "autodiff/native_tapes.py",
    "compile",
    "core",
    "functions/machine_code/emit_arithmetic.py",
    "functions/machine_code/emit_function_call.py",
    "functions/machine_code/emit_marshaller.py",
    "functions/machine_code/emit_simple_call.py",
    "functions/machine_code/function_calls.py",
    "functions/marshal_plan.py",
    "functions/marshaller.py",
    "native",
    "numba_bridge/c_emitter.py",
    "numba_bridge/emit_density.py",
    "numba_bridge/emit_program.py",
    "primitives",
    "recording/machine_code/emit_array_copies.py",
    "recording/machine_code/emit_call_arguments.py",
    "recording/machine_code/emit_calls.py",
    "recording/machine_code/emit_facts.py",
    "recording/machine_code/emit_flush.py",
    "recording/machine_code/emit_functions.py",
    "recording/machine_code/emit_getitem.py",
    "recording/machine_code/emit_lists.py",
    "recording/machine_code/emit_methods.py",
    "recording/machine_code/emit_one_call.py",
    "recording/machine_code/emit_operands.py",
    "recording/machine_code/emit_planned.py",
    "recording/machine_code/emit_protocols.py",
    "recording/machine_code/emit_recorder.py",
    "recording/machine_code/emit_root.py",
    "recording/machine_code/emit_steps.py",
    "recording/machine_code/emit_items.py",
    "recording/machine_code/emit_variables.py",
    "recording/machine_code/method_module.py",
    "recording/native_methods.py",
    "runtime",
    "vectormath",
)
"""Files that determine the machine code of a kernel with a given text, and the schedule of a program."""


_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@cache
def source_digest() -> str:
    """Return a hash of the files in `SOURCES`, so a changed package never loads older code; takes 7 ms."""
    digest = blake2b(digest_size=8)
    for path in _source_files():
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        digest.update(f"{_name_of(path)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def source_times() -> tuple[str, float]:
    """Return a hash of sizes and times of the files in `SOURCES`, and the time of the latest change.

    Copies and archives may have other times of modification, even future ones, but the system notes each change.
    It takes a fifth of the time of `source_digest`. A file with the same size and times is unchanged, as Python assumes
    of it when it reads compiled modules.

    Raises
    ------
    OSError
        If a file or folder is missing.
    """
    found: list[str] = []
    latest = 0
    for path in _source_files():
        status = os.stat(path)
        latest = max(latest, status.st_mtime_ns if sys.platform == "win32" else status.st_ctime_ns)
        found.append(f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}")
    return blake2b("\n".join(found).encode(), digest_size=16).hexdigest(), latest / 1e9


def _source_files() -> list[str]:
    """Return the paths of the files in `SOURCES`, sorted."""
    found: list[str] = []
    waiting = [os.path.join(_PACKAGE, name) for name in SOURCES]
    while waiting:
        path = waiting.pop()
        if path.endswith(".py"):
            found.append(path)
        else:
            with os.scandir(path) as entries:
                waiting += [e.path for e in entries if e.name.endswith(".py") or _is_package(e)]
    return sorted(found)


def _is_package(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder has sources: to list the 43 folders of bytecode took 0.4 ms."""
    return entry.name != "__pycache__" and entry.is_dir()


def _name_of(path: str) -> str:
    """Return a path in the package as `SOURCES` writes it; other paths are unchanged."""
    return path.removeprefix(_PACKAGE + os.sep).replace(os.sep, "/")


@lru_cache(maxsize=1024)
def covers(file: str) -> bool:
    """Return whether a source file is one of `SOURCES`; cached, as it takes 5 µs and is asked for few files."""
    name = _name_of(file)
    return name != file and any([name == source or name.startswith(f"{source}/") for source in SOURCES])
