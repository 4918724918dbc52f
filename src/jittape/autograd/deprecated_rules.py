"""Rules of autograd's first versions: `defvjp`, `defvjp_is_zero` and `defgrad` as attributes of a primitive."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["add_deprecated_rules"]

Function = Callable[..., Any]

ADVICE = "{name}.{attribute} is deprecated, as in autograd; use jittape.autograd.extend.defvjp({name}, ...)"


def add_deprecated_rules(primitive: Any, defvjp: Function, vspace: Function) -> None:
    """Give a primitive the attributes of autograd's first versions; `defvjp` and `vspace` are those of ``extend``."""
    makers: dict[int, Function] = {}

    def add(attribute: str, argnum: int, maker: Function) -> None:
        text = ADVICE.format(name=primitive.__name__, attribute=attribute)
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        makers[argnum] = maker
        argnums = sorted(makers)
        defvjp(primitive, *[makers[i] for i in argnums], argnums=argnums)

    def with_spaces(rule: Function, argnum: int = 0) -> None:
        def maker(ans: Any, *args: Any, **kwargs: Any) -> Function:
            return lambda g: rule(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        add("defvjp", argnum, maker)

    def of_zero(argnums: Any = (0,)) -> None:
        for argnum in argnums:
            add(
                "defvjp_is_zero",
                argnum,
                lambda ans, *args, i=argnum, **kwargs: lambda g: vspace(args[i]).zeros(),
            )

    def of_gradient(maker: Function, argnum: int = 0) -> None:
        add("defgrad", argnum, maker)

    primitive.defvjp, primitive.defvjp_is_zero, primitive.defgrad = with_spaces, of_zero, of_gradient
