"""Functions of the namespace, made from the tables of `jittape.numpy_api`.

A table maps a function of NumPy to an adapter that records. The function of the namespace converts the arguments that
NumPy would convert with ``asarray``, and the result to a tensor. Which arguments these are, follows from their names in
NumPy's signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from jittape.core.user_calls import as_array
from jittape.errors import DTypeError
from jittape.numpy.argument_errors import UNNAMED, name_argument
from jittape.numpy.array_arguments import as_operand, as_result, check_device, operands_of
from jittape.numpy.in_place_functions import at_method
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_operands import with_out
from jittape.numpy_api.numpy_protocol import (
    UFUNCS,
    VALUE_FUNCTIONS,
    array_function,
    array_ufunc,
)
from jittape.numpy_api.one_call import ONE_CALLS, one_call
from jittape.recording.machine_code.known_paths import (
    references_of_caller,
    take_fact,
    take_function,
    take_method,
    take_ufunc,
)
from jittape.recording.machine_code.path_tables import FACTS, UFUNC_BODIES
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["described", "in_one_call", "is_recorded", "recorded"]

_ARRAYS = (
    "A a a1 a2 append ar ar1 ar2 arr array ary b condition element f filt fp m p prepend prototype q seq_of_zeros "
    "test_elements u v val values w weights x x1 x2 xp y z"
)
"""Parameters of NumPy's functions that ``asarray`` converts."""
_SEQUENCES = "arrays arys tup xi args choices choicelist condlist keys"
"""Parameters that are sequences of arrays."""
_WEAK = ("arrays", "choicelist", "choices")
"""Those in which a Python number takes the dtype of the arrays."""
_TENSORS = (Tensor, Variable)
_LISTS: frozenset[Any] = frozenset((list, tuple))


def is_recorded(function: Any) -> bool:
    """Return whether `function` of NumPy has a counterpart in the tables."""
    try:
        return function in FUNCTIONS or function in UFUNCS or function in VALUE_FUNCTIONS
    except TypeError:  # not hashable
        return False


def recorded(function: Any, module: str, name: str) -> Callable[..., Any]:
    """Return the function of the namespace `module` for a `function` of NumPy that `is_recorded`."""
    if isinstance(function, np.ufunc):
        made = _unary(function) if function.nin == 1 else _binary(function)
        take_ufunc(described(made, function, module, name), function)
        return _with_methods(made, function)
    adapter = _named(FUNCTIONS.get(function) or _on_values(function), name)
    made = _einsum(adapter) if function is np.einsum else _function(adapter, name, function)
    if function not in ONE_CALLS:
        fact = described(made, function, module, name)
        if function in FACTS:
            take_fact(fact, function)
        return fact
    taken = described(in_one_call(function, made), function, module, name)
    take_function(taken, function)
    return taken


