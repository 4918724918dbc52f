"""The kernels of boolean masks: the number of true elements in blocks, and loops over the true elements."""

from __future__ import annotations

from jittape.compile.ir.kernel import Kernel
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["MaskCounts", "MaskLoop"]


@value_class
class MaskCounts(Kernel):
    """A kernel that counts the true elements of each block of a mask; a task counts one block.

    Its operands are the mask and the counts, its sizes the number of elements of the mask and of a block.
    """

    @cached_property
    def text(self) -> str:
        return "(a0: bool, r0: int64)\n  counts the true elements of blocks"

    @property
    def loops(self) -> int:
        """The loop over the elements."""
        return 1


@value_class
class MaskLoop(Kernel):
    """A kernel that numbers the true elements of a mask; a task does one block.

    Its operands are the mask, the counts of its blocks if there are several, the values that are moved, and the result.
    Its sizes are the number of elements of the mask and of a block, and the number of true elements. If that is wrong,
    no memory outside of the operands is read or written.

    Attributes
    ----------
    form : str
        ``"places"`` writes the index of each true element, ``"select"`` the values that belong to true elements, and
        ``"expand"`` the values one after another to the true elements, and zeros to the others.
    nbytes : int
        The size of a value in bytes.
    counted : bool
        Whether the mask has several blocks.
    """

    form: str
    nbytes: int
    counted: bool

    @property
    def result(self) -> int:
        """The number of the operand that is written."""
        return 1 + self.counted + (self.form != "places")

    @cached_property
    def text(self) -> str:
        counts = ", counts of blocks" if self.counted else ""
        return f"(mask: bool{counts})\n  {self.form}: {self.nbytes} bytes for each true element"

    @property
    def loops(self) -> int:
        """The loops over the counts, over words of the mask, and over single elements."""
        return 3
