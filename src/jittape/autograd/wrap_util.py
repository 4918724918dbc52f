"""Operators on functions of several arguments, of which some are varied."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["Unary", "get_name", "root_of", "unary_to_nary", "wrapping"]

DOC = """\
    {name} of function {of} with respect to argument number {argnum}. Takes the
    same arguments as {of} but returns the {name}.
    """
"""Docstring of a derived function, as in autograd."""


class Unary:
    """A function of its varied arguments only.

    Attributes
    ----------
    root : code object or type
        The user's function; the trace of a derivative is identified by it.
    """

    __slots__ = ("__weakref__", "argnum", "args", "fun", "kwargs", "root")

    def __init__(
        self, fun: Callable[..., Any], argnum: Any, args: tuple[Any, ...], kwargs: dict[str, Any], root: Any
    ) -> None:
        self.fun = fun
        self.argnum = argnum
        self.args = args
        self.kwargs = kwargs
        self.root = root

    def __call__(self, x: Any) -> Any:
        argnum = self.argnum
        if argnum == 0 and argnum.__class__ is int:
            return self.fun(x, *self.args[1:], **self.kwargs)
        args = list(self.args)
        if isinstance(argnum, int):
            args[argnum] = x
        else:
            for i, value in zip(argnum, x, strict=True):
                args[i] = value
        return self.fun(*args, **self.kwargs)


def get_name(fun: Any) -> str:
    """Return the name of a function.

    Parameters
    ----------
    fun : callable

    Examples
    --------
    >>> from jittape.autograd.wrap_util import get_name
    >>> get_name(len)
    'len'
    """
    return getattr(fun.fun if isinstance(fun, Unary) else fun, "__name__", "[unknown name]")


def wrapping(wrapper: Any, function: Any) -> Any:
    """Return `wrapper` with the name of `function`, which errors take from its code."""
    functools.update_wrapper(wrapper, function)
    wrapper.__code__ = wrapper.__code__.replace(co_name=get_name(function))
    return wrapper


def root_of(fun: Any) -> Any:
    """Return the code of the user's function inside `fun`."""
    while True:
        if isinstance(fun, Unary) or hasattr(fun, "_autograd_root"):
            return fun.root if isinstance(fun, Unary) else fun._autograd_root
        if not hasattr(fun, "__wrapped__"):
            return getattr(fun, "__code__", type(fun))
        fun = fun.__wrapped__


@functools.lru_cache(256)
def _name_and_doc(name: str, of: str, argnum: str) -> tuple[str, str]:
    return f"{name}_of_{of}_wrt_argnum_{argnum}", DOC.format(name=name, of=of, argnum=argnum)


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return `operator`, which takes a function of one argument, for functions of several arguments.

    Parameters
    ----------
    operator : callable
        ``operator(f, x, ...)`` of a function of one argument and the argument.

    Returns
    -------
    callable
        ``operator(fun, argnum=0, ...)``, which returns a function with the arguments of `fun`. `argnum` is the number
        of the varied argument, or a tuple or list of numbers: the varied arguments are then a tuple.

    Examples
    --------
    >>> from jittape.autograd.wrap_util import unary_to_nary
    >>> doubled = unary_to_nary(lambda f, x: 2 * f(x))
    >>> doubled(lambda a, b: a - b, 1)(5, 3)
    4
    """

    @functools.wraps(operator)
    def nary_operator(fun: Callable[..., Any], argnum: Any = 0, *options: Any, **named: Any) -> Any:
        if not callable(fun):
            raise TypeError(f"[{operator.__name__}] needs a function, got {type(fun).__name__}")
        if type(argnum) not in (int, tuple, list):
            raise TypeError(
                f"[{operator.__name__}] argnum must be an int or a tuple or list of ints, got {argnum!r}"
            )
        root = root_of(fun)

        def nary_f(*args: Any, **kwargs: Any) -> Any:
            x = args[argnum] if isinstance(argnum, int) else tuple([args[i] for i in argnum])
            return operator(Unary(fun, argnum, args, kwargs, root), x, *options, **named)

        named_as = _name_and_doc(operator.__name__, get_name(fun), str(argnum))
        nary_f.__name__ = nary_f.__qualname__ = named_as[0]
        nary_f.__doc__ = named_as[1]
        nary_f._autograd_root = root  # type: ignore[attr-defined]
        return nary_f

    return nary_operator


def __dir__() -> list[str]:
    return sorted(__all__)
