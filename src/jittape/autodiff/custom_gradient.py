"""User-defined gradients: `custom_gradient`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jittape.autodiff.gradient_diagnostics import dependent_slots
from jittape.control.body import body_of
from jittape.control.custom_vjp import custom_vjp_op
from jittape.core.builder import WeakScalar
from jittape.core.dtypes import is_differentiable
from jittape.core.primitive import any_dtype, apply
from jittape.core.signatures import takes_keyword
from jittape.core.user_calls import function_name
from jittape.errors import NoGradientError
from jittape.primitives.identity import custom_gradient_op
from jittape.recording.body_tracing import BodyTrace
from jittape.recording.convert import cast_to_dtype, convert_to_tensor
from jittape.recording.extent_trace import body_trace
from jittape.recording.flushing import Assignments
from jittape.recording.nested import flatten, own_handles
from jittape.recording.operators import Operators
from jittape.recording.tape_exits import first_order_excused
from jittape.recording.tensor import Tensor
from jittape.recording.trace import CLEARED, Trace, current_trace
from jittape.recording.trie import Node, path_to
from jittape.recording.variable import Variable
from jittape.transform.batching import ops_between
from jittape.transform.op_paths import Path

__all__ = ["custom_gradient", "tensors_read", "variables_assigned", "with_gradient", "with_traced_rules"]

_CHECK = "jt.check_gradient(f, x) compares the gradient with differences"


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Define the gradient of a function.

    Parameters
    ----------
    f : callable
        A function or method that returns ``(y, grad_fn)``. ``grad_fn(*upstream)`` takes one cotangent for each result
        in `y`. It returns one gradient (or None) for each flattened positional argument, and then for each tensor
        among the keyword arguments. If `f` reads trainable Variables that are not arguments, `grad_fn` must take
        ``variables=`` and return ``(gradients, gradients of the variables)``.

    Returns
    -------
    callable
        Function with the parameters of `f` that returns `y`.

    Raises
    ------
    TypeError
        If `f` does not return a pair, or `grad_fn` does not take ``variables=``.
    ValueError
        If `grad_fn` returns a wrong number of gradients or a gradient of a wrong shape.

    Notes
    -----
    Tapes record `f` and `grad_fn`: an outer tape differentiates the gradient that `grad_fn` computes. A write of `f` to
    an argument, as in ``x[0] = 1.0``, changes the argument within `f` and `grad_fn` only.

    Examples
    --------
    >>> import jittape as jt
    >>> @jt.custom_gradient
    ... def log1pexp(x):
    ...     e = jt.exp(x)
    ...     return jt.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> x = jt.constant(100.0)
    >>> with jt.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> float(tape.gradient(y, x))
    1.0
    """
    return _WithGradient(f)


