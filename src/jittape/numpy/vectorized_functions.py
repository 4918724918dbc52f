"""`vectorize`: functions of single numbers, called for each element in a loop that records."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.core.user_calls import shown
from jittape.numpy.array_arguments import as_operand, as_tensor, dtype_found
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import broadcast_to, reshape
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor, holds_tensors

__all__ = ["Vectorize"]

_NO_ELEMENTS = "cannot call `vectorize` on size 0 inputs unless `otypes` is set"
_PYTHONS = frozenset(map(np.dtype, (np.int64, np.float64, np.complex128)))
"""Dtypes with the arithmetic of Python's numbers."""
_WIDE = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


class Vectorize:
    """A function that calls `pyfunc` for each element of its arguments; see `numpy.vectorize`.

    The elements of a tensor of floats are 0-d tensors, so each call records and gradients flow. Others are Python
    numbers, as in NumPy. The loop runs in Python: a function of whole tensors is faster.

    Parameters
    ----------
    pyfunc : callable, optional
        Without it, the object is a decorator.
    otypes : str or list of dtypes, optional
        The dtype of each result. By default that of the first element's result.
    doc : str, optional
        The docstring. By default that of `pyfunc`.
    excluded : set of str or int, optional
        Names or positions of arguments that are passed as they are.
    cache : bool
        Accepted: `pyfunc` is called once for each element, the first included.
    signature : str, optional
        Core dimensions as in ``"(n,m),(m)->(n)"``: `pyfunc` then takes and returns tensors of these dimensions.

    Examples
    --------
    >>> import jittape as jt
    >>> import jittape.numpy as np
    >>> relu = np.vectorize(lambda x: x if x > 0 else 0.0)
    >>> jt.grad(lambda x: np.sum(relu(x)))(np.array([-1.0, 2.0])).tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        pyfunc: Any = np._NoValue,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Iterable[int | str] | None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        checked: Any = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)  # raises NumPy's errors
        self.otypes = None if otypes is None else [_dtype_of_result(t) for t in checked.otypes]
        self.excluded: set[Any] = checked.excluded
        self.cache, self.signature = cache, signature
        self.pyfunc = pyfunc
        self._doc = doc
        if pyfunc is not np._NoValue:
            self._describe(pyfunc)

    def _describe(self, pyfunc: Any) -> None:
        self.__doc__ = getattr(pyfunc, "__doc__", None) if self._doc is None else self._doc
        if hasattr(pyfunc, "__name__"):
            self.__name__ = pyfunc.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results for the elements of the arguments, which are broadcast."""
        if self.pyfunc is np._NoValue:
            self.pyfunc = args[0]
            self._describe(self.pyfunc)
            return self
        places = [i for i in range(len(args)) if i not in self.excluded]
        names = [name for name in kwargs if name not in self.excluded]

        def function(*elements: Any) -> Any:
            given = list(args)
            for i, element in zip(places, elements, strict=False):
                given[i] = element
            return self.pyfunc(*given, **{**kwargs, **dict(zip(names, elements[len(places) :], strict=True))})

        operands = [*(args[i] for i in places), *(kwargs[name] for name in names)]
        if self.signature is not None:
            return self._by_signature(function, operands)
        if not operands:
            return function()
        given = [_operand(x) for x in operands]
        shape = np.broadcast_shapes(*[tuple(np.shape(x)) for x in given])
        if self.otypes is None and not all([np.size(x) for x in given]):
            raise ValueError(_NO_ELEMENTS)
        found = [function(*row) for row in zip(*[_elements(x, shape) for x in given], strict=True)]
        first: Any = found[0] if found else (0,) * len(self.otypes or ())
        several = len(first) > 1 if isinstance(first, tuple) else False
        columns = _columns(found, len(first) if several else 1, several)
        dtypes = self.otypes
        if dtypes is None:
            if any([dtype_found(x) not in _PYTHONS for x in given]):
                first = function(*[_scalar(x) for x in given])
            dtypes = [self._dtype(value) for value in (first if several else (first,))]
        results = [_joined(column, dtype, shape) for column, dtype in zip(columns, dtypes, strict=True)]
        return tuple(results) if several else results[0]

    def _dtype(self, value: Any) -> np.dtype[Any]:
        """Return the dtype of a result; raise for one that is no number."""
        if not isinstance(value, (Operators, np.ndarray)) and np.asarray(value).dtype.kind not in "biufc":
            name = getattr(self.pyfunc, "__name__", "pyfunc")
            raise TypeError(
                f"[vectorize] {name} must return numbers, got {shown(value)}; use numpy.vectorize"
            )
        return as_dtype(dtype_found(value))

    def _by_signature(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        inputs, outputs = _core_dimensions(self.signature or "")
        if len(args) != len(inputs):
            raise TypeError(f"wrong number of positional arguments: expected {len(inputs)}, got {len(args)}")
        tensors = [as_tensor(as_operand(x, weak=False)) for x in args]
        sizes: dict[str, int] = {}
        for tensor, core in zip(tensors, inputs, strict=True):
            _measure(tensor, core, sizes)
        loops = [t.shape[: len(t.shape) - len(core)] for t, core in zip(tensors, inputs, strict=True)]
        shape = np.broadcast_shapes(*map(tuple, loops))
        spread = [
            broadcast_to(t, (*shape, *[sizes[d] for d in core]))
            for t, core in zip(tensors, inputs, strict=True)
        ]
        found = [function(*[t[index] for t in spread]) for index in np.ndindex(*shape)]
        columns = _columns(found, len(outputs), len(outputs) > 1)
        if found:
            for column, core in zip(columns, outputs, strict=True):
                _measure(column[0], core, sizes)
        elif self.otypes is None:
            raise ValueError(_NO_ELEMENTS)
        elif any(d not in sizes for core in outputs for d in core):
            raise ValueError(
                "cannot call `vectorize` with a signature including new output dimensions on size 0 inputs"
            )
        dtypes = self.otypes or [self._dtype(column[0]) for column in columns]
        results = [
            _joined(column, dtype, shape, tuple([sizes[d] for d in core]))
            for column, dtype, core in zip(columns, dtypes, outputs, strict=True)
        ]
        return tuple(results) if len(outputs) > 1 else results[0]


def _dtype_of_result(otype: Any) -> np.dtype[Any]:
    dtype = np.dtype(otype)
    if dtype.kind not in "biufc":
        raise TypeError(
            f"[vectorize] otypes must be dtypes of numbers, got {shown(otype)}; use numpy.vectorize"
        )
    return as_dtype(dtype)


# ---- operands --------------------------------------------------------------------------------------------------------


def _operand(value: Any) -> Any:
    """Return an argument as a tensor, or as an array if no gradient can flow to it."""
    if not isinstance(value, Operators) and not holds_tensors(value):
        return np.asarray(value)
    tensor = as_tensor(value)
    is_known = tensor._buffer is not None or tensor._trace.traced_in is None
    return tensor.numpy() if is_known and tensor.aval.dtype.kind not in "fc" else tensor


def _elements(operand: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yield the elements in order: Python numbers, or 0-d tensors. Floats are float64 then, as in Python."""
    if not isinstance(operand, Tensor):
        yield from np.broadcast_to(operand, shape).ravel().tolist()
        return
    wide = cast(operand, _WIDE.get(operand.aval.dtype.kind, operand.aval.dtype))
    flat = reshape(broadcast_to(wide, shape), (-1,))
    # One at a time: 300 elements with a branch each take 19 ms; if all are made first, 48.
    for i in range(math.prod(shape)):
        yield flat[i]


def _scalar(operand: Any) -> Any:
    """Return the first element in its own dtype: the dtype of its result is that of all results, as in NumPy."""
    return reshape(operand, (-1,))[0] if isinstance(operand, Tensor) else operand.flat[0]


# ---- results ---------------------------------------------------------------------------------------------------------


def _columns(found: list[Any], count: int, several: bool) -> list[list[Any]]:
    """Return the results of all calls one by one; raise if a call returns another number of them."""
    rows = [result if several and isinstance(result, tuple) else (result,) for result in found]
    for row in rows:
        if len(row) != count or (not several and isinstance(row[0], tuple)):
            got = len(row[0]) if isinstance(row[0], tuple) else len(row)
            raise ValueError(f"wrong number of outputs from pyfunc: expected {count}, got {got}")
    return [[row[i] for row in rows] for i in range(count)]


def _joined(
    column: list[Any], dtype: np.dtype[Any], shape: tuple[int, ...], core: tuple[int, ...] | None = None
) -> Any:
    """Return the results of all calls as one tensor. They are numbers, or tensors of the shape `core`."""
    whole = (*shape, *(core or ()))
    if not column:
        return as_tensor(np.zeros(whole, dtype))
    if core is None and any(np.shape(value) for value in column):
        raise ValueError("setting an array element with a sequence.")
    if core is None and dtype.kind != "c" and any(dtype_found(value).kind == "c" for value in column):
        raise TypeError(f"a complex result cannot be stored as {dtype.name}; give otypes")
    if not holds_tensors(column):
        return as_tensor(
            np.array([np.broadcast_to(value, core or ()) for value in column], dtype).reshape(whole)
        )
    parts = [broadcast_to(cast(as_tensor(value), dtype), core or ()) for value in column]
    return reshape(stack(parts), whole)


# ---- signatures ------------------------------------------------------------------------------------------------------


def _core_dimensions(signature: str) -> list[list[tuple[str, ...]]]:
    """Return the names of the core dimensions of the arguments and of the results."""
    sides = re.sub(r"\s+", "", signature).split("->")
    return [[tuple(re.findall(r"\w+", group)) for group in re.findall(r"\([^)]*\)", side)] for side in sides]


def _measure(value: Any, core: tuple[str, ...], sizes: dict[str, int]) -> None:
    """Enter the sizes of core dimensions into `sizes`; raise if they contradict those known."""
    shape = tuple(np.shape(value))
    if len(shape) < len(core):
        raise ValueError(
            f"{len(shape)}-dimensional argument does not have enough dimensions for all core dimensions {core}"
        )
    for name, size in zip(core, shape[len(shape) - len(core) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}")


Vectorize.__name__ = Vectorize.__qualname__ = "vectorize"
Vectorize.__module__ = "jittape.numpy"
