"""Names of ``autograd.extend``: `primitive` and the functions that define its derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from jittape.autodiff.custom_gradient import with_gradient
from jittape.autograd.call_log import LoggedCall, call_log, logs_calls
from jittape.autograd.containers import (
    as_numpy,
    as_tensor,
    holds_boxes,
    is_box,
    leaves_of_value,
    like,
    mapped,
    subval,
    subvals,
)
from jittape.autograd.deprecated_rules import add_deprecated_rules
from jittape.autograd.products import make_vjp_of, zeros_of
from jittape.autograd.tracer import Box, notrace_primitive
from jittape.autograd.vector_spaces import VSpace, vspace
from jittape.autograd.wrap_util import get_name
from jittape.core.dtypes import is_differentiable
from jittape.primitives.elementwise.complex_numbers import conj

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "subval",
    "subvals",
    "vspace",
]

Function = Callable[..., Any]
_vjp_makers: dict[Function, Function] = {}
_jvp_makers: dict[Function, Function] = {}


def primitive(f_raw: Function) -> Function:
    """Return `f_raw` as an operation whose derivative `defvjp` or `defjvp` defines.

    Parameters
    ----------
    f_raw : callable
        Function of ndarrays and numbers; it is called with values and may do anything, such as call SciPy.

    Returns
    -------
    callable
        The function. If a derivative follows a positional argument, `f_raw` runs at once on values, and the derivative
        goes through the rule.

    Raises
    ------
    NotImplementedError
        If a derivative follows an argument and there is no rule for it.

    Examples
    --------
    >>> import numpy
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def log1pexp(x):
    ...     return numpy.log1p(numpy.exp(x))
    >>> defvjp(log1pexp, lambda ans, x: lambda g: g / (1.0 + np.exp(-x)))
    >>> grad(log1pexp)(0.0), grad(grad(log1pexp))(0.0)
    (np.float64(0.5), np.float64(0.25))
    """

    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        argnums = tuple([i for i, a in enumerate(args) if holds_boxes(a)])
        if not argnums:
            return f_raw(*args, **kwargs)
        if not logs_calls():
            _require_rule(f_wrapped, argnums)
        return _recorded(f_wrapped, f_raw, argnums, args, kwargs)

    functools.update_wrapper(f_wrapped, f_raw)
    f_wrapped.fun = f_raw  # type: ignore[attr-defined]
    add_deprecated_rules(f_wrapped, defvjp, vspace)
    return f_wrapped


def _require_rule(f: Function, argnums: tuple[int, ...]) -> None:
    if f not in _vjp_makers and f not in _jvp_makers:
        raise NotImplementedError(
            f"VJP of {get_name(f)} wrt argnums {argnums} not defined: define it with defvjp"
        )


def _recorded(
    f: Function, f_raw: Function, argnums: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a call of a primitive: its value as a constant with a gradient of its own."""
    answer = f_raw(*as_numpy(args), **as_numpy(kwargs))
    outputs = [as_tensor(leaf) for leaf in leaves_of_value(answer)]
    log = call_log()
    if not any(is_differentiable(y.aval.dtype) for y in outputs):
        if log is not None:
            raise TypeError(
                f"[const_graph] {get_name(f)} returns no floating numbers, so its calls are not repeated"
            )
        return answer
    varied = [args[i] for i in argnums]
    given = [leaf for leaf in leaves_of_value(varied) if is_box(leaf)]
    made: list[Any] = []

    def gradient(*upstream: Any) -> list[Any]:
        g = like(made[0], [_conjugate(u) for u in upstream])
        found = _cotangents(f, argnums, g, made[0], args, kwargs)
        leaves: list[Any] = []
        for arg, cotangent in zip(varied, found, strict=True):
            pairs = zip(leaves_of_value(arg), leaves_of_value(cotangent), strict=True)
            leaves += [c for leaf, c in pairs if is_box(leaf)]
        return [_conjugate(as_tensor(c)) for c in leaves]

    made.append(like(answer, with_gradient(gradient, outputs, given)))
    if log is not None:
        log.append(LoggedCall(f, args, kwargs, made[0]))
    return made[0]


def _conjugate(x: Any) -> Any:
    return conj(x) if x.aval.dtype.kind == "c" else x


