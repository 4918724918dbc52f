"""Transforms for Jacobians and second derivatives: `jacobian`, `hessian`, `hvp` and `batch_jacobian`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.autodiff.forward_accumulator import ForwardAccumulator
from jittape.autodiff.tape_arguments import UnconnectedGradients
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten
from jittape.recording.tensor import Tensor
from jittape.transforms.primals import (
    Argnums,
    Primals,
    Transformed,
    as_result,
    is_recorded,
    scalar,
    tape_of,
    value_and_aux,
)

__all__ = ["batch_jacobian", "hessian", "hvp", "jacobian"]

NONE = UnconnectedGradients.NONE
ZERO = UnconnectedGradients.ZERO


def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    mode: str | None = None,
    unconnected_gradients: UnconnectedGradients | str = NONE,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f`.

    Parameters
    ----------
    f : callable
        Function that returns a tensor or a nested structure of tensors.
    argnums, has_aux, unconnected_gradients
        See `value_and_grad`.
    mode : {"forward", "reverse"}, optional
        Mode of differentiation. The default is the mode with fewer passes: forward if the varied argument has fewer
        elements than the value.

    Returns
    -------
    callable
        Function that takes the arguments of `f` and returns the Jacobian, or ``(jacobian, aux)``. The Jacobian has the
        structure of the value; each of its leaves has the structure of the varied argument, with arrays of shape
        ``value.shape + argument.shape`` and the dtype of the argument.

    Raises
    ------
    TypeError
        If `f` is not callable, or an argument is not floating or complex.
    ValueError
        If `argnums` names an argument that the call does not pass.

    Notes
    -----
    One pass is recorded and runs on a stack of unit vectors; matrix-vector products become matrix-matrix products.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.jacobian(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    """
    if not (mode is None or isinstance(mode, str)) or mode not in (None, "forward", "reverse"):
        raise ValueError(f"[jacobian] mode must be 'forward', 'reverse' or None, got {mode!r}")
    forward = None if mode is None else mode == "forward"
    return Transformed(
        _jacobian,
        f,
        argnums,
        argnums=argnums,
        has_aux=has_aux,
        forward=forward,
        unconnected=unconnected_gradients,
    )


def _jacobian(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Argnums,
    has_aux: bool,
    forward: bool | None,
    unconnected: UnconnectedGradients | str,
) -> Any:
    recorded = is_recorded()
    tape = tape_of(f, persistent=True)
    with tape:
        primals = Primals("jacobian", args, argnums, recorded)
        tape.watch(primals.leaves)
        value, aux = value_and_aux("jacobian", f(*primals.args, **kwargs), has_aux)
        outputs, rebuild = flatten(value)
        outputs = [as_result("jacobian", y) for y in outputs]
    result = rebuild(
        [primals.structured(tape._jacobians(y, primals.leaves, unconnected, forward)) for y in outputs]
    )
    return primals.as_output((result, aux) if has_aux else result)


