"""Compiled functions as methods, and single signatures as callables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jittape.core.config import config
from jittape.core.primitive import active_recorder
from jittape.core.tickets import WeakValues
from jittape.errors import DTypeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.functions.argument_binding import bound_calls, complete_arguments
from jittape.functions.concrete_function import Concrete
from jittape.functions.function_interface import FunctionInterface
from jittape.functions.open_signature import is_open, open_keys, open_result, open_signature_of, takes
from jittape.functions.signature import (
    GUARD_FAILED,
    NUMBERS,
    Call,
    TensorSpec,
    aval_of_leaf,
    describe_key,
    key_of,
    keys_of,
    leaf_names,
)
from jittape.functions.signature_text import outer_variables, pretty_signature
from jittape.functions.trace_report import Signature, Uncompiled
from jittape.recording.nested import flatten
from jittape.recording.trace import Trace
from jittape.recording.variable import Variable

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
                    if recent.simple_path is not None:
                        function._let_machine_code_call()
                    return result
        return function._call((self.__self__,), args, kwargs)

    @property
    def _owner(self) -> tuple[Any, ...]:
        return (self.__self__,)

    # Not in `__getattr__`, with which each look-up of an attribute, and so each call, would take 0.2 µs longer.
    @property
    def __name__(self) -> str:
        name: str = self.python_function.__name__
        return name

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.python_function

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


@with_foreign_names(ATTRIBUTES_LEFT_OUT["ConcreteFunction"])
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
        self._call = Call(tuple([_without_data(leaf) for leaf in call.leaves]), call.structure, call.orders)
        self._is_open = is_open(call)
        self._concrete: Concrete | Uncompiled | None = concrete

    def known_or_self(self, known: WeakValues[Any, ConcreteFunction]) -> ConcreteFunction:
        """Return the function of the same arguments and trace that is among `known`; add this one if there is none.

        Numbers and Variables are part of the arguments: `structured_input_signature` and `inputs` show them.
        """
        key = self._call.structure, self._call.orders, tuple(map(_key_of_argument, self._call.leaves))
        found = known.get(key)
        if found is None or found._concrete is not self._concrete:
            known.set(key, self)
            return self
        return found

    @property
    def _trace(self) -> Concrete | Uncompiled:
        """The trace. After unpickling, the function is traced again on first use."""
        if self._concrete is None:
            self._concrete, _ = self._function._signature_of(self._owner, self._call)
        return self._concrete

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function; Python arguments may be left out, as `get_concrete_function` has bound them.

        Raises
        ------
        TypeError
            If the arguments are not of this signature, neither with the parameters of the Python function nor as the
            tensors alone.
        """
        function, owner = self._function, self._owner
        given: Call | None
        try:
            given = function._flatten_arguments(owner, args, kwargs)
        except TypeError:
            given = None
        result = GUARD_FAILED if given is None else self._run(given)
        if result is not GUARD_FAILED:  # not an item of the loop: to end a generator takes 0.3 µs
            return result
        for call in bound_calls(function._python, len(owner), self._call, args, kwargs):
            result = self._run(call)
            if result is not GUARD_FAILED:
                return result
            given = given or call
        text = f"this concrete function is for {str(self.signature).splitlines()[0]}, got "
        changed = self._trace.variables.changed_shape() if isinstance(self._trace, Concrete) else None
        if changed is not None:
            variable, shape = changed
            raise DTypeError(
                f"this concrete function is for shape {shape} of the Variable {variable._label!r}, which is now "
                f"{variable._aval.shape}; call the function itself, or get_concrete_function again"
            )
        if given is None:
            count = f"{len(args)} positional arguments" + "".join([f", {name}" for name in kwargs])
            raise TypeError(f"{text}{count}; its tensors may be passed by position or by name")
        names = leaf_names(function._python, given, len(owner))
        keys = keys_of(function._python, given, len(owner))
        pairs = [f"{name}: {describe_key(key)}" for name, key in zip(names, keys, strict=True)]
        raise DTypeError(f"{text}({', '.join(pairs)})")

    def _run(self, call: Call) -> Any:
        """Return the result for a call, or `GUARD_FAILED` if it is not of this signature."""
        function, owner, trace = self._function, self._owner, self._trace
        if self._is_open:
            keys = keys_of(function._python, call, len(owner))
            if call.structure != trace.structure or not takes(self._call, trace.keys, keys):
                return GUARD_FAILED
            if isinstance(trace, Concrete) and not trace.holds(call.leaves):  # such as another Python number
                return GUARD_FAILED
            return function._call_with(owner, call, keys, active_recorder())
        if (call.structure, keys_of(function._python, call, len(owner))) != (trace.structure, trace.keys):
            return GUARD_FAILED
        result = function._run(trace, owner, call, active_recorder())
        if result is GUARD_FAILED and (error := trace.failure(call.leaves)) is not None:  # type: ignore[union-attr]
            raise error
        return result

    # ---- inspection ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return self._function._name

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments, with a `TensorSpec` for each tensor and the value of others."""
        names = leaf_names(self._function._python, self._call, len(self._owner))
        leaves = [
            TensorSpec(leaf.shape, leaf.dtype, leaf.name or name) if isinstance(leaf, TensorSpec) else leaf
            for name, leaf in zip(names, self._call.leaves, strict=True)
        ]
        args, kwargs = self._call.unflatten(leaves)
        return complete_arguments(self._function._python, len(self._owner), args, kwargs)

    @property
    def structured_outputs(self) -> Any:
        """The structure of the result, with a `TensorSpec` for each tensor; None if the function is not compiled."""
        trace = self._trace
        if not isinstance(trace, Concrete):
            return None
        result = trace.structured_result()
        if not self._is_open:
            return result
        other, _ = open_signature_of(self._function, self._owner, self._call, offset=1)
        return open_result(result, other.structured_result()) if isinstance(other, Concrete) else None

    @property
    def inputs(self) -> list[TensorSpec]:
        """The `TensorSpec` of each tensor among the arguments."""
        return [leaf for leaf in self._call.leaves if isinstance(leaf, TensorSpec)]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The `TensorSpec` of each tensor of the result."""
        return [leaf for leaf in flatten(self.structured_outputs)[0] if isinstance(leaf, TensorSpec)]

    @property
    def output_shapes(self) -> Any:
        """The structure of the result, with the shape of each tensor."""
        return self._mapped_outputs(lambda spec: spec.shape)

    @property
    def output_dtypes(self) -> Any:
        """The structure of the result, with the dtype of each tensor."""
        return self._mapped_outputs(lambda spec: spec.dtype)

    def _mapped_outputs(self, part: Callable[[TensorSpec], Any]) -> Any:
        leaves, rebuild = flatten(self.structured_outputs)
        return rebuild([part(leaf) if isinstance(leaf, TensorSpec) else leaf for leaf in leaves])

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The Variables from outside that the function reads or assigns."""
        return outer_variables(self._trace)

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable Variables among `variables`."""
        return tuple([v for v in self.variables if v.trainable])

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Return parameters, results and Variables from outside as text; without `verbose`, its first line only."""
        if not verbose:
            return str(self.signature).splitlines()[0]
        keys = open_keys(self._call, self._trace.keys)
        return pretty_signature(
            self._function._python, len(self._owner), self._trace, keys, self.structured_outputs
        )

    @property
    def program(self) -> Any:
        """The op list; None if the function is recorded at each call."""
        trace = self._trace
        return trace.program if isinstance(trace, Concrete) else None

    def __getstate__(self) -> tuple[Any, ...]:
        call = self._call
        return (
            self._function._unbound,
            self._owner,
            (call.leaves, call.structure, call.orders),
            self.signature,
        )

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        function, self._owner, parts, self.signature = state
        self._function = function._of(*self._owner) if self._owner else function
        self._call = Call(*parts)
        self._is_open = is_open(self._call)
        self._concrete = None

    def __repr__(self) -> str:
        return f"<jt.ConcreteFunction {self._function._name}{str(self.signature).splitlines()[0]}>"


def _bound(function: Function, instance: Any) -> Any:
    """Return a compiled function as a method of an instance."""
    return BoundFunction(function._of(instance), instance)


def _key_of_argument(leaf: Any) -> Any:
    """Return what a leaf has in common with those that make the same concrete function."""
    if isinstance(leaf, TensorSpec):
        return leaf, leaf.name
    if isinstance(leaf, Variable):
        return id(leaf)  # the concrete function keeps it alive
    return (type(leaf), repr(leaf)) if type(leaf) in NUMBERS else key_of(leaf)  # 0.0 and -0.0 differ


def _without_data(leaf: Any) -> Any:
    """Return the `TensorSpec` of an array, and any other leaf unchanged."""
    aval = None if isinstance(leaf, TensorSpec) else aval_of_leaf(leaf)
    return leaf if aval is None else TensorSpec(aval.shape, aval.dtype)