def _cotangents(
    f: Function, argnums: tuple[int, ...], g: Any, answer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    """Return the cotangents of the varied arguments, by the rule for vectors times Jacobian if there is one."""
    _require_rule(f, argnums)
    if f in _vjp_makers:
        return list(_vjp_makers[f](argnums, answer, args, kwargs)(g))
    zeros = tuple([mapped(lambda leaf: zeros_of(as_tensor(leaf)), args[i]) for i in argnums])
    pullback, _ = make_vjp_of(lambda gs: _jvp_makers[f](argnums, gs, answer, args, kwargs), zeros)
    return list(pullback(g))


# ---- rules -----------------------------------------------------------------------------------------------------------


def defvjp_argnums(fun: Function, vjpmaker: Function) -> None:
    """Define the vector-Jacobian products of a primitive for all varied arguments together.

    Parameters
    ----------
    fun : callable
        A result of `primitive`.
    vjpmaker : callable
        ``vjpmaker(argnums, ans, args, kwargs)`` returns a function that returns one cotangent for each entry of
        `argnums`.

    Examples
    --------
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import defvjp_argnums, primitive
    >>> product = primitive(lambda x, y: x * y)
    >>> defvjp_argnums(product, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - i] for i in argnums])
    >>> grad(product, 1)(2.0, 3.0)
    np.float64(2.0)
    """
    _vjp_makers[fun] = vjpmaker


def defvjp_argnum(fun: Function, vjpmaker: Function) -> None:
    """Define the vector-Jacobian products of a primitive by one function of the argument's number.

    Parameters
    ----------
    fun : callable
        A result of `primitive`.
    vjpmaker : callable
        ``vjpmaker(argnum, ans, args, kwargs)`` returns a function of the cotangent of the value.

    Examples
    --------
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import defvjp_argnum, primitive
    >>> total = primitive(lambda *numbers: sum(numbers))
    >>> defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: g)
    >>> grad(total, 2)(1.0, 2.0, 3.0)
    np.float64(1.0)
    """

    def of_all(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Function:
        rules = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: [rule(g) for rule in rules]

    defvjp_argnums(fun, of_all)


def defvjp(fun: Function, *vjpmakers: Function | None, argnums: Any = None) -> None:
    """Define the vector-Jacobian product of a primitive for each argument.

    Parameters
    ----------
    fun : callable
        A result of `primitive`.
    *vjpmakers : callable or None
        ``vjpmaker(ans, *args, **kwargs)`` returns a function of the cotangent of the value that returns the cotangent
        of the argument. None means zeros.
    argnums : iterable of int, default 0, 1, 2, ...
        Numbers of the arguments that the rules are for.

    Raises
    ------
    TypeError
        If a rule is neither a function nor None.

    Examples
    --------
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.extend import defvjp, primitive
    >>> square = primitive(lambda x: x * x)
    >>> defvjp(square, lambda ans, x: lambda g: 2.0 * g * x)
    >>> grad(square)(3.0)
    np.float64(6.0)
    """
    rules = dict(zip(count() if argnums is None else argnums, vjpmakers, strict=False))
    for rule in rules.values():
        _check_rule("VJP", rule, fun)

    def of_argument(argnum: int, ans: Any, args: Any, kwargs: Any) -> Function:
        if argnum not in rules:
            raise NotImplementedError(f"VJP of {get_name(fun)} wrt argnum {argnum} not defined")
        rule = rules[argnum]
        if rule is None:
            return lambda g: vspace(args[argnum]).zeros()
        made: Function = rule(ans, *args, **kwargs)
        return made

    defvjp_argnum(fun, of_argument)


def _check_rule(kind: str, rule: Any, fun: Function) -> None:
    if rule is not None and not callable(rule) and not (kind == "JVP" and rule == "same"):
        raise TypeError(f"Bad {kind} '{rule}' for '{get_name(fun)}': give a function or None")


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """Define the Jacobian-vector product of a primitive for all varied arguments together.

    Parameters
    ----------
    fun : callable
        A result of `primitive`. If it has a rule from `defvjp` too, that rule is used, also in forward mode.
    jvpmaker : callable
        ``jvpmaker(argnums, gs, ans, args, kwargs)`` returns the tangent of the value. It must be linear in `gs`.

    Examples
    --------
    >>> from jittape.autograd import deriv
    >>> from jittape.autograd.extend import defjvp_argnums, primitive
    >>> doubled = primitive(lambda x: 2.0 * x)
    >>> defjvp_argnums(doubled, lambda argnums, gs, ans, args, kwargs: 2.0 * gs[0])
    >>> deriv(doubled)(3.0)
    np.float64(2.0)
    """
    _jvp_makers[fun] = jvpmaker


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """Define the Jacobian-vector product of a primitive by one function of the argument's number.

    Parameters
    ----------
    fun : callable
        See `defjvp_argnums`.
    jvpmaker : callable
        ``jvpmaker(argnum, g, ans, args, kwargs)`` returns the part of the tangent that comes from one argument.

    Examples
    --------
    >>> from jittape.autograd import deriv
    >>> from jittape.autograd.extend import defjvp_argnum, primitive
    >>> doubled = primitive(lambda x: 2.0 * x)
    >>> defjvp_argnum(doubled, lambda argnum, g, ans, args, kwargs: 2.0 * g)
    >>> deriv(doubled)(3.0)
    np.float64(2.0)
    """

    def of_all(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [jvpmaker(i, g, ans, args, kwargs) for i, g in zip(argnums, gs, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = vspace(ans).add(total, part)
        return total

    defjvp_argnums(fun, of_all)


def defjvp(fun: Function, *jvpfuns: Function | str | None, argnums: Any = None) -> None:
    """Define the Jacobian-vector product of a primitive for each argument.

    Parameters
    ----------
    fun : callable
        See `defjvp_argnums`.
    *jvpfuns : callable, ``"same"`` or None
        ``jvpfun(g, ans, *args, **kwargs)`` returns the tangent of the value for the tangent `g` of the argument.
        ``"same"`` means that the primitive is linear in the argument and written with ``jittape.autograd.numpy``. None
        means zeros.
    argnums : iterable of int, default 0, 1, 2, ...
        Numbers of the arguments that the rules are for.

    Raises
    ------
    TypeError
        If a rule is neither a function nor ``"same"`` nor None.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import make_jvp
    >>> from jittape.autograd.extend import defjvp, primitive
    >>> sine = primitive(lambda x: np.sin(x))
    >>> defjvp(sine, lambda g, ans, x: g * np.cos(x))
    >>> make_jvp(sine)(0.0)(2.0)
    (np.float64(0.0), np.float64(2.0))
    """
    rules = dict(zip(count() if argnums is None else argnums, jvpfuns, strict=False))
    for rule in rules.values():
        _check_rule("JVP", rule, fun)

    def of_argument(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if argnum not in rules:
            raise NotImplementedError(f"JVP of {get_name(fun)} wrt argnum {argnum} not defined")
        rule = rules[argnum]
        if rule is None:
            return vspace(ans).zeros()
        return rule(g, ans, *args, **kwargs) if callable(rule) else _same(fun, argnum, g, args, kwargs)

    defjvp_argnum(fun, of_argument)


def def_linear(fun: Function) -> None:
    """Define that a primitive is linear in each of its arguments.

    Parameters
    ----------
    fun : callable
        A result of `primitive`. It must be written with ``jittape.autograd.numpy``.

    Examples
    --------
    >>> import jittape.autograd.numpy as np
    >>> from jittape.autograd import deriv
    >>> from jittape.autograd.extend import def_linear, primitive
    >>> total = primitive(lambda x: np.sum(x))
    >>> def_linear(total)
    >>> deriv(lambda x: total(x * np.ones(3)))(2.0)
    np.float64(3.0)
    """
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: _same(fun, argnum, g, args, kwargs))


def _same(fun: Any, argnum: int, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the primitive, linear in an argument, of the argument's tangent `g`."""
    tangent = fun.fun(*subval(args, argnum, g), **kwargs)
    if holds_boxes(g) and not holds_boxes(tangent):
        raise NotImplementedError(
            f"the operations of {get_name(fun)} are not recorded: give it a rule with defvjp, or write it with "
            "jittape.autograd.numpy"
        )
    return tangent


def __dir__() -> list[str]:
    return sorted(__all__)
