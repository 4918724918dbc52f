"""`function`: traced once for each signature, compiled, and called with a few µs of Python at the most.

Start at `Function.__call__`: as a rule the trace that was used last holds, and its quick way is all that runs. What
happens otherwise is in `_call`: the arguments are taken apart, the traces of their key are tried, and if none holds the
function is traced anew. A function that looks at a traced value is recorded from then on (`Recorded`).
"""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.locks import rlock
from jittape.core.primitive import active_recorder, recording_with
from jittape.core.tickets import Companions, WeakValues
from jittape.core.user_calls import stack_level
from jittape.errors import FunctionWarning
from jittape.functions.bound_function import BoundFunction, ConcreteFunction
from jittape.functions.concrete_function import Concrete
from jittape.functions.function_pickling import holder_of, loaded, packed, unpacked
from jittape.functions.python_function import call_python, run_python
from jittape.functions.signature import (
    GUARD_FAILED,
    STEADY,
    Call,
    TensorSpec,
    asks_for_identity,
    aval_of_leaf,
    fitted,
    flatten_call,
    is_array_like,
    keys_of,
    leaf_names,
    shared,
    shown,
)
from jittape.functions.trace_report import (
    Reason,
    Recorded,
    Signature,
    look_of_error,
    not_compiled,
    often_traced,
    recorded_because,
    too_many,
    why_traced,
)
from jittape.functions.trace_table import Traces
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import Look, Tracing
from jittape.recording.nested import flatten
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = ["Function"]

_RETRACES = 5
"""After so many, a warning says why."""


