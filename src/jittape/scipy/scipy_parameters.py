"""SciPy's order of parameters, for functions that do not have all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["in_scipys_order"]

F = TypeVar("F", bound=Callable[..., Any])


def in_scipys_order(order: str, hint: str = "", ignored: str = "", **unsupported: Any) -> Callable[[F], F]:
    """Return a decorator that gives a function SciPy's positional parameters.

    Parameters
    ----------
    order : str
        Names of SciPy's positional parameters.
    hint : str
        What to use in place of the parameters that are not supported.
    ignored : str
        Names of parameters that do not change results.
    **unsupported
        SciPy's parameters that the function does not have, with their default values, which are accepted.
    """
    names, dropped = order.split(), ignored.split()

    def decorated(function: F) -> F:
        def call(*args: Any, **kwargs: Any) -> Any:
            if len(args) <= len(names):
                for name, value in zip(names, args, strict=False):
                    if name in kwargs:
                        raise TypeError(
                            f"[{function.__name__}] {name} is given twice, by position and by name"
                        )
                    kwargs[name] = value
                args = ()
            for name in [name for name in kwargs if name in unsupported]:
                given, default = kwargs.pop(name), unsupported[name]
                if given is not default and not (isinstance(given, int | float) and given == default):
                    raise NotImplementedError(
                        f"[{function.__name__}] {name} is not supported; leave it out{hint}"
                    )
            return function(*args, **{name: value for name, value in kwargs.items() if name not in dropped})

        call.__code__ = call.__code__.replace(co_name=function.__name__)  # messages name the function
        return functools.wraps(function)(call)  # type: ignore[return-value]

    return decorated
