"""Compiled functions as methods, and single signatures as callables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jittape.core.config import config
from jittape.core.primitive import active_recorder
from jittape.functions.concrete_function import Concrete
from jittape.functions.function_interface import FunctionInterface
from jittape.functions.signature import (
    GUARD_FAILED,
    Call,
    TensorSpec,
    aval_of_leaf,
    describe_key,
    keys_of,
    leaf_names,
)
from jittape.functions.trace_report import Signature, Uncompiled
from jittape.recording.trace import Trace

if TYPE_CHECKING:
    from jittape.functions.function import Function

__all__ = ["BoundFunction", "ConcreteFunction"]


class BoundFunction(FunctionInterface):
    """A compiled function as a method of an instance."""

    __slots__ = ("__self__", "_function")

    def __init__(self, function: Function, instance: Any) -> None:
        self._function = function
        self.__self__ = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        function = self._function
        recent = function._recent
        if recent is not None and not kwargs:
            recorder: Any = active_recorder()
            if recorder.__class__ is Trace and not (
                recorder.intervals or config._interpret or config._eager_functions
            ):
                result = recent.fast_call(args)
                if result is not GUARD_FAILED:
                    return result
        return function._call((self.__self__,), args, kwargs)

    @property
    def _owner(self) -> tuple[Any, ...]:
        return (self.__self__,)

    def __reduce__(self) -> Any:
        return _bound, (self._function._unbound, self.__self__)

    def __repr__(self) -> str:
        return f"<bound {self._function!r} of {self.__self__!r}>"


class _DocOfFunction:
    """Docstring of a class and, for its instances, of their Python functions."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: BoundFunction | None, owner: type) -> str | None:
        return self._text if instance is None else instance.python_function.__doc__


BoundFunction.__doc__ = _DocOfFunction(BoundFunction.__doc__)  # type: ignore[assignment]


class ConcreteFunction:
    """One signature of a function, returned by `get_concrete_function`.

    Attributes
    ----------
    signature : Signature
    """

    def __init__(
        self,
        function: Function,
        owner: tuple[Any, ...],
        call: Call,
        concrete: Concrete | Uncompiled,
        signature: Signature,
    ) -> None:
        self.signature = signature
        self._function = function
        self._owner = owner
        self._call = Call(tuple([_without_data(leaf) for leaf in call.leaves]), call.structure)
        self._concrete: Concrete | Uncompiled | None = concrete

    @property
    def _trace(self) -> Concrete | Uncompiled:
        """The trace. After unpickling, the function is traced again on first use."""
        if self._concrete is None:
            self._concrete, _ = self._function._signature_of(self._owner, self._call)
        return self._concrete

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        function, trace = self._function, self._trace
        call = function._flatten_arguments(self._owner, args, kwargs)
        keys = keys_of(function._python, call, len(self._owner))
        result = GUARD_FAILED
        if (call.structure, keys) == (trace.structure, trace.keys):
            result = function._run(trace, self._owner, call, active_recorder())
            if result is GUARD_FAILED and (error := trace.failure(call.leaves)) is not None:  # type: ignore[union-attr]
                raise error
        if result is GUARD_FAILED:
            names = leaf_names(function._python, call, len(self._owner))
            given = ", ".join([f"{name}: {describe_key(key)}" for name, key in zip(names, keys, strict=True)])
            raise TypeError(
                f"this concrete function is for {str(self.signature).splitlines()[0]}, got ({given})"
            )
        return result

    @property
    def program(self) -> Any:
        """The op list; None if the function is recorded at each call."""
        trace = self._trace
        return trace.program if isinstance(trace, Concrete) else None

    def __getstate__(self) -> tuple[Any, ...]:
        call = self._call
        return self._function._unbound, self._owner, call.leaves, call.structure, self.signature

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        function, self._owner, leaves, structure, self.signature = state
        self._function = function._of(*self._owner) if self._owner else function
        self._call = Call(leaves, structure)
        self._concrete = None

    def __repr__(self) -> str:
        return f"<jt.ConcreteFunction {self._function._name}{str(self.signature).splitlines()[0]}>"


def _bound(function: Function, instance: Any) -> Any:
    """Return a compiled function as a method of an instance."""
    return BoundFunction(function._of(instance), instance)


def _without_data(leaf: Any) -> Any:
    """Return the `TensorSpec` of an array, and any other leaf unchanged."""
    aval = aval_of_leaf(leaf)
    return leaf if aval is None else TensorSpec(aval.shape, aval.dtype)
