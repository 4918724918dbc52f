"""Kernels: canonical, printable data, named by the hash of their text.

The text of a kernel contains no array sizes. Extents, strides and offsets are *symbols*, integers that a step passes
when it runs: ``n0`` is the extent of loop 0, ``s0`` a stride, ``o0`` an offset, ``c0`` the bytes of a constant. One
kernel therefore serves all shapes of one structure. Read `Kernel`, then `text_of`, which prints everything::

    kernel k3f9a21c4(a0: float32, r0: float32, r1: float32; n0, p0, t0)
      for i0 in n0 by t0:
        %0 = load a0[i0]
        %1 = multiply %0, %0
        r0[i0] = %1
        acc0 = sum(acc0, %1)
      r1[] = acc0

Instructions are placed in the outermost loop where their operands are known. A call of a kernel runs one *task*:
``t0`` iterations of loop 0. If loop 0 is reduced, each task has a result of its own; the results of neighboring tasks
are ``p0`` elements apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from jittape.compile.ir.hashes import blake2b
from jittape.compile.ir.instructions import (
    Address,
    AffineValue,
    BoundsMask,
    Compute,
    Constant,
    Instruction,
    KernelReduction,
    KernelStore,
    Load,
    Operand,
    ZeroMask,
    dtype_of,
)
from jittape.core.dtypes import info_of
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive
from jittape.core.tuning import tuning
from jittape.value_classes import value_class

__all__ = [
    "Gemm",
    "Kernel",
    "LoopKernel",
    "NamedKernel",
    "bits_of",
    "label_of",
    "params_text",
]


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


@value_class
class LoopKernel(Kernel):
    """A loop nest.

    Attributes
    ----------
    depth : int
        The number of loops, each inside the one before.
    symbols : tuple of str
        Names of the integers that a step passes, in order.
    task : str or None
        The symbol for the number of iterations of loop 0 in a task; None without loops.
    instructions, levels : tuples
        The instructions, and the loop level of each.
    stores, reductions : tuples
        The writes.
    rows : int
        Number of iterations of the second innermost loop that run together.
    """

    depth: int
    symbols: tuple[str, ...]
    task: str | None
    instructions: tuple[Instruction, ...]
    levels: tuple[int, ...]
    stores: tuple[KernelStore, ...]
    reductions: tuple[KernelReduction, ...]
    rows: int = 1

    @cached_property
    def text(self) -> str:
        return text_of(self)

    @property
    def primitives(self) -> Sequence[Primitive]:
        """The primitives of the instructions, reductions and scatters."""
        scatters = [store.scatter for store in self.stores]
        return [
            *[i.primitive for i in self.instructions if isinstance(i, Compute)],
            *[reduction.primitive for reduction in self.reductions],
            *[scatter.combining for scatter in scatters if scatter and scatter.combining],
        ]

    def dtype_of(self, value: int) -> np.dtype[Any]:
        """The dtype of an instruction's value."""
        return dtype_of(self.instructions, value)

    def dtypes_of(self, values: Iterable[int]) -> tuple[np.dtype[Any], ...]:
        """The dtypes of the values of instructions."""
        return tuple([dtype_of(self.instructions, value) for value in values])

    def in_place(self, read: int, written: int) -> LoopKernel | None:
        """Return the kernel with operand `read` in the memory of operand `written`; None if that changes results."""
        if not self.reads_only_what_it_writes(read, written):
            return None
        from dataclasses import replace

        def moved(address: Address) -> Address:
            operand = written if address.operand == read else address.operand
            return address._replace(operand=operand - (operand > read))

        counts = {"a": 0, "r": 0, "u": 0}
        operands = []
        for kind, dtype in [(o.name[0], o.dtype) for i, o in enumerate(self.operands) if i != read]:
            operands.append(Operand(f"{kind}{counts[kind]}", dtype))
            counts[kind] += 1
        instructions = [
            i._replace(address=moved(i.address)) if isinstance(i, Load) else i for i in self.instructions
        ]
        return replace(
            self,
            operands=tuple(operands),
            instructions=tuple(instructions),
            stores=tuple([s._replace(address=moved(s.address)) for s in self.stores]),
            reductions=tuple([r._replace(address=moved(r.address)) for r in self.reductions]),
        )

    @cached_property
    def loaded(self) -> frozenset[int]:
        """The operands, by number, that the kernel reads elements of."""
        return frozenset([i.address.operand for i in self.instructions if isinstance(i, Load)])

    @cached_property
    def loaded_results(self) -> frozenset[int]:
        """The operands among `loaded` that the kernel writes."""
        return frozenset([i for i in self.loaded if self.operands[i].name[0] == "r"])

    @cached_property
    def overwritten_early(self) -> list[int]:
        """Those of `loaded_results` of which an iteration reads other elements than the one that it writes."""
        return [i for i in self.loaded_results if not self.reads_only_what_it_writes(i, i)]

    def reads_only_what_it_writes(self, read: int, written: int) -> bool:
        """Return whether the only element that an iteration reads of both operands is the one that it writes."""
        stores = [s for s in self.stores if s.address.operand == written]
        if len(stores) != 1 or {read, written} & {r.address.operand for r in self.reductions}:
            return False
        (store,) = stores
        loads = [
            (load, level)
            for load, level in zip(self.instructions, self.levels, strict=True)
            if isinstance(load, Load) and load.address.operand in (read, written)
        ]
        expected = store.address._replace(operand=read)
        visited = {variable for variable, _ in store.address.linear.terms}
        is_visited_once = all(f"i{loop}" in visited for loop in range(store.level))
        if not is_visited_once or any(s.scan or s.scatter for s in self.stores):
            return False
        return all(
            load.address == expected and load.mask is None and level == store.level for load, level in loads
        )


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
        `a1` ``"rows1"`` to ``"rows16"`` and ``"columns1"`` to ``"columns16"``.

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
        return self.form in ("matrix", "tiny", "tiled") or self.form.startswith("rows")

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
        return self.form in ("matrix", "vector", "tiny", "tiled")

    @cached_property
    def text(self) -> str:
        flags = "".join("t" if t else "n" for t in self.transposed)
        names = [o.name.replace("u", "r") if self.scales else o.name for o in self.operands]
        dtypes = [o.dtype.name for o in self.operands]
        operands = ", ".join(f"{name}: {dtype}" for name, dtype in zip(names, dtypes, strict=True))
        return f"({operands}; {', '.join(self.SYMBOLS)})\n  {self.form} product {flags}"


