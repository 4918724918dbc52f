"""Jacobians and second derivatives as functions: `jacobian`, `hessian`, `hvp` and `batch_jacobian`."""

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
    """A function that returns all derivatives of the elements of the value of `f`.

    Parameters
    ----------
    f : callable
        Returns a tensor or a nested structure of them.
    argnums, has_aux, unconnected_gradients
        As for `value_and_grad`.
    mode : {"forward", "reverse"}, optional
        By default whichever takes fewer passes: forward where what is varied has fewer elements than the value.

    Returns
    -------
    callable
        Takes what `f` takes and returns, in the structure of the value, in each place the structure of the argument,
        arrays of shape ``value.shape + argument.shape``; or ``(jacobian, aux)``.

    Notes
    -----
    One pass is recorded and run on a stack of unit vectors; products of matrices and vectors become products of
    matrices.

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
        outputs = [convert_to_tensor(y) for y in outputs]
    found = [primals.structured(tape._jacobians(y, primals.leaves, unconnected, forward)) for y in outputs]
    made = rebuild(found)
    return primals.given_back((made, aux) if has_aux else made)


def hessian(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the second derivatives of `f`.

    Parameters
    ----------
    f, argnums, has_aux
        As for `value_and_grad`.

    Returns
    -------
    callable
        Takes what `f` takes and returns, in the structure of the argument, in each place the structure of the argument
        again, arrays of the shape of the one and then of the other; or ``(hessian, aux)``. Where the gradient does
        not depend on an argument, these are zeros; where the value does not, ``None`` with a warning that says why.

    See Also
    --------
    hvp : the product with one vector, at the cost of a few gradients.

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
    del gradients  # or they would be computed too
    made = primals.structured(rows)
    return primals.given_back((made, aux) if has_aux else made)


def _inner_gradient(
    name: str, f: Callable[..., Any], primals: Primals, kwargs: dict[str, Any], has_aux: bool
) -> tuple[Any, list[Any]]:
    """What comes with the value of `f`, and the gradient, recorded by whoever records now."""
    with tape_of(f) as inner:
        inner.watch(primals.leaves)
        value, aux = value_and_aux(name, f(*primals.args, **kwargs), has_aux)
        value = scalar(name, value)
    return aux, inner.gradient(value, primals.leaves)


def hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns the product of the Hessian of `f` with a vector.

    Parameters
    ----------
    f : callable
        Returns one real floating number.

    Returns
    -------
    callable
        ``hvp(f)(x, v, *args, **kwargs)``: of ``f(x, *args, **kwargs)`` the Hessian in `x` times `v`, in the structure
        of `x`; what ``scipy.optimize.minimize(..., hessp=hvp(f))`` takes. The Hessian itself is never made. Where
        the gradient does not depend on `x`, the product is zeros; where the value does not, ``None`` with a warning
        that says why.

    Raises
    ------
    ValueError, TypeError
        If `v` does not have the structure, the shapes and the dtypes of `x`.

    Notes
    -----
    It is the tangent of the gradient along `v`: forward mode over reverse mode. The gradient of the gradient with `v`
    as cotangent is the same, as the Hessian is symmetric, and takes as many products of matrices but more kernels: for
    a network with two hidden layers of 32 and 500 rows 185 µs instead of 145.

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
    with tape_of(f):  # so that all of it is one step
        primals = Primals("hvp", (x, *rest), 0, recorded)
        vectors = [_widened(one, x) for one, x in zip(primals.beside("v", [v]), primals.leaves, strict=True)]
        with ForwardAccumulator(primals.leaves, vectors) as accumulator:
            _, gradients = _inner_gradient("hvp", f, primals, kwargs, False)
        known = [i for i, g in enumerate(gradients) if g is not None]
        tangents = iter(accumulator.jvp([gradients[i] for i in known], ZERO))
        products = [None if g is None else next(tangents) for g in gradients]
        del gradients  # or it would be computed too
    return primals.given_back(primals.structured(products))


def _widened(vector: Any, x: Tensor) -> Tensor:
    """`vector` in the dtype of `x` if that loses nothing: SciPy tries operators on integers."""
    tensor = convert_to_tensor(vector, dtype_hint=x.dtype)
    fits = tensor.dtype == x.dtype or not np.can_cast(tensor.dtype, x.dtype, "safe")
    return tensor if fits else cast(tensor, x.dtype)


def batch_jacobian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that returns the Jacobian of every row of the value of `f` in the same row of its argument.

    Parameters
    ----------
    f : callable
        Row `i` of its value must depend on row `i` of the argument only.
    argnums : int
        Which positional argument is varied, an array of shape ``(b, x...)``.

    Returns
    -------
    callable
        Takes what `f` takes and returns an array of shape ``(b, y..., x...)`` for a value of shape ``(b, y...)``.

    Raises
    ------
    ValueError
        If the shapes do not fit.

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
        value = convert_to_tensor(f(*primals.args, **kwargs))
    return primals.given_back(tape.batch_jacobian(value, primals.leaves[0]))
