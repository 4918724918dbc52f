"""`numba_op`: a user function, compiled by Numba, as an op.

A scalar function becomes a `Map`: it is inlined into the loops of the kernels around it. A function of whole arrays is
a step between kernels. The derivative is another such op and can have a derivative too.
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
from jittape.core.signatures import bound_arguments
from jittape.core.user_calls import as_function
from jittape.errors import NoGradientError
from jittape.functions.signature import TensorSpec
from jittape.numba_ad import register_callable
from jittape.numba_bridge.given_rule import add_numba_rule
from jittape.primitives.broadcast import as_symbol, broadcast_operands, cast_to, promote

__all__ = ["NumbaOp", "OnArrays", "array_call", "numba_op"]


class NumbaOp:
    """A Numba function as an op, created by `numba_op`; it is called with tensors, arrays and numbers.

    Attributes
    ----------
    name : str
        Name of the function.
    operands : tuple of str
        Names of its parameters.
    """

    def __init__(
        self, forward: Callable[..., Any], vjp: Any, result: Any, derive: bool = True, vjp_of: Any = None
    ) -> None:
        from jittape.numba_bridge.scalar_function import python_function

        self._python = python_function(forward)
        functools.update_wrapper(self, self._python)
        self._forward = forward
        self._result = result
        self._given_vjp = vjp
        # For the derived rule of an operand: the differentiated Numba function, the number of the operand, and whether
        # the function is one of numbers.
        self._vjp_of = vjp_of
        self.name: str = self._python.__name__
        self._signature = inspect.signature(self._python)
        self.operands = tuple(self._signature.parameters)
        self._rules = self._derived_rules() if vjp is None and derive else self._gradient_rules(vjp)
        self._body = (_Elementwise if result is None else OnArrays)(self)
        self._dispatcher: Any = None
        register_callable(type(self))
        if vjp is not None:
            add_numba_rule(self, vjp)

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        """Record the op; the operands have the names and default values of the parameters."""
        if keywords or len(operands) != len(self.operands):
            try:
                operands = bound_arguments(self._signature, operands, keywords).args
            except TypeError as error:
                given = f"it was called with {len(operands)} arguments: {error}"
                raise TypeError(f"{self.name} takes {', '.join(self.operands)}; {given}") from None
        return apply(self._body, operands)

    @property
    def dispatcher(self) -> Any:
        """The Numba function that ``@njit`` code calls."""
        if self._dispatcher is None:
            from jittape.numba_bridge.scalar_function import as_dispatcher

            self._dispatcher = as_dispatcher(self._forward)
        return self._dispatcher

    def _derived_rules(self) -> tuple[Any, ...]:
        """Return gradient rules that are derived from the function's source at their first use."""
        from jittape.numba_bridge.derived_rule import DerivedRule

        # A derived rule takes the result of the function as its second operand and does not use it.
        unused = None if self._vjp_of is None else 1
        return tuple([None if i == unused else DerivedRule(self, i) for i in range(len(self.operands))])

    def _gradient_rules(self, vjp: Any) -> tuple[Any, ...] | None:
        """Return the gradient rule of each operand; None without `vjp`."""
        if vjp is None:
            return None
        count = len(self.operands)
        if isinstance(vjp, (tuple, list)):
            if len(vjp) != count:
                raise ValueError(
                    f"numba_op({self.name}): vjp has {len(vjp)} functions for the operands {', '.join(self.operands)}; "
                    "pass one for each, None for an operand without a gradient"
                )
            return tuple([None if rule is None else _Rule(self, rule, None, i) for i, rule in enumerate(vjp)])
        return tuple([_Rule(self, vjp, None if count == 1 else i, i) for i in range(count)])

    def __reduce__(self) -> str:
        return self._python.__qualname__

    def __repr__(self) -> str:
        return f"<jt.NumbaOp {self.name}({', '.join(self.operands)})>"


class _Rule:
    """The gradient rule of one operand: a Numba function of ``(g, out, *operands)``, or one item of its result."""

    def __init__(self, op: NumbaOp, function: Any, item: int | None, operand: int) -> None:
        self._operand = operand
        if isinstance(function, NumbaOp):
            if item is not None:
                raise TypeError(
                    f"numba_op({op.name}): if a vjp is a numba_op, vjp must be a tuple with one rule for each operand"
                )
            rule, self._body = function, function._body
        else:
            result = None if op._result is None else _like_operand(operand)
            rule = NumbaOp(function, None, result, derive=False)
            self._body = rule._body if item is None else type(rule._body)(rule, item)
        if len(rule.operands) != len(op.operands) + 2:
            raise TypeError(
                f"numba_op({op.name}): the vjp {rule.name} must take the cotangent, the result and then "
                f"{', '.join(op.operands)}; it takes {', '.join(rule.operands)}"
            )

    def __call__(self, g: Any, out: Any, *operands: Any, **params: Any) -> Any:
        return cast_to(self._body(g, out, *operands), operands[self._operand].dtype)


