"""`check_grads`: comparison of derivatives with differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from jittape.autograd.containers import as_numpy
from jittape.autograd.products import make_jvp_of, make_vjp_of
from jittape.autograd.vector_spaces import vspace
from jittape.autograd.wrap_util import get_name, unary_to_nary

__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "make_numerical_jvp",
    "scalar_close",
]

Function = Callable[..., Any]
_STEP = 1e-6
_TOLERANCE = 1e-6


def scalar_close(a: float, b: float) -> bool:
    """Return whether two numbers are equal within an absolute or relative error of 1e-6.

    Parameters
    ----------
    a, b : float

    Raises
    ------
    ValueError
        If `a` or `b` is an array of several numbers.

    Examples
    --------
    >>> from jittape.autograd.test_util import scalar_close
    >>> scalar_close(1e6, 1e6 + 0.1), scalar_close(1.0, 1.1)
    (True, False)
    """
    return bool(abs(a - b) < _TOLERANCE or abs(a - b) / abs(a + b) < _TOLERANCE)


def make_numerical_jvp(f: Function, x: Any) -> Function:
    """Return a function of a direction that returns the central difference of `f` at `x` along it.

    Parameters
    ----------
    f : callable
    x : number, array or container of them

    Examples
    --------
    >>> from jittape.autograd.test_util import make_numerical_jvp
    >>> print(f"{make_numerical_jvp(lambda x: x**2, 3.0)(1.0):.6f}")
    6.000000
    """

    def difference(v: Any) -> Any:
        space = vspace(x)
        above = as_numpy(f(space.add(x, space.scalar_mul(v, _STEP / 2))))
        below = as_numpy(f(space.add(x, space.scalar_mul(v, -_STEP / 2))))
        values = vspace(above)
        return values.scalar_mul(values.add(above, values.scalar_mul(below, -1.0)), 1.0 / _STEP)

    return difference


def check_vjp(f: Function, x: Any) -> None:
    """Compare the vector-Jacobian product of `f` at `x` with a difference, for random vectors.

    Parameters
    ----------
    f : callable
    x : number, array or container of them

    Raises
    ------
    AssertionError
        If they differ.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd.test_util import check_vjp
    >>> check_vjp(np.tanh, 0.5)
    """
    vjp, y = make_vjp_of(f, x)
    values, points = vspace(y), vspace(x)
    along, cotangent = points.randn(), values.randn()
    product = points.covector(vjp(values.covector(cotangent)))
    assert vspace(product) == points, f"VSpace mismatch:\nx: {points}\ngradient: {vspace(product)}"
    exact = points.inner_prod(along, product)
    numeric = values.inner_prod(cotangent, make_numerical_jvp(f, x)(along))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {exact}\nnumeric:  {numeric}"
    )


def check_jvp(f: Function, x: Any) -> None:
    """Compare the Jacobian-vector product of `f` at `x` with a difference, for a random vector.

    Parameters
    ----------
    f, x
        See `check_vjp`.

    Raises
    ------
    AssertionError
        If they differ.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd.test_util import check_jvp
    >>> check_jvp(np.tanh, 0.5)
    """
    along = vspace(x).randn()
    _, exact = make_jvp_of(f, x)(along)
    try:
        check_equivalent(exact, make_numerical_jvp(f, x)(along))
    except AssertionError as error:
        raise AssertionError(
            f"Derivative (JVP) check of {get_name(f)} failed with arg {x}: {error}"
        ) from None


def check_equivalent(x: Any, y: Any) -> None:
    """Compare two vectors: their spaces, and their products with a random vector.

    Parameters
    ----------
    x, y : number, array or container of them

    Raises
    ------
    AssertionError
        If they differ.

    Examples
    --------
    >>> from jittape.autograd.test_util import check_equivalent
    >>> check_equivalent([1.0, 2.0], [1.0, 2.0])
    """
    space, other = vspace(x), vspace(y)
    assert space == other, f"VSpace mismatch:\nx: {space}\ny: {other}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), f"Value mismatch:\nx: {x}\ny: {y}"


def _check(f: Function, x: Any, modes: Sequence[str], order: int) -> None:
    for mode, check in (("fwd", check_jvp), ("rev", check_vjp)):
        if mode in modes:
            check(f, x)
            if order > 1:
                space = vspace(x) if mode == "fwd" else vspace(as_numpy(f(x)))
                _check(_derivative(f, mode), (x, space.randn()), modes, order - 1)


def _derivative(f: Function, mode: str) -> Function:
    """Return the derivative of `f` as a function of the point and the vector, a pair."""

    def derived(pair: Any) -> Any:
        x, v = pair
        return make_jvp_of(f, x)(v)[1] if mode == "fwd" else make_vjp_of(f, x)[0](v)

    derived.__name__ = f"{'jvp' if mode == 'fwd' else 'vjp'}_{get_name(f)}"
    return derived


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Return a function that compares derivatives of `f` with differences, along random directions.

    Parameters
    ----------
    f : callable
        Function of numbers, arrays or containers of them.
    argnum : int, tuple or list of int, default 0
        Numbers of the arguments to vary.
    modes : sequence of ``"fwd"`` and ``"rev"``
        Modes of differentiation to check.
    order : int, default 2
        Highest order of derivatives to check.

    Raises
    ------
    AssertionError
        If a derivative differs from the difference.
    ValueError
        For another mode.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd.test_util import check_grads
    >>> check_grads(np.tanh)(0.5)
    """
    unknown = [mode for mode in modes if mode not in ("fwd", "rev")]
    if unknown:
        raise ValueError(f"[check_grads] modes are 'fwd' and 'rev', got {unknown[0]!r}")
    _check(f, x, modes, order)


def combo_check(fun: Function, *args: Any, **kwargs: Any) -> Function:
    """Return a function that checks all combinations of arguments.

    Parameters
    ----------
    fun : callable
    *args, **kwargs
        Arguments of `check_grads`.

    Returns
    -------
    callable
        Function of a sequence of values for each argument and each keyword argument of `fun`.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd.test_util import combo_check
    >>> combo_check(np.sum, (0,))([np.array([[1.0, 2.0], [3.0, 4.0]])], axis=[None, 0, 1])
    """

    def check_all(*choices: Sequence[Any], **named: Sequence[Any]) -> None:
        for values in itertools.product(*choices):
            for options in itertools.product(*named.values()):
                check_grads(fun, *args, **kwargs)(*values, **dict(zip(named, options, strict=True)))

    return check_all


def __dir__() -> list[str]:
    return sorted(__all__)
