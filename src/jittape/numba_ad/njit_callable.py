"""Gradients as functions that ``@njit`` code can call."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba import types
from numba._dispatcher import compute_fingerprint
from numba.core.errors import NumbaError
from numba.extending import overload

from jittape.compile.cache.directory import cache_directory
from jittape.core.config import config
from jittape.core.user_calls import stack_level
from jittape.errors import CacheWarning, NoGradientError
from jittape.numba_ad.gradient_folder import gradient_folder, limit_gradients
from jittape.numba_ad.load_gradient import compiled, loaded, store_machine_code
from jittape.numba_ad.stored_gradients import gradient_key, note_check, read_entry, was_checked, write_entry

if TYPE_CHECKING:
    from jittape.numba_ad.gradient_code import GradientCode

__all__ = [
    "NumbaError", "check_derivable", "compute_fingerprint", "front_function", "gradient_code", "gradient_dispatcher",
    "types_of",
]  # fmt: skip


def types_of(arguments: Any, gradient: Any = None) -> tuple[Any, ...]:
    """Return the Numba types of arguments, of a gradient if there is an argument without such a type."""
    found = []
    for position, argument in enumerate(arguments):
        try:
            found.append(numba.typeof(argument))
        except (ValueError, TypeError, NotImplementedError, NumbaError) as error:
            shown = getattr(argument, "dtype", "")
            name = f"{position}" if gradient is None else gradient.parameters[position - len(arguments)]
            raise TypeError(
                f"{getattr(gradient, '__name__', 'njit_grad')}: the argument {name} is a {type(argument).__name__}"
                f"{f' of {shown}' if shown else ''}, which Numba does not know. Pass floats, ints, bools, and NumPy "
                "arrays of them; for tensors, use jt.numba_op"
            ) from error
    return tuple(found)


def gradient_code(gradient: Any, argument_types: tuple[Any, ...]) -> GradientCode:
    """Return the code of a gradient for arguments of these types."""
    # A process that loads its gradients from the disk does without this import of 0.2 s.
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
    root = cache_directory() if gradient.cache else None
    if root is not None and was_checked(gradient_folder(root), gradient):
        return
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
    """Return the ``@njit`` function that computes a gradient for arguments of these types.

    The second result has the numbers of the arguments whose arrays a gradient that records values writes.
    """
    root = cache_directory() if gradient.cache else None
    if root is not None:
        try:
            return _stored_dispatcher(gradient, argument_types, root)
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "cannot cache function" not in str(error):
                raise
            warnings.warn(
                f"[cache] gradients of Numba code cannot be stored in {gradient_folder(root)} ({error}). Choose a "
                "folder that can be written with JITTAPE_CACHE_DIR",
                CacheWarning,
                stacklevel=stack_level(),
            )
    code = _own_code(gradient, argument_types)
    return compiled(code, gradient.boundscheck, None), code.written


def _own_code(gradient: Any, argument_types: tuple[Any, ...]) -> GradientCode:
    return gradient_code(gradient, argument_types[1:] if gradient.returned == "vjp" else argument_types)


def _stored_dispatcher(
    gradient: Any, argument_types: tuple[Any, ...], root: Path
) -> tuple[Any, tuple[int, ...]]:
    """Do the same with code from the disk if it is there; store it otherwise."""
    folder = gradient_folder(root)
    key = gradient_key(gradient, argument_types)
    entry = None if key is None else read_entry(folder, key)
    if entry is not None:
        function = loaded(entry["module"], entry["function"], entry["text"], gradient.boundscheck, folder)
        store_machine_code(function, argument_types, entry["module"], folder)
        if gradient.checked:  # The note was deleted to make room.
            with contextlib.suppress(OSError):
                note_check(folder, gradient, entry["module"])
        return function, tuple(entry["written"])
    from jittape.numba_ad.generated_module import module_text

    code = _own_code(gradient, argument_types)
    if code.rules:  # The text does not determine the user's functions, so the machine code is not cached.
        return compiled(code, gradient.boundscheck, None), code.written
    function = compiled(code, gradient.boundscheck, folder)
    name, text = function.py_func.__module__, module_text(code)
    if key is not None:
        write_entry(folder, key, name, text, function=code.name, written=code.written)
        note_check(folder, gradient, name)
        limit_gradients(root, config.cache_size, name)
    store_machine_code(function, argument_types, name, folder)
    return function, code.written


def front_function(gradient: Any) -> Any:
    """Return an ``@njit`` function that derives the gradient for the types of each call."""
    names = ", ".join(gradient.parameters)
    namespace: dict[str, Any] = {}
    exec(f"def stub({names}):\n    raise NotImplementedError\n", namespace)
    stub = namespace["stub"]

    def implementation(*argument_types: Any) -> Any:
        known = tuple([types.unliteral(kind) for kind in argument_types])
        return eval(f"lambda {names}: derived({names})", {"derived": gradient.derived(known)})

    exec(
        f"def typed({names}):\n    return implementation({names})\n",
        {"implementation": implementation},
        namespace,
    )
    overload(stub)(namespace["typed"])
    defaults = {
        f"default_{name}": parameter.default
        for name, parameter in gradient._signature.parameters.items()
        if parameter.default is not parameter.empty
    }
    given = [
        f"{name}=default_{name}" if f"default_{name}" in defaults else name for name in gradient.parameters
    ]
    return numba.njit(nogil=True)(
        eval(f"lambda {', '.join(given)}: stub({names})", {"stub": stub, **defaults})
    )