def _like_operand(operand: int) -> Callable[..., TensorSpec]:
    return lambda g, out, *operands: operands[operand]


class _Body:
    """Recorder of an op: the result of its function, or number `item` of the tuple that it returns."""

    def __init__(self, op: NumbaOp, item: int | None = None) -> None:
        self.op = op
        self.item = item
        rules = op._rules
        count = len(op.operands)
        self.primitive = Primitive(
            f"numba_op:{op.name}" + ("" if item is None else f"[{item}]"),
            abstract_eval=self.result,
            impl=self.evaluate,
            vjp=(self.no_gradient,) * count if rules is None else rules,
            lowering=self.form,
        )

    form: Map | None = None

    def result(self, *avals: Aval, **params: Any) -> Aval:
        raise NotImplementedError

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        raise NotImplementedError

    def no_gradient(self, g: Any, *rest: Any, **params: Any) -> Any:
        """Raise: the gradient rule of a derivative."""
        builder: Any = active_recorder()
        raise NoGradientError(
            f"No gradient is defined for {self.op.name}, recorded at {builder.source or 'an unknown line'}: it is the "
            "derivative of a numba_op. For second derivatives, let vjp= be one jt.numba_op for each operand, each with "
            "its own vjp, or stop the path there with jt.stop_gradient"
        )


class _Elementwise(_Body):
    """A scalar function, applied to each element."""

    def __init__(self, op: NumbaOp, item: int | None = None) -> None:
        from jittape.compile.llvm.external_functions import call_external
        from jittape.numba_bridge.scalar_function import dispatcher_of, may_reduce

        self.form = Map(call_external)
        # A division by zero results in inf or nan, as everywhere in jittape.
        self._dispatcher = dispatcher_of(op._forward, error_model="numpy")
        self._codes: dict[tuple[np.dtype[Any], ...], str] = {}
        self._on_arrays: OnArrays | None = None
        self._may_reduce = may_reduce(op._python)
        super().__init__(op, item)

    def __call__(self, *handles: Any) -> Any:
        if self._on_arrays is not None:
            return self._on_arrays(*handles)
        from jittape.numba_bridge.scalar_function import NotCompiledError

        try:
            if self._may_reduce and self.item is None and any(getattr(x, "shape", ()) for x in handles):
                # np.sum(x) is a number for an array, and Numba compiles it for numbers too.
                try:
                    return self._as_on_arrays("it has a reduction", handles)
                except TypeError:
                    self._may_reduce = False
            return self._on_elements(*handles)
        except NotCompiledError as error:
            if self.item is not None:
                raise
            return self._as_on_arrays(str(error), handles)

    def _as_on_arrays(self, reason: str, handles: Any) -> Any:
        """Record the function as one of whole arrays, from now on."""
        on_arrays = self._for_arrays(reason)
        result = on_arrays(*handles)
        self._on_arrays = on_arrays
        return result

    def _for_arrays(self, reason: str) -> OnArrays:
        """Return the recorder of the function as one of whole arrays that returns a number."""
        from jittape.numba_bridge.operand_types import returned_number
        from jittape.numba_bridge.scalar_function import as_dispatcher

        op, dispatcher = self.op, as_dispatcher(self.op._forward)

        def result(*operands: TensorSpec) -> TensorSpec:
            return TensorSpec((), returned_number(dispatcher, op.name, operands, reason))

        body: OnArrays = NumbaOp(dispatcher, op._given_vjp, result)._body  # type: ignore[assignment]
        return body

    def _on_elements(self, *handles: Any) -> Any:
        operands = promote(*handles)
        # Operands of a function of arrays, which does not compile for numbers, need not broadcast.
        code = self._code(tuple([x.dtype for x in operands]))
        return self.primitive.bind(*broadcast_operands(*operands, op=self.op.name), code=code)

    def _code(self, dtypes: tuple[np.dtype[Any], ...]) -> str:
        """Return the registered code of the function for operands of these dtypes."""
        from jittape.numba_bridge.scalar_function import compiled_scalar

        code = self._codes.get(dtypes)
        if code is None:
            code = compiled_scalar(self.op.name, self._dispatcher, dtypes, self.item).code
            self._codes[dtypes] = code
        return code

    def result(self, *avals: Aval, **params: Any) -> Aval:
        """Return the shape and dtype of the result."""
        from jittape.compile.llvm.external_functions import external_function

        return Aval(avals[0].shape, external_function(params["code"]).result)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        """Compute the op without kernels."""
        from jittape.compile.llvm.external_functions import external_function
        from jittape.numba_bridge.scalar_function import evaluate_linked

        return evaluate_linked(external_function(params["code"]), arrays)


