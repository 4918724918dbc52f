"""Gradient tapes and forward accumulators; ``jt.autodiff`` has forward mode under TensorFlow's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.autodiff.tape import GradientTape as GradientTape
from jittape.lazy_names import lazily as _lazily
from jittape.native import switch as _switch

if _TYPE_CHECKING:
    from jittape.autodiff.forward_accumulator import ForwardAccumulator as ForwardAccumulator

__all__ = [
    "ForwardAccumulator", "GradientTape",
]  # fmt: skip

__getattr__ = _lazily(__name__, {"jittape.autodiff.forward_accumulator": ("ForwardAccumulator",)})


def __dir__() -> list[str]:
    return __all__


def _machine_code() -> _switch.MachineCode:
    from jittape.autodiff.native_tapes import machine_code  # loads LLVM

    return machine_code()


_switch.register(_machine_code)
