"""First derivatives as functions: `grad`, `value_and_grad`, `vjp` and `jvp`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from jittape.autodiff.forward_accumulator import ForwardAccumulator
from jittape.autodiff.tape_arguments import UnconnectedGradients, fitting
from jittape.core.user_calls import as_function
from jittape.primitives.identity import stop_gradient
from jittape.recording.convert import convert_to_tensor
from jittape.recording.handles import own_handles
from jittape.recording.nested import flatten, flatten_like
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
    """A function that returns the value of `f` and its gradient.

    Parameters
    ----------
    f : callable
        Returns one real floating number, or ``(number, aux)``; may be a `jt.function`. It may write to what is varied,
        as in ``x[0] = 2 * x[1]``: the gradient is with respect to the value that came in.
    argnums : int or sequence of int
        Which positional arguments are varied. Each may be an array, a number, a tensor, a Variable or a nested
        structure of them; the dtype must be floating or complex.
    has_aux : bool
        Whether `f` returns ``(value, aux)``; `aux` is any structure, and is not differentiated.
    unconnected_gradients : UnconnectedGradients or str
        What the gradient is where the value does not depend on an argument: ``None``, with an
        `UnconnectedGradientWarning` that says why, or zeros.

    Returns
    -------
    callable
        Takes what `f` takes and returns ``(value, gradient)`` or ``((value, aux), gradient)``. The gradient has the
        structure of the argument; with a sequence of `argnums` it is a tuple. If all that is varied came as NumPy
        arrays and Python numbers, arrays and NumPy scalars are given back, the caller's own: what
        ``scipy.optimize.minimize(..., jac=True)`` takes. Else, and inside tapes and traced functions, tensors.

    Raises
    ------
    ShapeError
        If the value is not a scalar.
    TypeError
        If the value or what is varied is not floating.

    See Also
    --------
    jittape.GradientTape : with Variables, or for a part of a program.

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
    return primals.given_back(((value, aux) if has_aux else value, primals.structured(gradients)))


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> Callable[..., Any]:
    """A function that returns the gradient of `f`: `value_and_grad` without the value.

    Parameters
    ----------
    f, argnums, has_aux, unconnected_gradients
        As for `value_and_grad`.

    Returns
    -------
    callable
        Takes what `f` takes and returns the gradient, or ``(gradient, aux)``.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.grad(lambda x: jt.reduce_sum(jt.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])

    A gradient is a function like any other:

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
    """The value of `f`, and a function that pulls cotangents of it back: vector-Jacobian products.

    Parameters
    ----------
    f : callable
        Returns a tensor or a nested structure of them.
    *primals
        The arguments of `f`, all of which are varied.
    has_aux, unconnected_gradients
        As for `value_and_grad`.

    Returns
    -------
    value
        What `f` returns.
    pullback : callable
        ``pullback(cotangents)``, these in the structure of the value, returns a tuple with the cotangent of every
        primal. It may be called again and again; it holds what `f` recorded. Where a tape that was entered later
        records the call, `f` is recorded once more, on the same primals.
    aux
        With ``has_aux=True``.

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
        begin_step()  # what the caller records from here on does not lengthen the pullback's trace

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        """The cotangents of the primals."""
        trace = tape._interval.trace
        assert trace is not None
        if is_recorded() and current_trace() is not trace:
            # What was recorded is out of sight of who records now; but the product depends on the cotangents.
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
            found = tape.gradient(outputs, varied.leaves, seeds, unconnected_gradients)
        else:
            for seed in seeds:
                seed._computed()
            with rewound(trace):
                found = tape.gradient(outputs, varied.leaves, seeds, unconnected_gradients)
        result: tuple[Any, ...] = varied.given_back(varied.structured(found))
        return result

    returned = (value, aux) if has_aux else (value,)
    first, *rest = varied.given_back(returned)
    return (first, pullback, *rest)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> tuple[Any, ...]:
    """The value of `f` and its derivative along a direction: a Jacobian-vector product.

    Parameters
    ----------
    f : callable
        Returns a tensor or a nested structure of them.
    primals : sequence
        The arguments of `f`, all of which are varied.
    tangents : sequence
        The direction, in the structure of `primals`.
    has_aux, unconnected_gradients
        As for `value_and_grad`.

    Returns
    -------
    value
        What `f` returns.
    tangent
        Its derivative along `tangents`, in the same structure.
    aux
        With ``has_aux=True``.

    Raises
    ------
    ValueError, TypeError
        If a tangent does not fit its primal.

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
            "[jvp] primals and tangents must be tuples or lists, one entry for each argument of f"
        )
    if len(primals) != len(tangents):
        raise ValueError(f"[jvp] {len(primals)} primals and {len(tangents)} tangents")
    recorded = is_recorded()
    with tape_of(f):  # so that all of it is one step
        varied = Primals("jvp", tuple(primals), range(len(primals)), recorded)
        given = varied.beside("tangents", tangents)
        with ForwardAccumulator(varied.leaves, given) as accumulator:
            value, aux = value_and_aux("jvp", f(*varied.args), has_aux)
            outputs, rebuild = flatten(value)
            outputs = [convert_to_tensor(y) for y in outputs]
        found = accumulator.jvp(outputs, unconnected_gradients)
        value, tangent = rebuild(outputs), rebuild(found)
    result: tuple[Any, ...] = varied.given_back((value, tangent, aux) if has_aux else (value, tangent))
    return result
