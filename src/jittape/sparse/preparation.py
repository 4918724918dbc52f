"""Preparation of a sparse derivative: its pattern, and a compiled function of its elements."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from jittape.core.dtypes import is_floating
from jittape.core.locks import cached_property
from jittape.core.program import Aval
from jittape.core.user_calls import function_name
from jittape.errors import FunctionWarning
from jittape.functions.concrete_function import Concrete
from jittape.functions.function import Function
from jittape.functions.signature import Call, TensorSpec, flatten_call
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import Captured, Leaf
from jittape.recording.tensor import Tensor
from jittape.sparse.compressed_products import Compression, compressed_jacobian, compression_of
from jittape.sparse.index_sets import IndexSets
from jittape.sparse.known_diagonals import KnownDiagonals, known_diagonals
from jittape.sparse.set_matrices import MOST_ELEMENTS, DenseSets
from jittape.sparse.sparsity_pattern import SparsityPattern
from jittape.transforms.jacobians import jacobian

__all__ = ["Plan", "Request"]

_FEW_PASSES = 8
"""Number of passes up to which the search for a better coloring ends."""


class Plan:
    """The pattern of a sparse derivative for arguments of some shapes, and the computation of its elements.

    Attributes
    ----------
    pattern : SparsityPattern
    diagonals : KnownDiagonals or None
        None if a coloring is used.
    compiled : Function
        Compiled function of the elements.
    """

    def __init__(self, request: Request, pattern: SparsityPattern, diagonals: KnownDiagonals | None) -> None:
        self._request = request
        self.pattern = pattern
        self.diagonals = diagonals
        self.compiled = (
            self.differentiable
            if diagonals is None
            else Function(functools.partial(_recorded_diagonals, diagonals))
        )

    @cached_property
    def coloring(self) -> tuple[str, Compression]:
        """The kind of the coloring, and the passes that it needs."""
        return self._request.coloring_of(self.pattern)

    @cached_property
    def differentiable(self) -> Function:
        """The compiled function of the elements by operations that have gradients."""
        given = self._request.f, self._request.argnum, self.coloring[1]
        return Function(functools.partial(_recorded_products, *given))

    @property
    def makes_new_elements(self) -> bool:
        """Whether each call computes the elements; otherwise they are a constant."""
        return self.diagonals is None or bool(self.diagonals.sources)

    @property
    def method(self) -> str:
        """How the elements are computed."""
        if self.diagonals is not None:
            return "diagonals"
        method, compression = self.coloring
        return f"{method} coloring, {compression.passes} passes"


def _recorded_diagonals(diagonals: KnownDiagonals, *args: Any, **kwargs: Any) -> Tensor:
    return diagonals.data(flatten_call(args, kwargs).leaves)


def _recorded_products(
    f: Callable[..., Any], argnum: int, compression: Compression, *args: Any, **kwargs: Any
) -> Tensor:
    return compressed_jacobian(f, args, kwargs, argnum, compression)


@dataclass(frozen=True)
class Request:
    """A request for a sparse derivative: the function, and how the elements are computed.

    Attributes
    ----------
    name : str
        Name of the transform, for errors.
    f : callable
        Function whose Jacobian is requested; for a Hessian, the gradient.
    argnum : int
        Number of the varied argument.
    format : {"csr", "csc", "coo"}
    method : str or None
        None chooses the best one.
    is_symmetric : bool
        Whether the matrix is a Hessian.
    """

    name: str
    f: Callable[..., Any]
    argnum: int
    format: str
    method: str | None
    is_symmetric: bool

    def plan(self, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call) -> Plan:
        """Return the plan for arguments like these; `call` has them flattened."""
        x = self._checked_argument(args)
        if self.method in (None, "diagonals"):
            plan = self._plan_of_diagonals(args, kwargs, x)
            if plan is not None:
                return plan
            if self.method == "diagonals":
                raise ValueError(
                    f"[{self.name}] the operations of {function_name(self.f)} do not imply a few diagonals: leave out "
                    "method, or use a coloring"
                )
        return Plan(self, self._pattern_of_sets(args, kwargs, call, x), None)

    def _plan_of_diagonals(self, args: tuple[Any, ...], kwargs: dict[str, Any], x: Aval) -> Plan | None:
        dense = jacobian(self.f, self.argnum, unconnected_gradients="zero")
        trace = self._traced(dense, args, kwargs)
        value = self._checked_value(trace, x.ndim)
        if not trace.avals:  # zeros: the value does not depend on the argument
            return Plan(self, self._pattern([], [], (value.size, x.size)), None)
        diagonals = known_diagonals(trace, value.size, self.format)
        return None if diagonals is None else Plan(self, diagonals.pattern, diagonals)

    def _pattern(self, rows: Any, columns: Any, shape: tuple[int, int]) -> SparsityPattern:
        positions = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
        return SparsityPattern.of_positions(*positions, shape, self.format)[0]

    def _pattern_of_sets(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], call: Call, x: Aval
    ) -> SparsityPattern:
        """Return the pattern from the index sets of the value."""
        trace = self._traced(self.f, args, kwargs)
        value = self._checked_value(trace, 0)
        number = self._leaf_number(args)
        identity = scipy.sparse.eye_array(x.size, dtype=bool, format="csr")
        given: dict[int, Any] = {}
        known: dict[int, Any] = {}
        program = trace.program
        for slot, source in zip(program.inputs, trace.sources, strict=True):
            aval = program.avals[slot]
            if isinstance(source, Leaf) and source.number == number:
                given[slot] = identity
            elif isinstance(source, Leaf) and aval.dtype.kind in "biu":
                known[slot] = np.asarray(call.leaves[source.number], aval.dtype)
            elif isinstance(source, Captured):
                known[slot] = source.buffer.array
        known |= {slot: np.asarray(v, program.avals[slot].dtype) for slot, v in trace.constants().items()}
        if not program.outputs:  # a constant
            return self._pattern([], [], (value.size, x.size))
        try:
            sets = IndexSets(program, given, known, x.size).of(program.outputs[0])
        except DenseSets:
            raise ValueError(
                f"[{self.name}] the matrix of {function_name(self.f)} is dense: its {value.size:,} rows have more than "
                f"{MOST_ELEMENTS:,} elements; use jt.jvp, jt.vjp or jt.hvp for its products with vectors"
            ) from None
        if self.is_symmetric:
            sets = sets + sets.T
        found = sets.tocoo()
        return self._pattern(found.row, found.col, (value.size, x.size))

    def _traced(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Concrete:
        with warnings.catch_warnings():  # the error below replaces the warning
            warnings.filterwarnings("ignore", ".* is not compiled for these arguments", FunctionWarning)
            concrete = Function(f).get_concrete_function(*args, **kwargs)
        trace = concrete._concrete
        if not isinstance(trace, Concrete):
            raise ValueError(
                f"[{self.name}] the pattern of {function_name(self.f)} depends on the data, as it needs the "
                f"value of a tensor: {concrete.signature.recorded}"
            )
        return trace

    def coloring_of(self, pattern: SparsityPattern) -> tuple[str, Compression]:
        """Return the coloring to use: the given one, or the one with the fewest passes."""
        if self.method not in (None, "diagonals"):
            return self.method, compression_of(self.method, pattern)
        methods = ("column", "star") if self.is_symmetric else ("column", "row", "bidirectional")
        best = None
        for method in methods:
            found = compression_of(method, pattern)
            if best is None or found.passes < best[1].passes:
                best = method, found
            if best[1].passes <= _FEW_PASSES:
                break
        assert best is not None
        return best

    # ---- checks ----------------------------------------------------------------------------------------------------

    def _leaf_number(self, args: tuple[Any, ...]) -> int:
        """Return the number of the varied argument among the flattened arguments."""
        before = flatten_call(args[: self.argnum % len(args)], {})
        return len(before.leaves)

    def _checked_argument(self, args: tuple[Any, ...]) -> Aval:
        """Return the shape and dtype of the varied argument."""
        if not -len(args) <= self.argnum < len(args):
            raise ValueError(
                f"[{self.name}] argnums={self.argnum} requires argument {self.argnum}, but the function was called "
                f"with {len(args)} positional arguments"
            )
        x = args[self.argnum]
        if isinstance(x, (list, tuple, dict)) or x is None:
            raise TypeError(
                f"[{self.name}] the varied argument must be one array, got {type(x).__name__}: join its parts, as "
                "with jt.concat, and take them apart in the function"
            )
        aval = convert_to_tensor(x).aval
        if not is_floating(aval.dtype):
            raise TypeError(f"[{self.name}] the varied argument must have a real floating dtype, got {aval}")
        return aval

    def _checked_value(self, trace: Concrete, varied_dimensions: int) -> Aval:
        """Return the aval of the function's value, given a trace of its Jacobian or, with 0 dimensions, of itself."""
        result = trace.structured_result()
        if not isinstance(result, TensorSpec):
            raise TypeError(f"[{self.name}] the function must return one tensor, it returned {result!r}")
        shape, dtype = result.aval
        if not is_floating(dtype):
            raise TypeError(
                f"[{self.name}] the function must return real floats, its value has dtype {dtype}"
            )
        return Aval(shape[: len(shape) - varied_dimensions], dtype)
