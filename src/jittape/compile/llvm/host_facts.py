"""`host_facts`: the facts about this process's processor and BLAS that scheduling depends on."""

from __future__ import annotations

from jittape.compile.ir.target_facts import TargetFacts

__all__ = ["host_facts"]


def host_facts() -> TargetFacts:
    """Return the facts of this process. The first call imports llvmlite and loads the BLAS."""
    from jittape.compile.llvm.blas import blas, has_avx512

    found = blas()
    return TargetFacts(has_avx512(), found.unpacked, found.library is not None)
