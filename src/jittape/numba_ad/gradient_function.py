"""Gradients of ``@njit`` functions as objects that can be called from Python and from ``@njit`` code."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

__all__ = [
    "NjitGradient", "function_name", "is_dispatcher", "parameter_names", "register_callable", "signature_of",
    "types_of",
]  # fmt: skip


_GRADIENTS: WeakSet[NjitGradient] = WeakSet()
"""Gradients that a process has made."""


class _GradientFinder:
    """Finder of generated modules, which Numba imports for machine code of the user's functions in its own cache."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Return how to import a generated module.

        Raises
        ------
        OSError
            If no gradient of this process is the code of the module: Numba then compiles the user's function again.
        """
        if not name.startswith("jittape_gradient_"):
            return None
        from jittape.numba_ad.stored_gradients import spec_of

        return spec_of(name, list(_GRADIENTS))


sys.meta_path.append(_GradientFinder)


class NjitGradient:
    """The gradient of an ``@njit`` function, created by `njit_grad` or `njit_value_and_grad`.

    It can be called from Python and, as a global, from a closure or as an argument, from ``@njit`` code. The code is
    derived and compiled at the first call with new types.

    Attributes
    ----------
    function : callable
        The ``@njit`` function.
    argnums : int or tuple of int
        Numbers of the arguments that are differentiated.
    """

    def __init__(
        self,
        function: Any,
        argnums: int | tuple[int, ...],
        returned: str,
        purpose: str,
        cache: bool,
        checkpoint: int | str | None = None,
        tangents: int | None = None,
    ) -> None:
        from numba._dispatcher import compute_fingerprint

        register_callable(type(self))
        self._fingerprint_of = compute_fingerprint
        self.function = function
        self.argnums = argnums
        self.returned = returned
        self.purpose = purpose
        self.cache = cache
        self.checkpoint = checkpoint
        self.tangents = tangents
        # Whether the code does not print: another call of the function does.
        self.silent = False
        # Whether this process has checked the source: no note on disk says that another did.
        self.checked = False
        self.boundscheck = _boundscheck(function)
        count = len(argnums) if isinstance(argnums, tuple) else 1
        self.tangent_count = count if returned in ("jvp", "tangent") else 0
        own = parameter_names(function)
        first = ["seed_"] if returned == "vjp" else [f"tangent_{i}_" for i in range(self.tangent_count)]
        while not {*own}.isdisjoint(first):  # tangents of a function that takes tangents
            first = [f"{name}_" for name in first]
        self.parameters = [*first, *own]
        self._signature: inspect.Signature | None = None
        self.__name__ = f"{purpose}({function_name(function)})"
        self._derived: dict[tuple[Any, ...], Any] = {}
        self._written: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._by_fingerprint: dict[bytes, Any] = {}
        self._front: Any = None
        self._kept: NjitGradient | None = None
        _GRADIENTS.add(self)

    @property
    def signature(self) -> inspect.Signature:
        """The signature of the gradient; calls with all arguments by position do without."""
        if self._signature is None:
            own = signature_of(self.function)
            first = self.parameters[: len(self.parameters) - len(own.parameters)]
            new = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
            self._signature = own.replace(parameters=[*new, *own.parameters.values()])
        return self._signature

    def check(self) -> None:
        """Raise an error if the function has no gradient for any types, or for none of its explicit signatures."""
        if isinstance(self.function, NjitGradient):
            return
        from jittape.numba_ad.stored_gradients import was_checked

        if not was_checked(self):
            from numba.core.compiler_lock import global_compiler_lock

            from jittape.numba_ad.njit_callable import check_derivable

            with global_compiler_lock:
                check_derivable(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the gradient; the arguments are those of the function."""
        if kwargs or len(args) != len(self.parameters):
            args = self._all(args, kwargs)
        try:
            # 0.1 us for two arrays; their Numba types take 20 us.
            fingerprint = self._fingerprint_of(args)
        except NotImplementedError:
            return self._derived_for(args)(*args)
        found = self._by_fingerprint.get(fingerprint)
        if found is None:
            found = self._by_fingerprint[fingerprint] = self._derived_for(args)
        try:
            return found(*args)
        except Exception as error:
            from numba.core.errors import NumbaError

            if isinstance(error, NumbaError):
                # An array in another byte order has the fingerprint of a native one, and no type.
                types_of(args, self)
            raise

    def _all(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> tuple[Any, ...]:
        """Return the arguments of a call by position, with default values."""
        from jittape.core.signatures import bound_arguments

        try:
            return bound_arguments(self.signature, args, kwargs or {}).args
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None

    def _derived_for(self, args: tuple[Any, ...]) -> Any:
        kinds = types_of(args, self)
        derived = self.compiled(kinds)
        written = self._written[kinds]
        return self._restoring(derived, written) if written else derived

    def _restoring(self, derived: Any, written: tuple[int, ...]) -> Callable[..., Any]:
        """Return a function that leaves arrays as the primal leaves them if there is no memory for recorded values."""
        first = self._leading

        def run(*args: Any) -> Any:
            own = args[first:]
            before = None
            try:
                before = [copied(own[i]) for i in written]
                return derived(*args)
            except MemoryError:
                for i, arrays in zip(written, before or (), strict=False):
                    for one, saved in zip(arrays_of(own[i]), arrays, strict=True):
                        one[...] = saved
                self._run_function(args)
                raise

        return run

    @property
    def _leading(self) -> int:
        """Number of arguments before those of the function."""
        return 1 if self.returned == "vjp" else self.tangent_count

    def _run_function(self, args: tuple[Any, ...]) -> None:
        """Run the user's function with the arguments of the gradient, for what it leaves in arrays."""
        own = args[self._leading :]
        if isinstance(self.function, NjitGradient):
            self.function._run_function(own)
        else:
            self.function(*own)

    def derived(self, argument_types: tuple[Any, ...]) -> Any:
        """Return the ``@njit`` function for arguments of these Numba types."""
        found = self._derived.get(argument_types)
        if found is None:
            from numba.core.compiler_lock import global_compiler_lock

            with global_compiler_lock:  # compilations that need a gradient hold it already
                found = self._derived.get(argument_types)  # of another thread that held the lock
                if found is None:
                    found, self._written[argument_types] = self._loaded_or_derived(argument_types)
                    found.py_func.derived_from = self.function
                    self._derived[argument_types] = found
        return found

    def compiled(self, argument_types: tuple[Any, ...]) -> Any:
        """Return the same function, compiled; derivatives of the gradient need only its source."""
        found = self.derived(argument_types)
        if not found.overloads:
            from numba.core.compiler_lock import global_compiler_lock

            from jittape.numba_ad.store_gradient import compile_unstored

            with global_compiler_lock:
                if not found.overloads:  # by another thread that held the lock
                    compile_unstored(found, argument_types)
        return found

    def _loaded_or_derived(self, argument_types: tuple[Any, ...]) -> tuple[Any, tuple[int, ...]]:
        from jittape.numba_ad.stored_gradients import gradient_folder, load_stored

        folder = gradient_folder(self)
        loaded = None if folder is None else load_stored(self, argument_types, folder)
        if folder is not None and loaded is not None:
            # The note of the check, or the machine code, was deleted to make room.
            if self.checked or loaded[0].stats.cache_misses:
                from jittape.numba_ad.store_gradient import note_files

                with contextlib.suppress(OSError):  # a folder that is only read
                    note_files(self, loaded[0], folder)
            return loaded
        from jittape.numba_ad.njit_callable import gradient_dispatcher

        return gradient_dispatcher(self, argument_types)

    @property
    def dispatcher(self) -> Any:
        """The Numba function that ``@njit`` code calls."""
        if self._front is None:
            from jittape.numba_ad.njit_callable import front_function

            self._front = front_function(self)
        return self._front

    def inspect(self, *args: Any) -> str:
        """Return the generated Python code; comments show the user's lines.

        Parameters
        ----------
        *args
            Arguments of the gradient, on whose types the code depends. Without arguments, the types are those for
            which the gradient, or else the function, was compiled last.

        Raises
        ------
        TypeError
            If there are no arguments and nothing has been compiled.
        NoGradientError
            If the gradient cannot be derived.

        Examples
        --------
        >>> import numba
        >>> import jittape as jt
        >>> @numba.njit
        ... def cube(x):
        ...     return x * x * x
        >>> gradient = jt.njit_grad(cube)
        >>> gradient(2.0)
        12.0
        >>> gradient.inspect() == gradient.inspect(2.0)
        True
        """
        from jittape.numba_ad.njit_callable import gradient_code

        known = not args and self.parameters
        return gradient_code(self, self._known_types() if known else types_of(self._all(args), self)).text

    def _known_types(self) -> tuple[Any, ...]:
        """Return the types for which the gradient was derived last, or else the function was compiled."""
        known = [*([] if self._leading else getattr(self.function, "signatures", ())), *self._derived]
        if not known:
            raise TypeError(
                f"{self.__name__}.inspect: the code depends on the types of the arguments; pass arguments, or call the "
                "gradient first"
            )
        types: tuple[Any, ...] = known[-1]
        return types

    def kept_bytes(self, *args: Any) -> int:
        """Return the size in bytes of the values that the forward pass keeps for the backward pass.

        Parameters
        ----------
        *args
            Arguments of the gradient. Arrays are not changed.

        Returns
        -------
        int
            Bytes on the stacks after the forward pass. With ``checkpoint``, the saved states and the stacks of one
            segment. 0 in forward mode.

        Raises
        ------
        NoGradientError
            If the gradient cannot be derived.

        Examples
        --------
        >>> import numba
        >>> import numpy as np
        >>> import jittape as jt
        >>> @numba.njit
        ... def product(x):
        ...     p = 1.0
        ...     for i in range(len(x)):
        ...         p *= x[i]
        ...     return p
        >>> jt.njit_grad(product).kept_bytes(np.ones(1000))
        8000
        """
        if self.tangent_count:
            return 0
        if self._kept is None:
            self._kept = NjitGradient(
                self.function, self.argnums, "kept_bytes", self.purpose, False, self.checkpoint
            )
        args = self._all(args)
        own = args[1:] if self.returned == "vjp" else args
        return int(self._kept(*copy.deepcopy(own)))

    def __repr__(self) -> str:
        return f"<jt.NjitGradient {self.__name__}>"


def register_callable(kind: type) -> None:
    """Tell Numba that objects of class `kind` are functions: their attribute `dispatcher`."""
    from numba import types
    from numba.extending import typeof_impl

    if kind not in typeof_impl.registry:
        typeof_impl.register(kind)(lambda value, context: types.Dispatcher(value.dispatcher))


def arrays_of(argument: Any) -> list[Any]:
    """Return the arrays of an argument: itself, or those in a tuple."""
    if isinstance(argument, tuple):
        return [array for item in argument for array in arrays_of(item)]
    return [argument] if hasattr(argument, "shape") else []


def copied(argument: Any) -> list[Any]:
    """Return copies of the arrays of an argument."""
    return [array.copy() for array in arrays_of(argument)]


def is_dispatcher(function: Any) -> bool:
    """Return whether `function` was decorated with ``@njit``."""
    return hasattr(function, "py_func") and hasattr(function, "targetoptions")


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of an ``@njit`` function or of a gradient."""
    return function.signature if isinstance(function, NjitGradient) else inspect.signature(function.py_func)


def function_name(function: Any) -> str:
    """Return the name of an ``@njit`` function or of a gradient."""
    name: str = function.__name__ if isinstance(function, NjitGradient) else function.py_func.__name__
    return name


def parameter_names(function: Any) -> list[str]:
    """Return the names of the parameters of an ``@njit`` function or of a gradient."""
    if isinstance(function, NjitGradient):
        return function.parameters
    python = function.py_func
    code = python.__code__
    # The first signature of a process takes 50 us.
    is_plain = not (code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    if is_plain and not hasattr(python, "__wrapped__") and not hasattr(python, "__signature__"):
        return list(code.co_varnames[: code.co_argcount])
    return list(signature_of(function).parameters)


def types_of(arguments: Any, gradient: Any = None) -> tuple[Any, ...]:
    """Return the Numba types of arguments, of a gradient if there is an argument without such a type."""
    from numba import typeof
    from numba.core.errors import NumbaError

    found = []
    for position, argument in enumerate(arguments):
        try:
            found.append(typeof(argument))
        except (ValueError, TypeError, NotImplementedError, NumbaError) as error:
            shown = getattr(argument, "dtype", "")
            name = f"{position}" if gradient is None else gradient.parameters[position - len(arguments)]
            raise TypeError(
                f"{getattr(gradient, '__name__', 'njit_grad')}: the argument {name} is a {type(argument).__name__}"
                f"{f' of {shown}' if shown else ''}, which Numba does not know. Pass floats, ints, bools, and NumPy "
                "arrays of them; for tensors, use jt.numba_op"
            ) from error
    return tuple(found)


def _boundscheck(function: Any) -> bool | None:
    found: bool | None = (
        function.boundscheck
        if isinstance(function, NjitGradient)
        else function.targetoptions.get("boundscheck")
    )
    return found
