"""`numba_op`: a function of the user's, compiled by Numba, as an op.

A scalar function becomes a `Map`: it is inlined into the loops of the kernels around it. A function of whole arrays is
a step between kernels. The derivative is another such op, so it can have one too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, active_recorder, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_function
from jittape.errors import NoGradientError
from jittape.functions.signature import TensorSpec
from jittape.primitives.broadcast import as_symbol, broadcast_operands, cast_to, promote

__all__ = ["NumbaOp", "OnArrays", "array_call", "numba_op"]


class NumbaOp:
    """A function of Numba's as an op, as `numba_op` makes it; called with tensors, arrays and numbers.

    Attributes
    ----------
    name : str
        Of the function.
    operands : tuple of str
        The names of its parameters.
    """

    def __init__(self, forward: Callable[..., Any], vjp: Any, result: Any) -> None:
        from jittape.numba_bridge.scalar_function import python_function

        self._python = python_function(forward)
        functools.update_wrapper(self, self._python)
        self._forward = forward
        self._result = result
        self.name: str = self._python.__name__
        self.operands = tuple(inspect.signature(self._python).parameters)
        self._rules = self._rules_of(vjp)
        self._body = (_Elementwise if result is None else OnArrays)(self)

    def __call__(self, *operands: Any) -> Any:
        """Record the op."""
        if len(operands) != len(self.operands):
            raise TypeError(
                f"{self.name} takes {', '.join(self.operands)}; it was called with {len(operands)} arguments"
            )
        return apply(self._body, operands)

    def _rules_of(self, vjp: Any) -> tuple[_Rule | None, ...] | None:
        """For each operand what gives its cotangent."""
        if vjp is None:
            return None
        count = len(self.operands)
        if isinstance(vjp, (tuple, list)):
            if len(vjp) != count:
                raise ValueError(
                    f"numba_op({self.name}): vjp has {len(vjp)} functions for the operands {', '.join(self.operands)}; "
                    "give one for each, None for an operand without a gradient"
                )
            return tuple([None if rule is None else _Rule(self, rule, None, i) for i, rule in enumerate(vjp)])
        return tuple([_Rule(self, vjp, None if count == 1 else i, i) for i in range(count)])

    def __reduce__(self) -> str:
        return self._python.__qualname__

    def __repr__(self) -> str:
        return f"<jt.NumbaOp {self.name}({', '.join(self.operands)})>"


class _Rule:
    """The gradient rule of one operand: a function of Numba's of ``(g, out, *operands)``, or one of what it returns."""

    def __init__(self, op: NumbaOp, function: Any, item: int | None, operand: int) -> None:
        self._operand = operand
        own = op._result is None
        if isinstance(function, NumbaOp):
            if item is not None:
                raise TypeError(
                    f"numba_op({op.name}): a vjp that is a numba_op itself has to be given for each operand"
                )
            made, self._body = function, function._body
        else:
            like = None if own else _like_operand(operand)
            made = NumbaOp(function, None, like)
            self._body = made._body if item is None else type(made._body)(made, item)
        if len(made.operands) != len(op.operands) + 2:
            raise TypeError(
                f"numba_op({op.name}): the vjp {made.name} must take the cotangent, the result and then "
                f"{', '.join(op.operands)}; it takes {', '.join(made.operands)}"
            )

    def __call__(self, g: Any, out: Any, *operands: Any, **params: Any) -> Any:
        return cast_to(self._body(g, out, *operands), operands[self._operand].dtype)


def _like_operand(operand: int) -> Callable[..., TensorSpec]:
    return lambda g, out, *operands: operands[operand]


class _Body:
    """Records the op; of the tuple that its function returns, number `item`."""

    def __init__(self, op: NumbaOp, item: int | None = None) -> None:
        self.op = op
        self.item = item
        rules = op._rules
        count = len(op.operands)
        self.primitive = Primitive(
            f"numba_op:{op.name}" + ("" if item is None else f"[{item}]"),
            abstract_eval=self.result,
            impl=self.evaluate,
            vjp=(self.refuse,) * count if rules is None else rules,
            lowering=self.form,
        )

    form: Map | None = None

    def result(self, *avals: Aval, **params: Any) -> Aval:
        raise NotImplementedError

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        raise NotImplementedError

    def refuse(self, g: Any, *rest: Any, **params: Any) -> Any:
        """The rule of a function without one."""
        builder: Any = active_recorder()
        raise NoGradientError(
            f"No gradient is defined for {self.op.name}, recorded at {builder.source or 'an unknown line'}: it is a "
            f"numba_op without vjp. Give it one, jt.numba_op({self.op.name}, vjp=...), or stop the path there with "
            "jt.stop_gradient"
        )


class _Elementwise(_Body):
    """A scalar function, applied to every element."""

    def __init__(self, op: NumbaOp, item: int | None = None) -> None:
        from jittape.compile.llvm.external_functions import call_external
        from jittape.numba_bridge.scalar_function import dispatcher_of

        self.form = Map(call_external)
        # A division by zero gives inf or nan, as everywhere in jittape.
        self._dispatcher = dispatcher_of(op._forward, error_model="numpy")
        self._codes: dict[tuple[np.dtype[Any], ...], str] = {}
        super().__init__(op, item)

    def __call__(self, *handles: Any) -> Any:
        operands = broadcast_operands(*promote(*handles), op=self.op.name)
        return self.primitive.bind(*operands, code=self._code(tuple([x.dtype for x in operands])))

    def _code(self, dtypes: tuple[np.dtype[Any], ...]) -> str:
        """What the function for operands of these dtypes is known by."""
        from jittape.numba_bridge.scalar_function import compiled_scalar

        code = self._codes.get(dtypes)
        if code is None:
            made = compiled_scalar(self.op.name, self._dispatcher, dtypes, self.item)
            code = self._codes[dtypes] = made.code
        return code

    def result(self, *avals: Aval, **params: Any) -> Aval:
        """The rule for shape and dtype."""
        from jittape.compile.llvm.external_functions import external_function

        return Aval(avals[0].shape, external_function(params["code"]).result)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        """Without the kernels."""
        from jittape.compile.llvm.external_functions import external_function
        from jittape.numba_bridge.scalar_function import evaluate_linked

        return evaluate_linked(external_function(params["code"]), arrays)


