"""`jt.explain()`: the last step as a page of text.

Nothing is recorded for the page. The trie has the user's line of every op, the schedule the ops of each kernel, and a
kernel prints itself. For the passes, the compiler runs once more up to the schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jittape.core.forms import Call, Map, Reduce
from jittape.core.program import Op, Program
from jittape.runtime.counters import counters
from jittape.runtime.path_executable import PathExecutable

if TYPE_CHECKING:
    from jittape.compile.schedule.steps import KernelStep, NumpyStep

__all__ = ["Explanation", "PassExplanation", "StepExplanation", "explain", "operations_of", "size_text"]


_CLOCKS = "with jt.profile() as p: measures the time of each line of the source, and print(p) shows it"


@dataclass(frozen=True)
class StepExplanation:
    """One kernel, library call or NumPy step of an executable.

    Attributes
    ----------
    title : str
        The name of the kernel, of the op that NumPy evaluates, or of the loop or branch.
    found : bool or None
        Whether the kernel had been compiled before; None for a NumPy step.
    loops : int
        Loop nests of the kernel.
    ops : tuple of Op
        The ops of the program that it covers.
    bytes_read, bytes_written : int
        Sizes of the operands and of the results.
    operations : int
        Arithmetic operations on elements; operations in the body of a loop count once.
    listing : str
        The loops of the kernel, or of all kernels in a loop's body; empty for a NumPy step.
    tasks : int
        Number of parts of the outermost loop that threads may share.
    """

    title: str
    found: bool | None
    loops: int
    ops: tuple[Op, ...]
    bytes_read: int
    bytes_written: int
    operations: int
    listing: str
    tasks: int

    def __str__(self) -> str:
        state = "" if self.found is None else ", found" if self.found else ", compiled for this program"
        tasks = f" in {self.tasks} tasks" if self.tasks > 1 else ""
        head = (
            f"{self.title}: {_plural(self.loops, 'loop')}{tasks}{state}; reads {size_text(self.bytes_read)}, "
            f"writes {size_text(self.bytes_written)}, {self.operations:,} operations"
        )
        lines = [head, *(f"  {line}" for line in _by_line(self.ops))]
        if self.listing:
            lines += ["", *(f"    {line}" for line in self.listing.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True)
class PassExplanation:
    """A pass of the compiler that changed something.

    Attributes
    ----------
    name : str
        The name of the pass; the first entry is ``"recorded"``.
    text : str
        The program after the pass, or its steps once it has been lowered to steps.
    """

    name: str
    text: str

    def __str__(self) -> str:
        head = "as recorded:" if self.name == "recorded" else f"after {self.name}:"
        return "\n".join([head, *(f"    {line}" for line in self.text.splitlines())])


@dataclass(frozen=True)
class Explanation:
    """The last step; ``print`` shows it as a page.

    Attributes
    ----------
    compiled : bool
        Whether compiled code ran, or the interpreter.
    visits : int
        Number of runs of this sequence of operations.
    program : Program
        The op list that ran, after simplification if it is compiled.
    steps : tuple of StepExplanation
        The steps that ran; empty for an interpreted program.
    passes : tuple of PassExplanation
        The passes of the compiler that changed something, in order; empty without ``passes=True``.
    """

    compiled: bool
    visits: int
    program: Program
    steps: tuple[StepExplanation, ...]
    passes: tuple[PassExplanation, ...] = ()

    def __str__(self) -> str:
        if self.compiled:
            how = f"compiled; {_plural(len(self.steps), 'step')}"
        elif self.visits == 1:
            how = "interpreted with NumPy; it is compiled when the same operations run again"
        else:
            how = "interpreted with NumPy, as jt.config.interpret is set"
        program = self.program
        head = [
            f"last step: {how}; run {self.visits} of this path",
            f"program: {_plural(len(program.ops), 'op')}, {_plural(len(program.inputs), 'input')}, "
            f"{_plural(len(program.outputs), 'output')}",
        ]
        passes = [str(one) for one in self.passes]
        if not self.compiled:
            return "\n".join([*head, "", "\n\n".join([str(program), *passes])])
        steps = [f"{i}. {step}" for i, step in enumerate(self.steps, 1)]
        return "\n\n".join(["\n".join(head), *passes, *steps, _CLOCKS])

    __repr__ = __str__


def explain(passes: bool = False) -> Explanation:
    """Explain the last flush: program, kernels with their loops, source lines, bytes and operations.

    Parameters
    ----------
    passes : bool
        Whether to show the program, or its steps, after each pass of the compiler that changed something. The compiler
        then runs once more, without generating machine code.

    Returns
    -------
    Explanation
        ``print`` shows it as a page.

    Raises
    ------
    RuntimeError
        If nothing has run yet.
    TypeError
        If `passes` is not a bool.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> for _ in range(3):
    ...     total = float(jt.reduce_sum(jt.square(x)))
    >>> page = jt.explain()
    >>> page.compiled, len(page.steps), page.steps[0].loops
    (True, 1, 1)

    The rows of a product are summed before the product, which then has one row:

    >>> x, w = jt.ones([100, 3]), jt.ones([3, 5])
    >>> for _ in range(2):
    ...     total = jt.reduce_sum(x @ w, axis=0).numpy()
    >>> page = jt.explain(passes=True)
    >>> [stage.name for stage in page.passes]
    ['recorded', 'sum before product', 'lower to steps', 'order steps', 'plan memory']
    >>> print(page.passes[1])  # doctest: +ELLIPSIS
    after sum before product:
        program(%0: float32[100,3], %1: float32[3,5])
    ...
    """
    if not isinstance(passes, bool):
        raise TypeError(
            f"[explain] passes must be True or False, got {type(passes).__name__}; explain() shows the last step"
        )
    executable = counters.last
    if executable is None:
        raise RuntimeError("nothing has run yet: look at a value first, for example with numpy()")
    page = _explained(executable)
    return replace(page, passes=_passes(executable)) if passes else page


def _passes(executable: PathExecutable) -> tuple[PassExplanation, ...]:
    if executable.ran_compiled:
        stages = executable.compiled.passes
    else:
        from jittape.compile.llvm.blas import host_facts
        from jittape.compile.schedule.schedule import passes_of

        stages = passes_of(executable.program, target=host_facts)
    return tuple([PassExplanation(name, text) for name, text in stages])


def _explained(executable: PathExecutable) -> Explanation:
    compiled = executable.compiled
    if not executable.ran_compiled:
        return Explanation(False, executable.visits, executable.program, ())
    program: Program = compiled.explained.program
    found = {kernel.name: kernel.found for kernel in compiled.kernels}
    steps = []
    for step in compiled.steps:
        kernel = step.kernel
        read, written = _traffic(program, step.ops)
        name = f"NumPy step {step.ops[0].primitive.name}" if kernel is None else f"kernel {kernel.name}"
        inner = _inner_steps(step)
        kernels = [one.kernel for _, one in inner if not one.bodies] or ([] if kernel is None else [kernel])
        operations = [operations_of(program, op) for op in step.ops]
        if (
            kernel is not None and kernel.effectful and not inner
        ):  # a check reads one truth value for each task
            read, written, operations = sum(step.sizes), 0, []
        operations += [operations_of(body, op) for body, one in inner if not one.bodies for op in one.ops]
        steps.append(
            StepExplanation(
                title=step.ops[0].primitive.name if inner else name,
                found=None if kernel is None else all(found[kernel.name] for kernel in kernels),
                loops=sum(kernel.loops for kernel in kernels),
                ops=(*step.ops, *[op for _, one in inner if not one.bodies for op in one.ops]),
                bytes_read=read,
                bytes_written=written,
                operations=sum(operations),
                listing="\n\n".join(kernel.listing for kernel in kernels),
                tasks=step.tasks,
            )
        )
    return Explanation(True, executable.visits, program, tuple(steps))


def _inner_steps(step: KernelStep | NumpyStep) -> list[tuple[Program, KernelStep]]:
    """Return the steps in the bodies of a loop or a branch, nested bodies included, each with its program."""
    found: list[Any] = []
    waiting = list(step.bodies)
    while waiting:
        body = waiting.pop(0)
        for one in body.steps:
            found.append((body.program, one))
            waiting += one.bodies
    return found


def _traffic(program: Program, ops: Sequence[Op]) -> tuple[int, int]:
    """Return the bytes of the operands of a group of ops, and of its results."""
    inside = {op.out for op in ops}
    incoming = {slot for op in ops for slot in op.args} - inside
    wanted = {slot for op in program.ops if op.out not in inside for slot in op.args}
    wanted.update(program.outputs)
    return _nbytes(program, incoming), _nbytes(program, inside & wanted)


def _nbytes(program: Program, slots: Iterable[int]) -> int:
    return sum(program.avals[slot].nbytes for slot in slots)


_ORDERS_PER_ELEMENT = {"potrf": 1 / 3, "getrf": 2 / 3, "potri": 2 / 3, "trsm": 1}
"""Operations for an element of the result of a routine, divided by the order of the matrices; 2 for other routines."""
_OPERATIONS_PER_ELEMENT = {
    "eigh": 9,
    "eigvalsh": 4 / 3,
    "eig": 25,
    "svd": 22,
    "svdvals": 8 / 3,
    "qr": 8 / 3,
    "complement": 4,
}
"""Operations for an element of a decomposed matrix, divided by the lesser extent (Golub and Van Loan, 4th edition)."""


def operations_of(program: Program, op: Op) -> int:
    """Return the number of arithmetic operations on elements; 0 for ops that move elements or contain programs."""
    form = op.primitive.lowering
    if isinstance(form, Map):
        return program.avals[op.out].size
    if isinstance(form, Reduce):
        return program.avals[op.args[0]].size
    if isinstance(form, Call):
        operand = program.avals[op.args[0]]
        if form.routine in _OPERATIONS_PER_ELEMENT:
            return round(_OPERATIONS_PER_ELEMENT[form.routine] * operand.size * min(operand.shape[-2:]))
        order = operand.shape[-1]
        per_element = _ORDERS_PER_ELEMENT.get(form.routine, 2) * order
        return round(program.avals[op.out].size * per_element)
    return 0


def _by_line(ops: Sequence[Op]) -> list[str]:
    """Return one line of text for each source line of the ops, with the names of its ops."""
    lines: dict[str, list[str]] = {}
    for op in ops:
        source = op.source
        where = source.short_link if source is not None else "unknown line"
        lines.setdefault(where, []).append(op.primitive.name)
    return [f"{where}  {', '.join(dict.fromkeys(names))}" for where, names in lines.items()]


def size_text(nbytes: int) -> str:
    """Return a size in bytes with its unit."""
    for unit in ("B", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.4g} {unit}"
        nbytes /= 1000  # type: ignore[assignment]
    return f"{nbytes:.4g} GB"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
