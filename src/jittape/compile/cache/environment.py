"""The environment of cached code: all that decides machine code besides the text of a kernel.

What LLVM says about the processor and the digest of the sources are kept in the folder of the cache, so that a process
with a filled cache neither loads LLVM nor reads the sources.
"""

from __future__ import annotations

import marshal
import math
import os
import platform
import sys
import time
from functools import cache

from jittape.compile.cache.fingerprint import source_digest, source_times
from jittape.compile.cache.private_files import (
    DIGEST_SIZE,
    FORMAT,
    Damaged,
    digest,
    is_private,
    read_private,
    suppress_file_errors,
)
from jittape.compile.llvm.definition import Effort
from jittape.compile.llvm.host_processor import (
    RELOCATION,
    HostProcessor,
    host_key,
    host_processor,
    remember_host,
)
from jittape.version import IMPORTED_AT

__all__ = ["HOST_FILE", "environment", "host_content", "host_name", "is_unchanged"]

HOST_FILE = r"host-[0-9a-f]{32}"
"""Pattern of the names of files with `HostProcessor` and the digest of the sources."""

_SETTLED_SECONDS = 2.0
"""Minimum age of the latest change of the sources: a second change in the same tick of the clock would go unnoticed."""
_LOOK_SECONDS = 0.1
"""A module may be loaded again after an edit, but not that soon; a look takes 1 ms of the 20 that a kernel takes."""
_last_look: list[float] = [-math.inf, 0]
"""When the sources were last found unchanged, and how many modules were loaded then."""


def environment(root: str) -> dict[str, str]:
    """Return the named parts of the environment; `root` is the folder of the cache.

    Raises
    ------
    OSError
        If the sources of the package cannot be read, or have changed since the import.
    """
    if _first_times()[1] > IMPORTED_AT:
        raise OSError("the sources of jittape have changed since the import")
    name = host_name()
    sources = None
    if name is not None:
        with suppress_file_errors(ValueError, TypeError, EOFError, Damaged):
            if is_private(os.stat(root)):
                sources = _remembered(read_private(os.path.join(root, name)))
    return {
        "sources": sources or source_digest(),
        "python": sys.implementation.cache_tag or platform.python_version(),
        **host_processor()._asdict(),
        "flags": f"{', '.join(f'{e.name} {e.value}' for e in Effort)}, {RELOCATION} relocation",
    }


def is_unchanged() -> bool:
    """Return whether the sources are still those of `environment`, so that what they compile may be kept for it.

    What is loaded compiles as before. So the files need another look only when a module may have been loaded since.
    """
    look = time.monotonic(), len(sys.modules)
    if look[1] == _last_look[1] and look[0] < _last_look[0] + _LOOK_SECONDS:
        return True
    with suppress_file_errors():
        if source_times() == _first_times():
            _last_look[:] = look
            return True
    return False


@cache
def _first_times() -> tuple[str, float]:
    return source_times()


def host_content() -> bytes | None:
    """Return the content of the file for the next process; None if the sources have changed just now."""
    if _first_times()[1] > time.time() - _SETTLED_SECONDS:
        return None
    body = marshal.dumps([source_digest(), *host_processor()], FORMAT)
    return digest(body) + body


@cache
def host_name() -> str | None:
    """Return the name of the file, a hash of all that its content depends on; None where that is unknown."""
    key = host_key()
    return None if key is None else f"host-{digest(f'{key} {_first_times()[0]}'.encode()).hex()}"


def _remembered(content: bytes) -> str:
    """Remember what a file says about the processor, and return the digest of the sources."""
    body = content[DIGEST_SIZE:]
    if digest(body) != content[:DIGEST_SIZE]:
        raise Damaged
    sources, llvmlite, llvm, target, processor, features = marshal.loads(body)
    remember_host(HostProcessor(llvmlite, llvm, target, processor, features))
    return str(sources)