class OnArrays(_Body):
    """A function of whole arrays, which runs as a step between kernels."""

    def __init__(self, op: NumbaOp, item: int | None = None) -> None:
        from jittape.numba_bridge.operand_types import ArgumentTypes
        from jittape.numba_bridge.scalar_function import as_dispatcher

        self.dispatcher = as_dispatcher(op._forward)
        self.argument_types = ArgumentTypes(self.dispatcher)
        super().__init__(op, item)

    def __call__(self, *handles: Any) -> Any:
        return self.primitive.bind(*[as_symbol(handle) for handle in handles])

    def result(self, *avals: Aval, **params: Any) -> Aval:
        """Return the shape and dtype of the result."""
        result = self.op._result
        if self.item is not None:
            return avals[2 + self.item]
        spec = result if isinstance(result, TensorSpec) else result(*[TensorSpec(*aval) for aval in avals])
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                f"numba_op({self.op.name}): result must return a jt.TensorSpec, it returned {spec!r}"
            )
        return spec.aval

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        """Call the function."""
        avals = [Aval(array.shape, array.dtype) for array in arrays]
        value = self.dispatcher(*self.argument_types.arguments(arrays))
        if self.item is not None:
            value = value[self.item]
        # A float32 is a Python float here.
        dtype = None if isinstance(value, np.ndarray) else self.argument_types.number(avals, self.item)
        value = np.asarray(value, dtype)
        returned = Aval(value.shape, value.dtype)
        expected = self.result(*avals)
        if returned != expected:
            raise ValueError(
                f"numba_op({self.op.name}): the function returned {returned}, but result= is {expected}"
            )
        return value


def array_call(primitive: Primitive) -> OnArrays | None:
    """Return the user function of whole arrays that `primitive` calls; None for another primitive."""
    body = getattr(primitive.impl, "__self__", None)
    return body if isinstance(body, OnArrays) else None


def numba_op(forward: Callable[..., Any] | None = None, vjp: Any = None, *, result: Any = None) -> Any:
    """Turn a function that Numba can compile into an op that is recorded, fused and differentiated.

    Parameters
    ----------
    forward : callable, optional
        An ``@njit`` function, or a function that Numba can compile. Without `result`, it is a function of scalars that
        is applied to each element of its operands; they are promoted and broadcast. If Numba compiles it for the
        whole operands only, or if it has a reduction such as `np.sum` and returns a number for them, it is a function
        of whole arrays that returns a number. Without `forward`, a decorator is returned.
    vjp : callable, `numba_op`, or tuple of them, optional
        Derivative, in the same form: ``vjp(g, out, *operands)`` returns the cotangent of the operand for the cotangent
        `g` of the result `out`. For several operands, it returns a tuple of cotangents, or `vjp` is a tuple of
        functions, one for each operand, None for an operand without a gradient. If the functions are `numba_op`, second
        derivatives exist. Without `vjp`, jittape derives derivatives of any order from the source as `njit_grad` does.
    result : TensorSpec or callable, optional
        Makes `forward` a function of whole arrays: shape and dtype of its result, or a function that returns them for
        the `TensorSpec` of each operand. `forward` must return a new array of this shape and dtype. Its operands are
        read-only arrays, or numbers for operands of shape ``()``; a function that writes its arguments gets copies.
        Each function in `vjp` returns an array like the operand.

    Returns
    -------
    NumbaOp
        Function of tensors.

    Raises
    ------
    TypeError
        At a call, if Numba cannot compile the function for the dtypes of the operands.
    NoGradientError
        If a gradient is requested, there is no `vjp`, and none can be derived, as for a function that draws random
        numbers; or for a second derivative, if `vjp` is
        not a `numba_op`.

    Notes
    -----
    A scalar function is inlined into the loops of the kernels around it. Numba's literals are float64, so a function
    with literals computes in float64 even for float32 operands; the result has the dtype of the operands. The function
    uses NumPy's error model. If it raises, the result is nan, or 0 for an int. It must not have side effects.

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
