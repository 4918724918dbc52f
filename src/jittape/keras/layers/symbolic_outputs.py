"""Outputs of layers that are called before there are inputs: a graph of layer calls, for ``Model(inputs, outputs)``.

A layer that is called with an `Input` computes nothing: it is called with two examples of different open lengths, whose
results are never read, and returns a `SymbolicOutput` that knows the call and the shape.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from jittape.keras.layers.layer_losses import building
from jittape.keras.saving.object_configs import is_builtin
from jittape.keras.tensor_masks import mask_of
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "HAVE_VALUES", "OPEN_LENGTHS", "OPERATORS", "AttributeOfGraph", "InGraphs", "Symbolic", "SymbolicCall",
    "SymbolicMask", "SymbolicOutput", "call_symbolically", "is_symbolic", "keep_values", "leaves_of", "mapped",
    "on_examples", "runs_on_examples",
]  # fmt: skip

HAVE_VALUES = frozenset((Tensor, Variable, np.ndarray))
"""Common types of inputs that are not symbolic."""

OPEN_LENGTHS = 64, 128
"""Extents of the two examples where an `Input` has None: several windows fit, and halves stay whole."""


_thread = threading.local()


@contextmanager
def on_examples(layer: Any) -> Iterator[None]:
    """Call `layer` with examples: its weights keep their values, and a layer with ``stateful=True`` its states."""
    is_outermost = not runs_on_examples()
    if is_outermost:
        _thread.kept = {}
    keep_values(layer)
    try:
        yield
    finally:
        if is_outermost:
            kept, _thread.kept = _thread.kept, None
            for variable, version, value in kept.values():
                if _version(variable) != version:
                    variable.assign(value)


def runs_on_examples() -> bool:
    """Return whether this thread calls layers with examples."""
    return getattr(_thread, "kept", None) is not None


def keep_values(layer: Any) -> None:
    """Let the weights of a layer have their present values when the calls with examples end."""
    for variable in getattr(layer, "variables", ()):
        if not (variable.trainable or id(variable) in _thread.kept):
            value = variable.value()  # the read gives the Variable a slot, which an assignment takes away
            _thread.kept[id(variable)] = variable, _version(variable), value


def _version(variable: Variable) -> tuple[int, ...]:
    """Return what an assignment changes."""
    return id(variable._assigned_in), variable._slot, id(variable._buffer)


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return nested lists, tuples and dicts with `function` applied to what is in them."""
    if type(structure) in (list, tuple):
        return type(structure)([mapped(function, part) for part in structure])
    if type(structure) is dict:
        return {key: mapped(function, part) for key, part in structure.items()}
    return function(structure)


def leaves_of(structure: Any) -> list[Any]:
    """Return what is in nested lists, tuples and dicts, in order."""
    found: list[Any] = []
    mapped(found.append, structure)
    return found


class AttributeOfGraph:
    """Decorator: a property that an attribute of the instance replaces, as in ``self.output = Dense(1)``."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._function(instance)


class InGraphs:
    """Attributes of layers that were called with symbolic inputs."""

    built: bool
    _build: Any

    _call: SymbolicCall | None = None

    @AttributeOfGraph
    def input(self) -> Any:
        """The symbolic inputs of the last such call."""
        return self._last_call("input").inputs

    @AttributeOfGraph
    def output(self) -> Any:
        """The symbolic outputs of the last such call."""
        return self._last_call("output").outputs

    def _last_call(self, name: str) -> SymbolicCall:
        if self._call is None:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r} before it is called with the output of a jt.keras.Input"
            )
        return self._call


class SymbolicCall:
    """A call of a layer with symbolic inputs."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer, self.args, self.kwargs = layer, args, kwargs
        first = self._result(0)
        is_open = any(x.examples[0] is not x.examples[1] for x in self.symbols())
        pairs = list(zip(leaves_of(first), leaves_of(self._result(1) if is_open else first), strict=True))
        numbers = iter(range(len(pairs)))
        self.outputs = mapped(lambda _: SymbolicOutput(self, (n := next(numbers)), pairs[n]), first)

    @property
    def inputs(self) -> Any:
        """The first argument."""
        return self.args[0]

    def _result(self, number: int) -> Any:
        args, kwargs = self._example(self.args, number), self._example(self.kwargs, number)
        with on_examples(self.layer):
            return self.layer(*args, **kwargs)

    def _example(self, structure: Any, number: int) -> Any:
        if type(structure) is dict and structure.get("training"):
            structure = structure | {"training": False}  # moving averages do not learn from examples
        casts = getattr(self.layer, "takes_integers", False)

        def example(x: Any) -> Any:
            if not isinstance(x, Symbolic):
                return x
            return cast(x.examples[number], "int32") if casts else x.examples[number]

        return mapped(example, structure)

    def symbols(self) -> Iterator[Symbolic]:
        """Return the symbolic arguments."""
        return (x for x in leaves_of([self.args, self.kwargs]) if isinstance(x, Symbolic))

    def run(self, value_of: Callable[[Symbolic], Any]) -> list[Any]:
        """Return the results for values of the symbolic arguments."""

        def value(x: Any) -> Any:
            return value_of(x) if isinstance(x, Symbolic) else x

        return leaves_of(self.layer(*mapped(value, self.args), **mapped(value, self.kwargs)))


