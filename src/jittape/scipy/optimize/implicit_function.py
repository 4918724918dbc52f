"""Solutions of equations as differentiable functions of everything that the equations read.

A solver gives a value x with ``residual(x) = 0``. If the residual reads the tensors p, the implicit function theorem
gives ``dx/dp = -(d residual/dx)^-1 (d residual/dp)``. The gradient solves one linear system with the exact Jacobian. It
consists of recorded operations on the result, so derivatives of any order exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient, tensors_read
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import float64, is_differentiable
from jittape.core.primitive import active_recorder, recording_with
from jittape.core.traced_scalar import TracedScalar
from jittape.errors import ControlFlowError, NoGradientError, ShapeError
from jittape.functions.host_ops import numpy_function
from jittape.functions.signature import TensorSpec
from jittape.primitives.elementwise.arithmetic import multiply, negative
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.linalg.matrices import diag
from jittape.primitives.linalg.solve import solve
from jittape.primitives.shape.reshaping import reshape, transpose
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.nested import flatten, own_handles
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace, current_trace
from jittape.scipy.scipy_operands import float64_tensor
from jittape.transforms.jacobians import jacobian
from jittape.transforms.wrappers import with_values

__all__ = ["Problem", "start_vector"]

NEAR = 1e-2
"""Longest step of Newton's method, relative to the solution, for which a solution that failed has a gradient."""
FAR_AWAY = (
    "the solver did not find a solution, so it has no gradient; see the result's `success`, and start nearer to the "
    "solution or allow more iterations"
)


def _as_operand(leaf: Any) -> Any:
    """Return a number of a traced function as a float64 tensor, or as the int that the trace is specialized to."""
    if type(leaf) is not TracedScalar:
        return leaf
    return convert_to_tensor(leaf, dtype=float64) if np.dtype(leaf.kind).kind == "f" else leaf.__index__()


def start_vector(function: str, x0: Any) -> Any:
    """Return a start as a float64 tensor of one dimension."""
    x0 = float64_tensor(function, x0)
    if len(x0.shape) > 1:
        raise ShapeError(
            f"[{function}] x0 must have at most one dimension, got shape {tuple(x0.shape)}; reshape it"
        )
    return reshape(x0, (-1,)) if len(x0.shape) == 0 else x0