class OnArrays(_Body):
    """A function of whole arrays: a step between kernels."""

    def __init__(self, op: NumbaOp, item: int | None = None) -> None:
        from jittape.numba_bridge.scalar_function import as_dispatcher

        self.dispatcher = as_dispatcher(op._forward)
        super().__init__(op, item)

    def __call__(self, *handles: Any) -> Any:
        return self.primitive.bind(*[as_symbol(handle) for handle in handles])

    def result(self, *avals: Aval, **params: Any) -> Aval:
        """The rule for shape and dtype."""
        result = self.op._result
        if self.item is not None:
            return avals[2 + self.item]
        spec = result if isinstance(result, TensorSpec) else result(*[TensorSpec(*aval) for aval in avals])
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"numba_op({self.op.name}): result must give a jt.TensorSpec, it gave {spec!r}")
        return spec.aval

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        """Call the function."""
        value = self.dispatcher(*[_shown_to(self.dispatcher, array) for array in arrays])
        if self.item is not None:
            value = value[self.item]
        value = np.asarray(value)
        wanted = self.result(*[Aval(array.shape, array.dtype) for array in arrays])
        if Aval(value.shape, value.dtype) != wanted:
            found = Aval(value.shape, value.dtype)
            raise ValueError(
                f"numba_op({self.op.name}): the function returned {found}, result= says {wanted}"
            )
        return value


def array_call(primitive: Primitive) -> OnArrays | None:
    """What `primitive` calls, if that is a function of the user's on whole arrays."""
    body = getattr(primitive.impl, "__self__", None)
    return body if isinstance(body, OnArrays) else None


def _shown_to(dispatcher: Any, array: np.ndarray[Any, Any]) -> Any:
    """An operand as the function gets it: a number, or an array that it cannot write to.

    A function compiled for fixed types takes writable arrays only, and so it gets copies.
    """
    if array.shape == ():
        return array[()]
    if not dispatcher._can_compile:
        return np.array(array, order="C")
    shown = np.ascontiguousarray(array).view()
    shown.flags.writeable = False
    return shown


def numba_op(forward: Callable[..., Any] | None = None, vjp: Any = None, *, result: Any = None) -> Any:
    """Make an op of a function that Numba compiles, so that it is recorded, fused and differentiated.

    Parameters
    ----------
    forward : callable
        An ``@njit`` function, or one that Numba can compile. Without `result` a function of scalars, applied to every
        element of its operands, which are promoted and broadcast. Without it, a decorator is returned.
    vjp : callable, `numba_op`, or tuple of them, optional
        The derivative, in the same form: ``vjp(g, out, *operands)`` gives the cotangent of the operand from the
        cotangent `g` of the result `out`. For several operands it returns a tuple of cotangents, or there is a tuple
        of functions, one for each operand, None for one without a gradient. Where it is a `numba_op` with a `vjp`,
        there is a second derivative.
    result : TensorSpec or callable, optional
        For a function of whole arrays: what it returns, or a function that gives it from the `TensorSpec` of each
        operand. It must return a new array of that shape and dtype, and gets operands that it cannot write to, those
        of shape ``()`` as numbers. Each function in `vjp` returns an array like the operand.

    Returns
    -------
    NumbaOp
        A function of tensors.

    Raises
    ------
    TypeError
        When it is called, if Numba does not compile the function for the dtypes of the operands.
    NoGradientError
        When a gradient is asked for and there is no `vjp`.

    Notes
    -----
    A scalar function is inlined into the loops of the kernels around it. Numba's literals are float64, so it computes
    with float32 operands in float64 where it has such; the result has the dtype of the operands. It computes by NumPy's
    error model; where it raises, the result is nan, or 0 for an int. It must not have side effects.

    Examples
    --------
    >>> import math
    >>> import numba
    >>> import jittape as jt
    >>> @numba.njit
    ... def lambert(x):
    ...     w = math.log1p(x)
    ...     for _ in range(8):
    ...         e = math.exp(w)
    ...         w -= (w * e - x) / (e * (w + 1.0))
    ...     return w
    >>> @numba.njit
    ... def lambert_vjp(g, w, x):
    ...     return g / (x + math.exp(w))
    >>> lambert = jt.numba_op(lambert, vjp=lambert_vjp)
    >>> x = jt.constant([0.5, 1.0], jt.float64)
    >>> with jt.GradientTape() as tape:
    ...     tape.watch(x)
    ...     w = lambert(x)
    >>> w.numpy().round(6), tape.gradient(w, x).numpy().round(6)
    (array([0.351734, 0.567143]), array([0.520419, 0.361896]))
    """
    if forward is None:
        return functools.partial(numba_op, vjp=vjp, result=result)
    as_function("forward", forward)
    for function in vjp if isinstance(vjp, (tuple, list)) else (vjp,):
        if function is not None:
            as_function("vjp", function)
    return NumbaOp(forward, vjp, result)
