"""Gradient rules that are derived from the source of a `numba_op`'s function."""

from __future__ import annotations

import itertools
import linecache
import re
from typing import Any

import numpy as np
from numba import njit, types
from numba.np.numpy_support import from_dtype

from jittape.core.primitive import active_recorder
from jittape.errors import NoGradientError
from jittape.numba_ad import gradient_of_dispatcher
from jittape.primitives.broadcast import broadcast_operands, cast_to, promote

__all__ = ["DerivedRule", "function_of_text"]

_files = itertools.count()

_ALLOCATES = re.compile(r"np\.(empty|zeros|ones|full|arange|linspace)|copy\(")
_DRAWS = re.compile(r"np\.random\.")


class DerivedRule:
    """The gradient rule of one operand of a `numba_op` without `vjp`; it is derived for the dtypes of each use."""

    def __init__(self, op: Any, operand: int) -> None:
        self._op = op
        self._operand = operand
        self._rules: dict[tuple[Any, ...], Any] = {}

    def __call__(self, g: Any, out: Any, *inputs: Any, **params: Any) -> Any:
        operands: list[Any] = list(inputs)
        on_arrays = self._op._result is not None
        rank = 0 if on_arrays else len(operands[0].shape)
        kinds = [_numba_type(x.dtype, len(x.shape) if on_arrays else 0) for x in operands]
        key = (rank, *kinds)
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = self._derive(kinds, rank)
        if not on_arrays:
            g, out, *operands = broadcast_operands(*promote(g, out, *operands), op=self._op.name)
        return cast_to(rule(g, out, *operands), operands[self._operand].dtype)

    def _derive(self, kinds: list[Any], rank: int) -> Any:
        """Return the recorder of the derived function for operands of these Numba types."""
        op, position = self._op, self._operand
        names = [f"x{i}" for i in range(len(kinds))]
        elementwise = op._result is None if op._vjp_of is None else op._vjp_of[2]
        if (
            elementwise and op._result is not None
        ):  # the rule of a function of numbers that runs between kernels
            rank = getattr(kinds[0], "ndim", 0)
            kinds = [getattr(kind, "dtype", kind) for kind in kinds]
        try:
            dispatcher, derived, used = self._gradient_of(kinds, names)
            if _contains(derived, _DRAWS):
                raise NoGradientError(
                    "It draws random numbers, and the derivative would draw others. Draw them before, and pass them "
                    "as an operand"
                )
        except (NoGradientError, TypeError) as error:
            builder: Any = active_recorder()
            raise NoGradientError(
                f"No gradient could be derived for {op.name}, recorded at {builder.source or 'an unknown line'}. "
                f"{str(error).rstrip('.')}. Or pass the derivative, jt.numba_op({op.name}, vjp=...)"
            ) from None
        # Inlined code in a kernel cannot allocate stacks for recorded values, so such a rule runs between kernels.
        allocates = _contains(derived, _ALLOCATES)
        loops = rank and (allocates or op._result is not None)
        text = _text_on_elements(names, used, rank) if loops else _text_on_numbers(names, used)
        result = (
            (lambda g, out, *operands: operands[position]) if allocates or op._result is not None else None
        )
        vjp_of = None if dispatcher is None else (dispatcher, position, elementwise)
        return type(op)(
            function_of_text(text, f"{op.name}_vjp", derived=derived), None, result, vjp_of=vjp_of
        )._body

    def _gradient_of(self, kinds: list[Any], names: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the function if it is no derivative, the derived one, and the names of its arguments."""
        op, purpose = self._op, f"numba_op({self._op.name})"
        if op._vjp_of is None:
            from jittape.numba_bridge.scalar_function import as_dispatcher

            dispatcher = as_dispatcher(op._forward)
            gradient = _silent(gradient_of_dispatcher(dispatcher, self._operand, "vjp", purpose, False))
            return dispatcher, gradient.derived((types.float64, *kinds)), ["g", *names]
        # A Hessian is symmetric: the derivative of a cotangent, multiplied by a vector, is a tangent of cotangents.
        dispatcher, number, _ = op._vjp_of
        own, tangent = kinds[2:], kinds[2 + number]
        if self._operand == 0:
            gradient = _silent(gradient_of_dispatcher(dispatcher, number, "tangent", purpose, False))
            return None, gradient.derived((tangent, *own)), ["g", *names[2:]]
        first = _silent(gradient_of_dispatcher(dispatcher, self._operand - 2, "vjp", purpose, False))
        gradient = _silent(gradient_of_dispatcher(first, number + 1, "tangent", purpose, False))
        return None, gradient.derived((tangent, kinds[0], *own)), ["g", names[0], *names[2:]]


def _silent(gradient: Any) -> Any:
    """Return a gradient whose code does not print, as the call of the function did."""
    gradient.silent = True
    return gradient


def _numba_type(dtype: Any, rank: int) -> Any:
    kind = from_dtype(np.dtype(dtype))
    return types.Array(kind, rank, "C") if rank else kind


def _contains(derived: Any, pattern: re.Pattern[str]) -> bool:
    """Return whether the source of a derived function contains a match of `pattern`."""
    lines = linecache.getlines(derived.py_func.__code__.co_filename)
    return pattern.search("".join(lines)) is not None


def _text_on_numbers(names: list[str], used: list[str]) -> str:
    return f"def vjp(g, out, {', '.join(names)}):\n    return derived({', '.join(used)})\n"


def _text_on_elements(names: list[str], used: list[str], rank: int) -> str:
    """Return the text of a function that applies the rule to each element of arrays with `rank` dimensions."""
    lines = [f"def vjp(g, out, {', '.join(names)}):", "result = np.empty(out.shape, dtype=out.dtype)"]
    lines += [f"{'    ' * axis}for i{axis} in range(out.shape[{axis}]):" for axis in range(rank)]
    index = ", ".join([f"i{axis}" for axis in range(rank)])
    elements = ", ".join([f"{name}[{index}]" for name in used])
    lines += [f"{'    ' * rank}result[{index}] = derived({elements})", "return result"]
    return "\n    ".join(lines) + "\n"


def function_of_text(text: str, name: str, **known: Any) -> Any:
    """Compile the text of a rule; its lines are kept, as the second derivative is derived from them."""
    namespace: dict[str, Any] = {"np": np, **known}
    file = f"<jittape {name} {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)
    function = namespace["vjp"]
    function.__name__ = function.__qualname__ = name
    return njit(error_model="numpy")(function)
