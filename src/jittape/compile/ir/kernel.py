"""Kernels: printable data, named by the hash of their text, and compiled once for all programs.

Read `Kernel`; `compile/ir/loop_kernel.py` and `compile/ir/gemm_kernel.py` have the most frequent kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jittape.compile.ir.hashes import blake2b
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive
from jittape.core.tuning import tuning
from jittape.value_classes import value_class

if TYPE_CHECKING:
    from jittape.compile.ir.instructions import Operand

__all__ = ["Kernel", "NamedKernel", "label_of", "params_text"]


@value_class
class Kernel:
    """A unit that is compiled once, under a name that is the hash of its `text`.

    An `abortable` kernel gets the address of the run's abort state for the task. It may abort the run if it is
    `effectful`.
    """

    operands: tuple[Operand, ...]
    abortable: ClassVar[bool] = False
    effectful: ClassVar[bool] = False

    @cached_property
    def text(self) -> str:
        raise NotImplementedError

    @cached_property
    def name(self) -> str:
        return "k" + blake2b((self.text + tuning.label).encode(), digest_size=8).hexdigest()

    @cached_property
    def positions(self) -> tuple[list[int], ...]:
        """The numbers of the operands that are read, updated, and written."""
        kinds = [operand.name[0] for operand in self.operands]
        return tuple([[i for i, kind in enumerate(kinds) if kind == wanted] for wanted in "aur"])

    @property
    def listing(self) -> str:
        """The name and the text, for display."""
        return f"kernel {self.name}{self.text}"

    @property
    def loops(self) -> int:
        """The number of loops over data."""
        return sum(line.lstrip().startswith("for ") for line in self.text.splitlines())

    @property
    def primitives(self) -> Sequence[Primitive]:
        """The primitives whose code the kernel contains; its text has only their names."""
        return ()


@value_class
class NamedKernel(Kernel):
    """A kernel of which only the name is known; that is enough to find its machine code."""

    known_name: str

    @cached_property
    def name(self) -> str:
        return self.known_name


_namesakes: dict[str, list[Primitive]] = {}


def label_of(primitive: Primitive) -> str:
    """Return the name of a primitive in texts; further primitives of the same name get a number."""
    same = _namesakes.setdefault(primitive.name, [])
    if primitive not in same:
        same.append(primitive)
    number = same.index(primitive)
    return f"{primitive.name}.{number}" if number else primitive.name


def params_text(params: tuple[tuple[str, Any], ...], comma: bool = True) -> str:
    """Return the parameters of a primitive as they are written in a text."""
    text = ", ".join(f"{name}={_value_text(value)}" for name, value in params)
    return (", " if comma and text else "") + text


def _value_text(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, tuple):
        return "(" + " ".join(_value_text(v) for v in value) + ")"
    return repr(value)
