"""Recording: tensors, Variables, and the trace, which walks a trie of all op lists recorded before."""

from __future__ import annotations

from jittape.native import switch
from jittape.recording import trace as trace


def _machine_code() -> switch.MachineCode:
    from jittape.recording.native_methods import machine_code  # loads LLVM

    return machine_code()


switch.register(_machine_code)