class Function:
    """A function that is traced and compiled; made by `jt.function`.

    Attributes
    ----------
    trace_count : int
        How often the Python function has been run to trace it.
    """

    def __init__(self, python: Callable[..., Any], input_signature: Sequence[Any] | None = None) -> None:
        functools.update_wrapper(self, python)
        self.trace_count = 0
        self._python = python
        self._input_signature = input_signature
        self._traces = Traces()
        self._recent: Concrete | None = None
        self._recent_nested: Concrete | None = None
        self._lock = rlock()
        self._warned: set[Callable[..., str]] = set()
        self._bound: Companions[Function] = Companions()
        self._unbound: Function = self
        _all_functions.set(id(self), self)

    # ---- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        recent = self._recent
        if recent is not None and not kwargs:
            recorder: Any = active_recorder()
            if recorder.__class__ is Trace and not (
                recorder.intervals or config._interpret or config._eager_functions
            ):
                result = recent.quick(args)
                if result is not GUARD_FAILED:
                    return result
        return self._call((), args, kwargs)

    def _call(self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call with what is bound, `owner`, and the arguments."""
        recorder = active_recorder()
        if (
            config.functions_run_eagerly()
            or recorder.traced_in is not None
            or not isinstance(recorder, Trace)
        ):
            return run_python(self._python, self._name, owner, self._flatten_with_optree(owner, args, kwargs))
        call = self._flatten_with_optree(owner, args, kwargs)
        recent = self._recent_nested
        if (
            recent is not None
            and not (recorder.intervals or config._interpret)
            and recent.structure == call.structure
        ):
            result = recent.quick(call.leaves)
            if result is not GUARD_FAILED:
                return result
        keys = keys_of(self._python, call, len(owner))
        key = _key(call, keys)
        traces = self._traces.found(key)
        for found in traces:
            result = self._run(found, owner, call, recorder)
            if result is not GUARD_FAILED:
                if found is not traces[0]:
                    with self._lock:
                        self._traces.move_to_front(key, found)
                return result
        return self._run(self._traced(owner, call, keys), owner, call, active_recorder())

    def _run(self, found: Concrete | Recorded, owner: tuple[Any, ...], call: Call, recorder: Any) -> Any:
        """The result by way of `found`, or `GUARD_FAILED`."""
        if isinstance(found, Recorded):
            found.uses += 1
            return self._recorded(owner, call)
        if recorder.intervals:
            if found.recordable:
                return found.record(recorder, call.leaves)
            return self._recorded(owner, call) if found.holds(call.leaves) else GUARD_FAILED
        result = found(call.leaves)
        if result is not GUARD_FAILED and found.is_quick:
            if isinstance(found.structure, int):
                self._recent = found
            else:
                self._recent_nested = found
        return result

    def _recorded(self, owner: tuple[Any, ...], call: Call) -> Any:
        """Run the Python function on tensors, as tracing would."""
        tensors = {id(x): convert_to_tensor(x) for x in call.leaves if isinstance(x, np.ndarray)}
        leaves = tuple([tensors.get(id(x), x) for x in call.leaves])
        return run_python(self._python, self._name, owner, Call(leaves, call.structure))

    def _flatten_with_optree(
        self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Call:
        if kwargs or self._array_defaults:
            args, kwargs = self._positional(owner, args, kwargs)
        if self._input_signature is not None:
            args = fitted(self._name, args, self._input_signature)
        return flatten_call(args, kwargs)

    def _positional(
        self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with as few keywords as can be, so that ``f(x, y=1)`` is ``f(x, 1)``, and default arrays."""
        try:
            bound = self._parameters.bind(*owner, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}() {error}") from None
        bound.arguments = {**self._array_defaults, **bound.arguments}
        return bound.args[len(owner) :], bound.kwargs

    @functools.cached_property
    def _parameters(self) -> inspect.Signature:
        return inspect.signature(self._python)

    @functools.cached_property
    def _array_defaults(self) -> dict[str, Any]:
        """Default values with arrays in them, which may change, so that they are given at each call."""
        try:
            parameters = self._parameters.parameters.values()
        except (TypeError, ValueError):
            return {}
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        return {name: value for name, value in defaults.items() if any(map(_is_array, flatten(value)[0]))}

    @property
    def _name(self) -> str:
        return getattr(self._python, "__qualname__", repr(self._python))

    # ---- tracing ---------------------------------------------------------------------------------------------------

    def _traced(self, owner: tuple[Any, ...], call: Call, keys: tuple[Any, ...]) -> Concrete | Recorded:
        """A new trace for `call`, which none holds for; or the one that another thread has made meanwhile."""
        with self._lock:
            key = _key(call, keys)
            for known in self._traces.found(key):
                if isinstance(known, Recorded) or known.holds(call.leaves):
                    return known
            names = leaf_names(self._python, call, len(owner))
            why = why_traced(self._traces.traces(), call, keys, names)
            made, look = self._trace(owner, call, keys, names)
            holds_for = () if isinstance(made, Recorded) else tuple([(n.text, v) for n, v in made.settled])
            arguments = tuple([(name, shown(key)) for name, key in zip(names, keys, strict=True)])
            recorded = "" if look is None else recorded_because(look)
            dropped = self._traces.add(key, made, Signature(arguments, holds_for, why.text, recorded))
            if self._recent in dropped or self._recent_nested in dropped:
                self._recent = self._recent_nested = None
        self._warn(look, why)
        return made

    def _trace(
        self, owner: tuple[Any, ...], call: Call, keys: tuple[Any, ...], names: list[str]
    ) -> tuple[Concrete | Recorded, Look | None]:
        """Run the Python function with placeholders; once more if it has made Variables.

        Arguments that are one tensor have placeholders of their own, so that other calls can use the trace, unless the
        function differentiates with respect to one of them, or writes to it.

        If it fails it is run again with the ints and bools themselves, and then with all numbers: C code may take no
        traced number (``json.dumps(n)``), and the dtype of a large int differs. An error that is left is the user's.
        """
        may_create = self._traces.added == 0
        same: dict[int, int] = {}
        numbers = {i: issubclass(key, STEADY) for i, key in enumerate(keys) if isinstance(key, type)}
        more = [[i for i in numbers if numbers[i]], list(numbers)]
        bools = [i for i in numbers if keys[i] is bool]
        plain = bools if bools and asks_for_identity(self._python) else []
        failed: Look | None = None
        while True:
            leaves = [leaf.aval if isinstance(leaf, TensorSpec) else leaf for leaf in call.leaves]
            tracing = Tracing(self._name, leaves, may_create)
            with tracing:
                arrays = [
                    (i, aval)
                    for i, leaf in enumerate(call.leaves)
                    if (aval := aval_of_leaf(leaf)) is not None
                ]
                stand_ins: list[Any] = list(call.leaves)
                for i, tensor in tracing.placeholders(arrays, same).items():
                    stand_ins[i] = tensor
                for i, steady in numbers.items():
                    number = tracing.number(i, call.leaves[i], names[i])
                    if i not in plain:
                        stand_ins[i] = number
                    elif steady:
                        stand_ins[i] = number.concretize()
                self.trace_count += 1
                try:
                    with recording_with(tracing):
                        result = call_python(self._python, self._name, owner, call, stand_ins)
                except Look as look:
                    return Recorded(keys, call), look
                except Exception as error:
                    more = [way for way in more if len(way) > len(plain)]
                    if not more:
                        raise
                    plain = more[0]
                    failed = look_of_error(error, [names[i] for i in numbers if not numbers[i]])
                    continue
                if tracing.look is not None:
                    return Recorded(keys, call), tracing.look
                if any([not numbers[i] for i in plain]):
                    return Recorded(keys, call), failed
                before, same = same, shared(call.leaves, tracing.distinct)
                if not tracing.made and same == before:
                    return Concrete(tracing, result, keys, call, same), None
            may_create = may_create and not tracing.made

    def _warn(self, look: Look | None, why: Reason) -> None:
        if look is not None:
            warnings.warn(not_compiled(self._name, look), FunctionWarning, stacklevel=stack_level())
        if self._traces.dropped:
            self._warn_once(too_many, why)
        elif len(self._traces) > _RETRACES:
            self._warn_once(often_traced, len(self._traces), why)

    def _warn_once(self, text: Callable[..., str], *arguments: Any) -> None:
        if text not in self._warned:
            self._warned.add(text)
            warnings.warn(text(self._name, *arguments), FunctionWarning, stacklevel=stack_level())

    # ---- methods ---------------------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundFunction(self._of(instance), instance)

    def _of(self, instance: Any) -> Function:
        """The function with the traces of this instance, which it does not keep alive."""
        known = self._bound.get(instance)
        if known is not None:
            return known
        with self._lock:
            own = Function(self._python, self._input_signature)
            own._unbound = self
            return self._bound.setdefault(instance, own)

    # ---- where to look ---------------------------------------------------------------------------------------------

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Trace for these arguments, without running anything.

        Parameters
        ----------
        *args, **kwargs
            Values, or a `TensorSpec` for an array. None for a function with an input signature.

        Returns
        -------
        ConcreteFunction
            Takes such arguments and no others.
        """
        return self._concrete((), args, kwargs)

    def _concrete(
        self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ConcreteFunction:
        if not args and not kwargs and self._input_signature is not None:
            args = tuple(self._input_signature)
        call = self._flatten_with_optree(owner, args, kwargs)
        made, signature = self._signature_of(owner, call)
        return ConcreteFunction(self, owner, call, made, signature)

    def _signature_of(self, owner: tuple[Any, ...], call: Call) -> tuple[Concrete | Recorded, Signature]:
        """The trace for such a call, which may be there already, and what it is for."""
        made = self._traced(owner, call, keys_of(self._python, call, len(owner)))
        return made, self._traces.signature_of(made)

    def signatures(self) -> tuple[Signature, ...]:
        """What the function was traced for so far, oldest first; at most `jt.config.max_signatures`."""
        return self._traces.signatures()

    def explain(self) -> str:
        """Why each signature was traced and what differed, as text to print.

        Examples
        --------
        >>> import jittape as jt
        >>> @jt.function
        ... def double(x):
        ...     return x + x
        >>> _ = double(jt.constant([1.0])), double(jt.constant([1.0, 2.0]))
        >>> print(double.explain())
        double: 2 signatures, traced 2 times
        1. (x: float32[1])
            traced because it is the first call
            compiled
        2. (x: float32[2])
            traced because x changed from float32[1] to float32[2]
            compiled
        """
        count, dropped = len(self._traces), self._traces.dropped
        head = f"{self._name}: {count} signature{'' if count == 1 else 's'}, traced {self.trace_count} times"
        head += f"; {dropped} more have been dropped" if dropped else ""
        return "\n".join([head, *[f"{i}. {s}" for i, s in enumerate(self.signatures(), 1)]])

    # ---- copies, see `pickling` ------------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        if holder_of(Function, self._python) is self._unbound:
            name = self._python.__module__, self._python.__qualname__
            return loaded, (Function, *name, self._input_signature)
        # In two steps: what is below may refer to this function.
        return _blank, (), (packed(Function, self._python), self._input_signature)

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self.__init__(unpacked(Function, state[0]), state[1])  # type: ignore[misc]

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        """Itself, as any function; another one if what is below has state, as a method has its instance."""
        if isinstance(self._python, FunctionType):
            return self
        copied = memo[id(self)] = Function.__new__(Function)
        below = copy.deepcopy(packed(Function, self._python), memo)
        copied.__setstate__((below, self._input_signature))
        return copied

    def __repr__(self) -> str:
        return f"<jt.function {self._name}>"


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, Tensor)) or is_array_like(leaf)


def _key(call: Call, keys: tuple[Any, ...]) -> Any:
    """What a trace is found by."""
    return call.structure, config.default_float, keys


def _blank() -> Function:
    """What `__setstate__` makes a function of."""
    return Function.__new__(Function)


_all_functions: WeakValues[int, Function] = WeakValues()


def _settings_changed() -> None:
    """A trace depends on the settings."""
    for one in _all_functions.values():
        one._recent = one._recent_nested = None


config.on_change(_settings_changed)
config.on_native_change(_settings_changed)