def is_symbolic(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether there is a symbolic tensor among the arguments of a call."""
    return any(isinstance(x, Symbolic) for x in leaves_of([args, kwargs]))


def call_symbolically(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the symbolic outputs of a layer."""
    if isinstance(layer, InGraphs) and not layer.built and _builds_itself(type(layer)):
        with building(layer):  # examples have numbers in place of None
            layer._build(args, kwargs)
    call = SymbolicCall(layer, args, kwargs)
    if isinstance(layer, InGraphs):
        layer._call = call
    return call.outputs


def _builds_itself(kind: type) -> bool:
    """Return whether a class of the user defines `build`."""
    return not is_builtin(next(base for base in kind.__mro__ if "build" in vars(base)))


class Symbolic:
    """The base of `Input` and `SymbolicOutput`: shape and operators."""

    examples: Any
    """Two tensors that differ in the open extents."""
    batch: int | None = None
    """The length of the batch that an `Input` was given; calls with another length are possible."""

    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents; None for those that an `Input` leaves open, as it does for the batch by default."""
        pairs = zip(*(x.shape[1:] for x in self.examples), strict=True)
        return (self.batch, *(m if m == n else None for m, n in pairs))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(  # a TypeError or ValueError would be taken for numbers that do not fit
            "a symbolic tensor has no values: use layers and operators between Input and Model, and "
            "jt.keras.layers.Lambda(function) for other functions"
        )

    def __bool__(self) -> bool:
        return self.__array__()

    def __iter__(self) -> Iterator[Any]:
        return self.__array__()


class SymbolicOutput(Symbolic):
    """An output of a layer in the graph of a functional model.

    Attributes
    ----------
    call : SymbolicCall
    number : int
        Position among the outputs of the call.
    examples : tuple of two tensors
    """

    def __init__(self, call: SymbolicCall, number: int, examples: Any) -> None:
        self.call, self.number, self.examples = call, number, examples
        self.batch = next((x.batch for x in call.symbols()), None)

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.examples[0].dtype

    @property
    def _keras_mask(self) -> SymbolicMask | None:
        """The mask that the output has; None without one."""
        masks = [mask_of(example) for example in self.examples]
        return None if masks[0] is None else SymbolicMask(self, masks)

    @property
    def name(self) -> str:
        """The name of the layer."""
        return getattr(self.call.layer, "name", None) or self.call.layer.__name__

    def __repr__(self) -> str:
        return f"<SymbolicOutput of {self.name!r}: shape={self.shape}, dtype={self.dtype.name}>"


class SymbolicMask(Symbolic):
    """The mask of a symbolic output, which has a shape and no values; layers receive it automatically."""

    def __init__(self, of: SymbolicOutput, examples: Any) -> None:
        self.of, self.examples, self.batch = of, examples, of.batch

    def __repr__(self) -> str:
        return f"<SymbolicMask of {self.of.name!r}: shape={self.shape}>"


OPERATORS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "abs", "getitem")
}
"""Operators of symbolic tensors, by the names of `operator`."""
