"""Transforms for first derivatives: `grad`, `value_and_grad`, `vjp` and `jvp`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from jittape.autodiff.forward_accumulator import ForwardAccumulator
from jittape.autodiff.tape_arguments import UnconnectedGradients, fitting
from jittape.core.user_calls import as_function
from jittape.primitives.identity import stop_gradient
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten, flatten_like, own_handles
from jittape.recording.trace import begin_step, current_trace
from jittape.transforms.primals import (
    Argnums,
    Primals,
    Transformed,
    is_recorded,
    scalar,
    tape_of,
    value_and_aux,
)
from jittape.transforms.rewind import rewound

__all__ = ["grad", "jvp", "value_and_grad", "vjp"]

NONE = UnconnectedGradients.NONE


def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> Callable[..., Any]:
    """Return a function that computes the value of `f` and its gradient.

    Parameters
    ----------
    f : callable
        Function that returns a real floating scalar, or ``(scalar, aux)``. It may be a `jt.function`. It may write to
        its varied arguments, as in ``x[0] = 2 * x[1]``: the gradient is with respect to the original values.
    argnums : int or sequence of int
        Numbers of the positional arguments to vary. Each argument may be an array, a number, a tensor, a Variable or a
        nested structure of them, of a floating or complex dtype.
    has_aux : bool
        Whether `f` returns ``(value, aux)``. `aux` may have any structure; it is not differentiated.
    unconnected_gradients : UnconnectedGradients or str
        Gradient with respect to arguments that the value does not depend on: ``"none"`` gives ``None`` and an
        `UnconnectedGradientWarning` with the reason, ``"zero"`` gives zeros.

    Returns
    -------
    callable
        Function that takes the arguments of `f` and returns ``(value, gradient)`` or ``((value, aux), gradient)``. The
        gradient has the structure of the varied argument; if `argnums` is a sequence, it is a tuple of gradients. If
        all varied arguments are NumPy arrays and Python numbers, the results are new NumPy arrays and scalars, suitable
        for ``scipy.optimize.minimize(..., jac=True)``. Otherwise, and inside tapes and traced functions, the results
        are tensors.

    Raises
    ------
    ShapeError
        If the value is not a scalar.
    TypeError
        If the value is not a real floating number, or a varied argument is neither floating nor complex.

    See Also
    --------
    jittape.GradientTape : Record gradients with respect to Variables, or of a part of a program.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> def f(x, scale):
    ...     return scale * jt.reduce_sum(x**2)
    >>> value, gradient = jt.value_and_grad(f)(np.array([1.0, 2.0]), 3.0)
    >>> float(value), gradient
    (15.0, array([ 6., 12.]))
    """
    return Transformed(
        _value_and_grad,
        f,
        argnums,
        argnums=argnums,
        has_aux=has_aux,
        unconnected=unconnected_gradients,
        name="value_and_grad",
    )


def _value_and_grad(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Argnums,
    has_aux: bool,
    unconnected: UnconnectedGradients | str,
    name: str,
) -> Any:
    recorded = is_recorded()
    with tape_of(f) as tape:
        primals = Primals(name, args, argnums, recorded)
        tape.watch(primals.leaves)
        value, aux = value_and_aux(name, f(*primals.args, **kwargs), has_aux)
        value = scalar(name, value)
    gradients = tape.gradient(value, primals.leaves, unconnected_gradients=unconnected)
    return primals.as_output(((value, aux) if has_aux else value, primals.structured(gradients)))


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `f`.

    Parameters
    ----------
    f, argnums, has_aux, unconnected_gradients
        See `value_and_grad`.

    Returns
    -------
    callable
        Function that takes the arguments of `f` and returns the gradient, or ``(gradient, aux)``.

    Raises
    ------
    TypeError
        If `f` is not callable, or an argument is not floating or complex.
    ShapeError
        If the result of `f` is not a scalar.
    ValueError
        If `argnums` names an argument that the call does not pass.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.grad(lambda x: jt.reduce_sum(jt.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])

    The result can be differentiated again:

    >>> third = jt.grad(jt.grad(jt.grad(lambda x: x**5)))
    >>> float(third(2.0))
    240.0
    """
    return Transformed(_grad, f, argnums, argnums=argnums, has_aux=has_aux, unconnected=unconnected_gradients)