def hessian(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `f`.

    Parameters
    ----------
    f, argnums, has_aux
        See `value_and_grad`.

    Returns
    -------
    callable
        Function that takes the arguments of `f` and returns the Hessian, or ``(hessian, aux)``. The Hessian has the
        structure of the varied argument; each of its leaves has that structure again, with arrays of shape
        ``leaf.shape + other_leaf.shape``. It is zero if the gradient does not depend on an argument. If the value does
        not depend on an argument, it is ``None``, with a warning that states the reason.

    Raises
    ------
    TypeError
        If `f` is not callable, or an argument is not floating or complex.
    ShapeError
        If the result of `f` is not a scalar.
    ValueError
        If `argnums` names an argument that the call does not pass.

    See Also
    --------
    hvp : Product of the Hessian with one vector, at the cost of a few gradients.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return Transformed(_hessian, f, argnums, argnums=argnums, has_aux=has_aux)


def _hessian(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums, has_aux: bool
) -> Any:
    recorded = is_recorded()
    outer = tape_of(f, persistent=True)
    with outer:
        primals = Primals("hessian", args, argnums, recorded)
        outer.watch(primals.leaves)
        aux, gradients = _inner_gradient("hessian", f, primals, kwargs, has_aux)
    rows = [
        primals.structured(
            [None] * len(gradients) if g is None else outer._jacobians(g, primals.leaves, ZERO, None)
        )
        for g in gradients
    ]
    del gradients  # referenced tensors would be computed too
    result = primals.structured(rows)
    return primals.as_output((result, aux) if has_aux else result)


def _inner_gradient(
    name: str, f: Callable[..., Any], primals: Primals, kwargs: dict[str, Any], has_aux: bool
) -> tuple[Any, list[Any]]:
    """Return the auxiliary result of `f` and its gradient; an active tape or accumulator records both."""
    with tape_of(f) as inner:
        inner.watch(primals.leaves)
        value, aux = value_and_aux(name, f(*primals.args, **kwargs), has_aux)
        value = scalar(name, value)
    return aux, inner.gradient(value, primals.leaves)


def hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the product of the Hessian of `f` with a vector.

    Parameters
    ----------
    f : callable
        Function that returns a real floating scalar.

    Returns
    -------
    callable
        ``hvp(f)(x, v, *args, **kwargs)`` returns the Hessian of ``f(x, *args, **kwargs)`` with respect to `x`, times
        `v`, in the structure of `x`. It is suitable for ``scipy.optimize.minimize(..., hessp=hvp(f))``. The Hessian
        itself is not computed. The product is zero if the gradient does not depend on `x`. If the value does not
        depend on `x`, the product is ``None``, with a warning that states the reason.

    Raises
    ------
    ValueError, TypeError
        If `v` does not have the structure, the shapes and the dtypes of `x`.

    Notes
    -----
    The product is the tangent of the gradient along `v`: forward mode over reverse mode. Reverse mode over reverse mode
    gives the same result, as the Hessian is symmetric, and takes as many matrix products but more kernels: 185 µs
    instead of 145 µs for a network with two hidden layers of 32 units and 500 rows.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.hvp(lambda x: jt.reduce_sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    return Transformed(_hvp, f, (0, 1))


def _hvp(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) < 2:
        raise TypeError("[hvp] call it with the point and the vector: hvp(f)(x, v, ...)")
    x, v, *rest = args
    recorded = is_recorded()
    with tape_of(f):  # makes the whole call one step
        primals = Primals("hvp", (x, *rest), 0, recorded)
        given = primals.matching_leaves("v", [v])
        vectors = [_widened(one, x) for one, x in zip(given, primals.leaves, strict=True)]
        with ForwardAccumulator(primals.leaves, vectors) as accumulator:
            _, gradients = _inner_gradient("hvp", f, primals, kwargs, False)
        known = [i for i, g in enumerate(gradients) if g is not None]
        tangents = iter(accumulator.jvp([gradients[i] for i in known], ZERO))
        products = [None if g is None else next(tangents) for g in gradients]
        del gradients  # referenced tensors would be computed too
    return primals.as_output(primals.structured(products))


def _widened(vector: Any, x: Tensor) -> Tensor:
    """Cast `vector` to the dtype of `x` if the cast is safe: SciPy passes integers to test operators."""
    tensor = convert_to_tensor(vector, dtype_hint=x.aval.dtype)
    fits = tensor.aval.dtype == x.aval.dtype or not np.can_cast(tensor.aval.dtype, x.aval.dtype, "safe")
    return tensor if fits else cast(tensor, x.aval.dtype)


def batch_jacobian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of each row of the value of `f` with respect to the argument's row.

    Parameters
    ----------
    f : callable
        Function whose value's row `i` depends only on row `i` of the argument.
    argnums : int
        Number of the positional argument to vary, an array of shape ``(b, x...)``.

    Returns
    -------
    callable
        Function that takes the arguments of `f` and returns an array of shape ``(b, y..., x...)`` if the value of `f`
        has shape ``(b, y...)``.

    Raises
    ------
    ValueError
        If the value and the argument differ in their number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> jt.batch_jacobian(lambda x: x * x)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[[2., 0.],
            [0., 4.]],
    <BLANKLINE>
           [[6., 0.],
            [0., 8.]]])
    """
    return Transformed(_batch_jacobian, f, argnums, argnums=argnums)


def _batch_jacobian(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int
) -> Any:
    recorded = is_recorded()
    with tape_of(f) as tape:
        primals = Primals("batch_jacobian", args, argnums, recorded)
        if len(primals.leaves) != 1:
            raise TypeError("[batch_jacobian] the argument must be one array")
        tape.watch(primals.leaves)
        value = as_result("batch_jacobian", f(*primals.args, **kwargs))
    return primals.as_output(tape.batch_jacobian(value, primals.leaves[0]))