class _WithGradient:
    """A function or method with a user-defined gradient."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        functools.update_wrapper(self, f)

    def __get__(self, instance: Any, owner: type | None = None) -> _WithGradient:
        return self if instance is None else _WithGradient(functools.partial(self._f, instance))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return _call(self._f, args, kwargs)

    def __reduce__(self) -> str:
        name: str = self.__qualname__  # type: ignore[attr-defined]
        return name


def _call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    positional, rebuild_args = flatten(args)
    named, rebuild_kwargs = flatten(kwargs)
    leaves = [*positional, *[leaf for leaf in named if isinstance(leaf, Operators)]]
    tensors = own_handles([x if isinstance(x, Variable) else convert_to_tensor(x) for x in leaves])
    given, given_by_name = own_handles(positional), own_handles(named)
    before = current_trace().node
    with first_order_excused():
        returned = f(*rebuild_args(given), **rebuild_kwargs(given_by_name))
    if not (isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1])):
        raise TypeError(
            f"custom_gradient needs a function that returns (y, grad_fn), but {function_name(f)} returned "
            f"{type(returned).__name__}"
        )
    outputs, rebuild = flatten(returned[0])
    results = [convert_to_tensor(y) for y in outputs]
    grad_fn = returned[1]
    trace = current_trace()
    variables = [v for v in _variables_read(trace, before, leaves) if v.trainable]
    if variables and not takes_keyword(grad_fn, "variables"):
        names = ", ".join(v._label for v in variables)
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', "
            f"since function uses variables: {names}"
        )
    return rebuild(_with_gradient(trace, f, grad_fn, results, tensors, variables))


def with_gradient(grad_fn: Callable[..., Any], results: list[Tensor], tensors: list[Tensor]) -> list[Tensor]:
    """Return computed `results` that depend on `tensors` with a gradient as in `custom_gradient`."""
    return _with_gradient(current_trace(), grad_fn, grad_fn, results, tensors, [])


def _with_gradient(
    trace: Trace,
    f: Callable[..., Any],
    grad_fn: Callable[..., Any],
    results: list[Tensor],
    tensors: list[Any],
    variables: list[Variable],
) -> list[Tensor]:
    gradients = functools.partial(_gradients, grad_fn, tensors, variables)
    if isinstance(trace, BodyTrace):
        return _custom_vjp(trace, f, results, [*tensors, *variables], gradients)
    made = apply(_custom, (*results, *tensors, *variables), (len(results),))
    if trace.callbacks is not CLEARED:  # else it has run, as outside of tapes too many results were pending
        trace.callbacks[made[0]._slot] = gradients
    return list(made)


def _custom_vjp(
    outer: Trace,
    f: Callable[..., Any],
    results: list[Tensor],
    inputs: list[Any],
    gradients: Callable[..., list[Tensor | None]],
) -> list[Any]:
    """Trace the gradient function as a body; the program becomes a parameter of the results."""
    trace = body_trace("custom_gradient", outer, f, None)
    to: list[int] = []

    def function(upstream: list[Tensor]) -> list[Tensor]:
        found = gradients(*upstream)
        to.extend([i for i, gradient in enumerate(found) if gradient is not None])
        return [gradient for gradient in found if gradient is not None]

    try:
        made, _ = trace.record(function, [r.aval for r in results], list)
        recorded = trace.finished(made, len(results))
    finally:
        trace.close()
    with outer.deriving():
        static = (body_of(recorded.program), len(results), tuple(to))
    return list(outer.apply(_with_rule, (*results, *inputs, *recorded.captured), static))


def with_traced_rules(trace: Trace, over: int, outputs: Sequence[int]) -> Path:
    """Return the path of `trace`, with gradient programs for the custom gradients between `over` and `outputs`.

    They come from custom gradients inside the gradient function of another one. A batch of such a call is one call for
    all rows. Its Python gradient function takes the cotangents of one row, so it is traced and the program is batched.

    Raises
    ------
    ControlFlowError
        If a gradient function takes the value of a tensor.
    NoGradientError
        If a gradient function uses a value that depends on `over` and is computed after the call.
    """
    path = path_to(trace.node)
    calls = [slot for slot in trace.callbacks if slot > over]
    if not calls or not trace.intervals:  # without a tape, nothing differentiates the batch
        return path
    between = {op.out for op in ops_between(path.ops, (over,), outputs)}
    made: dict[int, int] = {}
    for first in calls:
        of_call = [
            op for op in path.ops if op.primitive.calls_back and op.out - dict(op.params)["index"] == first
        ]
        if between.isdisjoint([op.out for op in of_call]):
            continue
        results = [_handle(trace, path, op.args[0]) for op in of_call]
        inputs = [_handle(trace, path, slot) for slot in of_call[0].args[1:]]
        gradients: Any = trace.callbacks[first]
        replaced = _custom_vjp(trace, gradients.args[0], results, inputs, gradients)
        made.update({op.out: tensor._slot for op, tensor in zip(of_call, replaced, strict=True)})
    path = path_to(trace.node)
    depends, by_slot = dependent_slots(path, [over]), {op.out: op for op in path.ops}
    for slot, new in made.items():
        if any(slot < arg and arg in depends for arg in by_slot[new].args):
            raise NoGradientError(
                f"[custom_gradient] the gradient function of the call at {by_slot[slot].source or 'an unknown line'} "
                "uses a value that is computed after the call and depends on the cotangent: a Jacobian traces the "
                "gradient function, so pass the value to the call as an argument"
            )
    ops = [by_slot[made[op.out]]._replace(out=op.out) if op.out in made else op for op in path.ops]
    return Path(path.inputs, ops, path.avals, path.variables)


def _handle(trace: Trace, path: Path, slot: int) -> Tensor:
    tensor = Tensor(trace, slot, path.avals[slot])
    trace.adopt(tensor)
    return tensor


@any_dtype
def _with_rule(*handles: Any) -> tuple[Any, ...]:
    *operands, rule, count, to = handles
    last = len(operands) - len(rule.program.inputs) + count
    values = [o.default() if isinstance(o, WeakScalar) else o for o in operands[:last]]
    captured = zip(operands[last:], rule.program.inputs[count:], strict=True)
    values += [
        o.resolve(rule.program.avals[slot].dtype) if isinstance(o, WeakScalar) else o for o, slot in captured
    ]
    return tuple(
        [custom_vjp_op.bind(*values, rule=rule, count=count, to=to, result_index=i) for i in range(count)]
    )


@any_dtype
def _custom(*operands_and_count: Any) -> tuple[Any, ...]:
    *operands, count = operands_and_count
    inputs = operands[count:]
    return tuple([custom_gradient_op.bind(operands[i], *inputs, index=i, count=count) for i in range(count)])


def _variables_read(trace: Trace, before: Node, arguments: Sequence[Any]) -> list[Variable]:
    """Return the Variables that ops since `before` used and that are not arguments."""
    used, _ = _used_since(trace, before)
    known = {id(a) for a in arguments}
    found = [v for v, slots in trace.variables.values() if id(v) not in known and not used.isdisjoint(slots)]
    return sorted(found, key=lambda variable: variable._serial)


def tensors_read(before: Node) -> list[Any]:
    """Return the differentiable tensors and Variables that ops of the current trace since `before` used."""
    trace = current_trace()
    used, made = _used_since(trace, before)
    slots = used - made - {slot for _, own in trace.variables.values() for slot in own}
    # An unrolled loop asks in each iteration, and most handles are copies of few values or have other slots.
    at: dict[int, Any] = {}  # the first handle to a value is the user's
    for slot, t, _ in trace.imported.values():
        if (own := t._slot if t._trace is trace else slot) in slots and isinstance(t, Tensor):
            at.setdefault(own, t)
    rest = slots.difference(at)
    held = [tensor for weak in trace.materialized if (tensor := weak()) is not None]
    others = [t for values in (held, trace.pending) for t in values if t._slot in rest]
    for t in others:
        if t._trace is trace:
            at.setdefault(t._slot, t)
    found: list[Any] = list(at.values())
    found += _variables_read(trace, before, ())
    return [one for one in found if is_differentiable(one.aval.dtype)]


def variables_assigned(
    before: Node, assigned: Assignments, entries: Assignments
) -> list[tuple[Variable, Tensor | None]]:
    """Return the Variables assigned since `before`, and the values that ops read before; None if no op did.

    `assigned` is the trace's dictionary at that time, and `entries` a copy of it. A flush replaces the dictionary.
    """
    trace = current_trace()
    used, _ = _used_since(trace, before)
    found: list[tuple[Variable, Tensor | None]] = []
    for number, (variable, slots) in trace.variables.items():
        if trace.assigned.get(number) is entries.get(number) and trace.assigned is assigned:
            continue
        first = min(used.intersection(slots), default=None)
        if first is not None and not (variable._trace is trace and variable._slot == first):
            found.append((variable, Tensor(trace, first, variable._aval)))
    trace.pending += [value for _, value in found if value is not None]
    known = {id(variable) for variable, _ in found}
    written = [last[0] for number, last in trace.assigned.items() if last is not entries.get(number)]
    return found + [(variable, None) for variable in written if id(variable) not in known]


def _used_since(trace: Trace, before: Node) -> tuple[set[int], set[int]]:
    """Return the slots that ops since `before` used, and the slots of their results."""
    used: set[int] = set()
    made: set[int] = set()
    node: Node | None = trace.node
    while node is not None and node is not before:
        used.update(slot for op in node.ops for slot in op.args)
        made.update(op.out for op in node.ops)
        node = node.parent
    return used, made


def _gradients(
    grad_fn: Callable[..., Any], tensors: list[Any], variables: list[Variable], *upstream: Tensor
) -> list[Tensor | None]:
    """Call the user's `grad_fn` and check its results."""
    given: Any = grad_fn(*upstream, variables=variables) if variables else grad_fn(*upstream)
    for_variables: list[Any] = []
    if variables:
        if not (isinstance(given, tuple) and len(given) == 2):
            raise TypeError("grad_fn with Variables must return (gradients, gradients of the variables)")
        given, for_variables = given[0], flatten(given[1])[0]
        if len(for_variables) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn: "
                f"{len(variables)} variables, {len(for_variables)} gradients"
            )
    gradients = flatten(given)[0]
    if len(gradients) != len(tensors):
        raise ValueError(
            f"custom_gradient function expected to return {len(tensors)} gradients, "
            f"but returned {len(gradients)} instead. {_CHECK}."
        )
    pairs = zip((*gradients, *for_variables), (*tensors, *variables), strict=True)
    return [_checked(i, gradient, operand) for i, (gradient, operand) in enumerate(pairs)]


def _checked(number: int, gradient: Any, operand: Any) -> Tensor | None:
    if gradient is None or not is_differentiable(operand.aval.dtype):
        return None
    tensor = convert_to_tensor(gradient, dtype_hint=operand.aval.dtype)
    if tensor.aval.shape != operand.aval.shape:
        raise ValueError(
            f"custom_gradient function returned a gradient of shape {tensor.shape} for argument {number} of shape "
            f"{operand.shape}. {_CHECK}."
        )
    fitted: Tensor = cast_to_dtype(tensor, operand.aval.dtype)
    return fitted