def _named(adapter: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give `adapter` NumPy's name, which Python's errors about its arguments show."""
    if isinstance(adapter, FunctionType) and adapter.__module__.startswith("jittape.numpy"):
        adapter.__qualname__ = name
    return adapter


def described(made: Any, function: Any, module: str, name: str) -> FunctionType:
    """Give the function `made` name, signature and a docstring of NumPy's `function`.

    Messages and tracebacks show the name of the code.
    """
    assert isinstance(made, FunctionType)
    made.__code__ = made.__code__.replace(co_name=name, co_qualname=name)
    made.__name__ = made.__qualname__ = name
    made.__module__ = module
    place = f"{module}.{name}".removeprefix("jittape.")
    made.__doc__ = f"{_summary(function)}\n\nIt records on tensors. See `{place}` for the parameters."
    signature = _signature(function)
    if signature is not None:
        made.__signature__ = signature  # type: ignore[attr-defined]
    return made


def _summary(function: Any) -> str:
    """Return the first sentence of a docstring that is not a signature."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    texts = [" ".join(p.split()) for p in paragraphs if p and "(" not in p.split("\n")[0].split(" ")[0]]
    return texts[0] if texts else f"NumPy's {function.__name__}."


@cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # before 2.4, NumPy's compiled functions have none
        if isinstance(function, np.ufunc):
            operands = ["x"] if function.nin == 1 else [f"x{i + 1}" for i in range(function.nin)]
            only = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in operands]
            return inspect.Signature([*only, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])
        return _signature(FUNCTIONS[function]) if function in FUNCTIONS else None


# ---- ufuncs ----------------------------------------------------------------------------------------------------------

_BESIDE_TENSORS = frozenset((Tensor, float, int, np.ndarray))
"""Types of operands that an op promotes as NumPy does if another operand is a tensor."""


def _unary(ufunc: np.ufunc) -> Callable[..., Any]:
    function = UFUNCS[ufunc]

    def call(x: Any, /, out: Any = None, *outs: Any, **kwargs: Any) -> Any:
        if x.__class__ is Tensor and out is None and not kwargs and not outs:
            try:
                result: Any = function(x)
                return result if result.__class__ is Tensor else as_result(result)
            except (DTypeError, OverflowError):  # NumPy's loop may have another dtype
                pass
        return _recorded_ufunc(ufunc, (x,), (out, *outs) if outs else out, kwargs)

    return call


def _binary(ufunc: np.ufunc) -> Callable[..., Any]:
    function = UFUNCS[ufunc]

    def call(x1: Any, x2: Any, /, out: Any = None, *outs: Any, **kwargs: Any) -> Any:
        if (
            (x1.__class__ is Tensor or x2.__class__ is Tensor)
            and x1.__class__ in _BESIDE_TENSORS
            and x2.__class__ in _BESIDE_TENSORS
            and out is None
            and not kwargs
            and not outs
        ):
            try:
                result: Any = function(x1, x2)
                return result if result.__class__ is Tensor else as_result(result)
            except (TypeError, OverflowError):
                pass
        return _recorded_ufunc(ufunc, (x1, x2), (out, *outs) if outs else out, kwargs)

    return call


def _recorded_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any, kwargs: dict[str, Any]) -> Any:
    """Record a call with operands of any kind, and with options."""
    operands = operands_of(inputs, ("x",) if len(inputs) == 1 else ("x1", "x2"))
    if "where" in kwargs and not isinstance(kwargs["where"], bool):
        kwargs["where"] = as_operand(kwargs["where"], "where")
    if out is None:
        return as_result(_called(ufunc, operands, kwargs))
    kwargs["out"] = out if isinstance(out, tuple) else (out,) + (None,) * (ufunc.nout - 1)
    if len(kwargs["out"]) != ufunc.nout:
        raise ValueError(
            f"[np.{ufunc.__name__}] out must have {ufunc.nout} tensors, got {len(kwargs['out'])}"
        )
    for target in kwargs["out"]:
        if isinstance(target, _TENSORS):
            taken = references_of_caller() if ufunc in UFUNC_BODIES else 0
            target._require_kept(1 if out.__class__ is tuple else 3 + taken)
    return _called(ufunc, operands, kwargs)


