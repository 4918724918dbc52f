"""`check_grads`: comparison of derivatives with differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from jittape.autograd.containers import as_numpy
from jittape.autograd.products import make_jvp_of, make_vjp_of
from jittape.autograd.vector_spaces import vspace
from jittape.autograd.wrap_util import get_name, unary_to_nary

__all__ = ["check_grads", "combo_check"]

Function = Callable[..., Any]
_STEP = 1e-6
_TOLERANCE = 1e-6


def _close(a: float, b: float) -> bool:
    return bool(abs(a - b) < _TOLERANCE or abs(a - b) / abs(a + b) < _TOLERANCE)


def _difference(f: Function, x: Any, v: Any) -> Any:
    """Return the central difference of `f` at `x` along `v`."""
    space = vspace(x)
    above = as_numpy(f(space.add(x, space.scalar_mul(v, _STEP / 2))))
    below = as_numpy(f(space.add(x, space.scalar_mul(v, -_STEP / 2))))
    values = vspace(above)
    return values.scalar_mul(values.add(above, values.scalar_mul(below, -1.0)), 1.0 / _STEP)


def _check_vjp(f: Function, x: Any) -> None:
    vjp, y = make_vjp_of(f, x)
    values, points = vspace(y), vspace(x)
    along, cotangent = points.randn(), values.randn()
    product = points.covector(vjp(values.covector(cotangent)))
    assert vspace(product) == points, f"VSpace mismatch:\nx: {points}\ngradient: {vspace(product)}"
    exact = points.inner_prod(along, product)
    numeric = values.inner_prod(cotangent, _difference(f, x, along))
    assert _close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {exact}\nnumeric:  {numeric}"
    )


def _check_jvp(f: Function, x: Any) -> None:
    along = vspace(x).randn()
    _, exact = make_jvp_of(f, x)(along)
    numeric = _difference(f, x, along)
    values = vspace(numeric)
    assert vspace(exact) == values, f"VSpace mismatch:\nx: {vspace(exact)}\ny: {values}"
    v = values.randn()
    assert _close(values.inner_prod(exact, v), values.inner_prod(numeric, v)), (
        f"Derivative (JVP) check of {get_name(f)} failed with arg {x}:\nanalytic: {exact}\nnumeric:  {numeric}"
    )


def _check(f: Function, x: Any, modes: Sequence[str], order: int) -> None:
    for mode, check in (("fwd", _check_jvp), ("rev", _check_vjp)):
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
