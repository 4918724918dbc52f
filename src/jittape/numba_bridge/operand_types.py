"""Arguments of user functions of whole arrays: their Numba types, and whether the function writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype, from_dtype

from jittape.core.dtypes import NATIVE_NUMBERS
from jittape.core.program import Aval
from jittape.numba_bridge.scalar_function import python_function, steps_and_values

__all__ = ["ArgumentTypes", "returned_number"]


_WRITERS = {"ascontiguousarray", "asfortranarray", "fill_diagonal", "flat", "nditer"}
"""Names by which a function may write to an array that Numba knows to be read-only."""


def _may_write_read_only(function: Any) -> bool:
    """Return whether Numba may compile writes to read-only arguments in a function, or in one that it calls."""
    for steps, values in steps_and_values(python_function(function)):
        names = {step.argval for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD")}
        names |= {getattr(value, "__name__", "") for value in values}
        # np.dot(a, b, out); the number of operands of CALL_FUNCTION_EX is unknown.
        calls = [step for step in steps if step.opname.startswith("CALL")]
        if names & _WRITERS or (
            "dot" in names and any(step.opname == "CALL_FUNCTION_EX" or (step.arg or 0) > 2 for step in calls)
        ):
            return True
    return False


class ArgumentTypes:
    """Numba types with which operands are passed to a function of whole arrays.

    An operand of shape ``()`` is a number. The others are read-only arrays. A function that writes its arguments, or
    was compiled for fixed types, does not accept these and gets writable copies. So does a function with names by which
    Numba compiles writes to read-only arrays.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._found: dict[tuple[tuple[np.dtype[Any], int], ...], tuple[Any, ...]] = {}

    def of(self, avals: Any) -> tuple[Any, ...]:
        """Return the types for operands with these shapes and dtypes; the function is compiled for them.

        Raises
        ------
        NumbaError
            If Numba cannot compile the function.
        """
        key = tuple([(one.dtype, len(one.shape)) for one in avals])
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._accepted(key)
        return found

    def arguments(self, arrays: Any) -> list[Any]:
        """Return operands as arguments of the function."""
        kinds = self.of([Aval(array.shape, array.dtype) for array in arrays])
        return [_as_argument(array, kind) for array, kind in zip(arrays, kinds, strict=True)]

    def number(self, avals: Any, item: int | None) -> np.dtype[Any] | None:
        """Return the dtype of a number that the function returns, or of number `item` of its tuple; None for others."""
        kind = self.returned(avals)
        kind = types.unliteral(kind if item is None else kind[item])
        return as_dtype(kind) if isinstance(kind, (types.Number, types.Boolean)) else None

    def returned(self, avals: Any) -> Any:
        """Return the Numba type of the result for operands with these shapes and dtypes."""
        kinds = self.of(avals)
        overload = self._dispatcher.overloads.get(kinds)
        if overload is None:  # an explicit signature for arrays with any strides
            called = types.Dispatcher(self._dispatcher).get_call_type(self._dispatcher.typingctx, kinds, {})
            return called.return_type
        return overload.signature.return_type

    def _accepted(self, key: tuple[tuple[np.dtype[Any], int], ...]) -> tuple[Any, ...]:
        writable = _types(key, readonly=False)
        if not self._dispatcher._can_compile:
            return writable
        first = None
        choices = (_types(key, readonly=True), writable)
        for kinds in choices[1:] if _may_write_read_only(self._dispatcher) else choices:
            try:
                self._dispatcher.compile(kinds)
            except (NumbaError, AttributeError) as error:  # the latter for an update of a read-only slice
                first = first or error
            else:
                return kinds
        assert first is not None
        raise first


def returned_number(dispatcher: Any, name: str, avals: Any, reason: str) -> np.dtype[Any]:
    """Return the dtype of the number that a function of whole arrays returns.

    Raises
    ------
    TypeError
        If Numba does not compile the function, for numbers for the given `reason`, or it returns an array.
    """
    argument_types = ArgumentTypes(dispatcher)
    given = ", ".join([str(kind) for kind in _types(tuple([(x.dtype, len(x.shape)) for x in avals]), False)])
    try:
        returned = types.unliteral(argument_types.returned(avals))
    except (NumbaError, AttributeError) as error:
        raise TypeError(f"{reason}\nNor does Numba compile {name} for ({given}): {error}") from None
    if not isinstance(returned, (types.Number, types.Boolean)) or as_dtype(returned) not in NATIVE_NUMBERS:
        raise TypeError(
            f"numba_op: {name} is a function of whole arrays, as Numba does not compile it for numbers, and returns "
            f"{returned} for ({given}). Pass result=, the jt.TensorSpec of its result or a function that returns it"
        )
    dtype: np.dtype[Any] = as_dtype(returned)
    return dtype


def _types(key: tuple[tuple[np.dtype[Any], int], ...], readonly: bool) -> tuple[Any, ...]:
    return tuple(
        [
            types.Array(from_dtype(dtype), rank, "C", readonly=readonly) if rank else from_dtype(dtype)
            for dtype, rank in key
        ]
    )


def _as_argument(array: np.ndarray[Any, Any], kind: Any) -> Any:
    if array.shape == ():
        return array[()]
    if kind.mutable:
        return np.array(array, order="C")
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
