"""`Function`: a function that is traced once per signature, compiled, and called with a few µs of Python.

Start reading at `Function.__call__`. Usually the trace that was used last holds, and only its fast path runs. Otherwise
`_call` flattens the arguments and tries the traces of their key; if none holds, the function is traced again. A
function that needs a traced value is recorded at each call instead (`Uncompiled`).
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.locks import rlock
from jittape.core.primitive import active, active_recorder, recording_with
from jittape.core.tickets import Companions, WeakValues
from jittape.core.user_calls import ValueNeeded, VariableNeeded, stack_level
from jittape.errors import FunctionWarning
from jittape.functions.argument_binding import DefaultArguments
from jittape.functions.bound_function import BoundFunction, ConcreteFunction
from jittape.functions.concrete_function import Concrete
from jittape.functions.flat_signature import FlatSignature
from jittape.functions.function_interface import FunctionInterface
from jittape.functions.function_pickling import empty, function_named_like, loaded, packed, unpacked
from jittape.functions.general_trace import Families, traced_with_extents
from jittape.functions.open_signature import is_open, open_signature_of
from jittape.functions.python_function import (
    call_python,
    placeholders_of,
    run_python,
    tests_bool_identity,
    tests_object_identity,
)
from jittape.functions.signature import (
    GUARD_FAILED,
    SPECIALIZABLE,
    Call,
    TensorSpec,
    flatten_call,
    keys_of,
    leaf_names,
    match_signature,
    open_axes,
    shared_leaves,
)
from jittape.functions.trace_report import (
    Reason,
    Signature,
    Uncompiled,
    described_leaves,
    not_compiled,
    often_traced,
    reason_of_trace,
    recorded_because,
    too_many,
    value_needed_by,
    with_pinned_line,
)
from jittape.functions.trace_table import TraceTable, all_functions
from jittape.functions.variable_arguments import to_pin, variable_positions, with_variable_placeholders
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.trace import Trace

__all__ = ["Function"]

_RETRACES = 5
"""Number of signatures above which a warning states why the function is retraced."""


class Function(FunctionInterface):
    """A function that is traced and compiled; created by `jt.function`."""

    __slots__ = ("__dict__", "__weakref__", "_bound", "_recent")

    def __init__(self, python: Callable[..., Any], input_signature: Sequence[Any] | None = None) -> None:
        functools.update_wrapper(self, python)
        self._trace_count = self._inlined = 0
        self._python = python
        self._input_signature = input_signature
        self._flat_signature = FlatSignature(input_signature)
        self._traces = TraceTable()
        self._families = Families(open_axes(input_signature))
        self._recent: Concrete | None = None
        self._recent_nested: tuple[Concrete, tuple[Any, ...]] | None = None
        self._lock = rlock()
        self._warned: set[Callable[..., str]] = set()
        self._pins_variables = False
        self._bound: Companions[Function] = Companions()
        self._concretes: WeakValues[Any, ConcreteFunction] = WeakValues()
        self._unbound: Function = self
        all_functions.set(id(self), self)

    # ---- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        recent = self._recent
        if recent is not None and not kwargs:
            recorder: Any = active.recorder
            if recorder.__class__ is Trace and not (
                recorder.intervals or config._interpret or config._eager_functions
            ):
                result = recent.fast_call(args)
                if result is not GUARD_FAILED:
                    if recent.simple_path is not None:
                        self._let_machine_code_call()
                    return result
        return self._call((), args, kwargs)

    _call_in_python = __call__

    @staticmethod
    @functools.cache
    def _let_machine_code_call() -> None:
        """Let machine code take the calls of all functions and bound methods."""
        from jittape.functions.machine_code.function_calls import take_calls

        take_calls(Function)

    def _call(self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function with the arguments and `owner`: the instance it is bound to, or nothing."""
        recorder = active_recorder()
        eager = config.functions_run_eagerly()
        if eager or recorder.traced_in is not None or not isinstance(recorder, Trace):
            self._inlined += not eager and recorder.traced_in is not None
            call = self._flatten_arguments(owner, args, kwargs)
            return run_python(self._python, self._name, owner, call, converts=not eager)
        call = self._flatten_arguments(owner, args, kwargs)
        flat = self._recent
        failed = not kwargs and self._recent_nested is None and (flat is None or flat.structure == len(args))
        if not (failed or recorder.intervals or config._interpret):
            result = self._recent_result(owner, call)
            if result is not GUARD_FAILED:
                return result
        return self._call_with(owner, call, keys_of(self._python, call, len(owner)), recorder)

    def _recent_result(self, owner: tuple[Any, ...], call: Call) -> Any:
        """Return the result from the fast path of the trace that was used last, or `GUARD_FAILED`."""
        recent, orders = self._recent_nested or (None, ())
        if recent is not None and recent.structure == call.structure and orders == call.orders:
            result = recent.fast_call(call.leaves)
            if result is not GUARD_FAILED:
                return result
        flat = self._recent
        if flat is None or not isinstance(call.structure, int) or self._input_signature is not None:
            return GUARD_FAILED
        count: int = flat.structure
        leaves = self._parameters.with_length(len(owner), call.leaves, count)
        return GUARD_FAILED if leaves is None else flat.fast_call(leaves)

    def _call_with(self, owner: tuple[Any, ...], call: Call, keys: tuple[Any, ...], recorder: Any) -> Any:
        """Call the function with flattened arguments and their keys."""
        result = self._known_result(owner, call, keys, recorder)
        if result is not GUARD_FAILED:
            return result
        if self._input_signature is None:
            for other in self._parameters.other_calls(len(owner), call):
                others = keys_of(self._python, other, len(owner))
                result = self._known_result(owner, other, others, recorder)
                if result is not GUARD_FAILED:
                    return result
        return self._run(self._trace_for(owner, call, keys), owner, call, active_recorder())

    def _known_result(self, owner: tuple[Any, ...], call: Call, keys: tuple[Any, ...], recorder: Any) -> Any:
        """Return the result of a call from a trace with its keys, or `GUARD_FAILED`."""
        key = _key(call, keys)
        traces = self._traces.get(key)
        for trace in traces:
            result = self._run(trace, owner, call, recorder)
            if result is not GUARD_FAILED:
                if trace is not traces[0]:
                    with self._lock:
                        self._traces.move_to_front(key, trace)
                return result
        known = self._families.known(key)
        return GUARD_FAILED if known is None else self._run(known, owner, call, recorder)

    def _run(self, trace: Concrete | Uncompiled, owner: tuple[Any, ...], call: Call, recorder: Any) -> Any:
        """Return the result of running `trace`, or `GUARD_FAILED`."""
        if isinstance(trace, Uncompiled):
            trace.uses += 1
            return self._run_uncompiled(owner, call)
        if recorder.intervals:
            if trace.may_be_general:
                return trace.record(recorder, call.leaves)
            return self._run_uncompiled(owner, call) if trace.holds(call.leaves) else GUARD_FAILED
        result = trace(call.leaves)
        if result is not GUARD_FAILED and trace.has_fast_path:
            if isinstance(trace.structure, int):
                self._recent = trace
            else:
                self._recent_nested = trace, call.orders
        return result

    def _run_uncompiled(self, owner: tuple[Any, ...], call: Call) -> Any:
        """Run the Python function with tensors in place of arrays, as tracing would."""
        tensors = {id(x): convert_to_tensor(x) for x in call.leaves if isinstance(x, np.ndarray)}
        leaves = tuple([tensors.get(id(x), x) for x in call.leaves])
        return run_python(self._python, self._name, owner, Call(leaves, call.structure, call.orders))

    def _flatten_arguments(
        self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Call:
        """Return the leaves and the structure of the arguments; convert them to the input signature if there is one."""
        parameters = self._parameters
        if kwargs or parameters.array_defaults:
            try:
                args, kwargs = parameters.as_positional(owner, args, kwargs)
            except TypeError as error:
                raise TypeError(f"{self._name}() {error}") from None
        signature = self._input_signature
        if signature is not None and not self._flat_signature.takes(args):
            args = parameters.with_length(len(owner), args, len(signature)) or args
            args = match_signature(self._name, args, signature)
        return flatten_call(args, kwargs)

    @functools.cached_property
    def _parameters(self) -> DefaultArguments:
        return DefaultArguments(self._python)

    @property
    def _function(self) -> Function:
        return self

    @property
    def _name(self) -> str:
        return getattr(self._python, "__qualname__", repr(self._python))

    # ---- tracing ---------------------------------------------------------------------------------------------------

    def _trace_for(self, owner: tuple[Any, ...], call: Call, keys: tuple[Any, ...]) -> Concrete | Uncompiled:
        """Return the trace that holds for `call`; trace the function if there is none."""
        with self._lock:
            key = _key(call, keys)
            for known in self._traces.get(key):  # another thread may have traced meanwhile
                if isinstance(known, Uncompiled) or known.holds(call.leaves):
                    return known
            derived = self._families.derived(key, call, keys)
            if derived is not None:
                return derived
            names = leaf_names(self._python, call, len(owner))
            reason = reason_of_trace(self._traces.traces(), call, keys, names)
            run = functools.partial(self._general, (owner, call, keys, names))
            general = self._families.generalized(call, keys, run)
            needed: ValueNeeded | None = None
            if general is None:
                reason = with_pinned_line(reason, self._families.pinned_at(call, keys))
                trace, needed = self._trace(owner, call, keys, names)
                if isinstance(trace, Uncompiled):
                    keys = self._families.recorded(call, keys, trace)
            else:
                trace, keys = general
            values = () if isinstance(trace, Uncompiled) else trace.specialized
            holds_for = tuple([(number.text, value) for number, value in values])
            arguments = described_leaves(trace, names, keys)
            recorded = "" if needed is None else recorded_because(needed)
            signature = Signature(arguments, holds_for, reason.text, recorded, general is not None)
            dropped = self._traces.add(key, trace, signature)
            if self._recent in dropped or (self._recent_nested or (None,))[0] in dropped:
                self._recent = self._recent_nested = None
        self._warn(needed, reason)
        return trace

    def _general(self, given: tuple[Any, ...], may_create: bool, *general: Any) -> Concrete:
        """Trace the function for all extents."""
        self._trace_count += 1
        given = *given, self._pins_variables, may_create and not self._traces.added, *general
        return traced_with_extents(self._python, self._name, *given)

    def _trace(
        self, owner: tuple[Any, ...], call: Call, keys: tuple[Any, ...], names: list[str]
    ) -> tuple[Concrete | Uncompiled, ValueNeeded | None]:
        """Run the Python function with placeholders; run it again if it created Variables.

        Arguments that are the same tensor get separate placeholders, so that other calls can use the trace, unless the
        function differentiates with respect to one of them or writes to it.

        If the function fails, it runs again with plain ints and bools, and then with all numbers plain: C code may
        reject a traced number (``json.dumps(n)``), and the dtype of a large int differs. A remaining error is the
        user's.

        Variables have placeholders, unless the function needs the Variables themselves: see `variable_arguments`.
        """
        may_create = self._traces.added == 0
        same: dict[int, int] = {}
        numbers = {i: issubclass(key, SPECIALIZABLE) for i, key in enumerate(keys) if isinstance(key, type)}
        more = [[i for i in numbers if numbers[i]], list(numbers)]
        bools = [i for i in numbers if keys[i] is bool]
        plain = bools if bools and tests_bool_identity(self._python) else []
        pins = self._pins_variables or tests_object_identity(self._python)
        pinned = variable_positions(call.leaves) if pins else set()
        failed: ValueNeeded | None = None
        leaves = [leaf.aval if isinstance(leaf, TensorSpec) else leaf for leaf in call.leaves]
        while True:
            tracing = FunctionTrace(self._name, leaves, may_create)
            with tracing:
                placeholders = placeholders_of(tracing, call, names, numbers, plain, same)
                placeholders = with_variable_placeholders(tracing, placeholders, pinned)
                self._trace_count += 1
                try:
                    with recording_with(tracing):
                        result = call_python(self._python, self._name, owner, call, placeholders)
                except (VariableNeeded, ValueNeeded, Exception) as error:
                    self._pins_variables = self._pins_variables or tracing.variable_needed
                    if tracing.variable_placeholders:
                        pinned |= to_pin(tracing, call.leaves, failed=True)
                        continue
                    if isinstance(error, ValueNeeded):
                        return Uncompiled(keys, call), error
                    if not isinstance(error, Exception):
                        raise
                    more = [wider for wider in more if len(wider) > len(plain)]
                    if not more:
                        raise
                    plain = more[0]
                    failed = value_needed_by(error, [names[i] for i in numbers if not numbers[i]])
                    continue
                if more_pinned := to_pin(tracing, call.leaves, failed=False):
                    pinned |= more_pinned
                    continue
                if tracing.needed_value is not None:
                    return Uncompiled(keys, call), tracing.needed_value
                if any([not numbers[i] for i in plain]):
                    return Uncompiled(keys, call), failed
                before, same = same, shared_leaves(call.leaves, tracing.distinct)
                if not tracing.made and same == before:
                    return Concrete(tracing, result, keys, call, same), None
            may_create = may_create and not tracing.made

    def _warn(self, needed: ValueNeeded | None, reason: Reason) -> None:
        if needed is not None:
            warnings.warn(not_compiled(self._name, needed), FunctionWarning, stacklevel=stack_level())
        if self._traces.dropped:
            self._warn_once(too_many, reason)
        elif len(self._traces) > _RETRACES:
            self._warn_once(often_traced, len(self._traces), reason)

    def _warn_once(self, text: Callable[..., str], *arguments: Any) -> None:
        if text not in self._warned:
            import logging  # takes 4 ms

            self._warned.add(text)
            message = text(self._name, *arguments)
            logging.getLogger("jittape").warning("%s", message)
            warnings.warn(message, FunctionWarning, stacklevel=stack_level())

    # ---- methods ---------------------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundFunction(self._of(instance), instance)

    def _of(self, instance: Any) -> Function:
        """Return the function with the traces of `instance`; it does not keep the instance alive."""
        known = self._bound.get(instance)
        if known is not None:
            return known
        with self._lock:
            own = Function(self._python, self._input_signature)
            own._unbound = self
            return self._bound.setdefault(instance, own)

    # ---- inspection ------------------------------------------------------------------------------------------------

    def _concrete(
        self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ConcreteFunction:
        if not args and not kwargs and self._input_signature is not None:
            args = tuple(self._input_signature)
        call = self._flatten_arguments(owner, args, kwargs)
        made = ConcreteFunction(self, owner, call, *self._signature_of(owner, call))
        return made.known_or_self(self._concretes)

    def _signature_of(self, owner: tuple[Any, ...], call: Call) -> tuple[Concrete | Uncompiled, Signature]:
        """Return the trace for `call` and its signature; trace the function if necessary."""
        if is_open(call):
            return open_signature_of(self, owner, call)
        keys = keys_of(self._python, call, len(owner))
        trace = self._trace_for(owner, call, keys)
        if self._families.known(_key(call, keys)) is not trace:
            return trace, self._traces.signature_of(trace)
        arguments = described_leaves(trace, leaf_names(self._python, call, len(owner)), keys)
        return trace, Signature(arguments, (), "only extents differ from those of another signature", "")

    # ---- copies, see `function_pickling` ---------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        if function_named_like(Function, self._python) is self._unbound:
            name = self._python.__module__, self._python.__qualname__
            return loaded, (Function, *name, self._input_signature)
        # In two steps: the Python function may refer to this function.
        return empty, (Function,), (packed(Function, self._python), self._input_signature)

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self.__init__(unpacked(Function, state[0]), state[1])  # type: ignore[misc]

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        """Return the function itself; return a copy if the Python function has state, such as a method's instance."""
        if isinstance(self._python, FunctionType):
            return self
        copied = memo[id(self)] = empty(Function)
        python = copy.deepcopy(packed(Function, self._python), memo)
        copied.__setstate__((python, self._input_signature))
        return copied

    def __repr__(self) -> str:
        return f"<jt.function {self._name}>"


def _key(call: Call, keys: tuple[Any, ...]) -> Any:
    """Return the key of the trace table."""
    return call.structure, call.orders, config.default_float, keys
