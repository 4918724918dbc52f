"""`host_processor`: the versions, processor and features for which LLVM generates code.

Only LLVM knows them, and loading LLVM takes 35 ms. The cache on disk remembers them under a `host_key`, so a process
that finds all of its code there never loads LLVM.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.machinery import PathFinder

from jittape.compile.ir.hashes import blake2b
from jittape.value_classes import NamedTuple

__all__ = ["RELOCATION", "HostProcessor", "host_key", "host_processor", "remember_host"]

RELOCATION = "static" if platform.machine().lower() in ("x86_64", "amd64", "i386", "i686") else "default"
"""How code refers to addresses."""

_DESCRIBING = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")
"""Beginnings of the lines of ``/proc/cpuinfo`` about what a processor can do."""


class HostProcessor(NamedTuple):
    """Versions of llvmlite and LLVM, and the target, processor and features by LLVM's names."""

    llvmlite: str
    llvm: str
    target: str
    processor: str
    features: str


_found: HostProcessor | None = None


def host_processor() -> HostProcessor:
    """Return the facts, remembered or from LLVM."""
    global _found
    if _found is None:
        from jittape.compile.llvm.compile_pool import uninterrupted

        _found = uninterrupted(_measured)
    return _found


def remember_host(found: HostProcessor) -> None:
    """Use facts that an earlier process with the same `host_key` has written down."""
    global _found
    _found = found


def _measured() -> HostProcessor:
    import llvmlite
    import llvmlite.binding as llvm

    return HostProcessor(
        llvmlite.__version__,
        ".".join(str(part) for part in llvm.llvm_version_info),
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


def host_key() -> str | None:
    """Return a hash of all that determines the facts; None where it is unknown.

    It covers the files of llvmlite, by size and time, and what Linux says about the machine and its first processor.
    """
    spec = PathFinder.find_spec("llvmlite") if sys.platform == "linux" else None
    if spec is None or spec.origin is None:
        return None
    folder = os.path.dirname(spec.origin)
    digest = blake2b(digest_size=16)
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = [line for line in file.read(8192).split(b"\n") if line.startswith(_DESCRIBING)]
        for part in ("_version.py", os.path.join("binding", "libllvmlite.so")):
            path = os.path.join(folder, part)
            found = os.stat(path)
            lines.append(f"{path} {found.st_size} {found.st_mtime_ns}".encode())
    except OSError:
        return None
    machine = os.uname()
    lines.append(f"{sys.version} {platform.machine()} {machine.release} {machine.version}".encode())
    digest.update(b"\n".join(lines))
    return digest.hexdigest()
