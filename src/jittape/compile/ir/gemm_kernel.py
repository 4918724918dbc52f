"""`Gemm`: matrix products."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.core.dtypes import info_of
from jittape.core.locks import cached_property
from jittape.value_classes import value_class

__all__ = ["Gemm", "bits_of"]

_GENERAL = ("matrix", "tiny", "tiled", "tiny or matrix", "tiled or matrix")
"""Forms for matrices of any extents."""


@value_class
class Gemm(Kernel):
    """A stack of matrix products ``a0 @ a1``, written to `r0` or added to `u0` (see `accumulates`).

    Attributes
    ----------
    dtype : dtype
        The dtype of all operands except `a2`.
    transposed : tuple of bool
        For both operands, whether columns are contiguous instead of rows.
    form : str
        ``"matrix"`` is a BLAS call for each product or piece of one, and ``"vector"`` the same for a vector `a1`.
        All other forms are loops of jittape: ``"tiny"``, ``"tiled"``, ``"dots2"`` to ``"dots5"``, and for a vector
        `a1` ``"rows1"`` to ``"rows16"`` and ``"columns1"`` to ``"columns16"``. ``"tiny or matrix"`` and
        ``"tiled or matrix"`` have both codes; the extents of a piece are 0 for sizes at which the loops multiply.

    Notes
    -----
    Kernels that scale (see `scales`) write the product, or with `beta` add `alpha` times the product, so writing and
    adding are one kernel. If there is an operand `a2`, a number, `alpha` is multiplied by it.
    """

    dtype: np.dtype[Any]
    transposed: tuple[bool, bool]
    form: str

    SYMBOLS: ClassVar[tuple[str, ...]] = (
        *("b0", "b1", "m", "n", "k", "lr"),
        *("lx", "ox", "x0", "x1", "ly", "oy", "y0", "y1"),
        *("pm", "pn", "pk"),
        *("t0", "t1", "tm", "tn", "tk"),
        *("alpha", "beta"),
    )
    """Extents of the loops over the stack and of a product; leading dimension of the result; leading dimension, offset
    and stack strides of both operands; extents of a piece; extents of a task, at most one of which is a part of the
    whole extent; the bytes of two numbers of the dtype's real type."""

    @property
    def divisible(self) -> bool:
        """Whether tasks can divide one product, not only a stack of products.

        In the BLAS, the order of a sum along a vector depends on the position of the row. Products of few rows and few
        columns are too short to divide.
        """
        return self.form in _GENERAL or self.form.startswith("rows")

    @property
    def made_for(self) -> str:
        """The extent that the form is specialized for, which tasks must not divide; "" if there is none."""
        return {"rows": "k", "columns": "m"}.get(self.form.rstrip("0123456789"), "")

    @property
    def accumulates(self) -> bool:
        """Whether the products are added to the result's memory."""
        return self.operands[2].name == "u0"

    @property
    def scales(self) -> bool:
        """Whether one kernel writes products and adds them, as `alpha` and `beta` say."""
        return self.form in (*_GENERAL, "vector")

    @cached_property
    def text(self) -> str:
        flags = "".join("t" if t else "n" for t in self.transposed)
        names = [o.name.replace("u", "r") if self.scales else o.name for o in self.operands]
        dtypes = [o.dtype.name for o in self.operands]
        operands = ", ".join(f"{name}: {dtype}" for name, dtype in zip(names, dtypes, strict=True))
        return f"({operands}; {', '.join(self.SYMBOLS)})\n  {self.form} product {flags}"


def bits_of(value: float, dtype: np.dtype[Any]) -> int:
    """Return the bytes of a number as an integer; for a complex dtype, those of its real part."""
    real = info_of(dtype).real.newbyteorder("<")
    return int.from_bytes(np.array(value, real).tobytes(), "little")
