"""The op that made a nan, an infinity or a subnormal number: a program runs again op by op with NumPy.

From a bad result, the search goes back through bad operands to an op whose operands are all good. Bad values that
`where` or another op has replaced are not on this way, so they are not blamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core import interpret as interpreter
from jittape.core.dtypes import is_differentiable
from jittape.core.forms import Control, runs_of
from jittape.core.program import GradientLine, Op, Program, SourceLine

__all__ = ["Origin", "describe_array", "origin_of", "subnormal_count"]

IsBad = Callable[[np.ndarray[Any, Any]], bool]


class Origin(NamedTuple):
    """The op that made the first bad value, or the input that has it.

    Attributes
    ----------
    operation : str
        Name of the op; empty if an input of the program is bad.
    line : SourceLine or None
        The line that recorded it; for an op of a gradient, the line of the differentiated op; for an input, the line
        that reads it first.
    backward : bool
        Whether the op is a part of a gradient.
    result : str
        Description of the result: dtype, shape, range, and number of bad elements.
    operands : tuple of str
        Descriptions of the operands.
    iteration : int or None
        Number of the iteration, for an op in a loop; None elsewhere.
    """

    operation: str
    line: SourceLine | None
    backward: bool
    result: str
    operands: tuple[str, ...]
    iteration: int | None = None

    def __str__(self) -> str:
        place = "an unknown line" if self.line is None else str(SourceLine(*self.line))
        if not self.operation:
            return f"it is in an input of the step, first read at {place}: {self.result}"
        where = f"in the gradient of {place}" if self.backward else f"at {place}"
        inside = "" if self.iteration is None else f", in iteration {self.iteration} of a loop"
        texts = [f"`{self.operation}` made it {where}{inside}", f"    result:    {self.result}"]
        return "\n".join([*texts, *[f"    operand {i}: {text}" for i, text in enumerate(self.operands, 1)]])


@np.errstate(all="ignore")
def origin_of(program: Program, inputs: Sequence[Any], is_bad: IsBad) -> Origin | None:
    """Return where the first bad value on the way to a bad output is made; None if all outputs are good.

    Parameters
    ----------
    program : Program
    inputs : sequence of ndarray or scalar
        One for every input slot.
    is_bad : callable
        Whether an array has a bad element.
    """
    texts: dict[int, str] = {}
    bad: set[int] = set()

    def note(slot: int, value: Any) -> None:
        array = np.asarray(value)
        texts[slot] = describe_array(array)
        if is_bad(array):
            bad.add(slot)

    inner: dict[int, Origin] = {}
    values: dict[int, Any] = {}
    for slot, value in zip(program.inputs, inputs, strict=True):
        values[slot] = np.asarray(value, program.avals[slot].dtype)
        note(slot, values[slot])
    runs = runs_of(program.ops)
    for op in program.ops:
        run = runs.get(op.out, (op,))
        if op is not run[0]:
            continue
        operands = [values[slot] for slot in op.args]
        clean = bad.isdisjoint(op.args)
        if clean and isinstance(op.primitive.lowering, Control):
            results, found = _run_loop(program, run, operands, is_bad)
        else:
            results, found = interpreter.run_ops(program, run, operands), None
        for one, result in zip(run, results, strict=True):
            values[one.out] = result
            note(one.out, result)
            if found is not None:
                inner[one.out] = found
    return _walk_back(program, bad, texts, inner)


def _walk_back(
    program: Program, bad: set[int], texts: Mapping[int, str], inner: Mapping[int, Origin]
) -> Origin | None:
    """Go back from the bad outputs to their origins; return the first of them in the order of the program."""
    makers = {op.out: op for op in program.ops}
    waiting = [slot for slot in program.outputs if slot in bad]
    seen: set[int] = set()
    origins: list[int] = []
    while waiting:
        slot = waiting.pop()
        if slot in seen:
            continue
        seen.add(slot)
        op = makers.get(slot)
        before = [] if op is None else [arg for arg in op.args if arg in bad]
        waiting += before
        if not before:
            origins.append(slot)
    if not origins:
        return None
    slot = min(origins)
    if slot in inner:
        return inner[slot]
    op = makers.get(slot)
    if op is None:
        reader = next((one for one in program.ops if slot in one.args), None)
        return Origin("", None if reader is None else reader.source, False, texts[slot], ())
    return _origin(op, texts[slot], [texts[arg] for arg in op.args])


def _origin(op: Op, result: str, operands: Sequence[str], iteration: int | None = None) -> Origin:
    backward = isinstance(op.source, GradientLine)
    return Origin(op.primitive.name, op.source, backward, result, tuple(operands), iteration)


def _run_loop(
    program: Program, run: Sequence[Op], operands: list[Any], is_bad: IsBad
) -> tuple[list[Any], Origin | None]:
    """Run a loop or a branch; return its results, and the first op in its bodies that makes a bad value."""
    found: list[Origin] = []
    loop = run[0]
    backward = isinstance(loop.source, GradientLine)
    counts: dict[tuple[int, int], int] = {}
    original = interpreter.run_ops

    def checked(program: Program, run: Sequence[Op], operands: list[Any]) -> list[Any]:
        results = original(program, run, operands)
        if not found:
            at = (id(program), run[0].out)
            counts[at] = counts.get(at, 0) + 1
            if not any(map(is_bad, operands)) and any(map(is_bad, results)):
                texts = [describe_array(value) for value in (next(filter(is_bad, results)), *operands)]
                one = _origin(run[0], texts[0], texts[1:], counts[at])
                found.append(one._replace(backward=one.backward or backward, line=one.line or loop.source))
        return results

    interpreter.run_ops = checked
    try:
        results = interpreter.run_control(program, run, operands)
    finally:
        interpreter.run_ops = original
    return results, found[0] if found else None


def describe_array(array: np.ndarray[Any, Any]) -> str:
    """Return dtype, shape, range and the number of nans, infinities and subnormal numbers of an array."""
    array = np.asarray(array)
    text = f"{array.dtype}{list(array.shape)}"
    if not array.size:
        return text
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag])
    if not is_differentiable(array.dtype):
        return f"{text} from {array.min()} to {array.max()}"
    finite = array[np.isfinite(array)]
    if finite.size:
        text += f" from {finite.min():.6g} to {finite.max():.6g}"
        smallest = np.abs(finite[finite != 0]).min(initial=np.inf)
        text += f", smallest size {smallest:.3g}" if smallest < 1e-6 else ""
    nans, infinities = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    kinds = ((nans, "nan"), (infinities, "inf"), (subnormal_count(array), "subnormal"))
    counts = [f"{count:,} {name}" for count, name in kinds if count]
    return f"{text}; {', '.join(counts)} of {array.size:,} elements" if counts else text


def subnormal_count(array: np.ndarray[Any, Any]) -> int:
    """Return the number of subnormal (denormal) elements of an array of floats."""
    if array.dtype.kind == "c":
        return subnormal_count(array.real) + subnormal_count(array.imag)
    if array.dtype.kind != "f":
        return 0
    size = np.abs(array)
    return int(((size > 0) & (size < np.finfo(array.dtype).tiny)).sum())
