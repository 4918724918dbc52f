"""Fingerprint of the source files that determine what is cached on disk: a change creates a new environment."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from pathlib import Path

__all__ = ["SOURCES", "covers", "source_digest"]

SOURCES = (
    "compile",
    "core",
    "functions/emit_arithmetic.py",
    "functions/marshal_plan.py",
    "functions/marshaller.py",
    "native",
    "primitives",
    "recording/machine_code/emit_getitem.py",
    "recording/machine_code/emit_methods.py",
    "recording/machine_code/emit_operands.py",
    "recording/machine_code/emit_protocols.py",
    "recording/machine_code/emit_recorder.py",
    "recording/native_methods.py",
    "runtime",
    "vectormath",
)
"""Files that determine the machine code of a kernel with a given text, and the schedule of a program."""


@cache
def source_digest() -> str:
    """Return a hash of the files in `SOURCES`, so a changed package never loads older code; takes 3 ms."""
    package = Path(__file__).parents[2]
    digest = hashlib.blake2b(digest_size=8)
    for name in SOURCES:
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            content = file.read_bytes()
            digest.update(f"{file.relative_to(package).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


@lru_cache(maxsize=1024)
def covers(file: str) -> bool:
    """Return whether a source file is one of `SOURCES`; cached, as it takes 8 µs and is asked for few files."""
    package = Path(__file__).parents[2]
    path = Path(file)
    return path.is_relative_to(package) and path.relative_to(package).parts[0] in SOURCES
