"""Recording: tensors, Variables, and the trace, which walks a trie of all op lists recorded before."""

from __future__ import annotations

from collections.abc import Sequence

from jittape.native import switch
from jittape.recording import trace as trace


def _native_methods() -> Sequence[switch.NativeMethod]:
    from jittape.recording.native_methods import methods  # loads LLVM

    return methods()


switch.register(_native_methods)