class Problem:
    """A problem that a NumPy solver solves, and the equation that its solution satisfies.

    Parameters
    ----------
    function : str
        Name of the user's function, for messages.
    residual : callable
        ``residual(x, *args)``, recorded: zero, in the shape of `x`, at the solution.
    args : tuple
        Parameters: tensors, arrays, numbers, or nested structures of them.
    """

    def __init__(self, function: str, residual: Callable[..., Any], args: Any) -> None:
        self.function = function
        self.residual = residual
        self.args = args if isinstance(args, tuple) else (args,)
        self.refusal = ""

    def solution(
        self, run: Callable[..., tuple[Any, ...]], start: Any, specs: tuple[Any, ...] = ()
    ) -> tuple[Any, ...]:
        """Return the solution as a tensor, and the other results of the solver.

        ``run(x0, *args)`` is called with arrays; it returns the solution, a mask of its components that no bound holds,
        and further numbers, whose shapes and dtypes `specs` are; the first of them says whether the solver succeeded.
        """
        leaves, rebuild = flatten(self.args)
        leaves = own_handles([_as_operand(leaf) for leaf in leaves])
        self.args = tuple(rebuild(leaves))
        before = current_trace().node
        trial = self.residual(start, *self.args)
        if trial is None:
            raise TypeError(
                f"[{self.function}] the function must compute with x by jittape's operations: no gradient"
            )
        if tuple(trial.shape) != tuple(start.shape):
            raise ShapeError(
                f"[{self.function}] the function must return the shape of x, {tuple(start.shape)}, "
                f"got {tuple(trial.shape)}"
            )
        read = [t for t in tensors_read(before) if t is not start]
        values = [leaf for leaf in leaves if isinstance(leaf, Operators)]
        traced = isinstance(active_recorder(), FunctionTrace)
        if traced:
            self._refuse_outer_tensors(read, values)

        def on_arrays(x0: Any, *arrays: Any) -> list[Any]:
            given = iter(arrays)
            filled = [np.array(next(given)) if isinstance(leaf, Operators) else leaf for leaf in leaves]
            with recording_with(Trace()):
                arguments = rebuild(filled)
                x, free, *others = run(np.array(x0), *arguments)
                moves = np.asarray(free, float64)
                if others and not others[0] and not self._is_close(x, moves, arguments):
                    moves = moves * np.nan
            found = [x, moves, *others]
            return [np.asarray(r, s.dtype) for r, s in zip(found, own, strict=True)]

        own = [TensorSpec(start.shape, float64), TensorSpec(start.shape, float64), *specs]
        if traced:
            found = list(numpy_function(on_arrays, [start, *values], own))
        else:
            for tensor in read:
                tensor.numpy()  # the solver runs in a trace of its own
            results = on_arrays(start.numpy(), *[v.numpy() for v in values])
            if np.isnan(results[1]).any():
                self.refusal = self.refusal or FAR_AWAY
            found = [convert_to_tensor(r) for r in results]
        x, moves, *others = found
        return self._attached(x, moves, read), *others

    def _is_close(self, x: Any, moves: Any, args: Any) -> bool:
        """Return whether a step of Newton's method hardly moves a solution that a solver is not content with."""
        n = int(np.prod(x.shape))
        x = convert_to_tensor(np.asarray(x, float64))
        error = np.asarray(self.residual(x, *args), float64).reshape(n)
        matrix = np.asarray(jacobian(lambda v: self.residual(v, *args))(x), float64).reshape(n, n)
        free = moves.reshape(n) > 0.5
        if not (np.isfinite(error).all() and np.isfinite(matrix).all()):
            return False
        step = np.linalg.lstsq(matrix[np.ix_(free, free)], error[free])[0]
        return bool((np.abs(step) <= NEAR * (1.0 + np.abs(x.numpy().reshape(n)[free]))).all())

    def _refuse_outer_tensors(self, read: list[Any], values: list[Any]) -> None:
        """Raise if the solver would need values of the traced function that are no arguments."""
        given = {id(v) for v in values} | {getattr(v, "_slot", None) for v in values}
        for tensor in read:
            is_value = isinstance(tensor, Tensor) and tensor._buffer is not None
            if not is_value and id(tensor) not in given and getattr(tensor, "_slot", None) not in given:
                kind = "a tensor" if isinstance(tensor, Tensor) else "the Variable"
                raise ControlFlowError(
                    f"[{self.function}] inside a jt.function the function may use only tensors that it is given: pass "
                    f"{kind} of shape {tuple(tensor.shape)} by args="
                )

    def _attached(self, x: Any, moves: Any, read: list[Any]) -> Any:
        """Return `x` with the gradient of the implicit function theorem."""
        if not read:
            return x
        as_read = own_handles(read)
        holder: list[Any] = []

        def gradient(upstream: Any) -> list[Any]:
            if self.refusal:
                raise NoGradientError(f"[{self.function}] {self.refusal}")
            at = holder[0] if holder else x
            with with_values(read, as_read):
                weights = self._weights(at, moves, upstream)
                trace = current_trace()
                with GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch([t for t in read if is_differentiable(t.aval.dtype)])
                    out = self.residual(at, *self.args)
                return tape._cotangents(trace, [out], read, [cast(weights, out.dtype)], zero=True)

        made = custom_gradient(lambda *operands: (x, gradient))(*as_read)
        holder.append(made)
        return made

    def _weights(self, at: Any, moves: Any, upstream: Any) -> Any:
        """Return ``-J^-T upstream``; components at a bound do not move, and nan says that `at` is no solution."""
        n = int(np.prod(at.shape))
        matrix = cast(jacobian(lambda v: self.residual(v, *self.args))(at), float64)
        matrix = reshape(matrix, (n, n))
        moves = reshape(moves, (n,))
        both = multiply(reshape(moves, (n, 1)), reshape(moves, (1, n)))
        matrix = where(both > 0.5, matrix, diag(1.0 - moves))
        rhs = reshape(where(moves > 0.5, reshape(cast(upstream, float64), (n,)), 0.0), (n, 1))
        return reshape(negative(solve(transpose(matrix), rhs)), at.shape)