_namesakes: dict[str, list[Primitive]] = {}


def bits_of(value: float, dtype: np.dtype[Any]) -> int:
    """Return the bytes of a number as an integer; for a complex dtype, those of its real part."""
    real = info_of(dtype).real.newbyteorder("<")
    return int.from_bytes(np.array(value, real).tobytes(), "little")


def label_of(primitive: Primitive) -> str:
    """Return the name of a primitive in texts; further primitives of the same name get a number."""
    same = _namesakes.setdefault(primitive.name, [])
    if primitive not in same:
        same.append(primitive)
    number = same.index(primitive)
    return f"{primitive.name}.{number}" if number else primitive.name


# ---- the text ------------------------------------------------------------------------------------------------------


def text_of(kernel: LoopKernel) -> str:
    """Return the canonical text; kernels of equal text are equal."""
    operands = ", ".join(f"{o.name}: {o.dtype.name}" for o in kernel.operands)
    lines = [f"({operands}; {', '.join(kernel.symbols)})"]
    for r in kernel.reductions:
        if r.in_memory:
            lines.append(f"  {_place(kernel, r.address)} = identity of {label_of(r.primitive)}")
    for level in range(kernel.depth + 1):
        margin = "  " * (level + 1)
        if level:
            task = f" by {kernel.task}" if level == 1 else ""
            rows = f", {kernel.rows} at a time" if kernel.rows > 1 and level == kernel.depth - 1 else ""
            lines.append(f"{'  ' * level}for i{level - 1} in n{level - 1}{task}{rows}:")
        for number, instruction in enumerate(kernel.instructions):
            if kernel.levels[number] == level:
                lines.append(f"{margin}%{number} = {_instruction_text(kernel, instruction)}")
        lines += [margin + _store_text(kernel, s) for s in kernel.stores if s.level == level]
    for level in range(kernel.depth, -1, -1):
        lines += _reduction_lines(kernel, level)
    return "\n".join(lines)


def _reduction_lines(kernel: LoopKernel, level: int) -> list[str]:
    """Return the lines at the end of a level: combine in the innermost, write in that of the accumulator."""
    lines = []
    margin = "  " * (level + 1)
    for number, r in enumerate(kernel.reductions):
        place, combine = _place(kernel, r.address), label_of(r.primitive)
        if level == kernel.depth:
            held = place if r.level == level else f"acc{number}"
            lines.append(f"{margin}{held} = {combine}({held}, %{r.value}{params_text(r.params)})")
        elif level == r.level:
            value = f"{combine}({place}, acc{number})" if r.in_memory else f"acc{number}"
            lines.append(f"{margin}{place} = {value}")
    return lines


def _store_text(kernel: LoopKernel, store: KernelStore) -> str:
    scan = store.scan
    if scan is not None:
        values = ", ".join(f"%{v}" for v in scan.values) + params_text(scan.params)
        along = f"{label_of(scan.primitive)} along i{scan.axis}"
        return f"{_place(kernel, store.address)} = {along} of {values}"
    if store.scatter is not None and store.scatter.combining is not None:
        combine = label_of(store.scatter.combining)
        place = _place(kernel, store.address)
        return f"{place} = {combine}({place}, %{store.value})"
    return f"{_place(kernel, store.address)} = %{store.value}"


def _instruction_text(kernel: LoopKernel, instruction: Instruction) -> str:
    match instruction:
        case Load(address, mask, _):
            return f"load {_place(kernel, address)}" + ("" if mask is None else f" where %{mask} else 0")
        case Compute(primitive, params, args, _):
            operands = [f"%{a}" for a in args]
            return f"{label_of(primitive)} {', '.join(operands)}{params_text(params, bool(args))}".rstrip()
        case Constant(symbol, dtype):
            return f"{dtype.name}({symbol})"
        case AffineValue(linear, divisor, dtype):
            quotient = f"({linear})" + ("" if divisor == 1 else f" / {divisor}")
            return f"{dtype.name}{quotient}"
        case BoundsMask(linear, divisor, extent, also, wide):
            quotient = f"{linear}" if divisor == 1 else f"({linear}) / {divisor} exact"
            mostly = "mostly " if wide else ""
            return f"{mostly}0 <= {quotient} < {extent}" + ("" if also is None else f" and %{also}")
        case ZeroMask(mask, value):
            return f"%{value} where %{mask} else 0"


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


def _place(kernel: LoopKernel, address: Address) -> str:
    name = kernel.operands[address.operand].name
    if address.packed:
        return f"{name}[{', '.join(v for v, _ in address.linear.terms)}]"
    return f"{name}[{address.linear}]"