def _called(ufunc: np.ufunc, operands: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return array_ufunc(ufunc, "__call__", *operands, **kwargs)
    except UNNAMED as error:
        name_argument(error, ufunc.__name__, _signature(ufunc), operands, kwargs)
        raise
    except OverflowError:  # a Python int need only fit the dtype of NumPy's loop: ``arctan2(uint8, -1)``
        return array_ufunc(ufunc, "__call__", *operands, **{"casting": "same_kind", **kwargs})


def _with_methods(made: Any, ufunc: np.ufunc) -> Callable[..., Any]:
    """Give `made` the attributes of a ufunc: ``nin``, ``identity``, and the methods ``reduce``, ``outer``, ..."""
    for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
        setattr(made, attribute, getattr(ufunc, attribute))
    if ufunc.nin == 2 and ufunc.signature is None:
        methods = ("outer",) if ufunc.nout > 1 else ("reduce", "accumulate", "reduceat", "outer")
        for method in methods:
            setattr(made, method, _method(ufunc, method, made.__module__))
    if ufunc.nout == 1 and ufunc.signature is None:
        made.at = _described_method(at_method(ufunc), ufunc, "at", made.__module__)
    return made


def _method(ufunc: np.ufunc, method: str, module: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        count = 2 if method == "outer" else 1
        names = ("array", "indices", "values") if method != "outer" else ("A", "B")
        inputs = operands_of(args[:count], names)
        if isinstance(kwargs.get("out"), _TENSORS):
            kwargs["out"]._require_kept(references_of_caller())
            kwargs["out"] = (kwargs["out"],)
        return as_result(array_ufunc(ufunc, method, *inputs, *args[count:], **kwargs))

    described = _described_method(call, ufunc, method, module)
    take_method(described, ufunc, method)
    return described


def _described_method(call: Any, ufunc: np.ufunc, method: str, module: str) -> FunctionType:
    call.__name__ = call.__qualname__ = f"{ufunc.__name__}.{method}"
    call.__code__ = call.__code__.replace(co_name=call.__name__, co_qualname=call.__name__)
    call.__module__ = module
    call.__doc__ = f"Record ``{ufunc.__name__}.{method}``; see `numpy.ufunc.{method}`."
    described: FunctionType = call
    return described


# ---- functions -------------------------------------------------------------------------------------------------------


def _on_values(function: Any) -> Callable[..., Any]:
    """Return `function`, which has no gradient, of the values of tensors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return array_function(function, _TENSORS, args, kwargs)

    return call


@cache
def _roles(function: Any) -> tuple[tuple[tuple[int, str], ...], tuple[tuple[int, str], ...], str]:
    """Return position and name of each array and of each sequence of arrays, and the name of ``*args`` of arrays."""
    signature = _signature(function)
    if function is np.block:  # its lists are nested
        return (), (), ""
    if signature is None:
        return ((0, "a"),), (), ""
    arrays, sequences, rest = [], [], ""
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            rest = name if position == 0 and name in _SEQUENCES.split() else ""
        elif name in _ARRAYS.split() and (function, name) != (np.linalg.cond, "p"):  # the name of a norm
            arrays.append((position, name))
        elif name in _SEQUENCES.split():
            sequences.append((position, name))
    return tuple(arrays), tuple(sequences), rest


def _function(adapter: Callable[..., Any], name: str, function: Any) -> Callable[..., Any]:
    arrays, sequences, rest = _roles(function)
    simple = not sequences and not rest and [position for position, _ in arrays] == [0]

    def call(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            check_device(kwargs.pop("device"))
        try:
            if not (simple and args and args[0].__class__ is Tensor):
                args, kwargs = converted(args, kwargs)
            if isinstance(kwargs.get("out"), _TENSORS):
                out = kwargs.pop("out")
                out._require_kept()
                return with_out(adapter, *args, out=out, **kwargs)
            result = adapter(*args, **kwargs)
            return result if result.__class__ is Tensor else as_result(result)
        except UNNAMED as error:
            name_argument(error, name, _signature(function), args, kwargs)
            raise

    def converted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if rest:
            return [as_operand(a, rest, weak=False) for a in args], kwargs
        given = list(args)
        for position, name in arrays:
            if position < len(given):
                given[position] = _array(given[position], position, name)
            elif name in kwargs:
                kwargs[name] = _array(kwargs[name], position, name)
        for position, name in sequences:
            if position < len(given):
                given[position] = _parts(given[position], name)
            elif name in kwargs:
                kwargs[name] = _parts(kwargs[name], name)
        return given, kwargs

    return call


def in_one_call(function: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that records calls of tensors and structure as one call, and others as `general` does.

    Machine code takes its calls on known paths.
    """
    first = 1 if function is np.einsum else 0

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > first and "out" not in kwargs and "device" not in kwargs:
            tensor = args[first]
            if tensor.__class__ in _LISTS and tensor:
                tensor = tensor[0]
            if tensor.__class__ is Tensor:
                try:
                    result = one_call(function, _TENSORS, args, kwargs)
                except UNNAMED as error:
                    name_argument(error, function.__name__, _signature(function), args, kwargs)
                    raise
                if result.__class__ is Tensor:
                    return result
                if result is not NotImplemented:
                    return as_result(result)
        return _by_general(general, args, kwargs)

    return call


def _by_general(general: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of `general`; the caller must keep a tensor that it gives as `out`."""
    if isinstance(kwargs.get("out"), _TENSORS):
        kwargs["out"]._require_kept(references_of_caller())
    return general(*args, **kwargs)


def _array(value: Any, position: int, name: str) -> Any:
    """Return an argument that is an array; only later ones than the first may be None."""
    return as_array(name, value) if value is None and not position else as_operand(value, name, position > 0)


def _parts(values: Any, name: str) -> Any:
    """Return a sequence of arrays with its items converted; NumPy's functions take an array as well."""
    weak = name in _WEAK
    return [as_operand(v, name, weak=weak) for v in values] if isinstance(values, (list, tuple)) else values


def _einsum(adapter: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any, **kwargs: Any) -> Any:
        """Convert the operands, which alternate with lists of indices unless the first one is the text."""
        if operands and isinstance(operands[0], str):
            given = [operands[0], *[as_operand(x, "operands", weak=False) for x in operands[1:]]]
        else:
            last = len(operands) - len(operands) % 2
            given = [
                as_operand(x, "operands", weak=False) if i % 2 == 0 and i < last else x
                for i, x in enumerate(operands)
            ]
        out = kwargs.pop("out", None)
        if isinstance(out, _TENSORS):
            out._require_kept()
            return with_out(adapter, *given, out=out, **kwargs)
        return as_result(adapter(*given, out=out, **kwargs))

    return call
