"""Gradients as functions that ``@njit`` code can call."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numba
from numba import types
from numba.extending import overload

from jittape.core.user_calls import stack_level
from jittape.errors import CacheWarning, NoGradientError
from jittape.numba_ad.store_gradient import stored, unstored
from jittape.numba_ad.stored_gradients import gradient_folder

if TYPE_CHECKING:
    from jittape.numba_ad.gradient_code import GradientCode

__all__ = ["check_derivable", "front_function", "gradient_code", "gradient_dispatcher"]


def gradient_code(gradient: Any, argument_types: tuple[Any, ...]) -> GradientCode:
    """Return the code of a gradient for arguments of these types."""
    # This import takes 0.2 s.
    from jittape.numba_ad.gradient_code import generate

    function = gradient.function
    if hasattr(function, "derived"):
        own = argument_types[gradient.tangent_count :]
        function = function.derived(tuple([types.unliteral(kind) for kind in own]))
    return generate(
        function,
        list(argument_types),
        gradient.argnums,
        gradient.returned,
        gradient.purpose,
        gradient.checkpoint,
        gradient.tangents,
        gradient.silent,
    )


def check_derivable(gradient: Any) -> None:
    """Raise the error of a function that has no gradient, as far as it is known without arguments."""
    # The check parses the source and takes 2 ms for a short function.
    from jittape.numba_ad.lower.check_source import check_source

    gradient.checked = True
    function = gradient.function
    check_source(function, gradient.purpose)
    # Numba compiles a function with explicit signatures for no other types.
    if gradient.tangent_count or getattr(function, "_can_compile", True):
        return
    errors = []
    for argument_types in function.signatures:
        try:
            gradient_code(gradient, argument_types)
            return
        except (NoGradientError, TypeError) as error:
            errors.append(error)
    if errors:
        raise errors[0]


def gradient_dispatcher(gradient: Any, argument_types: tuple[Any, ...]) -> tuple[Any, tuple[int, ...]]:
    """Return the ``@njit`` function that computes a gradient for arguments of these types, and store it.

    The second result has the numbers of the arguments whose arrays a gradient that records values writes.
    """
    folder = gradient_folder(gradient)
    code = gradient_code(gradient, argument_types[1:] if gradient.returned == "vjp" else argument_types)
    # The text does not determine the user's functions with rules, so their machine code is not stored.
    if folder is not None and not code.rules:
        try:
            return stored(code, gradient, argument_types, folder), code.written
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "cannot cache function" not in str(error):
                raise
            warnings.warn(
                f"[cache] gradients of Numba code cannot be stored in {folder} ({error}). Choose a folder that can be "
                "written with JITTAPE_CACHE_DIR",
                CacheWarning,
                stacklevel=stack_level(),
            )
    return unstored(code, gradient), code.written


def front_function(gradient: Any) -> Any:
    """Return an ``@njit`` function that derives the gradient for the types of each call."""
    names = ", ".join(gradient.parameters)
    namespace: dict[str, Any] = {}
    exec(f"def stub({names}):\n    raise NotImplementedError\n", namespace)
    stub = namespace["stub"]

    def implementation(*argument_types: Any) -> Any:
        known = tuple([types.unliteral(kind) for kind in argument_types])
        return eval(f"lambda {names}: derived({names})", {"derived": gradient.compiled(known)})

    exec(
        f"def typed({names}):\n    return implementation({names})\n",
        {"implementation": implementation},
        namespace,
    )
    overload(stub)(namespace["typed"])
    defaults = {
        f"default_{name}": parameter.default
        for name, parameter in gradient.signature.parameters.items()
        if parameter.default is not parameter.empty
    }
    given = [
        f"{name}=default_{name}" if f"default_{name}" in defaults else name for name in gradient.parameters
    ]
    return numba.njit(nogil=True)(
        eval(f"lambda {', '.join(given)}: stub({names})", {"stub": stub, **defaults})
    )
