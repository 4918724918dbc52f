"""Evaluation of a program with NumPy, op by op: the reference for compiled kernels, and the first run of every path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import is_differentiable
from jittape.core.forms import Control, runs_of
from jittape.core.program import CallLine, Op, Program, is_dynamic_dim
from jittape.core.user_calls import named
from jittape.errors import InvalidIndexError, LinAlgError, NumericsError, ProgramError

__all__ = ["interpret", "memory_error", "not_finite", "run_control", "run_op", "run_ops"]


def interpret(program: Program, inputs: Sequence[Any], failures: list[int] | None = None) -> list[Any]:
    """Evaluate `program` on `inputs`.

    Parameters
    ----------
    program : Program
    inputs : sequence of ndarray or scalar
        One for every input slot, in order; cast to the slot's dtype.
    failures : list, optional
        If given, an op that fails, or an input that does not fit its slot, does not raise: its slot is appended to the
        list, and the results that depend on it are None.

    Returns
    -------
    list of ndarray
        One for every output slot, of the shape and dtype in the program. They may share memory with the inputs.
    """
    with np.errstate(all="ignore"):
        values: dict[int, Any] = {}
        for slot, value in zip(program.inputs, inputs, strict=True):
            try:
                values[slot] = np.asarray(value, program.avals[slot].dtype)
            except Exception:
                if failures is None:
                    raise
                values[slot] = None
                failures.append(slot)
        _run_program(program, values, failures)
    return [values[slot] for slot in program.outputs]


def _run_program(program: Program, values: dict[int, Any], failures: list[int] | None) -> None:
    """Add the outputs to the `values` of the inputs; all others are dropped after their last use."""
    last_use = _last_uses(program)
    runs = runs_of(program.ops)
    is_plain = not runs and failures is None
    for position, op in enumerate(program.ops):
        args, out = op.args, op.out
        if is_plain:  # takes 0.7 µs less
            (values[out],) = run_ops(program, (op,), [values[slot] for slot in args])
        elif op is (run := runs.get(out, (op,)))[0]:
            operands = [values[slot] for slot in args]
            if failures is None:
                results: list[Any] = run_ops(program, run, operands)
            else:
                results = _results_or_none(program, run, operands, failures)
            for other, result in zip(run, results, strict=True):
                values[other.out] = result
        for slot in args:
            if last_use[slot] == position:
                values.pop(slot, None)
        if last_use[out] == position:
            del values[out]


def _results_or_none(
    program: Program, run: Sequence[Op], operands: list[Any], failures: list[int]
) -> list[Any]:
    """Return the results as `run_ops` does; None for each if an operand is None or the run fails, which is noted."""
    try:
        if not any([operand is None for operand in operands]):
            return list(run_ops(program, run, operands))
    except Exception:
        failures.append(run[0].out)
    return [None] * len(run)


def run_ops(program: Program, run: Sequence[Op], operands: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Return the results of an op, or of a run of ops that are one loop or branch.

    Call it under ``np.errstate(all="ignore")``: entering that for each op took a sixth of the time of `interpret`.
    """
    if isinstance(run[0].primitive.lowering, Control):
        return run_control(program, run, operands)
    return [_evaluated(program, run[0], operands)]


@np.errstate(all="ignore")
def run_op(program: Program, op: Op, operands: list[Any]) -> np.ndarray[Any, Any]:
    """Evaluate one op, without NumPy's warnings."""
    return _evaluated(program, op, operands)


def _evaluated(program: Program, op: Op, operands: list[Any]) -> np.ndarray[Any, Any]:
    """Evaluate one op under ``np.errstate(all="ignore")``.

    Exceptions get a note that names the op and its source line. Messages about matrices and indices that an op does not
    accept start with the function that the line calls instead of the op.
    """
    try:
        impl, params = op.primitive.impl, op.params
        result = impl(*operands, **dict(params)) if params else impl(*operands)
        if result.__class__ is not np.ndarray:
            result = np.asarray(result)
    except MemoryError as error:
        raise memory_error(error, op) from None
    except Exception as error:
        if isinstance(error, LinAlgError | InvalidIndexError) and isinstance(op.source, CallLine):
            named(error, op.source.called)
        error.add_note(f"in op {op.primitive.name}, recorded at {op.source or 'an unknown line'}")
        raise
    aval = program.avals[op.out]
    if result.shape != aval.shape or result.dtype != aval.dtype:
        raise ProgramError(
            f"{op.primitive.name} evaluated to {result.dtype}{list(result.shape)}, but its rule says {aval}"
        )
    if config._check_numerics and (found := not_finite(result)):
        raise NumericsError(
            f"{found}: result {aval} of op {op.primitive.name}, recorded at {op.source or 'an unknown line'}"
        )
    return result


def memory_error(error: MemoryError, op: Op) -> MemoryError:
    """Return an error that says what could not be allocated, with the function, op and line that need the memory."""
    called = op.source.called if isinstance(op.source, CallLine) else ""
    found = MemoryError(f"[{called or op.primitive.name}] {error}")
    found.add_note(f"in op {op.primitive.name}, recorded at {op.source or 'an unknown line'}")
    return found


def run_control(program: Program, run: Sequence[Op], operands: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Evaluate a loop or a branch for all its results that the program uses."""
    form, params = run[0].primitive.lowering, dict(run[0].params)
    assert isinstance(form, Control)
    result_indices = [dict(op.params)["result_index"] for op in run]
    del params["result_index"]
    try:
        with np.errstate(all="ignore"):
            results = [np.asarray(result) for result in form.run(operands, result_indices, **params)]
    except Exception as error:
        error.add_note(f"in op {run[0].primitive.name}, recorded at {run[0].source or 'an unknown line'}")
        raise
    for op, result in zip(run, results, strict=True):
        aval = program.avals[op.out]
        shape = (result.shape[0], *aval.shape[1:]) if is_dynamic_dim(aval) else aval.shape
        if result.shape != shape or result.dtype != aval.dtype:
            raise ProgramError(
                f"{op.primitive.name} evaluated to {result.dtype}{list(result.shape)}, but its rule says {aval}"
            )
    return results


def not_finite(array: np.ndarray[Any, Any]) -> str:
    """Describe the nans and infinities of `array` and the position of the first; empty if all elements are finite."""
    if not is_differentiable(array.dtype) or np.isfinite(array).all():
        return ""
    nans, infinities = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    kinds = " and ".join([kind for kind, count in (("Inf", infinities), ("NaN", nans)) if count])
    first = tuple([int(i) for i in np.argwhere(~np.isfinite(array))[0]])
    at = f", the first at {first[0] if len(first) == 1 else first}" if first else ""
    return f"Tensor had {kinds} values ({nans + infinities} of {array.size}{at})"


def _last_uses(program: Program) -> dict[int, int]:
    """Return, for each slot, the position of the op after which it is not used; that after the last one for outputs."""
    last: dict[int, int] = {}
    for position, (_, args, _, out, _) in enumerate(program.ops):
        last[out] = position
        for slot in args:
            last[slot] = position
    last.update(dict.fromkeys(program.outputs, len(program.ops)))
    return last
