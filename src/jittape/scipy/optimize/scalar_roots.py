"""SciPy's functions for one method each: `fsolve`, `newton`, `brentq` and the other methods with a bracket."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from jittape.core.user_calls import stack_level
from jittape.scipy.optimize.roots import root, root_scalar

__all__ = ["bisect", "brenth", "brentq", "fsolve", "newton", "ridder", "toms748"]

Function = Callable[..., Any]


def _found(name: str, full_output: bool, disp: bool, f: Function, **options: Any) -> Any:
    found = root_scalar(f, **options)
    if disp and "iterations" in found and not found.converged:
        raise RuntimeError(
            f"[{name}] no root found in {found.iterations} iterations, the last value is {float(found.root)}: raise "
            "maxiter, or pass disp=False"
        )
    return (found.root, found) if full_output else found.root


def _bracketing(name: str) -> Function:
    def find(
        f: Function,
        a: float,
        b: float,
        args: Any = (),
        xtol: float = 2e-12,
        rtol: float = 8.881784197001252e-16,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        options = {"bracket": (a, b), "args": args, "xtol": xtol, "rtol": rtol, "maxiter": maxiter}
        return _found(name, full_output, disp, f, method=name, **options)

    find.__name__ = find.__qualname__ = name
    find.__code__ = find.__code__.replace(co_name=name, co_qualname=name)
    find.__doc__ = f"""Find a root of `f` between `a` and `b` by SciPy's method ``"{name}"``.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns a number, by jittape's operations.
    a, b : float
        Ends of the bracket, at which `f` has different signs; numbers, not tensors of a trace.
    args : tuple
        Parameters of `f`. Within a `jt.function`, all tensors that `f` uses must be here.
    xtol, rtol, maxiter, disp
        As in `scipy.optimize.{name}`.
    full_output : bool
        Return the result of `root_scalar` too.

    Returns
    -------
    Tensor
        float64 number, differentiable in everything that `f` reads.

    Raises
    ------
    ValueError
        If the signs of `f` at both ends are equal.
    RuntimeError
        If the method does not converge and `disp` is true.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> root = lambda a: optimize.{name}(lambda x, a: x**3 - a, 0.0, 5.0, args=(a,))
    >>> round(float(jt.grad(root)(8.0)), 4)
    0.0833
    """
    return find


bisect = _bracketing("bisect")
brenth = _bracketing("brenth")
brentq = _bracketing("brentq")
ridder = _bracketing("ridder")
toms748 = _bracketing("toms748")


def newton(
    func: Function,
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find a root of a function of one number by Newton's method with exact derivatives.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` returns a number, by jittape's operations.
    x0 : float
        Start. For several equations use `root` or `fsolve`.
    fprime, fprime2
        Not used, because jittape differentiates `func`. If `fprime2` is given, the method is Halley's.
    args : tuple
        Parameters of `func`. Within a `jt.function`, all tensors that `func` uses must be here.
    x1 : float, optional
        Second start: the method is then the secant method.
    tol, maxiter, rtol, disp
        As in `scipy.optimize.newton`.
    full_output : bool
        Return the result of `root_scalar` too.

    Returns
    -------
    Tensor
        float64 number, differentiable in everything that `func` reads.

    Raises
    ------
    RuntimeError
        If the method does not converge and `disp` is true.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> round(float(jt.grad(lambda a: optimize.newton(lambda x: x**2 - a, 1.0))(4.0)), 4)
    0.25
    """
    if getattr(x0, "shape", ()) != () or isinstance(x0, (list, tuple)):
        raise ValueError(
            "[newton] x0 must be a number; use optimize.fsolve or optimize.root for several equations"
        )
    method = "secant" if x1 is not None else "halley" if fprime2 is not None else "newton"
    options = {"x0": x0, "x1": x1, "args": args, "xtol": tol, "rtol": rtol, "maxiter": maxiter}
    return _found("newton", full_output, disp, func, method=method, **options)


def fsolve(
    func: Function,
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: bool = False,
    col_deriv: bool = False,
    xtol: float = 1.49012e-08,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: float = 100,
    diag: Any = None,
) -> Any:
    """Solve ``func(x, *args) = 0`` by MINPACK's method with the exact Jacobian, as `root` does.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` returns a tensor of the shape of `x`, by jittape's operations.
    x0 : tensor-like of shape (n,)
        Start; no gradient flows to it.
    args : tuple
        Parameters of `func`. Within a `jt.function`, all tensors that `func` uses must be here.
    fprime, col_deriv, band, epsfcn
        Not used, because jittape differentiates `func`.
    full_output : bool
        Return SciPy's other results too: a dict, a flag that is 1 for success, and a message.
    xtol, maxfev, factor, diag
        As in `scipy.optimize.fsolve`.

    Returns
    -------
    Tensor
        Solution, float64, differentiable in everything that `func` reads.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import optimize
    >>> f = lambda a: optimize.fsolve(lambda x, a: x**2 - a, [1.0], args=(a,))[0]
    >>> round(float(jt.grad(f)(4.0)), 4)
    0.25
    """
    options = {"xtol": xtol, "maxfev": maxfev, "factor": factor, "diag": diag}
    found = root(func, x0, args, options=options)
    if full_output:
        entries = {key: found[key] for key in ("nfev", "njev", "fjac", "r", "qtf") if key in found}
        return found.x, {**entries, "fvec": found.fun}, int(found.get("status", 1)), found.get("message", "")
    if found.get("message") and not found.success:
        warnings.warn(f"[fsolve] {found.message}", RuntimeWarning, stacklevel=stack_level())
    return found.x
