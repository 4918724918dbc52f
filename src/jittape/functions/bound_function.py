"""A compiled function as a method, and one signature of it as a callable of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jittape.core.config import config
from jittape.core.primitive import active_recorder
from jittape.functions.concrete_function import Concrete
from jittape.functions.signature import (
    GUARD_FAILED,
    Call,
    TensorSpec,
    aval_of_leaf,
    keys_of,
    leaf_names,
    shown,
)
from jittape.functions.trace_report import Recorded, Signature
from jittape.recording.trace import Trace

if TYPE_CHECKING:
    from jittape.functions.function import Function

__all__ = ["BoundFunction", "ConcreteFunction"]


class BoundFunction:
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
                result = recent.quick(args)
                if result is not GUARD_FAILED:
                    return result
        return function._call((self.__self__,), args, kwargs)

    @property
    def trace_count(self) -> int:
        """How often the Python function has been run to trace it."""
        return self._function.trace_count

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """As `Function.get_concrete_function`."""
        return self._function._concrete((self.__self__,), args, kwargs)

    def signatures(self) -> tuple[Signature, ...]:
        """As `Function.signatures`."""
        return self._function.signatures()

    def explain(self) -> str:
        """As `Function.explain`."""
        return self._function.explain()

    def __reduce__(self) -> Any:
        return _bound, (self._function._unbound, self.__self__)

    def __repr__(self) -> str:
        return f"<bound {self._function!r} of {self.__self__!r}>"


class ConcreteFunction:
    """One signature of a function, as `get_concrete_function` gives it.

    Attributes
    ----------
    signature : Signature
    """

    def __init__(
        self,
        function: Function,
        owner: tuple[Any, ...],
        call: Call,
        concrete: Concrete | Recorded,
        signature: Signature,
    ) -> None:
        self.signature = signature
        self._function = function
        self._owner = owner
        self._call = Call(tuple([_described(leaf) for leaf in call.leaves]), call.structure)
        self._concrete: Concrete | Recorded | None = concrete

    @property
    def _found(self) -> Concrete | Recorded:
        """The trace; one that was pickled is traced again when it is first needed."""
        if self._concrete is None:
            self._concrete, _ = self._function._signature_of(self._owner, self._call)
        return self._concrete

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        function, found = self._function, self._found
        call = function._flatten_with_optree(self._owner, args, kwargs)
        keys = keys_of(function._python, call, len(self._owner))
        result = GUARD_FAILED
        if (call.structure, keys) == (found.structure, found.keys):
            result = function._run(found, self._owner, call, active_recorder())
            if result is GUARD_FAILED and (error := found.failure(call.leaves)) is not None:  # type: ignore[union-attr]
                raise error
        if result is GUARD_FAILED:
            names = leaf_names(function._python, call, len(self._owner))
            given = ", ".join([f"{name}: {shown(key)}" for name, key in zip(names, keys, strict=True)])
            raise TypeError(
                f"this concrete function is for {str(self.signature).splitlines()[0]}, got ({given})"
            )
        return result

    @property
    def program(self) -> Any:
        """The op list; None if the function is recorded at each call."""
        found = self._found
        return found.program if isinstance(found, Concrete) else None

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
    """A compiled function as the method of an instance."""
    return BoundFunction(function._of(instance), instance)


def _described(leaf: Any) -> Any:
    """Of an array only what it must be."""
    aval = aval_of_leaf(leaf)
    return leaf if aval is None else TensorSpec(aval.shape, aval.dtype)