def _grad(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Any:
    value, gradient = _value_and_grad(f, args, kwargs, **options, name="grad")
    return (gradient, value[1]) if options["has_aux"] else gradient


def vjp(
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> tuple[Any, ...]:
    """Return the value of `f` and a function that computes vector-Jacobian products.

    Parameters
    ----------
    f : callable
        Function that returns a tensor or a nested structure of tensors.
    *primals
        Arguments of `f`. All of them are varied.
    has_aux, unconnected_gradients
        See `value_and_grad`.

    Returns
    -------
    value
        The value of `f`.
    pullback : callable
        ``pullback(cotangents)`` takes cotangents in the structure of the value and returns a tuple with the cotangent
        of each primal. It may be called repeatedly; it keeps the recorded ops of `f` alive. If a tape entered after
        this call records a call of `pullback`, `f` is recorded again, on the same primals.
    aux
        The auxiliary result, only with ``has_aux=True``.

    Raises
    ------
    TypeError
        If `f` is not callable, or a primal is not floating or complex.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> value, pullback = jt.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pullback(np.array([1.0, 0.0]))
    (array([3., 0.]), array([1., 0.]))
    """
    as_function("f", f)
    recorded = is_recorded()
    tape = tape_of(f, persistent=True)
    with tape:
        varied = Primals("vjp", primals, range(len(primals)), recorded)
        tape.watch(varied.leaves)
        as_given = own_handles(varied.leaves)  # `f` may write to its arguments
        value, aux = value_and_aux("vjp", f(*varied.args), has_aux)
        outputs, rebuild = flatten(value)
        outputs = [convert_to_tensor(y) for y in outputs]
        value = rebuild([copy.copy(y) for y in outputs])  # the caller may write to it
    if not recorded:
        begin_step()  # later ops of the caller do not lengthen the pullback's trace

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        """Return the cotangents of the primals."""
        trace = tape._interval.trace
        assert trace is not None
        if is_recorded() and current_trace() is not trace:
            # The current recorder cannot see the ops of `f`, and the product depends on the cotangents: record again.
            constants = varied.structured([stop_gradient(leaf) for leaf in as_given])
            return vjp(f, *constants, has_aux=has_aux, unconnected_gradients=unconnected_gradients)[1](
                cotangents
            )
        given = flatten_like("cotangents", value, cotangents)
        seeds = [
            fitting(f"cotangents[{i}]", c, "its value", y)
            for i, (c, y) in enumerate(zip(given, outputs, strict=True))
        ]
        if trace.intervals:
            gradients = tape.gradient(outputs, varied.leaves, seeds, unconnected_gradients)
        else:
            for seed in seeds:
                seed._computed()
            with rewound(trace, tape._interval._ticket):
                gradients = tape.gradient(outputs, varied.leaves, seeds, unconnected_gradients)
        result: tuple[Any, ...] = varied.as_output(varied.structured(gradients))
        return result

    returned = (value, aux) if has_aux else (value,)
    first, *rest = varied.as_output(returned)
    return (first, pullback, *rest)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> tuple[Any, ...]:
    """Return the value of `f` and its derivative along a direction, a Jacobian-vector product.

    Parameters
    ----------
    f : callable
        Function that returns a tensor or a nested structure of tensors.
    primals : sequence
        Arguments of `f`. All of them are varied.
    tangents : sequence
        Direction, in the structure of `primals`.
    has_aux, unconnected_gradients
        See `value_and_grad`.

    Returns
    -------
    value
        The value of `f`.
    tangent
        The derivative of the value along `tangents`, in the structure of the value.
    aux
        The auxiliary result, only with ``has_aux=True``.

    Raises
    ------
    ValueError, TypeError
        If a tangent does not have the structure, shape and dtype of its primal.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> value, tangent = jt.jvp(jt.sin, [np.array([0.0, np.pi])], [np.array([2.0, 2.0])])
    >>> tangent
    array([ 2., -2.])
    """
    as_function("f", f)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "[jvp] primals and tangents must be tuples or lists with one entry for each argument of f"
        )
    if len(primals) != len(tangents):
        raise ValueError(
            f"[jvp] primals and tangents must have equal length, got {len(primals)} and {len(tangents)}"
        )
    recorded = is_recorded()
    with tape_of(f):  # makes the whole call one step
        varied = Primals("jvp", tuple(primals), range(len(primals)), recorded)
        given = varied.matching_leaves("tangents", tangents)
        with ForwardAccumulator(varied.leaves, given) as accumulator:
            value, aux = value_and_aux("jvp", f(*varied.args), has_aux)
            outputs, rebuild = flatten(value)
            outputs = [convert_to_tensor(y) for y in outputs]
        output_tangents = accumulator.jvp(outputs, unconnected_gradients)
        value, tangent = rebuild(outputs), rebuild(output_tangents)
    result: tuple[Any, ...] = varied.as_output((value, tangent, aux) if has_aux else (value, tangent))
    return result
